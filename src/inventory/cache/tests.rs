//! What is answered from a copy that is old.

use serde_json::json;

use super::{
    Event, Kind, Object, Store,
    store::{NOT_SYNCED, OLD},
};
use crate::{
    admission::{Knowledge, Known, Place},
    model::Labels,
};

const KINDS: [Kind; 5] = [Kind::Pod, Kind::Service, Kind::Node, Kind::Slice, Kind::Namespace];

/// Every question, with the kind it is about and why it has no answer.
fn blind(store: &Store) -> [(Kind, Option<&'static str>); 5] {
    fn why<T>(known: &Known<T>) -> Option<&'static str> {
        match known {
            Known::Yes(_) => None,
            Known::No(why) => Some(*why),
        }
    }
    let place = Place { namespace: "shop", service: "web", slice: "a", ports: &[], address: "10.0.0.1" };
    [
        (Kind::Service, why(&store.service("shop", "web"))),
        (Kind::Pod, why(&store.pods("shop", &Labels::default(), &mut |_| true))),
        (Kind::Pod, why(&store.is_pod_address("shop", [10, 0, 0, 1].into()))),
        (Kind::Node, why(&store.is_zone("a"))),
        (Kind::Slice, why(&store.other_slice(&place))),
    ]
}

#[test]
fn nothing_is_known_of_a_kind_whose_watch_is_lost_until_it_is_listed() {
    for lost in KINDS {
        let store = Store::new();
        store.take(Event::Lost(lost));
        assert!(blind(&store).iter().all(|(_, why)| *why == Some(NOT_SYNCED)), "{lost:?}");
        for kind in KINDS {
            store.take(Event::Replace(kind, Vec::new()));
        }
        assert!(blind(&store).iter().all(|(_, why)| why.is_none()), "{lost:?}");

        store.take(Event::Lost(lost));
        for (kind, why) in blind(&store) {
            assert_eq!(why, (kind == lost).then_some(OLD), "{kind:?} of {lost:?}");
        }
        assert!(store.synced(), "an old copy is no reason to take a replica out of its Service");

        for other in KINDS.into_iter().filter(|k| *k != lost) {
            store.take(Event::Replace(other, Vec::new()));
        }
        for (kind, why) in blind(&store) {
            assert_eq!(why, (kind == lost).then_some(OLD), "{kind:?} of {lost:?}");
        }
        store.take(Event::Replace(lost, Vec::new()));
        assert!(blind(&store).iter().all(|(_, why)| why.is_none()), "{lost:?}");
    }
}

#[test]
fn labels_of_namespaces_stay_as_they_were_last_known() {
    let labels: Labels = serde_json::from_value(json!({ "tier": "gold" })).unwrap();
    let store = Store::new();
    store.take(Event::Replace(Kind::Namespace, vec![Object::Namespace("shop".into(), labels.clone())]));
    store.take(Event::Lost(Kind::Namespace));
    assert_eq!(store.namespace_labels("shop"), Some(labels));
}
