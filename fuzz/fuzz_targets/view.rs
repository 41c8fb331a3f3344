//! Views of a node, in any scheme, and what must hold of all of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_engine::{
    model::{Endpoint, EndpointSlice, Nodes, Service},
    view::{GridView, KeyOrder, ProxyView, PrunedObject, PrunedView, SUPEREDGE_KEYS, Viewpoint, YurtView},
};
use roster_fuzz::state::ViewBody;
use roster_manifests::decode::{
    Source,
    request::{ViewRequest, read_view},
};

fuzz_target!(|body: ViewBody| {
    let Ok(mut request) = read_view(&body.0.to_string(), &Source::body()) else { return };
    let nodes = Nodes::new(std::mem::take(&mut request.known.nodes));
    let at = Viewpoint { name: &request.node, node: nodes.get(&request.node) };
    lists_are_parts(&request, at);
    without_hints_all_ready_are_used(&request, at);
    let grid = GridView {
        at,
        nodes: &nodes,
        substitutes_api_server: request.options.substitute_local_apiserver,
        health: request.options.health_filter.then_some(&request.options.health),
        order: request.options.topology_mode,
    };
    let known = &request.known;
    PrunedView::of_grid(&grid, &known.services, &known.endpoints, &known.slices);
    let yurt = YurtView::new(at, &request.pools, request.options.pool_topology);
    PrunedView::of_yurt(&yurt, &known.services, &known.slices);
    for service in &known.services {
        let slices: Vec<&EndpointSlice> = known.slices.iter().collect();
        let grid = GridView { substitutes_api_server: false, ..grid };
        prunes_once(&grid, service, &slices);
        keys_only_add(&GridView { order: KeyOrder::AnyKey, ..grid }, service, &slices);
        let pruned: Vec<_> = slices.iter().map(|slice| yurt.prune(Some(service), *slice)).collect();
        for slice in &pruned {
            assert_eq!(
                yurt.prune(Some(service), &slice.object).object,
                slice.object,
                "a second pruning changes nothing"
            );
        }
    }
});

/// Every list has only endpoints of the port; that for `Local` only those of the node; one has both.
fn lists_are_parts(request: &ViewRequest, at: Viewpoint<'_>) {
    let known = &request.known;
    let view =
        ProxyView::of(&known.services, &known.slices, request.family, at, usize::MAX).expect("there is no limit");
    serde_json::to_vec(&view.ports).expect("a view is JSON");
    for port in &view.ports {
        let all: Vec<String> = port.endpoints.iter().map(|e| e.endpoint.to_string()).collect();
        let cluster: Vec<String> = port.cluster().into_iter().flatten().map(ToString::to_string).collect();
        let local: Vec<String> = port.local().into_iter().flatten().map(ToString::to_string).collect();
        let reachable: Vec<String> = port.reachable().into_iter().flatten().map(ToString::to_string).collect();
        assert!(cluster.iter().chain(&local).all(|e| all.contains(e)));
        assert!(port.local().into_iter().flatten().all(|e| e.is_local));
        let both: Vec<_> = all.iter().filter(|e| cluster.contains(e) || local.contains(e)).cloned().collect();
        assert_eq!(reachable, both);
        let any_ready = port.endpoints.iter().any(|e| e.endpoint.ready());
        if any_ready && port.policies.uses_cluster() {
            assert!(!cluster.is_empty() && port.cluster().into_iter().flatten().all(|e| e.ready()));
        }
    }
}

/// Without hints, traffic with the policy `Cluster` goes to all ready endpoints.
fn without_hints_all_ready_are_used(request: &ViewRequest, at: Viewpoint<'_>) {
    let known = &request.known;
    let mut slices = known.slices.clone();
    let endpoints: &mut dyn Iterator<Item = &mut Endpoint> = &mut slices.iter_mut().flat_map(|s| &mut s.endpoints);
    endpoints.for_each(|e| e.hints = None);
    let view = ProxyView::of(&known.services, &slices, request.family, at, usize::MAX).expect("there is no limit");
    for port in view.ports.iter().filter(|port| port.policies.uses_cluster()) {
        let ready = port.endpoints.iter().filter(|e| e.endpoint.ready()).count();
        if ready > 0 {
            assert_eq!(port.cluster().into_iter().flatten().count(), ready);
        }
    }
}

/// What is pruned is a part of the whole, in the same order; pruning it again changes nothing.
fn prunes_once(grid: &GridView<'_>, service: &Service, slices: &[&EndpointSlice]) {
    let pruned = grid.prune(Some(service), slices);
    for (whole, part) in slices.iter().zip(&pruned) {
        let mut rest = whole.endpoints.iter();
        assert!(part.object.endpoints.iter().all(|kept| rest.any(|endpoint| endpoint == kept)), "the order stays");
        assert_eq!(part.object.endpoints.len() + part.removed.len(), whole.endpoints.len());
    }
    let objects: Vec<&EndpointSlice> = pruned.iter().map(|part| &part.object).collect();
    let again: Vec<EndpointSlice> = grid.prune(Some(service), &objects).into_iter().map(|part| part.object).collect();
    assert!(objects.into_iter().eq(&again), "a second pruning changes nothing");
}

/// Where any key may agree, one more key removes no endpoint.
fn keys_only_add(grid: &GridView<'_>, service: &Service, slices: &[&EndpointSlice]) {
    let with_keys = |keys: &str| {
        let mut service = service.clone();
        service.meta.annotations.insert(SUPEREDGE_KEYS, keys);
        let left = |part: PrunedObject<EndpointSlice>| part.object.endpoints.len();
        grid.prune(Some(&service), slices).into_iter().map(left).sum::<usize>()
    };
    assert!(with_keys(r#"["site"]"#) <= with_keys(r#"["site","topology.kubernetes.io/zone"]"#));
}
