//! Which endpoint lands in which slice, and what becomes of the slices.

use serde_json::{Value, json};

use super::{plan, pod, short, slice, state};
use crate::{
    model::{Text, names},
    plan::PlanRequest,
    state::Trigger,
};

/// A slice with one thing about it changed.
fn with(mut slice: Value, pointer: &str, value: Value) -> Value {
    *slice.pointer_mut(pointer).unwrap() = value;
    slice
}

#[test]
fn endpoints_are_packed_as_upstream_packs_them() {
    let foreign = || with(slice("x", &[1]), "/metadata/ownerReferences/0/uid", json!("other"));
    let labels = |name| with(slice(name, &[1]), "/metadata/labels/team", json!("y"));
    let on_port = |name, port| with(slice(name, &[1, 2]), "/ports/0/port", json!(port));
    let ports = |name| on_port(name, 9);
    for (what, max, pods, slices, want) in [
        ("from nothing", 3, vec![5, 1, 2, 4, 3], vec![], "+ 1 2 3, + 4 5"),
        ("nothing to do", 3, vec![1, 2], vec![slice("a", &[2, 1])], "=a"),
        ("one has gone", 3, vec![1], vec![slice("a", &[1, 2])], "~a 1"),
        (
            "a changed slice is filled first",
            3,
            vec![1, 3, 4],
            vec![slice("a", &[1, 2]), slice("b", &[3])],
            "~a 1 4, =b",
        ),
        (
            "the fullest changed slice first",
            3,
            vec![1, 4, 5, 6],
            vec![slice("a", &[1, 2]), slice("b", &[3, 4, 5])],
            "~a 1, ~b 4 5 6",
        ),
        ("the rest goes into a slice that has room", 3, vec![1, 2], vec![slice("a", &[1])], "~a 1 2"),
        (
            "into the one that it fills best",
            4,
            vec![1, 2, 3, 4, 5, 6, 7],
            vec![slice("a", &[1]), slice("b", &[2, 3, 4]), slice("c", &[5, 6])],
            "~b 2 3 4 7, =a, =c",
        ),
        ("but is not split", 3, vec![1, 2, 3, 4, 5], vec![slice("a", &[1, 2]), slice("b", &[3])], "~b 3 4 5, =a"),
        ("nor squeezed in", 2, vec![1, 2, 3], vec![slice("a", &[1, 2])], "+ 3, =a"),
        ("a whole slice full is a new slice", 2, vec![1, 2], vec![slice("a", &[])], "+ 1 2, =a"),
        ("too full slices stay", 1, vec![1, 2], vec![slice("a", &[1, 2])], "=a"),
        ("the second copy goes", 3, vec![1, 2], vec![slice("a", &[1]), slice("b", &[1, 2])], "~b 2, =a"),
        ("also within a slice", 3, vec![1], vec![slice("a", &[1, 1])], "~a 1"),
        ("labels follow the Service", 3, vec![1], vec![labels("a")], "~a 1"),
        ("other ports lend their name", 3, vec![1, 2], vec![ports("a")], "~a 1 2"),
        (
            "those of the first ports before others",
            1,
            vec![1, 2],
            vec![on_port("a", 9), on_port("b", 8), on_port("c", 9)],
            "~a 1, ~b 2, -c",
        ),
        ("or go", 3, vec![1, 2], vec![slice("a", &[1, 2]), ports("b")], "-b, =a"),
        ("what belongs to an older Service goes", 3, vec![1], vec![foreign()], "+ 1, -x"),
        ("no pods, no slices", 3, vec![], vec![], "+"),
        ("no pods any more", 3, vec![], vec![slice("a", &[1]), slice("b", &[2])], "~a, -b"),
        ("an empty slice of other ports", 3, vec![], vec![slice("a", &[])], "~a"),
        ("the last copy of a name counts", 3, vec![1], vec![slice("a", &[2]), slice("a", &[1])], "=a"),
    ] {
        let mut state = state(pods, &slices);
        state["options"] = json!({"maxEndpointsPerSlice": max});
        assert_eq!(short(&plan(&state)), want, "{what}");
    }
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    let slices = [slice("a", &[1, 2, 9]), slice("b", &[3])];
    let mut given = state([1, 2, 3, 4, 5, 6, 7], &slices);
    given["options"] = json!({"maxEndpointsPerSlice": 3});
    let want = plan(&given);
    for list in ["pods", "nodes", "endpointSlices"] {
        given[list].as_array_mut().unwrap().reverse();
    }
    assert_eq!(plan(&given), want);
}

