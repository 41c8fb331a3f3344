//! Subsets in short texts.

use super::*;

/// Reads and writes subsets in short: `ready addresses ! not ready ones @ ports`, an address as
/// `ip#uid/hostname`, a port as `name:number+appProtocol`, subsets separated by `|`.
fn read(text: &str) -> Vec<EndpointSubset> {
    let address = |text: &str| {
        let (id, host) = text.split_once('/').unwrap_or((text, ""));
        let (ip, uid) = id.split_once('#').map_or((id, None), |(ip, uid)| (ip, Some(uid)));
        EndpointAddress {
            ip: ip.into(),
            hostname: host.into(),
            node_name: None,
            target_ref: uid
                .map(|uid| crate::model::ObjectRef { uid: uid.into(), ..crate::model::ObjectRef::default() }.into()),
        }
    };
    let port = |text: &str| {
        let (name, number) = text.split_once(':').unwrap();
        let (number, app) = number.split_once('+').map_or((number, None), |(n, a)| (n, Some(a)));
        EndpointPort {
            name: name.into(),
            port: number.parse().unwrap(),
            protocol: "TCP".into(),
            app_protocol: app.map(Into::into),
        }
    };
    let subset = |text: &str| {
        let (addresses, ports) = text.split_once('@').unwrap();
        let (ready, not_ready) = addresses.split_once('!').unwrap_or((addresses, ""));
        EndpointSubset {
            addresses: ready.split_whitespace().map(address).collect(),
            not_ready_addresses: not_ready.split_whitespace().map(address).collect(),
            ports: ports.split_whitespace().map(port).collect(),
        }
    };
    text.split('|').filter(|t| !t.trim().is_empty()).map(subset).collect()
}

/// The expected texts were printed by Kubernetes' own `RepackSubsets`.
#[test]
fn subsets_are_packed_as_kubernetes_packs_them() {
    use HashKind::{Fnv128, Md5};
    let three_ports = "10.0.0.1#u1 10.0.0.2#u2 @ http:80 https:443 metrics:9090";
    let three_subsets = "10.0.0.1 @ a:8080 | 10.0.0.2 @ a:8081 | 10.0.0.3 @ a:8082";
    let cases: &[(&str, HashKind, &str, &str)] = &[
        ("nothing", Fnv128, "", ""),
        ("only ports", Fnv128, "@ a:80", ""),
        ("ports by MD5", Md5, three_ports, "10.0.0.1#u1 10.0.0.2#u2 @ metrics:9090 https:443 http:80"),
        ("ports by FNV", Fnv128, three_ports, "10.0.0.1#u1 10.0.0.2#u2 @ http:80 https:443 metrics:9090"),
        ("subsets by MD5", Md5, three_subsets, "10.0.0.1 @ a:8080 | 10.0.0.2 @ a:8081 | 10.0.0.3 @ a:8082"),
        ("subsets by FNV", Fnv128, three_subsets, "10.0.0.2 @ a:8081 | 10.0.0.1 @ a:8080 | 10.0.0.3 @ a:8082"),
        (
            "not ready wins, addresses sort as text",
            Md5,
            "10.0.0.1#u1 @ http:80 | ! 10.0.0.1#u1 @ http:80 | 10.0.0.9 10.0.0.10 @ http:80",
            "10.0.0.10 10.0.0.9 ! 10.0.0.1#u1 @ http:80",
        ),
        ("not ready wins whatever the order", Fnv128, "! a @ p:1 | a @ p:1", "! a @ p:1"),
        ("no port joins a port", Fnv128, "10.0.0.1 @ | 10.0.0.1 @ x:1", "10.0.0.1 @ x:1"),
        ("no port", Fnv128, "b a @", "a b @"),
        (
            "a port that is not positive publishes none; the first address object wins",
            Fnv128,
            "1.1.1.1/first @ z:0 | ! 1.1.1.1/second @ :5",
            "! 1.1.1.1/first @ :5 | 1.1.1.1/first @",
        ),
        ("no target before targets by uid", Fnv128, "a#v a#u a @ p:1", "a a#u a#v @ p:1"),
        ("no target is the empty uid", Fnv128, "a/x a#/y @ p:1", "a/x @ p:1"),
        ("decoded appProtocol never merges", Fnv128, "a @ p:1+h | a @ p:1+h", "a @ p:1+h p:1+h"),
        (
            "nor for different addresses",
            Fnv128,
            "1.1.1.1 @ a:80+http | 1.1.1.2 @ a:80+http",
            "1.1.1.2 @ a:80+http | 1.1.1.1 @ a:80+http",
        ),
        ("equal ports merge", Fnv128, "a @ p:1 q:2 | b @ p:1 | b @ q:2", "a b @ p:1 q:2"),
        (
            "long texts differ at the end",
            Fnv128,
            "fd00:10:244:1::b fd00:10:244:1::a fd00:10:244:1 @ p:1",
            "fd00:10:244:1 fd00:10:244:1::a fd00:10:244:1::b @ p:1",
        ),
    ];
    for (name, kind, given, want) in cases {
        let got = repack(*kind, &read(given)).unwrap();
        assert_eq!(got, read(want), "{name}");
        assert_eq!(repack(*kind, &got), Ok(got), "{name}, again");
    }
}

