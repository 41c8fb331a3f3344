//! Stored objects that do not hold any more: `explain`, `validate` and `review` report them, each with its place.

use serde_json::Value;

use super::roster_with;

/// A Service with one pod, whose stored objects list another pod that is gone; a hand-made slice of a Service without
/// selector on a node that is gone; a mirrored slice that is left over; and Endpoints without a Service.
const CLUSTER: &str = "\
kind: Service
apiVersion: v1
metadata: {name: web, namespace: 'n', uid: s, resourceVersion: '1'}
spec: {selector: {app: web}, clusterIP: 10.96.0.1, ipFamilies: [IPv4], ports: [{port: 80, targetPort: 80, protocol: TCP}]}
---
kind: Pod
apiVersion: v1
metadata: {name: web-1, namespace: 'n', uid: p1, resourceVersion: '2', labels: {app: web}}
spec: {nodeName: n1}
status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
kind: Node
apiVersion: v1
metadata: {name: n1}
---
kind: Endpoints
apiVersion: v1
metadata:
  name: web
  namespace: 'n'
  resourceVersion: '3'
  labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}
  annotations: {endpoints.kubernetes.io/last-change-trigger-time: '2026-01-02T03:04:05Z'}
subsets:
- addresses:
  - {ip: 10.0.0.1, nodeName: n1, targetRef: {kind: Pod, namespace: 'n', name: web-1, uid: p1}}
  - {ip: 10.0.0.2, nodeName: n1, targetRef: {kind: Pod, namespace: 'n', name: web-2, uid: p2}}
  ports: [{port: 80, protocol: TCP}]
---
kind: Service
apiVersion: v1
metadata: {name: hand, namespace: 'n', uid: h, resourceVersion: '4'}
spec: {clusterIP: 10.96.0.2, ipFamilies: [IPv4], ports: [{port: 80, targetPort: 80, protocol: TCP}]}
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {name: hand-1, namespace: 'n', labels: {kubernetes.io/service-name: hand}}
addressType: IPv4
ports: [{port: 80, protocol: TCP}]
endpoints: [{addresses: [10.0.0.9], nodeName: n9}]
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata:
  name: web-old
  namespace: 'n'
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslicemirroring-controller.k8s.io
addressType: IPv4
ports: [{port: 80, protocol: TCP}]
endpoints: [{addresses: [10.0.0.2], targetRef: {kind: Pod, namespace: 'n', name: web-2, uid: p2}}]
---
kind: Endpoints
apiVersion: v1
metadata: {name: gone, namespace: 'n', resourceVersion: '5'}
subsets: [{addresses: [{ip: 10.0.0.5}], ports: [{port: 80}]}]
";

/// Code, object and line of each finding.
const WANT: [(&str, &str, usize); 6] = [
    ("target-gone", "Endpoints n/web", 16),
    ("stored-differs", "Endpoints n/web", 16),
    ("node-gone", "EndpointSlice n/hand-1", 35),
    ("target-gone", "EndpointSlice n/web-old", 42),
    ("leftover-mirror", "EndpointSlice n/web-old", 42),
    ("endpoints-orphaned", "Endpoints n/gone", 54),
];

fn json(args: &[&str]) -> Value {
    let ran = roster_with(&[args, &["-f", "-", "-o", "json"]].concat(), &[], CLUSTER);
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err))
}

fn is_stale(code: &str) -> bool {
    WANT.iter().any(|(known, ..)| *known == code)
}

#[test]
fn validate_and_review_name_stale_objects_with_their_places() {
    let validated = json(&["validate"]);
    let reviewed = json(&["review"]);
    let of_reviews = reviewed["items"].as_array().unwrap().iter().filter_map(|item| item["stale"].as_array()).flatten();
    for findings in [validated["items"].as_array().unwrap().iter().collect::<Vec<_>>(), of_reviews.collect()] {
        let mut found: Vec<(String, String, usize)> = findings
            .into_iter()
            .filter(|f| is_stale(f["code"].as_str().unwrap()))
            .map(|f| {
                let object = &f["object"];
                let [kind, namespace, name] = ["kind", "namespace", "name"].map(|k| object[k].as_str().unwrap());
                assert_eq!((&f["effect"], &f["severity"]), (&"stale".into(), &"warning".into()));
                let line = usize::try_from(f["line"].as_u64().unwrap()).unwrap();
                (f["code"].as_str().unwrap().to_owned(), format!("{kind} {namespace}/{name}"), line)
            })
            .collect();
        let mut want: Vec<_> =
            WANT.iter().map(|(code, key, line)| (code.to_string(), key.to_string(), *line)).collect();
        found.sort();
        want.sort();
        assert_eq!(found, want);
    }
}

