//! Hints, as the whole sync gives them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{node, plan, pod, slice, state};
use crate::state::Plan;

/// Pods in zones, `per_zone` of them in each, and one node a zone with that much CPU.
fn zoned(cpu: &[&str], per_zone: &[usize]) -> Value {
    let mut state = state([], &[]);
    state["service"]["metadata"]["annotations"] = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let names = ["za", "zb", "zc", "zd"];
    state["nodes"] = cpu.iter().zip(names).map(|(cpu, zone)| node(zone, zone, cpu)).collect();
    let zones = per_zone.iter().zip(names).flat_map(|(n, zone)| std::iter::repeat_n(zone, *n));
    state["pods"] = zones.enumerate().map(|(i, zone)| pod(i + 1, zone)).collect();
    state
}

/// How many endpoints are hinted for each zone, and how many of them run in another one.
fn hinted(plan: &Plan) -> (BTreeMap<String, usize>, usize) {
    let (mut counts, mut moved) = (BTreeMap::new(), 0);
    let changes = &plan.endpoint_slices;
    for endpoint in changes.create.iter().chain(&changes.update).flat_map(|s| &s.endpoints) {
        for zone in endpoint.hints.iter().flat_map(|h| &h.for_zones) {
            *counts.entry(zone.name.to_string()).or_default() += 1;
            moved += usize::from(endpoint.zone.as_ref() != Some(&zone.name));
        }
    }
    (counts, moved)
}

fn events(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|e| e.message.as_str()).collect()
}

