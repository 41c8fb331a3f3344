//! The body of a review: an object, who writes it, and what is known of its cluster.

use serde_json::value::RawValue;

use super::{FieldError, FieldErrors, Found, REVIEW_FIELDS, RequestError, field_by_field};
use crate::{decode::Source, inventory::Inventory};

/// A request to review an object.
#[derive(Clone, Debug)]
pub struct ReviewRequest<'a> {
    /// The object as it was written.
    pub object: &'a RawValue,
    /// The object as it is stored; `None` if it is new.
    pub old_object: Option<&'a RawValue>,
    /// Who writes.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// Namespace of an object that does not say.
    pub namespace: String,
    /// Policies, unread.
    pub policies: Vec<&'a RawValue>,
    /// Namespaces, unread.
    pub namespaces: Vec<&'a RawValue>,
    /// What is known of the cluster: Services, pods, nodes, slices; and what was wrong with them.
    pub known: Inventory,
}

/// Reads `text`, which is JSON, within the limits of `source`; its format and its bytes are no matter here.
pub fn read_review<'a>(text: &'a str, source: &Source<'_>) -> Result<ReviewRequest<'a>, RequestError> {
    let Found { object, old_object, user, groups, namespace, policies, namespaces, objects: known, .. } =
        field_by_field::read(text, source, &REVIEW_FIELDS)?;
    let Some(object) = object else {
        let missing = FieldError { pointer: "/object".to_owned(), message: "is missing".to_owned() };
        return Err(FieldErrors { first: vec![missing], more: 0 }.into());
    };
    Ok(ReviewRequest { object, old_object, user, groups, namespace, policies, namespaces, known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_or_told() {
        let source = Source { name: "in", max_objects: 4, ..Source::body() };
        for (text, want) in [
            (
                r#"{"object":{"kind":"Service"},"user":"jane","groups":["a"],"pods":[{"metadata":{"name":"p"}}]}"#,
                Ok((1, 0)),
            ),
            (r#"{"object":{},"user":null,"pods":[5],"policies":null,"Pods":1}"#, Ok((0, 2))),
            (r#"{"object":5,"namespaces":[{}]}"#, Ok((0, 0))),
            (r#"{"object":{},"policies":[{},{},{},{}]}"#, Err("in:1:35: more than 4 objects")),
            (r#"{"object":{},"user":5}"#, Err("/user: invalid type: integer `5`, expected a string")),
            (r#"{"object":{},"policies":{}}"#, Err("/policies: invalid type: object, expected a list")),
            ("{}", Err("/object: is missing")),
            (r#"{"object":null}"#, Err("/object: is missing")),
            (r#"{"kind":"Service"}"#, Err("a Kubernetes object, or a list of them")),
            (
                "5",
                Err(
                    "a number, expected an object with object, oldObject, user, groups, namespace, policies, namespaces, \
                       services, pods, nodes, endpointSlices",
                ),
            ),
        ] {
            let got = read_review(text, &source);
            let got = got.map(|r| (r.known.len(), r.known.problems.as_slice().len())).map_err(|e| e.to_string());
            assert_eq!(got.as_ref().map_err(String::as_str), want.as_ref().map_err(|e| *e), "{text}");
        }
    }
}
