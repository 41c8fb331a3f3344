//! What a node proxy knew when it ended: the sum of its records.

use std::collections::BTreeMap;

use roster_engine::model::Resource;

use super::state_record::StateRecord;
use crate::servers::edge::{
    access::access_table::AccessQuestion,
    cache::raw_object::ObjectName,
    upstream::upstream_event::{UpstreamEvent, UpstreamObject},
};

/// The objects of the API server, and who may read them.
#[derive(Debug, Default)]
pub(crate) struct SavedState {
    objects: BTreeMap<(Resource, ObjectName), UpstreamObject>,
    /// The resources whose objects are all known, in order. Of another one, an object that is missing may well exist.
    listed: Vec<Resource>,
    /// Permissions, and when the API server gave them, in seconds since 1970.
    pub(crate) permissions: BTreeMap<AccessQuestion, u64>,
}

impl SavedState {
    /// Takes the next record.
    pub(crate) fn take(&mut self, record: StateRecord) {
        match record {
            StateRecord::Put(object) => {
                self.objects.insert((object.resource, object.name.clone()), object);
            }
            StateRecord::Delete(resource, name) => {
                self.objects.remove(&(resource, name));
            }
            StateRecord::Listed(resource) => {
                if let Err(place) = self.listed.binary_search(&resource) {
                    self.listed.insert(place, resource);
                }
            }
            StateRecord::NoAccess => self.permissions.clear(),
            StateRecord::Access(question, at) => {
                self.permissions.insert(question, at);
            }
            StateRecord::AccessEnded(question, _) => {
                self.permissions.remove(&question);
            }
            StateRecord::Head { .. } | StateRecord::End => {}
        }
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The objects as lists of the resources that were listed.
    pub(crate) fn into_lists(self) -> Vec<UpstreamEvent> {
        let mut lists: Vec<(Resource, Vec<UpstreamObject>)> =
            self.listed.into_iter().map(|resource| (resource, Vec::new())).collect();
        for ((resource, _), object) in self.objects {
            if let Some((_, list)) = lists.iter_mut().find(|(listed, _)| *listed == resource) {
                list.push(object);
            }
        }
        lists.into_iter().map(|(resource, list)| UpstreamEvent::Replace(resource, list)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::servers::edge::access::caller::CallerDigest;

    fn put(resource: Resource, name: &str) -> StateRecord {
        let object = json!({ "metadata": { "name": name, "namespace": "n" } });
        StateRecord::Put(UpstreamObject::read(resource, &object.to_string(), "edge-1").unwrap())
    }

    #[test]
    fn a_state_is_the_sum_of_its_records() {
        let question = |verb| AccessQuestion {
            caller: CallerDigest::from_hex(&"0f".repeat(32)).unwrap(),
            verb,
            resource: Resource::Service,
            object: ObjectName::default(),
        };
        let mut state = SavedState::default();
        for record in [
            StateRecord::Head { generation: 0, node: "edge-1".to_owned() },
            put(Resource::Service, "a"),
            put(Resource::Service, "b"),
            put(Resource::Service, "b"),
            put(Resource::EndpointSlice, "a-1"),
            StateRecord::Listed(Resource::Service),
            StateRecord::Listed(Resource::Namespace),
            StateRecord::Access(question("get"), 1),
            StateRecord::NoAccess,
            StateRecord::Access(question("list"), 2),
            StateRecord::Access(question("watch"), 2),
            StateRecord::AccessEnded(question("watch"), 2),
            StateRecord::Delete(Resource::Service, ObjectName::new("n", "a")),
            StateRecord::Delete(Resource::Service, ObjectName::new("n", "none")),
        ] {
            state.take(record);
        }
        assert_eq!(state.permissions, BTreeMap::from([(question("list"), 2)]));
        // Slices were not listed: a proxy that started from them would serve Services without endpoints.
        let lists = state.into_lists().into_iter().map(|list| match list {
            UpstreamEvent::Replace(resource, all) => {
                (resource, all.iter().map(|object| object.name.name.to_string()).collect())
            }
            other => panic!("{other:?}"),
        });
        let want: [(_, Vec<String>); 2] = [(Resource::Service, vec!["b".to_owned()]), (Resource::Namespace, vec![])];
        assert_eq!(lists.collect::<Vec<_>>(), want);
    }
}