/// What an endpoint may differ in, and which releases see it.
#[test]
fn endpoints_are_compared_as_each_release_does() {
    for (pointer, value, compat, written) in [
        ("/endpoints/0/conditions/ready", json!(false), "1.22", true),
        ("/endpoints/0/conditions/ready", json!(null), "1.22", true),
        ("/endpoints/0/targetRef/uid", json!("other"), "1.22", true),
        ("/endpoints/0/targetRef/name", json!("other"), "1.25", true),
        ("/endpoints/0/conditions/serving", json!(false), "1.25", true),
        ("/endpoints/0/conditions/serving", json!(null), "1.25", false),
        ("/endpoints/0/conditions/serving", json!(null), "1.26", true),
        ("/endpoints/0/zone", json!("old"), "1.23", false),
        ("/endpoints/0/zone", json!("old"), "1.24", true),
        ("/endpoints/0/nodeName", json!(null), "1.23", false),
        ("/endpoints/0/nodeName", json!(null), "1.24", true),
        ("/metadata/labels/team", json!("y"), "1.22", true),
        ("/metadata/ownerReferences/0/uid", json!("other"), "1.22", true),
    ] {
        let mut state = state([1], &[with(slice("a", &[1]), pointer, value.clone())]);
        state["options"]["compat"] = json!(compat);
        assert_eq!(!plan(&state).is_noop(), written, "{pointer} {value} {compat}");
    }
}

/// Identity: up to 1.25 the target is not part of it.
#[test]
fn pods_with_one_address() {
    let mut state = state([1, 2], &[]);
    state["pods"][0]["status"]["podIPs"] = json!([{"ip": "10.0.0.2"}]);
    for (compat, want) in [("1.25", "+ 2"), ("1.26", "+ 1 2")] {
        state["options"]["compat"] = json!(compat);
        assert_eq!(short(&plan(&state)), want, "{compat}");
    }
}

#[test]
fn missing_nodes() {
    let mut state = state([1], &[slice("a", &[2])]);
    state["pods"].as_array_mut().unwrap().push(pod(2, "gone"));
    for (compat, publish, writes, errors) in [
        ("1.23", false, "=a", &["node \"gone\" not found"][..]),
        ("1.23", true, "=a", &["node \"gone\" not found"]),
        ("1.24", false, "~a 1", &["skipping Pod p2 for Service ns/web: Node gone Not Found"]),
        ("1.24", true, "~a 2 1", &[]),
    ] {
        state["options"]["compat"] = json!(compat);
        state["service"]["spec"]["publishNotReadyAddresses"] = json!(publish);
        let plan = plan(&state);
        // The one slice is filled up, or emptied and given its name.
        assert_eq!(
            (short(&plan).as_str(), plan.errors.as_slice()),
            (writes, &errors.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>()[..]),
            "{compat} {publish}"
        );
        let events: Vec<_> = plan.events.iter().map(|e| (e.reason, e.message.clone())).collect();
        let want: Vec<_> = errors
            .iter()
            .map(|e| {
                ("FailedToUpdateEndpointSlices", format!("Error updating Endpoint Slices for Service ns/web: {e}"))
            })
            .collect();
        assert_eq!(events, want, "{compat} {publish}");
    }
}

