//! A server's copy of a cluster: what it answers before, between and after the lists of a watch.

use serde_json::json;

use super::{
    IndexReader, NamespaceRow, Store,
    store::{NOT_SYNCED, STALE},
};
use crate::{
    admission::{Knowledge, SliceEndpoint, Unknown},
    model::{EndpointSlice, Labels, Node, Pod, PodPhase, Service},
};

fn pod(namespace: &str, name: &str, ip: &str) -> Pod {
    let text = json!({
        "metadata": { "namespace": namespace, "name": name, "labels": { "app": name } },
        "status": { "podIP": ip, "podIPs": [{ "ip": ip }] },
    });
    serde_json::from_value(text).unwrap()
}

fn node(name: &str, zone: &str) -> Node {
    let text = json!({ "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone } } });
    serde_json::from_value(text).unwrap()
}

fn slice(name: &str, addresses: &[&str]) -> EndpointSlice {
    let text = json!({
        "metadata": { "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4",
        "endpoints": addresses.iter().map(|a| json!({ "addresses": [a] })).collect::<Vec<_>>(),
    });
    serde_json::from_value(text).unwrap()
}

/// Whether a pod of the namespace has the address.
#[expect(clippy::unwrap_in_result, reason = "the addresses are constants")]
fn knows(store: &Store, namespace: &str, ip: &str) -> Result<bool, Unknown> {
    store.pod_network(namespace, ip.parse().unwrap()).map(|network| network.is_some())
}

type Change = fn(&Store);

/// For each resource: an empty list of it, and the loss of its watch.
const RESOURCES: [(&str, Change, Change); 5] = [
    ("services", |s| s.fill::<Service>(Vec::new()), Store::lose::<Service>),
    ("pods", |s| s.fill::<Pod>(Vec::new()), Store::lose::<Pod>),
    ("nodes", |s| s.fill::<Node>(Vec::new()), Store::lose::<Node>),
    ("endpointslices", |s| s.fill::<EndpointSlice>(Vec::new()), Store::lose::<EndpointSlice>),
    ("namespaces", |s| s.fill::<NamespaceRow>(Vec::new()), Store::lose::<NamespaceRow>),
];

/// Every question, with the resource it is about and why it has no answer.
fn unknown(store: &Store) -> [(&'static str, Option<Unknown>); 5] {
    let endpoint = SliceEndpoint { namespace: "shop", service: "web", slice: "a", ports: &[], address: "10.0.0.1" };
    [
        ("services", store.service("shop", "web").err()),
        ("pods", store.pods("shop", &Labels::default(), &mut |_| true).err()),
        ("pods", store.pod_network("shop", [10, 0, 0, 1].into()).err()),
        ("nodes", store.is_zone("a").err()),
        ("endpointslices", store.other_slice(&endpoint).err()),
    ]
}

#[test]
fn nothing_is_known_before_the_first_list() {
    let store = Store::new();
    store.apply(pod("shop", "a", "10.0.0.1"));
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Err(NOT_SYNCED));
    for (_, list, _) in RESOURCES {
        assert!(!store.synced());
        list(&store);
    }
    assert!(store.synced());
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(false));
}

#[test]
fn addresses_belong_to_pods_of_their_namespace_until_the_last_one_goes() {
    let store = Store::new();
    store.fill(vec![pod("shop", "a", "10.0.0.1"), pod("shop", "b", "010.0.0.1")]);
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(true));
    assert_eq!(knows(&store, "shop", "::ffff:10.0.0.1"), Ok(true));
    assert_eq!(knows(&store, "other", "10.0.0.1"), Ok(false));
    // The pod has another address now.
    store.apply(pod("shop", "a", "10.0.0.2"));
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(true));
    store.delete(pod("shop", "b", ""));
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(false));
    assert_eq!(knows(&store, "shop", "10.0.0.2"), Ok(true));
    store.fill(vec![pod("shop", "c", "10.0.0.3")]);
    assert_eq!(knows(&store, "shop", "10.0.0.2"), Ok(false));
    let mut names = Vec::new();
    let selector: Labels = serde_json::from_value(json!({ "app": "c" })).unwrap();
    let asked = store.pods("shop", &selector, &mut |p| {
        names.push(p.name.to_owned());
        true
    });
    assert_eq!((asked, names), (Ok(()), vec!["c".to_owned()]));
}

