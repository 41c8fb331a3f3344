//! A Service whose pods, slices and addresses are unlike in their ports, or alike in what should tell them apart.

use serde_json::{Value, json};

use crate::{
    objects::{
        add_conditions, container_ports, endpoint_addresses, endpoint_ports, endpoints, list, node, number_in_list,
        of_one_uid, pod, ports_of_list, service, slice, slice_endpoints,
    },
    sizes::{Input, Sizes},
};

/// The dimensions of such a Service.
pub(crate) const UNLIKE: &[(&str, usize)] = &[
    // Pods that have other numbers under the same names.
    ("port lists", 1),
    ("ports of a list", 1),
    ("pods of one uid", 0),
    ("conditions", 0),
    ("slices of other ports", 0),
    ("endpoints of one uid", 0),
    ("addresses of one uid", 0),
];

/// The state of the Service, for a call of the REST API.
pub(crate) fn unlike(s: &Sizes, path: &str) -> Input {
    let ports = s.get("ports of a list");
    let mut of_cluster = service("web", ports);
    add_conditions(&mut of_cluster, s.get("conditions"));
    let mut pods = list(s.get("port lists"), |i| pod_of_list(i, ports));
    // One address, and other ports.
    pods.extend(list(s.get("pods of one uid"), |i| {
        let mut pod = pod_of_list(i, ports);
        pod["metadata"]["name"] = format!("same-{i}").into();
        pod["metadata"]["uid"] = "one".into();
        pod["status"] = pod_of_list(1_000_000, 1)["status"].clone();
        pod
    }));
    let mut slices = list(s.get("slices of other ports"), |i| {
        stored(&format!("web-{i}"), slice_endpoints(1, i), ports_of_list(ports, i))
    });
    if s.get("endpoints of one uid") > 0 {
        let all = of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 0));
        slices.push(stored("web-one", all, ports_of_list(ports, 0)));
    }
    let mut body = json!({ "service": of_cluster, "pods": pods, "nodes": list(7, node), "endpointSlices": slices });
    if s.get("addresses of one uid") > 0 {
        let all = of_one_uid(endpoint_addresses(s.get("addresses of one uid"), 0));
        body["endpoints"] = endpoints(vec![json!({ "addresses": all, "ports": endpoint_ports(1) })]);
    }
    Input { way: format!("post {path}"), body: body.to_string(), ..Input::default() }
}

/// A pod with a list of ports, and a label, of its own.
fn pod_of_list(i: usize, ports: usize) -> Value {
    let mut pod = pod(i, 0);
    let mut all = container_ports(ports);
    for (k, port) in all.iter_mut().enumerate() {
        port["containerPort"] = number_in_list(ports, i, k).into();
    }
    pod["spec"]["containers"][0]["ports"] = all.into();
    pod["metadata"]["labels"]["pod"] = format!("web-{i}").into();
    pod
}

/// A slice as the controller has written it.
fn stored(name: &str, endpoints: Vec<Value>, ports: Vec<Value>) -> Value {
    let mut slice = slice(name, endpoints, 0);
    slice["ports"] = ports.into();
    slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io".into();
    slice["metadata"]["generateName"] = "web-".into();
    slice["metadata"]["resourceVersion"] = "1".into();
    slice
}
