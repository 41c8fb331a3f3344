//! Manifests as people write them: planned as an API server would store them.

use serde_json::{Value, json};

use super::{roster, roster_with};

/// A Service as in a repository, and a pod that is ready.
const WRITTEN: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web}}
spec: {nodeName: node-1, containers: [{name: web, image: web, ports: [{containerPort: 80}]}]}
status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-1}
";

const TABLE: &str = "\
NAMESPACE  SERVICE  OBJECT               ACTION  DETAIL
shop       web      Endpoints web        create  1 address, ports 80/TCP
shop       web      EndpointSlice web-*  create  IPv4, 1 address, ports 80/TCP

Findings
SEVERITY  OBJECT    CODE     MESSAGE
info                assumed  2 objects have no namespace; assumed: shop
info      Service   assumed  1 port has no protocol; assumed: TCP
info      Service   assumed  1 port has no targetPort; assumed: the value of port
info      Service   assumed  1 Service has no ipFamilies, or too few for ipFamilyPolicy; assumed: IPv4
info      Service   assumed  1 Service has no clusterIP; assumed: an address that the cluster allocates
info      Pod       assumed  1 port has no protocol; assumed: TCP

1 of 1 Service: 2 to create, 0 to update, 0 to delete
";

fn plan(args: &[&str], input: &str) -> super::Ran {
    let args: Vec<&str> = ["plan", "-f", "-"].iter().chain(args).copied().collect();
    roster_with(&args, &[], input)
}

fn document(args: &[&str], input: &str) -> Value {
    let args: Vec<&str> = args.iter().chain(&["-o", "json"]).copied().collect();
    serde_json::from_str(&plan(&args, input).out).unwrap()
}

#[test]
fn assumptions_are_listed_once_each() {
    let ran = plan(&["-n", "shop"], WRITTEN);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (TABLE, "", 1));
}

/// The plan of what is written is the plan of what an API server makes of it.
#[test]
fn what_is_written_is_planned_as_it_would_be_stored() {
    for (args, families, policy, labels) in [
        (&[][..], json!(["IPv4"]), "SingleStack", json!({})),
        (&["--ip-families", "IPv4,IPv6"], json!(["IPv4"]), "SingleStack", json!({})),
        (&["--ip-families", "IPv6"], json!(["IPv6"]), "SingleStack", json!({})),
    ] {
        let stored = json!({ "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Service",
              "metadata": { "name": "web", "namespace": "default", "labels": labels },
              "spec": { "type": "ClusterIP", "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "selector": { "app": "web" },
                "ipFamilies": families, "ipFamilyPolicy": policy, "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                "ports": [{ "port": 80, "targetPort": 80, "protocol": "TCP" }] } },
            { "apiVersion": "v1", "kind": "Pod",
              "metadata": { "name": "web-1", "namespace": "default", "labels": { "app": "web" } },
              "spec": { "nodeName": "node-1",
                "containers": [{ "name": "web", "image": "web", "ports": [{ "containerPort": 80, "protocol": "TCP" }] }] },
              "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "True" }] } },
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-1" } },
        ]});
        let want = document(&["--defaults", "never"], &stored.to_string());
        assert_eq!(document(args, WRITTEN)["items"], want["items"], "{args:?}");
    }
}

#[test]
fn objects_are_filled_in_only_as_asked() {
    let claims = WRITTEN.replace("{name: web}", "{name: web, uid: u, namespace: default}");
    for (args, input, want) in [
        (&["--defaults", "never"][..], WRITTEN, "80 -> 0"),
        (&["--defaults", "auto"], WRITTEN, "80 -> 80"),
        (&["--defaults", "auto"], &claims, "80 -> 0"),
        (&["--defaults", "always"], &claims, "80 -> 80"),
    ] {
        let args: Vec<&str> = ["explain", "-f", "-"].iter().chain(args).copied().collect();
        let ran = roster_with(&args, &[], input);
        assert!(ran.out.contains(want), "{args:?}\n{}", ran.out);
        assert_eq!(ran.out.contains("missing-target-port"), want == "80 -> 0", "{args:?}\n{}", ran.out);
    }
}

#[test]
fn families_are_read_or_refused() {
    let ran = roster(&["plan", "-f", "-", "--ip-families", "ipv4"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("expected IPv4, IPv6, or both with a comma between them"), "{}", ran.err);
}