#[test]
fn explain_counts_no_stale_address_as_served() {
    let explained = json(&["explain"]);
    let of = |name: &str| {
        let mut items = explained["items"].as_array().unwrap().iter();
        items.find(|item| item["service"]["name"] == name).unwrap()
    };
    let codes = |name: &str| -> Vec<&str> {
        let reasons = of(name)["reasons"].as_array().unwrap().iter();
        reasons.map(|r| r["code"].as_str().unwrap()).filter(|code| is_stale(code)).collect()
    };
    assert_eq!(codes("web"), ["leftover-mirror", "target-gone", "target-gone", "stored-differs"]);
    assert_eq!(codes("hand"), ["node-gone"]);
    assert_eq!(codes("gone"), ["endpoints-orphaned"]);
    let summary = &of("web")["summary"];
    assert_eq!((&summary["served"], &summary["staleAddresses"]), (&1.into(), &1.into()));
    // Only rows of slices are served, because kube-proxy reads nothing else; they add up to the summary.
    let rows = of("web")["rows"].as_array().unwrap();
    let served: Vec<&Value> = rows.iter().filter(|row| row["served"] == true).map(|row| &row["scope"]).collect();
    assert_eq!(served, ["EndpointSlice IPv4"]);

    let overview = roster_with(&["explain", "-f", "-"], &[], CLUSTER);
    assert!(overview.out.contains("n/web    1 of 1, 1 stale  warning"), "{}", overview.out);
    let table = roster_with(&["explain", "-f", "-", "-o", "wide"], &[], CLUSTER);
    assert!(table.out.contains("n/web: 1 of 1 pod served, 1 stale address\n"), "{}", table.out);
    assert!(
        table.out.contains("1 pod port: 1 served, 0 not served, 2 stale addresses; 1 warning about other objects\n"),
        "{}",
        table.out
    );
    assert!(table.out.contains("not written since the change at 2026-01-02T03:04:05Z"), "{}", table.out);
    assert_eq!(table.code, 1);
}

#[test]
fn nothing_is_gone_when_its_kind_is_unknown() {
    let without = |kind: &str| -> String {
        let objects = CLUSTER.split("---\n").filter(|object| !object.starts_with(&format!("kind: {kind}\n")));
        objects.collect::<Vec<_>>().join("---\n")
    };
    let codes = |args: &[&str], input: &str| -> Vec<String> {
        let ran = roster_with(&[&["explain", "-f", "-", "-o", "json"], args].concat(), &[], input);
        let explained: Value = serde_json::from_str(&ran.out).unwrap();
        let items = explained["items"].as_array().unwrap().iter();
        let reasons = items.flat_map(|item| item["reasons"].as_array().unwrap().clone());
        let mut codes: Vec<String> = reasons.map(|r| r["code"].as_str().unwrap().to_owned()).collect();
        codes.retain(|code| is_stale(code));
        codes.sort();
        codes.dedup();
        codes
    };
    for (kind, unknown, complete) in [
        (
            "Pod",
            &["endpoints-orphaned", "leftover-mirror", "node-gone"][..],
            &["endpoints-orphaned", "leftover-mirror", "node-gone", "stored-differs", "target-gone"][..],
        ),
        (
            "Node",
            &["endpoints-orphaned", "leftover-mirror", "stored-differs", "target-gone"],
            &["endpoints-orphaned", "leftover-mirror", "node-gone", "stored-differs", "target-gone"],
        ),
        ("Service", &[], &["endpoints-orphaned"]),
    ] {
        let input = without(kind);
        assert_eq!(codes(&[], &input), unknown, "{kind}");
        assert_eq!(codes(&["--complete"], &input), complete, "{kind}");
    }
}

/// In a whole cluster, kube-proxy has nothing where no slice is stored.
#[test]
fn a_whole_cluster_without_the_slices_of_a_service_is_not_well() {
    let slices = ["--complete", "--problems-only", "-o", "name"];
    let input = CLUSTER
        .split("---\n")
        .filter(|object| !object.contains("kind: EndpointSlice"))
        .collect::<Vec<_>>()
        .join("---\n");
    let ran = roster_with(&[&["explain", "-f", "-"], &slices[..]].concat(), &[], &input);
    assert!(ran.out.contains("n/web"), "{}", ran.out);
    let ran = roster_with(&["explain", "-f", "-", "web", "--complete"], &[], &input);
    let want = "no slice is stored; the controller would write: + 10.0.0.1 (web-1)";
    assert!(ran.out.contains(want), "{}", ran.out);
    let ran = roster_with(&["explain", "-f", "-", "web"], &[], &input);
    assert!(!ran.out.contains("no slice is stored"), "{}", ran.out);
}

#[test]
fn a_pod_that_cannot_be_read_is_not_gone() {
    let unread =
        "---\nkind: Pod\napiVersion: v1\nmetadata: {name: web-2, namespace: 'n', uid: p2}\nstatus: {podIPs: 5}\n";
    for (more, is_gone) in [("", true), (unread, false)] {
        let ran = roster_with(&["explain", "-f", "-", "web"], &[], &format!("{CLUSTER}{more}"));
        assert_eq!(ran.out.contains("10.0.0.2 (web-2)") && ran.out.contains("target-gone"), is_gone, "{}", ran.out);
    }
}
