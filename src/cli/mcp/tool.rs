//! The tools, in one table.

use serde_json::{Value, json, value::RawValue};

use super::{answer::Answer, arguments::ToolArguments, protocol_version::ProtocolVersion, tools::TOOLS};

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// When to call it, and what it answers.
    pub(super) description: &'static str,
    /// Its arguments: name, and whether it must be given.
    pub(super) arguments: &'static [(&'static str, bool)],
    pub(super) call: fn(&ToolArguments<'_>) -> Result<Answer, ToolError>,
}

/// Why a tool cannot answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: {why}")]
pub(super) struct ToolError {
    /// The argument.
    argument: String,
    why: String,
}

impl ToolError {
    /// An argument is wrong.
    pub(super) fn at(argument: impl Into<String>, why: impl Into<String>) -> Self {
        Self { argument: argument.into(), why: why.into() }
    }
}

/// What a call answers.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Calls a tool; `None` if there is none of the name.
pub(super) fn call(name: &str, arguments: Option<&RawValue>) -> Option<ToolResult> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let known: Vec<&str> = tool.arguments.iter().map(|(name, _)| *name).collect();
    let answered = ToolArguments::read(arguments, &known).and_then(|arguments| (tool.call)(&arguments));
    Some(match answered {
        Ok(answer) => ToolResult { text: answer.finish(), is_error: false },
        Err(error) => {
            let mut answer = Answer::default();
            answer.line(error.to_string());
            ToolResult { text: answer.finish(), is_error: true }
        }
    })
}

/// The names of all tools.
pub(super) fn names() -> String {
    TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}

/// The tools as a version of the protocol lists them.
pub(super) fn list(version: ProtocolVersion) -> Value {
    TOOLS.iter().map(|tool| tool.listed(version)).collect()
}

impl Tool {
    fn listed(&self, version: ProtocolVersion) -> Value {
        let properties: serde_json::Map<String, Value> =
            self.arguments.iter().map(|(name, _)| ((*name).to_owned(), schema(name))).collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|(_, required)| *required).map(|(name, _)| *name).collect();
        let mut tool = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
        });
        if version >= ProtocolVersion::V2025_03_26 {
            tool["annotations"] = json!({
                "title": self.title,
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            });
        }
        if version >= ProtocolVersion::V2025_06_18 {
            tool["title"] = self.title.into();
        }
        tool
    }
}

/// The schema of an argument. One name means the same in each tool.
fn schema(argument: &str) -> Value {
    let objects = |about: &str| {
        let any =
            json!([{ "type": "string" }, { "type": "object" }, { "type": "array", "items": { "type": "object" } }]);
        json!({ "description": about, "anyOf": any })
    };
    let typed = |of: &str, about: &str| json!({ "type": of, "description": about });
    match argument {
        "objects" => objects(
            "Kubernetes objects: a text of YAML or JSON (several documents, a List), an object, or a list of objects. Pass all \
             objects of the namespace that you have, unabridged: Services, Pods, Deployments, Endpoints, EndpointSlices, Nodes, \
             Ingresses, webhook configurations.",
        ),
        "object" => objects("The one object to review, as it would be applied."),
        "context" => objects(
            "Objects that the cluster has. One of the same kind, namespace and name as the reviewed object makes it an update; \
             EndpointPolicies are in force; the others are what rules compare with.",
        ),
        "changes" => objects(
            "Changed objects, or parts of them with kind, metadata.namespace and metadata.name: each is a JSON merge patch (RFC \
             7386) of the object of this name. Null removes a field; a list replaces the whole list. An object that does not \
             exist is created if it has an apiVersion. With `$patch: delete` it is deleted.",
        ),
        "service" => typed("string", "Only this Service, as NAMESPACE/NAME or NAME."),
        "release" => typed("string", "The Kubernetes release to act like, such as 1.30. Default: the newest."),
        "complete" => typed(
            "boolean",
            "The objects are all objects of the cluster: what is not there does not exist. Default: they may be a part.",
        ),
        "namespace" => typed("string", "The namespace of objects without one. Default: default."),
        "code" => typed("string", "A code of an answer, such as not-ready or selector-matches-nothing."),
        "only" => typed("string", "List the findings with this code only, all of them as far as there is room."),
        "skip" => typed("integer", "Leave out so many findings at the beginning: how to see what did not fit."),
        _ => typed("string", "The user who writes, such as system:serviceaccount:shop:operator."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::mcp::{answer::MOST_TOKENS, token_estimate::tokens};

    #[test]
    fn tools_are_listed_as_read_only_in_few_tokens() {
        let listed = list(ProtocolVersion::V2025_11_25);
        for tool in listed.as_array().unwrap() {
            let hints = &tool["annotations"];
            assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&true.into(), &false.into()), "{tool}");
            assert_eq!(hints["openWorldHint"], false, "{tool}");
        }
        // Every conversation pays for them.
        assert!(tokens(&listed.to_string()) < 2 * MOST_TOKENS, "{}", tokens(&listed.to_string()));
        let first = list(ProtocolVersion::V2024_11_05);
        assert!(first[0].get("annotations").is_none() && first[0].get("title").is_none(), "{first}");
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (tool, arguments, want) in [
            ("explain", "{}", "objects: is missing: pass manifests, or what `kubectl get … -o yaml` prints\n"),
            ("explain", "[]", "arguments: must be an object\n"),
            ("explain", r#"{"object": ""}"#, "object: unknown argument; did you mean objects?\n"),
            (
                "explain",
                r#"{"objects": 7}"#,
                "objects: must be a text of YAML or JSON, an object, or a list of objects\n",
            ),
            ("explain", r#"{"objects": "  "}"#, "objects: is empty\n"),
            ("explain", r#"{"objects": "a: [", "complete": "yes"}"#, "complete: must be true or false\n"),
            (
                "explain",
                r#"{"objects": "{}", "release": "1.99"}"#,
                "release: \"1.99\" is not a Kubernetes release from 1.22 to 1.37\n",
            ),
            ("lint", r#"{"objects": "{}", "skip": -1}"#, "skip: must be a number from 0\n"),
            ("explain_code", "{}", "code: is missing\n"),
        ] {
            let arguments: &RawValue = serde_json::from_str(arguments).unwrap();
            let result = call(tool, Some(arguments)).unwrap();
            assert_eq!((result.text.as_str(), result.is_error), (want, true));
        }
        assert!(call("delete", None).is_none());
    }
}
