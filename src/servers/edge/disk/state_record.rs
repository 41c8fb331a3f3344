//! A record of what a node proxy knows: a line of the files from which it starts again.

use std::fmt::Write;

use roster_engine::model::Resource;

use crate::servers::edge::{
    access::{access_table::AccessQuestion, caller::CallerDigest, digest::checksum},
    cache::raw_object::ObjectName,
    upstream::upstream_event::UpstreamObject,
};

/// How many digits of the checksum a line has: enough for damage, and short beside the text of an object.
pub(crate) const DIGITS: usize = 16;
/// The first word of the first record, with the version of the format.
const HEAD: &str = "roster-edge-state-v1";
/// The verbs of permissions.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// A record. On its line, a checksum precedes it.
///
/// ```text
/// CHECKSUM roster-edge-state-v1 GENERATION NODE
/// CHECKSUM put RESOURCE JSON
/// CHECKSUM delete RESOURCE NAMESPACE/NAME
/// CHECKSUM listed RESOURCE
/// CHECKSUM no-access
/// CHECKSUM access DIGEST VERB RESOURCE SECONDS NAMESPACE/NAME
/// CHECKSUM no-access DIGEST VERB RESOURCE SECONDS NAMESPACE/NAME
/// CHECKSUM end
/// ```
#[derive(Clone, Debug)]
pub(crate) enum StateRecord {
    /// The first record of a file: the format, its place in the order of files, and the node whose view it is.
    Head { generation: u64, node: String },
    /// The object is there, as it is now.
    Put(UpstreamObject),
    /// The object was deleted.
    Delete(Resource, ObjectName),
    /// All objects of the resource are known from here on.
    Listed(Resource),
    /// Permissions before this record do not count any more.
    NoAccess,
    /// A permission, and when the API server gave it, in seconds since 1970.
    Access(AccessQuestion, u64),
    /// The permission of these seconds does not count any more.
    AccessEnded(AccessQuestion, u64),
    /// The last record of a file that is whole.
    End,
}

/// Why a line is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DamagedRecord {
    #[error("a line is cut, or its checksum is wrong")]
    Checksum,
    #[error("it has another format")]
    Format,
}

impl StateRecord {
    /// Appends the line of the record.
    pub(crate) fn write(&self, out: &mut String) {
        let begin = out.len();
        // Writing to a string does not fail, here and below.
        let _ = match self {
            Self::Head { generation, node } => write!(out, "{HEAD} {generation} {}", node.replace('\n', " ")),
            Self::Put(object) => write!(out, "put {} {}", object.resource.plural(), object.text()),
            Self::Delete(resource, ObjectName { namespace, name }) => {
                write!(out, "delete {} {namespace}/{name}", resource.plural())
            }
            Self::Listed(resource) => write!(out, "listed {}", resource.plural()),
            Self::NoAccess => write!(out, "no-access"),
            Self::Access(question, at) => write_access("access", question, *at, out),
            Self::AccessEnded(question, at) => write_access("no-access", question, *at, out),
            Self::End => write!(out, "end"),
        };
        let sum = checksum(&out[begin..]);
        out.insert_str(begin, &format!("{} ", &sum[..DIGITS]));
        out.push('\n');
    }

    /// Reads a line, which ends with a line break. `Ok(None)`: it is whole, and of no use to this version. `node` is the name
    /// of the own node.
    pub(crate) fn read(line: &str, node: &str) -> Result<Option<Self>, DamagedRecord> {
        let line = line.strip_suffix('\n').ok_or(DamagedRecord::Checksum)?;
        let (sum, content) = line.split_once(' ').ok_or(DamagedRecord::Checksum)?;
        if sum.len() != DIGITS || !checksum(content).starts_with(sum) {
            return Err(DamagedRecord::Checksum);
        }
        let (what, rest) = content.split_once(' ').unwrap_or((content, ""));
        match what {
            "put" => Ok(read_object(rest, node).map(Self::Put)),
            "delete" => Ok(read_name(rest).map(|(resource, name)| Self::Delete(resource, name))),
            "listed" => Ok(resource(rest).map(Self::Listed)),
            "no-access" if rest.is_empty() => Ok(Some(Self::NoAccess)),
            "no-access" => Ok(read_access(rest).map(|(question, at)| Self::AccessEnded(question, at))),
            "access" => Ok(read_access(rest).map(|(question, at)| Self::Access(question, at))),
            "end" => Ok(Some(Self::End)),
            HEAD => read_head(rest).map(Some),
            _ => Err(DamagedRecord::Format),
        }
    }
}

