//! A server's copy of a cluster: what it answers before, between and after the lists of a watch.

use std::sync::Arc;

use roster_admission::{Knowledge, KnownClusterIp, ListedSlice, OtherSlices, PodNetwork, Unknown};
use roster_engine::model::{EndpointSlice, Labels, Node, Pod, PodPhase, Service};
use serde_json::json;

use super::{
    Answers, IndexReader, Loss, NamespaceRow, Sink, Store,
    store::{NOT_SYNCED, STALE},
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
    Answers(&store).pod_network(namespace, ip.parse().unwrap()).map(|network| network.is_some())
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
    let slice = ListedSlice { namespace: "shop", service: "web", name: "a", ports: &[], addresses: &["10.0.0.1"] };
    [
        ("services", Answers(&store).service("shop", "web").err()),
        ("pods", Answers(&store).live_pods("shop", &Labels::default(), false).err()),
        ("pods", Answers(&store).pod_network("shop", [10, 0, 0, 1].into()).err()),
        ("nodes", Answers(&store).is_zone("a").err()),
        ("endpointslices", Answers(&store).other_slices(&slice).err()),
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
    let selected = |app: &str| {
        let selector: Labels = serde_json::from_value(json!({ "app": app })).unwrap();
        Answers(&store).live_pods("shop", &selector, false).map(|pods| pods.count)
    };
    assert_eq!((selected("c"), selected("a")), (Ok(1), Ok(0)));
}

/// Two copies at once would double the memory.
#[test]
fn a_later_list_changes_the_copy_in_place() {
    let store = Arc::new(Store::new());
    let mut sink = store.sink(|text| serde_json::from_str::<Pod>(text));
    let text = |name: &str, ip: &str| {
        json!({ "metadata": { "namespace": "shop", "name": name }, "status": { "podIPs": [{ "ip": ip }] } }).to_string()
    };
    let known = |store: &Store| ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|ip| knows(store, "shop", ip));
    sink.begin_list();
    sink.list(sink.row(&text("a", "10.0.0.9")).unwrap());
    // It begins again: the first one was not complete.
    sink.begin_list();
    for (name, ip) in [("b", "10.0.0.2"), ("a", "10.0.0.1")] {
        sink.list(sink.row(&text(name, ip)).unwrap());
    }
    assert_eq!(known(&store), [Err(NOT_SYNCED); 3]);
    sink.end_list();
    assert_eq!(known(&store), [Ok(true), Ok(true), Ok(false)]);
    sink.begin_list();
    for (name, ip) in [("b", "10.0.0.2"), ("c", "10.0.0.3")] {
        sink.list(sink.row(&text(name, ip)).unwrap());
    }
    assert_eq!(known(&store), [Ok(true), Ok(true), Ok(false)], "until the end of the list");
    sink.end_list();
    assert_eq!(known(&store), [Ok(false), Ok(true), Ok(true)]);
    sink.lost(Loss::Stale);
    sink.begin_list();
    sink.list(sink.row(&text("c", "10.0.0.1")).unwrap());
    assert_eq!(known(&store), [Err(STALE); 3]);
    sink.end_list();
    assert_eq!(known(&store), [Ok(true), Ok(false), Ok(false)]);
}