#[test]
fn zones_and_slices_follow_their_objects() {
    let store = Store::new();
    store.fill(vec![node("n1", "a"), node("n2", "a")]);
    store.delete(node("n1", ""));
    assert_eq!(store.is_zone("a"), Ok(true));
    store.apply(node("n2", "b"));
    assert_eq!((store.is_zone("a"), store.is_zone("b")), (Ok(false), Ok(true)));

    let other = |slice: &str, address: &str| {
        store.other_slice(&SliceEndpoint { namespace: "shop", service: "web", slice, ports: &[], address })
    };
    store.fill(vec![slice("one", &["10.0.0.1"]), slice("two", &["10.0.0.1", "10.0.0.2"])]);
    assert_eq!(other("one", "10.0.0.1"), Ok(Some("two".to_owned())));
    assert_eq!(other("two", "10.0.0.2"), Ok(None));
    store.apply(slice("two", &["10.0.0.2"]));
    assert_eq!(other("one", "10.0.0.1"), Ok(None));
}

#[test]
fn nothing_remains_of_deleted_objects() {
    let service =
        || -> Service { serde_json::from_value(json!({ "metadata": { "namespace": "shop", "name": "a" } })).unwrap() };
    let store = Store::new();
    for (_, list, _) in RESOURCES {
        list(&store);
    }
    store.apply(pod("shop", "a", "10.0.0.1"));
    store.apply(service());
    store.apply(slice("a", &["10.0.0.1"]));
    store.delete(pod("shop", "a", "10.0.0.1"));
    store.delete(service());
    store.delete(slice("a", &["10.0.0.1"]));
    let remains = store.read(|index| {
        let (pods, slices) = (index.pods.known().unwrap(), index.slices.known().unwrap());
        let rows = [pods.rows().len(), index.services.known().unwrap().rows().len(), slices.rows().len()];
        (rows, pods.lookup().namespaces(), slices.lookup().len())
    });
    assert_eq!(remains, ([0, 0, 0], 0, 0));
}

#[test]
fn stored_objects_are_small() {
    let text = json!({
        "metadata": { "namespace": "shop", "name": "a", "annotations": { "note": "x".repeat(200_000) } },
        "spec": { "clusterIP": "None" },
    });
    let object = || -> Service { serde_json::from_value(text.clone()).unwrap() };
    let store = Store::new();
    for change in [|store: &Store, o| store.fill::<Service>(vec![o]), Store::apply::<Service>] {
        change(&store, object());
        assert!(format!("{store:?}").len() < 2_000);
        let service = store.service("shop", "a").unwrap();
        assert!(service.is_some_and(|s| s.declared_headless()));
    }
}

#[test]
fn a_pod_that_has_ended_has_no_address() {
    let store = Store::new();
    store.fill(vec![pod("shop", "a", "10.0.0.1")]);
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(true));
    store.apply(Pod { phase: PodPhase::Succeeded, ..pod("shop", "a", "10.0.0.1") });
    assert_eq!(knows(&store, "shop", "10.0.0.1"), Ok(false));
}

#[test]
fn nothing_is_known_of_a_resource_whose_watch_fails_until_it_is_listed() {
    for (lost, list, lose) in RESOURCES {
        let store = Store::new();
        lose(&store);
        assert!(unknown(&store).iter().all(|(_, why)| *why == Some(NOT_SYNCED)), "{lost}");
        for (_, list, _) in RESOURCES {
            list(&store);
        }
        assert!(unknown(&store).iter().all(|(_, why)| why.is_none()), "{lost}");

        lose(&store);
        let is_stale = || {
            for (resource, why) in unknown(&store) {
                assert_eq!(why, (resource == lost).then_some(STALE), "{resource} of {lost}");
            }
        };
        is_stale();
        assert!(store.synced(), "an old copy is not a reason to take a replica out of its Service");
        for (_, list_other, _) in RESOURCES.iter().filter(|(resource, ..)| *resource != lost) {
            list_other(&store);
        }
        is_stale();
        list(&store);
        assert!(unknown(&store).iter().all(|(_, why)| why.is_none()), "{lost}");
    }
}

#[test]
fn labels_of_namespaces_stay_as_they_were_last_known() {
    let labels: Labels = serde_json::from_value(json!({ "tier": "gold" })).unwrap();
    let store = Store::new();
    store.fill(vec![NamespaceRow::new("shop", labels.clone())]);
    store.lose::<NamespaceRow>();
    assert_eq!(store.namespace_labels("shop"), Some(labels));
}