fn resource(plural: &str) -> Option<Resource> {
    Resource::ALL.iter().find(|resource| resource.plural() == plural).copied()
}

fn read_head(text: &str) -> Result<StateRecord, DamagedRecord> {
    let (generation, node) = text.split_once(' ').ok_or(DamagedRecord::Format)?;
    let generation = generation.parse().map_err(|_| DamagedRecord::Format)?;
    Ok(StateRecord::Head { generation, node: node.to_owned() })
}

fn read_object(text: &str, node: &str) -> Option<UpstreamObject> {
    let (plural, text) = text.split_once(' ')?;
    UpstreamObject::read(resource(plural)?, text, node).ok()
}

fn read_name(text: &str) -> Option<(Resource, ObjectName)> {
    let (plural, name) = text.split_once(' ')?;
    let (namespace, name) = name.split_once('/')?;
    Some((resource(plural)?, ObjectName::new(namespace, name)))
}

fn write_access(what: &str, question: &AccessQuestion, at: u64, out: &mut String) -> std::fmt::Result {
    let AccessQuestion { caller, verb, resource, object: ObjectName { namespace, name } } = question;
    write!(out, "{what} {} {verb} {} {at} {namespace}/{name}", caller.to_hex(), resource.plural())
}

fn read_access(text: &str) -> Option<(AccessQuestion, u64)> {
    let mut parts = text.splitn(5, ' ');
    let caller = CallerDigest::from_hex(parts.next()?)?;
    let verb = parts.next()?;
    let verb = VERBS.into_iter().find(|known| *known == verb)?;
    let resource = resource(parts.next()?)?;
    let at = parts.next()?.parse().ok()?;
    let (namespace, name) = parts.next()?.split_once('/')?;
    Some((AccessQuestion { caller, verb, resource, object: ObjectName::new(namespace, name) }, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NODE: &str = "edge-1";

    fn line(record: &StateRecord) -> String {
        let mut text = String::new();
        record.write(&mut text);
        text
    }

    fn put(resource: Resource, object: &serde_json::Value) -> StateRecord {
        StateRecord::Put(UpstreamObject::read(resource, &object.to_string(), NODE).unwrap())
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let caller = CallerDigest::from_hex(&"0f".repeat(32)).unwrap();
        let object = ObjectName::new("shop", "");
        let question = AccessQuestion { caller, verb: "list", resource: Resource::Service, object };
        let service = json!({ "metadata": { "name": "web", "namespace": "shop" }, "future": [1, "é\n"] });
        let own = json!({ "metadata": { "name": NODE, "labels": { "a": "b" } }, "spec": { "podCIDR": "x" } });
        for record in [
            StateRecord::Head { generation: 7, node: NODE.to_owned() },
            put(Resource::Service, &service),
            put(Resource::Node, &own),
            put(Resource::Node, &json!({ "metadata": { "name": "other", "labels": { "a": "c" } } })),
            put(Resource::NodePool, &json!({ "metadata": { "name": "p" }, "status": { "nodes": [NODE] } })),
            StateRecord::Delete(Resource::EndpointSlice, ObjectName::new("shop", "web-1")),
            StateRecord::Delete(Resource::Node, ObjectName::new("", "other")),
            StateRecord::Listed(Resource::Namespace),
            StateRecord::NoAccess,
            StateRecord::Access(question.clone(), 1_800_000_000),
            StateRecord::AccessEnded(question, 1_800_000_000),
            StateRecord::End,
        ] {
            let written = line(&record);
            let read = StateRecord::read(&written, NODE).unwrap().unwrap();
            assert_eq!(line(&read), written);
        }
    }

    #[test]
    fn a_line_that_is_damaged_is_not_a_record() {
        let whole = line(&put(Resource::Service, &json!({ "metadata": { "name": "web", "namespace": "shop" } })));
        for end in 0..whole.len() {
            assert_eq!(StateRecord::read(&whole[..end], NODE).map(|_| ()), Err(DamagedRecord::Checksum), "{end}");
        }
        let other = whole.replace("shop", "shoq");
        assert_eq!(StateRecord::read(&other, NODE).map(|_| ()), Err(DamagedRecord::Checksum));
        let future = "seen services web";
        let future = format!("{} {future}\n", &checksum(future)[..DIGITS]);
        assert_eq!(StateRecord::read(&future, NODE).map(|_| ()), Err(DamagedRecord::Format));
    }
}
