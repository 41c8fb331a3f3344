//! Properties of the pictures of random states.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Value, json};

use super::draw;
use crate::{
    explain::Explanation,
    picture::{NodeKind, OverviewRow, Picture, PictureState, Route, SvgOptions, report_html},
    plan::PlanRequest,
    record::Scope,
    shown_text::is_hidden,
    text_columns::columns,
};

/// The most nodes and edges of a picture, whatever the state.
const MOST: (usize, usize) = (220, 3000);

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z]{1,8}",
        1 => "[a-z0-9-]{30,90}",
        1 => "(<b>|&|\"|'|\u{202e}|\u{0}|日本|]]>|--|\u{fffe}|[[:print:]]){1,20}",
    ]
}

fn pod(name: String) -> impl Strategy<Value = Value> {
    let owner = prop::sample::select(vec!["web-1", "web-2", ""]);
    let state = prop::sample::select(vec!["ready", "not ready", "ended", "no ip", "deleting"]);
    let port = prop::sample::select(vec!["http", "http", "http", "www", "metrics"]);
    let label = prop::sample::select(vec!["web", "web", "web", "web", "wbe"]);
    let ends = (owner, 0..6_usize, state, port, label, 1..250_u8);
    ends.prop_map(move |(owner, node, state, port, label, ip)| {
        let ip = format!("10.0.{node}.{ip}");
        let mut pod = json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": label},
                "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": !owner.is_empty()}]},
            "spec": {"nodeName": format!("n{node}"), "containers": [{"ports": [{"name": port, "protocol": "TCP", "containerPort": 80}]}]},
            "status": {"phase": if state == "ended" { "Failed" } else { "Running" },
                "conditions": [{"type": "Ready", "status": if state == "ready" { "True" } else { "False" }}]},
        });
        if state != "no ip" {
            (pod["status"]["podIP"], pod["status"]["podIPs"]) = (json!(ip), json!([{"ip": ip}]));
        }
        if state == "deleting" {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        pod
    })
}

fn pods() -> impl Strategy<Value = Vec<Value>> {
    let few = prop::collection::btree_set(text(), 0..12);
    let many = (41..120_usize).prop_map(|count| (0..count).map(|n| format!("pod-{n}")).collect::<BTreeSet<_>>());
    prop_oneof![4 => few, 1 => many].prop_flat_map(|names| names.into_iter().map(pod).collect::<Vec<_>>())
}

fn service() -> impl Strategy<Value = Value> {
    let selector = prop::sample::select(vec![json!({"app": "web"}), json!({}), json!(null), json!({"app": "other"})]);
    let target =
        prop_oneof![Just(json!("http")), Just(json!("metrics")), Just(json!(8080)), text().prop_map(Value::from)];
    let ports = prop::collection::vec((target, text()), 0..4);
    let families = prop::sample::select(vec![json!(["IPv4"]), json!(["IPv4", "IPv6"])]);
    let distribution = prop::sample::select(vec![json!(null), json!("PreferClose"), json!("PreferSameNode")]);
    (text(), selector, ports, families, distribution).prop_map(|(name, selector, ports, families, distribution)| {
        let port = |(at, (target, name)): (usize, (Value, String))| json!({"name": format!("{name}{at}"), "protocol": "TCP", "port": 80 + at, "targetPort": target});
        let ports: Vec<Value> = ports.into_iter().enumerate().map(port).collect();
        json!({
            "metadata": {"name": name, "namespace": "ns", "uid": "u"},
            "spec": {"selector": selector, "clusterIP": "10.96.0.1", "ipFamilies": families, "ports": ports,
                "trafficDistribution": distribution},
        })
    })
}