#[test]
fn several_missing_nodes_are_one_error() {
    let mut state = state([], &[]);
    state["service"]["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    state["pods"] = json!([pod(1, "x"), pod(2, "")]);
    let want =
        "[skipping Pod p1 for Service ns/web: Node x Not Found, skipping Pod p2 for Service ns/web: Node  Not Found]";
    assert_eq!(plan(&state).errors, [want]);
}

#[test]
fn placeholders() {
    let placeholder = || with(slice("a", &[]), "/ports", json!([]));
    let unowned = || with(placeholder(), "/metadata/ownerReferences/0/uid", json!("other"));
    for (compat, stored, want) in [
        ("1.23", vec![], "+"),
        ("1.23", vec![placeholder()], "~a"),
        ("1.23", vec![unowned()], "+, -a"),
        ("1.24", vec![placeholder()], "=a"),
        ("1.24", vec![unowned()], "=a"),
        ("1.24", vec![with(placeholder(), "/ports", json!(null))], "=a"),
        ("1.24", vec![with(placeholder(), "/metadata/labels/team", json!("y"))], "~a"),
        ("1.24", vec![placeholder(), with(placeholder(), "/metadata/name", json!("b"))], "~a, -b"),
    ] {
        let mut state = state([], &stored);
        state["options"]["compat"] = json!(compat);
        assert_eq!(short(&plan(&state)), want, "{compat} {stored:?}");
    }
}

/// Without a port list, up to 1.35, a slice has another key than the empty list.
#[test]
fn portless_services() {
    for (compat, want) in [("1.35", "~a 1"), ("1.36", "=a")] {
        let mut state = state([1], &[with(slice("a", &[1]), "/ports", json!(null))]);
        state["service"]["spec"]["ports"] = json!([]);
        state["options"]["compat"] = json!(compat);
        assert_eq!(short(&plan(&state)), want, "{compat}");
    }
}

#[test]
fn services_that_are_left_alone_or_not_created_for() {
    let slices = [slice("a", &[1]), with(slice("f", &[1]), "/addressType", json!("FQDN"))];
    for (pointer, value, compat, want) in [
        ("/service/spec/selector", json!(null), "1.37", ""),
        ("/service/spec/type", json!("ExternalName"), "1.37", ""),
        ("/service/spec/type", json!("ExternalName"), "1.26", "-f, =a"),
        ("/service/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"), "1.37", "-f, =a"),
        ("/service/spec/ipFamilies", json!(["IPv6", "IPv4"]), "1.37", "+, -f, =a"),
        ("/service", json!(null), "1.37", ""),
    ] {
        let mut state = state([1], &slices);
        state["service"]["metadata"]["deletionTimestamp"] = json!(null);
        state["service"]["spec"]["type"] = json!("ClusterIP");
        *state.pointer_mut(pointer).unwrap() = value;
        state["options"]["compat"] = json!(compat);
        assert_eq!(short(&plan(&state)), want, "{pointer} {compat}");
    }
    let mut dying = state([1, 2], &[]);
    dying["service"]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(short(&plan(&dying)), "", "nothing is created for a Service that is being deleted");
}

#[test]
fn the_trigger_time_is_that_of_the_change() {
    let mut state = state([1], &[]);
    state["service"]["metadata"]["creationTimestamp"] = json!("2026-01-02T03:04:05Z");
    let mut request: PlanRequest = serde_json::from_value(state).unwrap();
    for (trigger, want) in [
        (Trigger::Creation, Some("2026-01-02T03:04:05Z")),
        (Trigger::At("2026-02-03T04:05:06Z".parse().unwrap()), Some("2026-02-03T04:05:06Z")),
        (Trigger::Unknown, None),
    ] {
        request.options.trigger = trigger;
        let written = &request.plan().endpoint_slices.create[0];
        assert_eq!(written.meta.annotations.get(names::TRIGGER_TIME).map(Text::as_str), want);
    }
}

#[test]
fn what_is_written_is_complete() {
    let mut state = state([1], &[]);
    state["service"]["metadata"]["creationTimestamp"] = json!("2026-01-02T03:04:05Z");
    state["pods"][0]["spec"]["hostname"] = json!("h");
    state["pods"][0]["spec"]["subdomain"] = json!("web");
    let written = serde_json::to_value(&plan(&state).endpoint_slices.create).unwrap();
    let mut want = slice("", &[1]);
    want["apiVersion"] = json!("discovery.k8s.io/v1");
    want["kind"] = json!("EndpointSlice");
    let meta = want["metadata"].as_object_mut().unwrap();
    for key in ["name", "uid", "resourceVersion"] {
        meta.remove(key);
    }
    meta.insert("generateName".into(), json!("web-"));
    meta.insert(
        "annotations".into(),
        json!({"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"}),
    );
    want["metadata"]["ownerReferences"][0]["controller"] = json!(true);
    want["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true);
    want["endpoints"][0]["hostname"] = json!("h");
    assert_eq!(written, json!([want]));
}