#[test]
fn ports_of_one_set_merge_even_with_app_protocol() {
    let mut all = Repack::default();
    let port = read("@ p:1+h").remove(0).ports.remove(0);
    let blocks = [all.block(), all.block(), all.block()];
    for (ip, block) in [("b", 1), ("a", 0), ("c", 2)] {
        all.address(EndpointAddress { ip: ip.into(), ..EndpointAddress::default() }, blocks[block], true);
    }
    for set in [vec![blocks[0], blocks[1]], vec![blocks[2]]] {
        let set = all.set(set);
        all.serve(set, port.clone());
    }
    let got = all.pack(HashKind::Fnv128).unwrap_or_else(|_| unreachable!()).subsets;
    assert_eq!(got, read("c @ p:1+h | a b @ p:1+h"));
}

/// What serves whom, in the order in which it came.
#[test]
fn places_tell_where_everything_went() {
    let mut all = Repack::default();
    all.record_places();
    let blocks = [all.block(), all.block(), all.block()];
    let ports = read("@ p:1 q:2 r:3").remove(0).ports;
    let sets = [vec![blocks[0], blocks[1]], vec![blocks[1]], vec![blocks[2]]].map(|blocks| all.set(blocks));
    for (set, port) in sets.into_iter().zip(ports) {
        all.serve(set, port);
    }
    for (ip, block) in [("b", 1), ("a", 0), ("b", 0)] {
        all.address(EndpointAddress { ip: ip.into(), ..EndpointAddress::default() }, blocks[block], ip == "b");
    }
    let Ok(PackedSubsets { subsets, places }) = all.pack(HashKind::Fnv128) else { unreachable!() };
    assert_eq!(subsets, read("b @ q:2 | b ! a @ p:1"));
    assert_eq!(places.listed, [[vec![0], vec![]], [vec![0], vec![1]]]);
    assert_eq!(places.stands_for, [0, 1, 0]);
    assert_eq!(places.subset_of, [Some(1), Some(0), None]);
}

#[test]
fn many_ports_of_many_addresses_are_no_product() {
    let ports = (1..3000).map(|n| EndpointPort { port: n, ..EndpointPort::default() }).collect();
    let address = |n: i32| EndpointAddress { ip: n.to_string().into(), ..EndpointAddress::default() };
    let subset = EndpointSubset { addresses: (0..3000).map(address).collect(), ports, ..EndpointSubset::default() };
    assert_eq!(repack(HashKind::Md5, std::slice::from_ref(&subset)).map(|s| s.len()), Ok(1));
}

/// Each port is in the first subset and in one of its own: all have different lists, and share addresses.
#[test]
fn what_would_need_too_much_room_is_refused() {
    let port = |n: i32| EndpointPort { port: n, ..EndpointPort::default() };
    let address = |n: i32| EndpointAddress { ip: n.to_string().into(), ..EndpointAddress::default() };
    let subsets = |n: i32| {
        let own = (1..n).map(|i| EndpointSubset {
            addresses: vec![address(-i)],
            ports: vec![port(i)],
            ..EndpointSubset::default()
        });
        let all = EndpointSubset {
            addresses: (0..n).map(address).collect(),
            ports: (1..n).map(port).collect(),
            ..EndpointSubset::default()
        };
        own.chain([all]).collect::<Vec<_>>()
    };
    assert_eq!(repack(HashKind::Md5, &subsets(100)).map(|s| s.len()), Ok(99));
    // Over the weight, then over the work space.
    for n in [1500, 3000] {
        assert!(repack(HashKind::Md5, &subsets(n)).is_err(), "{n}");
    }
}