#[test]
fn zones_get_endpoints_in_proportion_to_their_cpu() {
    let equal = &["1", "1", "1"][..];
    for (cpu, per_zone, want, moved) in [
        (equal, &[3, 3, 3][..], &[3, 3, 3][..], 0),
        (equal, &[9, 0, 0], &[3, 3, 3], 6),
        (equal, &[3, 0, 0], &[1, 1, 1], 2),
        (equal, &[5, 4, 3], &[4, 4, 4], 1),
        (&["4", "1"], &[5, 5], &[8, 2], 3),
    ] {
        let plan = plan(&zoned(cpu, per_zone));
        let want = want.iter().zip(["za", "zb", "zc"]).map(|(n, zone)| (zone.to_owned(), *n)).collect();
        assert_eq!(hinted(&plan), (want, moved), "{cpu:?} {per_zone:?}");
        assert_eq!(events(&plan), ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    }
}

#[test]
fn hints_are_refused_with_an_event() {
    const OVERLOAD: &str =
        "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold";
    const NODES: &str = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
    let equal = &["1", "1", "1"][..];
    for (cpu, per_zone, want) in [
        (equal, &[2, 0, 0][..], "Insufficient number of endpoints (2 endpoints, 3 zones)".to_owned()),
        (equal, &[6, 1, 1], format!("{OVERLOAD} (8 endpoints, 3 zones)")),
        (&["100m", "100m", "10"], &[1, 1, 1], format!("{OVERLOAD} (3 endpoints, 3 zones)")),
        (&["1"], &[3], NODES.to_owned()),
        (&["1", "0"], &[3, 3], NODES.to_owned()),
    ] {
        let plan = plan(&zoned(cpu, per_zone));
        assert_eq!(events(&plan), [format!("{want}, addressType: IPv4")], "{cpu:?} {per_zone:?}");
        assert_eq!(hinted(&plan).0, BTreeMap::new());
    }
    let mut state = zoned(&["1", "1"], &[2, 2]);
    state["pods"].as_array_mut().unwrap().push(pod(9, "bare"));
    let mut bare = node("bare", "", "1");
    bare["metadata"]["labels"] = json!({"node-role.kubernetes.io/control-plane": ""});
    state["nodes"].as_array_mut().unwrap().push(bare);
    // The fifth endpoint would fail the allocation.
    state["pods"].as_array_mut().unwrap().remove(0);
    assert_eq!(events(&plan(&state)), ["One or more endpoints do not have a zone specified, addressType: IPv4"]);
}

/// The mark goes from one address type to the next: it is announced once.
#[test]
fn two_families_are_announced_once() {
    let mut state = zoned(&["1", "1"], &[2, 2]);
    state["service"]["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    for pod in state["pods"].as_array_mut().unwrap() {
        let v6 = json!({"ip": format!("fd00::{}", pod["metadata"]["name"].as_str().unwrap().trim_start_matches('p'))});
        pod["status"]["podIPs"].as_array_mut().unwrap().push(v6);
    }
    assert_eq!(events(&plan(&state)), ["Topology Aware Hints has been enabled, addressType: IPv4"]);
    for compat in ["1.24", "1.25"] {
        state["options"]["compat"] = json!(compat);
        assert_eq!(events(&plan(&state)), [""; 0], "{compat} has no events");
        state["service"]["metadata"]["annotations"] = json!({"service.kubernetes.io/topology-aware-hints": "auto"});
        assert_eq!(hinted(&plan(&state)).0.values().sum::<usize>(), 8, "{compat} gives hints");
    }
}

/// Which setting gives which hint to a ready pod on node `n` in zone `z`: `z` the zone, `n` the node, `?` the empty
/// zone.
#[test]
fn traffic_distribution_by_release() {
    for (value, zone, by_release) in [
        ("PreferClose", "z", [("1.30", ""), ("1.31", "z"), ("1.33", "z"), ("1.34", "z")]),
        ("PreferSameZone", "z", [("1.30", ""), ("1.31", ""), ("1.33", ""), ("1.34", "z")]),
        ("PreferSameNode", "z", [("1.30", ""), ("1.31", ""), ("1.33", ""), ("1.34", "zn")]),
        ("PreferClose", "", [("1.30", ""), ("1.31", "?"), ("1.33", ""), ("1.34", "")]),
        ("PreferSameNode", "", [("1.30", ""), ("1.31", ""), ("1.33", ""), ("1.34", "n")]),
        ("Other", "z", [("1.30", ""), ("1.31", ""), ("1.33", ""), ("1.34", "")]),
    ] {
        for (compat, want) in by_release {
            let mut state = state([1], &[]);
            state["nodes"] = json!([node("n", zone, "1")]);
            state["service"]["spec"]["trafficDistribution"] = json!(value);
            state["options"]["compat"] = json!(compat);
            let plan = plan(&state);
            let given: String = plan.endpoint_slices.create[0].endpoints[0]
                .hints
                .iter()
                .flat_map(|h| h.for_zones.iter().chain(&h.for_nodes))
                .map(|h| if h.name.is_empty() { "?" } else { h.name.as_str() })
                .collect();
            assert_eq!(given, want, "{value} {zone} {compat}");
        }
    }
}

/// Stored hints: which are corrected, and which stay.
#[test]
fn stored_hints_are_corrected() {
    let zone = |z: &str| json!({"forZones": [{"name": z}]});
    for (value, ready, stored, written) in [
        (json!(null), true, json!(null), None),
        (json!(null), true, json!({}), Some(json!(null))),
        (json!(null), false, zone("z"), Some(json!(null))),
        (json!("PreferClose"), true, zone("z"), None),
        (json!("PreferClose"), true, zone("y"), Some(zone("z"))),
        (json!("PreferClose"), true, json!(null), Some(zone("z"))),
        (
            json!("PreferClose"),
            true,
            json!({"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
            Some(zone("z")),
        ),
        (json!("PreferClose"), false, zone("y"), None),
    ] {
        let mut stored_slice = slice("a", &[1]);
        stored_slice["endpoints"][0]["hints"] = stored.clone();
        stored_slice["endpoints"][0]["conditions"] = json!({"ready": ready, "serving": ready, "terminating": false});
        let mut state = state([1], &[stored_slice]);
        state["service"]["spec"]["trafficDistribution"] = value.clone();
        state["pods"][0]["status"]["conditions"][0]["status"] = json!(if ready { "True" } else { "False" });
        let plan = plan(&state);
        let update = plan.endpoint_slices.update.first();
        let got = update.map(|s| serde_json::to_value(&s.endpoints[0].hints).unwrap());
        assert_eq!(got, written, "{value} {ready} {stored}");
    }
}

/// An unchanged slice may stay as it is if its hints fit the allocation.
#[test]
fn unchanged_slices_keep_hints_that_fit() {
    let auto = |hints: &[&str]| {
        let mut stored = slice("a", &[1, 2, 3, 4]);
        for (i, (zone, hint)) in ["za", "za", "zb", "zb"].iter().zip(hints).enumerate() {
            stored["endpoints"][i]["nodeName"] = json!(zone);
            stored["endpoints"][i]["zone"] = json!(zone);
            stored["endpoints"][i]["hints"] = json!({"forZones": [{"name": hint}]});
        }
        let mut state = zoned(&["1", "1"], &[2, 2]);
        state["endpointSlices"] = json!([stored]);
        plan(&state).is_noop()
    };
    assert!(auto(&["za", "za", "zb", "zb"]));
    assert!(auto(&["zb", "zb", "za", "za"]), "where they are does not matter");
    assert!(!auto(&["za", "za", "za", "zb"]), "more than the maximum of a zone");
    assert!(!auto(&["za", "za", "zb", "zz"]), "a zone without allocation");
}