fn stored() -> impl Strategy<Value = Vec<Value>> {
    let endpoint = (text(), any::<Option<bool>>(), 0..4_usize).prop_map(|(address, ready, zone)| {
        json!({"addresses": [address], "conditions": {"ready": ready}, "nodeName": format!("n{zone}"),
            "zone": format!("z{zone}"), "hints": {"forZones": [{"name": format!("z{}", zone / 2)}]}})
    });
    let slice = (text(), prop::collection::vec(endpoint, 0..6), text());
    let slice = slice.prop_map(|(name, endpoints, port)| {
        json!({"metadata": {"name": name, "namespace": "ns", "labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4", "ports": [{"name": port, "port": 80, "protocol": "TCP"}], "endpoints": endpoints})
    });
    prop::collection::vec(slice, 0..3)
}

fn request() -> impl Strategy<Value = (Value, Vec<Route>)> {
    let endpoints = prop::option::of(prop::collection::vec(text(), 0..4)).prop_map(|addresses| {
        let addresses: Vec<Value> = addresses?.into_iter().map(|ip| json!({"ip": ip})).collect();
        Some(json!({"metadata": {"name": "web", "namespace": "ns"}, "subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]}))
    });
    let route = (text(), text()).prop_map(|(name, matches)| Route {
        kind: "Ingress".into(),
        namespace: "ns".into(),
        name: name.into(),
        matches,
        port: None,
        fault: None,
    });
    let routes = prop::collection::vec(route, 0..16);
    (prop::option::weighted(0.9, service()), pods(), endpoints, stored(), routes).prop_map(
        |(service, pods, endpoints, slices, routes)| {
            let node = |n: usize| json!({"metadata": {"name": format!("n{n}"), "labels": {"topology.kubernetes.io/zone": format!("z{}", n / 2)}}});
            let nodes: Vec<Value> = (0..5).map(node).collect();
            let request = json!({"service": service, "pods": pods, "nodes": nodes, "endpoints": endpoints, "endpointSlices": slices});
            (request, routes)
        },
    )
}

/// How many pods serve all ports, some, and none.
fn counts(explanation: &Explanation) -> [usize; 3] {
    let mut counts = [0; 3];
    for rows in explanation.rows.chunk_by(|a, b| a.pod == b.pod) {
        let ports = |served: bool| {
            let rows = rows.iter().filter(|row| row.scope != Scope::Endpoints && (row.served || !served));
            rows.flat_map(|row| row.ports.places()).collect::<BTreeSet<_>>().len()
        };
        let place = match (ports(true), ports(false)) {
            (0, _) => 2,
            (served, all) => usize::from(served < all),
        };
        counts[place] += 1;
    }
    counts
}

/// The same of the nodes of a picture.
fn drawn_counts(picture: &Picture, explanation: &Explanation) -> [usize; 3] {
    let known: BTreeSet<&str> = explanation.rows.iter().map(|row| row.pod.as_str()).collect();
    let mut counts = [0; 3];
    for node in picture.nodes.iter().filter(|node| node.kind == NodeKind::Pod) {
        if node.count == 1 && !known.contains(node.label.as_str()) {
            continue;
        }
        let place = match node.state {
            PictureState::Served => 0,
            PictureState::PartlyServed => 1,
            _ => 2,
        };
        counts[place] += node.count;
    }
    counts
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// The width that a text takes if its font is as wide as the widest.
fn text_width(node: Node<'_, '_>) -> f64 {
    let size = match node.attribute("class").unwrap() {
        "title" => 15.0,
        "label" => 12.0,
        _ => 11.0,
    };
    let text: String = node.children().filter(Node::is_text).filter_map(|child| child.text()).collect();
    f64::from(u32::try_from(columns(&text)).unwrap()) * size * 0.62
}

fn check_svg(svg: &str) {
    assert!(!svg.contains(|c| c != '\n' && is_hidden(c)), "{svg}");
    let document = Document::parse(svg).unwrap();
    let root = document.root_element();
    let (width, height) = (number(root, "width"), number(root, "height"));
    let mut boxes: Vec<[f64; 4]> = Vec::new();
    for text in root.descendants().filter(|node| node.has_tag_name("text")) {
        let right = number(text, "x") + text_width(text);
        let of = text.parent().unwrap().children().find(|node| node.attribute("class") == Some("box"));
        let most = of.map_or(width, |of| number(of, "x") + number(of, "width"));
        assert!(right <= most, "{text:?} ends at {right} of {most}\n{svg}");
    }
    for group in root.descendants().filter(|node| node.has_tag_name("g")) {
        let class = group.attribute("class").unwrap_or_default();
        let Some(of) = group.children().find(|node| node.attribute("class") == Some("box")) else { continue };
        assert!(group.children().any(|node| node.has_tag_name("title")), "{group:?} has no title");
        let place = ["x", "y", "width", "height"].map(|name| number(of, name));
        assert!(place[0] + place[2] <= width && place[1] + place[3] <= height, "{place:?} is outside");
        if !class.ends_with("zone") {
            boxes.push(place);
        }
    }
    for (at, [x, y, width, height]) in boxes.iter().enumerate() {
        for [x2, y2, width2, height2] in &boxes[..at] {
            let is_apart = x + width <= *x2 || x2 + width2 <= *x || y + height <= *y2 || y2 + height2 <= *y;
            assert!(is_apart, "two boxes overlap at {x} {y} and {x2} {y2}\n{svg}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_state_has_a_picture_that_is_true_and_can_be_read((request, routes) in request()) {
        let read = || serde_json::from_value::<PlanRequest>(request.clone());
        // Some names are refused by the decoder.
        let Ok(state) = read() else { return Ok(()) };
        let (picture, explanation) = draw(&state, &routes);
        let svg = picture.svg(&SvgOptions::default());
        check_svg(&svg);
        prop_assert_eq!(&draw(&read().unwrap(), &routes).0.svg(&SvgOptions::default()), &svg, "the same state");
        prop_assert_eq!(drawn_counts(&picture, &explanation), counts(&explanation), "{:?}", picture);

        let ids: BTreeMap<&str, usize> = picture.nodes.iter().map(|node| (node.id.as_str(), node.count)).collect();
        prop_assert_eq!(ids.len(), picture.nodes.len(), "ids are unique");
        for edge in &picture.edges {
            prop_assert!(ids.contains_key(edge.from.as_str()) && ids.contains_key(edge.to.as_str()), "{edge:?}");
        }
        prop_assert!(picture.nodes.len() <= MOST.0 && picture.edges.len() <= MOST.1);

        for width in [20, 80] {
            for line in picture.lines(Some(width)) {
                let taken = columns(&line.branch) + 2 + columns(&line.label) + if line.detail.is_empty() { 0 } else { 2 + columns(&line.detail) };
                prop_assert!(taken <= width, "{taken} columns: {line:?}");
            }
        }

        let rows: Vec<OverviewRow> = OverviewRow::of(&picture).into_iter().collect();
        let html = report_html("<title>", "", &rows, &[picture.clone(), picture]);
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let html = Document::parse_with_options(&html, options).unwrap();
        let ids: Vec<&str> = html.descendants().filter_map(|node| node.attribute("id")).collect();
        prop_assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids of the page are unique");
        for node in html.descendants().filter(Node::is_element) {
            prop_assert!(!node.has_tag_name("script") && node.attributes().all(|of| !of.name().starts_with("on") && of.name() != "style"));
        }
    }
}