#[test]
fn zones_and_slices_follow_their_objects() {
    let store = Store::new();
    store.fill(vec![node("n1", "a"), node("n2", "a")]);
    store.delete(node("n1", ""));
    assert_eq!(Answers(&store).is_zone("a"), Ok(true));
    store.apply(node("n2", "b"));
    assert_eq!((Answers(&store).is_zone("a"), Answers(&store).is_zone("b")), (Ok(false), Ok(true)));

    let other = |name: &str, address: &str| {
        let slice = ListedSlice { namespace: "shop", service: "web", name, ports: &[], addresses: &[address] };
        Answers(&store)
            .other_slices(&slice)
            .map(|others| others.names.into_iter().flatten().next().map(|name| name.to_string()))
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
        let (pods, slices) = (index.live.pods.known().unwrap(), index.live.slices.known().unwrap());
        let rows = [pods.rows().len(), index.live.services.known().unwrap().rows().len(), slices.rows().len()];
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
        let service = Answers(&store).service("shop", "a").unwrap();
        assert!(service.is_some_and(|s| s.cluster_ip == KnownClusterIp::Headless));
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

#[test]
fn pods_are_counted_in_steps() {
    let store = Store::new();
    let with_port = json!({ "spec": { "containers": [{ "ports": [{ "name": "http", "containerPort": 80 }] }] } });
    let with_port: Pod = serde_json::from_value(with_port).unwrap();
    let many = |namespace: &str, count: usize| {
        let named = |i: usize| Pod { ports: with_port.ports.clone(), ..pod(namespace, &format!("p{i}"), "") };
        (0..count).map(named).collect::<Vec<_>>()
    };
    let mut pods = [many("a", 3), many("shop", 5000), many("z", 3)].concat();
    pods.push(Pod { phase: PodPhase::Failed, ..pod("shop", "ended", "") });
    store.fill(pods);
    let found = Answers(&store).live_pods("shop", &Labels::default(), false).unwrap();
    let counted: usize = found.ports.iter().map(|(_, count)| count).sum();
    assert_eq!((found.count, counted), (5000, 5000));
    assert_eq!(Answers(&store).live_pods("shop", &Labels::default(), true).unwrap().count, 1);
    assert_eq!(Answers(&store).live_pods("none", &Labels::default(), false).unwrap().count, 0);
}

/// The more pairs a selector has, the fewer pods are compared with it at once.
#[test]
fn pods_are_counted_whatever_the_number_of_pairs() {
    let labels = |count: usize| -> Labels {
        serde_json::from_value((0..count).map(|i| (format!("k{i}"), json!("v"))).collect()).unwrap()
    };
    let store = Store::new();
    let labelled = |i: usize| {
        let mut pod = pod("shop", &format!("p{i}"), "");
        pod.labels = labels(if i.is_multiple_of(2) { 1000 } else { 10 }).into();
        pod
    };
    store.fill((0..100).map(labelled).collect::<Vec<_>>());
    for (pairs, want) in [(0, 100), (10, 100), (11, 50), (1000, 50), (1001, 0)] {
        let found = Answers(&store).live_pods("shop", &labels(pairs), false).unwrap();
        assert_eq!((found.count, found.is_cut), (want, false), "{pairs}");
    }
}

#[test]
fn the_address_of_a_pod_that_is_also_one_of_a_node_says_so() {
    let store = Store::new();
    let node = |address: &str| -> Node {
        let text = json!({ "metadata": { "name": "n" }, "status": { "addresses": [
            { "type": "Hostname", "address": "n" }, { "type": "InternalIP", "address": address },
        ] } });
        serde_json::from_value(text).unwrap()
    };
    store.fill(vec![pod("shop", "a", "10.0.0.1"), pod("shop", "b", "10.0.0.2")]);
    let network = |ip: [u8; 4]| Answers(&store).pod_network("shop", ip.into());
    assert_eq!(network([10, 0, 0, 1]), Ok(Some(PodNetwork::Pod)));
    store.fill(vec![node("::ffff:10.0.0.1")]);
    assert_eq!(network([10, 0, 0, 1]), Ok(Some(PodNetwork::Node)));
    assert_eq!(network([10, 0, 0, 2]), Ok(Some(PodNetwork::Pod)));
    // What is known of nodes counts until they are listed again.
    store.lose::<Node>();
    assert_eq!(network([10, 0, 0, 1]), Ok(Some(PodNetwork::Node)));
    store.fill(vec![node("10.0.0.9")]);
    assert_eq!(network([10, 0, 0, 1]), Ok(Some(PodNetwork::Pod)));
}

#[test]
fn a_pod_lacks_an_address_only_if_its_own_are_known() {
    let store = Store::new();
    let host = Pod { host_network: true, ..pod("shop", "host", "10.0.0.3") };
    let mut unknown = pod("shop", "new", "");
    unknown.ips.clear();
    store.fill(vec![pod("shop", "a", "10.0.0.1"), host, unknown]);
    for (name, ip, want) in [
        ("a", [10, 0, 0, 1], false),
        ("a", [10, 0, 0, 2], true),
        ("host", [10, 0, 0, 2], false),
        ("new", [10, 0, 0, 2], false),
        ("none", [10, 0, 0, 2], false),
    ] {
        assert_eq!(Answers(&store).lacks_address("shop", name, ip.into()), Ok(want), "{name} {ip:?}");
    }
}

/// Thirty slices of a thousand addresses and twenty thousand ports, and as many names of slices for one address as it takes.
#[test]
fn other_slices_are_compared_until_the_budget_ends() {
    let names = |letter: char, count: usize| (0..count).map(|i| format!("{letter}{i}")).collect::<Vec<_>>();
    let stored = |name: &str, addresses: &[String], ports: &[String]| -> EndpointSlice {
        let text = json!({
            "metadata": { "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "FQDN",
            "endpoints": addresses.iter().map(|a| json!({ "addresses": [a] })).collect::<Vec<_>>(),
            "ports": ports.iter().map(|p| json!({ "name": p })).collect::<Vec<_>>(),
        });
        serde_json::from_value(text).unwrap()
    };
    let asked = |slices: Vec<EndpointSlice>, addresses: &[String], ports: &[String]| -> OtherSlices {
        let store = Store::new();
        store.fill(slices);
        let mut ports: Vec<_> = ports.iter().map(|port| port.as_str().into()).collect();
        ports.sort_unstable();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let slice = ListedSlice { namespace: "shop", service: "web", name: "x", ports: &ports, addresses: &addresses };
        Answers(&store).other_slices(&slice).unwrap()
    };
    let (addresses, many, few) = (names('h', 1000), names('p', 20_000), names('q', 1));
    let wide = |count: usize| (0..count).map(|i| stored(&format!("s{i:02}"), &addresses, &many)).collect::<Vec<_>>();
    let none = vec![None; 1000];
    // One slice is compared whole, and so are thirty with few ports.
    let found = asked(wide(1), &addresses, &names('r', 5000));
    assert_eq!((found.names == none, found.is_cut), (true, false));
    let found = asked(wide(30), &addresses, &few);
    assert_eq!((found.names == none, found.is_cut), (true, false));
    // Thirty with many ports are too many, but for the first of them.
    let found = asked(wide(30), &addresses, &names('r', 5000));
    assert_eq!((found.names == none, found.is_cut), (true, true));
    let found = asked(wide(30), &addresses, &names('p', 5000));
    assert_eq!((found.names == vec![Some("s00".into()); 1000], found.is_cut), (true, false));
    // So are many slices for each of many addresses.
    let dense: Vec<EndpointSlice> = (0..200).map(|i| stored(&format!("s{i:03}"), &addresses, &few)).collect();
    let found = asked(dense, &addresses, &names('r', 1));
    assert_eq!((found.names == none, found.is_cut), (true, true));
    // The last one counts, however many turns it takes to come to it.
    for (count, addresses) in [(40, &addresses[..]), (9000, &addresses[..1])] {
        let all = (0..count).map(|i| stored(&format!("s{i:04}"), addresses, if i + 1 < count { &few } else { &many }));
        let found = asked(all.collect(), addresses, &names('p', 1));
        let last = Some(format!("s{:04}", count - 1).as_str().into());
        assert_eq!((found.names == vec![last; addresses.len()], found.is_cut), (true, false), "{count}");
    }
}
