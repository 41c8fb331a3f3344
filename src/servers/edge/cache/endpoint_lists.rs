//! The endpoints in the text of an Endpoints object or an EndpointSlice, each with its place in the text.

use std::ops::Range;

use roster_engine::model::{
    Resource, Text,
    json::raw::{JsonMembers, JsonNode},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_text::{write_member, write_members};

/// The lists of endpoints in a text, and the endpoints in them.
#[derive(Debug, Default)]
pub(crate) struct EndpointLists {
    /// Where the members begin that a local API server replaces: the ports and endpoints of a slice, or the subsets.
    pub(super) tail_at: usize,
    pub(crate) lists: Vec<EndpointList>,
    pub(crate) endpoints: Vec<RawEndpoint>,
}

/// A list of endpoints: its text between the brackets, and which of the endpoints are in it.
#[derive(Debug)]
pub(crate) struct EndpointList {
    pub(crate) text: Range<usize>,
    pub(crate) endpoints: Range<usize>,
}

/// An endpoint: its text, and what a scheme reads of it.
#[derive(Debug)]
pub(crate) struct RawEndpoint {
    pub(crate) text: Range<usize>,
    /// Its first address; empty if it has none.
    pub(crate) address: Text,
    pub(crate) node: Option<Text>,
    pub(crate) ready: bool,
}

/// The fields of an address of Endpoints, or of an endpoint of a slice, that a scheme reads.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EndpointFields {
    ip: Option<Text>,
    addresses: Option<Vec<Text>>,
    node_name: Option<Text>,
    conditions: Option<ConditionFields>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionFields {
    ready: Option<bool>,
}

impl EndpointLists {
    /// The members of an object of the resource that [`EndpointLists::write`] writes.
    pub(crate) fn members(resource: Resource) -> &'static [&'static str] {
        match resource {
            Resource::EndpointSlice => &["ports", "endpoints"],
            Resource::Endpoints => &["subsets"],
            _ => &[],
        }
    }

    /// Writes those members, and returns where the endpoints are. `None`: the resource has none.
    pub(crate) fn write(
        resource: Resource,
        members: &JsonMembers<'_>,
        out: &mut String,
    ) -> Result<Option<Self>, String> {
        let mut lists = Self { tail_at: out.len(), ..Self::default() };
        match resource {
            Resource::EndpointSlice => {
                if let Some(ports) = members.get("ports") {
                    out.push(',');
                    write_member(out, "ports", ports);
                }
                out.push(',');
                lists.write_list("endpoints", members.get("endpoints"), true, out)?;
            }
            Resource::Endpoints => lists.write_subsets(members.get("subsets"), out)?,
            _ => return Ok(None),
        }
        lists.lists.shrink_to_fit();
        lists.endpoints.shrink_to_fit();
        Ok(Some(lists))
    }

    fn write_subsets(&mut self, subsets: Option<&JsonNode<'_>>, out: &mut String) -> Result<(), String> {
        let Some(subsets) = elements(subsets, "subsets")? else { return Ok(()) };
        out.push_str(r#","subsets":["#);
        for (i, subset) in subsets.into_iter().enumerate() {
            out.push_str(if i > 0 { ",{" } else { "{" });
            let subset = JsonMembers::read(subset).map_err(|_| "has a subset that is not an object".to_owned())?;
            for (name, ready) in [("addresses", true), ("notReadyAddresses", false)] {
                if subset.get(name).is_some_and(|list| !list.is_null()) {
                    self.write_list(name, subset.get(name), ready, out)?;
                    out.push(',');
                }
            }
            write_members(out, subset.iter().filter(|(name, _)| !["addresses", "notReadyAddresses"].contains(name)));
            if out.ends_with(',') {
                out.pop();
            }
            out.push('}');
        }
        out.push(']');
        Ok(())
    }

    /// Writes a member with endpoints. `ready` is what the list says of them; a slice says more itself.
    fn write_list(
        &mut self,
        name: &str,
        list: Option<&JsonNode<'_>>,
        ready: bool,
        out: &mut String,
    ) -> Result<(), String> {
        out.push('"');
        out.push_str(name);
        out.push_str("\":[");
        let (begin, first) = (out.len(), self.endpoints.len());
        for (i, endpoint) in elements(list, name)?.unwrap_or_default().into_iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            let at = out.len();
            out.push_str(endpoint.get());
            let fields: Option<EndpointFields> =
                serde_json::from_str(endpoint.get()).map_err(|_| format!("has {name} that cannot be read"))?;
            self.endpoints.push(RawEndpoint::new(at..out.len(), fields.unwrap_or_default(), ready));
        }
        self.lists.push(EndpointList { text: begin..out.len(), endpoints: first..self.endpoints.len() });
        out.push(']');
        Ok(())
    }
}

impl RawEndpoint {
    fn new(text: Range<usize>, fields: EndpointFields, ready: bool) -> Self {
        let EndpointFields { ip, addresses, node_name, conditions } = fields;
        let address = ip.or_else(|| addresses.and_then(|a| a.into_iter().next())).unwrap_or_default();
        Self { text, address, node: node_name, ready: conditions.and_then(|c| c.ready).unwrap_or(ready) }
    }
}

/// The elements of a list; `None` if there is none.
fn elements<'a>(list: Option<&JsonNode<'a>>, name: &str) -> Result<Option<Vec<&'a RawValue>>, String> {
    match list {
        Some(JsonNode::Raw(raw)) => {
            serde_json::from_str(raw.get()).map_err(|_| format!("has {name} that are not a list"))
        }
        _ => Ok(None),
    }
}
