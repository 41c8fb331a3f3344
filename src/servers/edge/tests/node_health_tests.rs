//! Tests of what clients see of unhealthy nodes, and of keys in order.

use std::collections::BTreeMap;

use roster_engine::{model::Resource, view::KeyOrder};

use crate::servers::edge::cache::{
    node_state::NodeState,
    node_state_tests::{OWN, REGION, TestedNode, node, service, slice},
    scheme::EdgeScheme,
};

#[test]
fn a15_t6_t7_t8_unhealthy_nodes_lose_their_endpoints_unless_no_others_are_left() {
    let endpoints = [("10.0.0.1", OWN), ("10.0.0.2", "node-2"), ("10.0.0.3", "node-3")];
    let objects = [
        node(OWN, &[("region", "1")]),
        node("node-2", &[("region", "1")]),
        node("node-3", &[("region", "2")]),
        service("web", REGION),
        service("plain", &[]),
        slice("web-1", "web", &endpoints),
        slice("plain-1", "plain", &endpoints),
    ];
    let mut tested = TestedNode::new(EdgeScheme::SuperEdge, &objects);
    for (health, web, plain, decided) in [
        (&[][..], &["10.0.0.1", "10.0.0.2"][..], &["10.0.0.1", "10.0.0.2", "10.0.0.3"][..], 0),
        (&[("node-2", false)], &["10.0.0.1"], &["10.0.0.1", "10.0.0.3"], 2),
        // The others were healthy already.
        (&[("node-2", false), ("node-3", true)], &["10.0.0.1"], &["10.0.0.1", "10.0.0.3"], 0),
        (&[("node-2", false), (OWN, false)], &["10.0.0.1", "10.0.0.2"], &["10.0.0.3"], 2),
        (
            &[("node-2", false), ("node-3", false), (OWN, false)],
            &["10.0.0.1", "10.0.0.2"],
            &["10.0.0.1", "10.0.0.2", "10.0.0.3"],
            2,
        ),
        // Nobody knows any more.
        (&[], &["10.0.0.1", "10.0.0.2"], &["10.0.0.1", "10.0.0.2", "10.0.0.3"], 2),
    ] {
        tested.events();
        let known: BTreeMap<_, _> = health.iter().map(|(node, is_healthy)| ((*node).into(), *is_healthy)).collect();
        tested.set_health((!known.is_empty()).then_some(known));
        assert_eq!(tested.decisions, decided, "{health:?}");
        assert_eq!(tested.addresses(Resource::EndpointSlice, "web-1"), web, "{health:?}");
        assert_eq!(tested.addresses(Resource::EndpointSlice, "plain-1"), plain, "{health:?}");
    }
}

#[test]
fn keys_in_order_fall_back_to_all_endpoints() {
    let endpoints = [("10.0.0.2", "node-2"), ("10.0.0.3", "node-3")];
    let keys = |keys: &str| service("web", &[("topologyKeys", keys)]);
    let objects = [
        node(OWN, &[("zone", "a"), ("region", "1")]),
        node("node-2", &[("zone", "b"), ("region", "1")]),
        node("node-3", &[("zone", "b"), ("region", "2")]),
        keys("[]"),
        slice("web-1", "web", &endpoints),
    ];
    let state = NodeState::new(OWN.into(), EdgeScheme::SuperEdge, KeyOrder::Ordered);
    let mut tested = TestedNode::of(state, EdgeScheme::SuperEdge, &objects);
    for (annotation, want) in [
        (r#"["zone","region"]"#, &["10.0.0.2"][..]),
        (r#"["zone"]"#, &["10.0.0.2", "10.0.0.3"]),
        (r#"["zone","*"]"#, &["10.0.0.2", "10.0.0.3"]),
        (r#"["region"]"#, &["10.0.0.2"]),
    ] {
        tested.put(&keys(annotation));
        assert_eq!(tested.addresses(Resource::EndpointSlice, "web-1"), want, "{annotation}");
    }
}
