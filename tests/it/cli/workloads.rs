//! Manifests of workloads: planned, explained and validated with the pods that their controllers would make.

use serde_json::Value;

use super::roster_with;

/// A Deployment and its Service, as in a repository.
const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web
        readinessProbe: {httpGet: {port: http}}
        ports: [{name: http, containerPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
";

fn run(args: &[&str], input: &str) -> super::Ran {
    roster_with(args, &[], input)
}

fn document(args: &[&str], input: &str) -> Value {
    let args: Vec<&str> = args.iter().chain(&["-f", "-", "-o", "json"]).copied().collect();
    serde_json::from_str(&run(&args, input).out).unwrap()
}

#[test]
fn a_deployment_is_planned_with_the_pods_that_it_would_have() {
    let ran = run(&["plan", "-f", "-"], WEB);
    for line in [
        "shop       web      Endpoints web        create  2 addresses, ports 8080/TCP\n",
        "shop       web      EndpointSlice web-*  create  IPv4, 2 addresses, ports 8080/TCP\n",
        "2 pods of 1 workload are not in the input; assumed: ready, at addresses for documentation, on 1 assumed node;",
        "\n1 of 1 Service: 2 to create, 0 to update, 0 to delete\n",
    ] {
        assert!(ran.out.contains(line), "{line:?} is not in\n{}", ran.out);
    }
    let explained = run(&["explain", "-f", "-"], WEB);
    assert!(explained.out.contains("shop/web: 2 of 2 pods served"), "{}", explained.out);
}

#[test]
fn zones_give_nodes() {
    let plan = document(&["plan", "--zones", "a,b"], WEB);
    let endpoints = plan["items"][0]["endpointSlices"]["create"][0]["endpoints"].as_array().unwrap();
    let places: Vec<String> = endpoints
        .iter()
        .map(|e| format!("{} {} {}", e["targetRef"]["name"], e["nodeName"], e["zone"]).replace('"', ""))
        .collect();
    assert_eq!(places, ["web-assumed-1 assumed-node-1 a", "web-assumed-2 assumed-node-2 b"]);
}

#[test]
fn validate_says_where_a_selector_or_a_port_is_wrong() {
    let fine = run(&["validate", "-f", "-"], WEB);
    assert_eq!(fine.code, 0, "{}", fine.out);
    let selector = WEB.replace("  selector: {app: web}", "  selector: {app: wbe}");
    let port = WEB.replace("targetPort: http", "targetPort: htpp");
    for (manifest, line, code, severity, exit) in
        [(&selector, 20, "selector-matches-no-template", "warning", 0), (&port, 21, "named-port-missing", "error", 1)]
    {
        let found = document(&["validate"], manifest);
        let items: Vec<String> = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| format!("{} {} {}", f["line"], f["code"], f["severity"]).replace('"', ""))
            .collect();
        assert_eq!(items, [format!("{line} {code} {severity}")], "{found}");
        assert_eq!(run(&["validate", "-f", "-"], manifest).code, exit);
    }
}
