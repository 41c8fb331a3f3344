//! What a node proxy knows, as a text from which it starts again without the API server.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use super::{
    access_table::AccessQuestion,
    caller::TokenDigest,
    digest::checksum,
    node_state::NodeState,
    raw_object::ObjectName,
    scheme::Scheme,
    upstream_event::{UpstreamEvent, UpstreamObject},
};
use crate::model::Resource;

/// The first line: what the text is, and its version.
const HEAD: &str = "roster edge state v1";
/// The verbs of permissions.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// The objects of the API server, and who may read them.
#[derive(Debug, Default)]
pub(super) struct SavedState {
    pub(super) objects: Vec<UpstreamObject>,
    /// Permissions, and how old they are.
    pub(super) permissions: Vec<(AccessQuestion, Duration)>,
}

impl SavedState {
    /// The text. `node` is the name of the node, and `now` the time in seconds since 1970.
    ///
    /// ```text
    /// roster edge state v1
    /// NODE
    /// access DIGEST VERB RESOURCE SECONDS NAMESPACE/NAME
    /// RESOURCE JSON
    /// CHECKSUM
    /// ```
    pub(super) fn encode(&self, node: &str, now: u64) -> String {
        let mut text = format!("{HEAD}\n{node}\n");
        // Writing to a string does not fail.
        for (AccessQuestion { token, verb, resource, object }, age) in &self.permissions {
            let (token, at) = (token.to_hex(), now.saturating_sub(age.as_secs()));
            let ObjectName { namespace, name } = object;
            let _ = writeln!(text, "access {token} {verb} {} {at} {namespace}/{name}", resource.plural());
        }
        for object in &self.objects {
            let _ = writeln!(text, "{} {}", object.resource.plural(), object.text());
        }
        let checksum = checksum(&text);
        text + &checksum + "\n"
    }

    /// Reads a text. The error says why it is not used; an object that cannot be read is left out.
    pub(super) fn decode(text: &str, node: &str, now: u64) -> Result<Self, &'static str> {
        let content = text.strip_suffix('\n').ok_or("it is cut")?;
        let (content, sum) = content.rsplit_once('\n').ok_or("it is cut")?;
        let content = &text[..=content.len()];
        if !content.starts_with(HEAD) {
            return Err("it has another format");
        }
        if sum != checksum(content) {
            return Err("its checksum is wrong");
        }
        let mut lines = content.lines().skip(1);
        if lines.next() != Some(node) {
            return Err("it is of another node");
        }
        let mut state = Self::default();
        for line in lines {
            let Some((what, rest)) = line.split_once(' ') else { continue };
            if what == "access" {
                state.permissions.extend(read_permission(rest, now));
            } else {
                let resource = Resource::ALL.iter().find(|resource| resource.plural() == what);
                state.objects.extend(resource.and_then(|r| UpstreamObject::read(*r, rest, node).ok()));
            }
        }
        Ok(state)
    }

    /// The objects as a list of each resource that the scheme needs.
    pub(super) fn into_lists(self, scheme: Scheme) -> Vec<UpstreamEvent> {
        let mut lists: BTreeMap<Resource, Vec<UpstreamObject>> =
            NodeState::watched(scheme).map(|resource| (resource, Vec::new())).collect();
        for object in self.objects {
            if let Some(list) = lists.get_mut(&object.resource) {
                list.push(object);
            }
        }
        lists.into_iter().map(|(resource, list)| UpstreamEvent::Replace(resource, list)).collect()
    }
}

fn read_permission(line: &str, now: u64) -> Option<(AccessQuestion, Duration)> {
    let mut parts = line.splitn(5, ' ');
    let token = TokenDigest::from_hex(parts.next()?)?;
    let verb = parts.next()?;
    let verb = VERBS.into_iter().find(|known| *known == verb)?;
    let plural = parts.next()?;
    let resource = Resource::ALL.iter().find(|resource| resource.plural() == plural).copied()?;
    let at: u64 = parts.next()?.parse().ok()?;
    let (namespace, name) = parts.next()?.split_once('/')?;
    let question = AccessQuestion { token, verb, resource, object: ObjectName::new(namespace, name) };
    // A clock that was set back makes them young again: they last a day from now at most.
    Some((question, Duration::from_secs(now.saturating_sub(at))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NODE: &str = "edge-1";
    const NOW: u64 = 1_800_000_000;

    fn state() -> SavedState {
        let objects = [
            (Resource::Service, json!({ "metadata": { "name": "web", "namespace": "shop" }, "future": [1, "é"] })),
            (
                Resource::EndpointSlice,
                json!({ "metadata": { "name": "web-1", "namespace": "shop" }, "endpoints": [{ "addresses": ["10.0.0.1"] }] }),
            ),
            (
                Resource::Node,
                json!({ "metadata": { "name": NODE, "labels": { "a": "b" } }, "spec": { "podCIDR": "x" } }),
            ),
            (Resource::Node, json!({ "metadata": { "name": "other", "labels": { "a": "c" } } })),
            (Resource::NodePool, json!({ "metadata": { "name": "p" }, "status": { "nodes": [NODE] } })),
        ];
        let objects = objects.map(|(resource, o)| UpstreamObject::read(resource, &o.to_string(), NODE).unwrap());
        let token = TokenDigest::from_hex(&"0f".repeat(32)).unwrap();
        let object = ObjectName::new("shop", "");
        let question = AccessQuestion { token, verb: "list", resource: Resource::Service, object };
        SavedState { objects: objects.into(), permissions: vec![(question, Duration::from_mins(1))] }
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let text = state().encode(NODE, NOW);
        let read = SavedState::decode(&text, NODE, NOW + 5).unwrap();
        let texts = |state: &SavedState| state.objects.iter().map(|o| o.text().into_owned()).collect::<Vec<_>>();
        assert_eq!(texts(&read), texts(&state()));
        assert_eq!(
            read.permissions,
            state().permissions.into_iter().map(|(q, _)| (q, Duration::from_secs(65))).collect::<Vec<_>>()
        );
        let lists = read.into_lists(Scheme::SuperEdge);
        let sizes: Vec<_> = lists
            .iter()
            .map(|list| match list {
                UpstreamEvent::Replace(resource, objects) => (*resource, objects.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        let want = [
            (Resource::Service, 1),
            (Resource::Node, 2),
            (Resource::Endpoints, 0),
            (Resource::EndpointSlice, 1),
            (Resource::Namespace, 0),
        ];
        assert_eq!(sizes, want);
    }

    #[test]
    fn a_text_that_is_damaged_is_not_used() {
        let whole = state().encode(NODE, NOW);
        for (text, node, want) in [
            (String::new(), NODE, "it is cut"),
            (whole[..whole.len() - 1].to_owned(), NODE, "it is cut"),
            (whole[..whole.len() / 2].to_owned() + "\n", NODE, "its checksum is wrong"),
            (whole.replace("10.0.0.1", "10.0.0.9"), NODE, "its checksum is wrong"),
            (whole.replace("state v1", "state v9"), NODE, "it has another format"),
            (whole.clone(), "edge-2", "it is of another node"),
        ] {
            assert_eq!(SavedState::decode(&text, node, NOW).map(|_| ()), Err(want));
        }
        // Cut at any byte, it is refused.
        for end in 0..whole.len() {
            let part = String::from_utf8_lossy(&whole.as_bytes()[..end]);
            assert!(SavedState::decode(&part, NODE, NOW).is_err(), "{end}");
        }
    }
}
