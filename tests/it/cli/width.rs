//! Tables on screens of several widths: nothing is lost, and no name is broken.

use std::collections::BTreeMap;

use super::{roster, roster_with};

/// Objects with long names.
const OBJECTS: &str = "\
apiVersion: v1
kind: Service
metadata: {name: checkout-service-canary-release, namespace: payments-production, annotations: {topologyKeys: '[\"kubernetes.io/hostname\"]'}}
spec: {clusterIP: 10.96.0.9, selector: {app: checkout}, ports: [{name: http-management, port: 80, targetPort: management}]}
---
apiVersion: v1
kind: Service
metadata: {name: recommendationservice, namespace: payments-production}
spec: {clusterIP: 10.96.0.10, internalTrafficPolicy: Local, selector: {app: recommendations}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: checkout-service-canary-release-7d9f6b8c4d-x8k2p, namespace: payments-production, labels: {app: checkout}}
spec: {nodeName: gke-production-cluster-pool-7f3b9a2c-q4zt, containers: [{name: c, image: i, ports: [{name: managment, containerPort: 8080}]}]}
status: {phase: Running, podIP: 10.0.1.5, podIPs: [{ip: 10.0.1.5}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: recommendationservice-6c5b8d7f9-mg4zj, namespace: payments-production, labels: {app: recommendations}}
spec: {nodeName: gke-production-cluster-pool-7f3b9a2c-q4zt, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 10.0.1.6, podIPs: [{ip: 10.0.1.6}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Node
metadata: {name: gke-production-cluster-pool-7f3b9a2c-q4zt, labels: {topology.kubernetes.io/zone: europe-west1-b, kubernetes.io/hostname: q4zt}}
---
apiVersion: v1
kind: Node
metadata: {name: gke-production-cluster-pool-7f3b9a2c-x9lm, labels: {topology.kubernetes.io/zone: europe-west1-c, kubernetes.io/hostname: x9lm}}
";

/// The names and numbers of a text, and how often it has them.
fn words(text: &str) -> BTreeMap<&str, usize> {
    let mut words = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word).or_default() += 1;
    }
    words
}

#[test]
fn tables_break_no_word() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("payments-production.yaml").display().to_string();
    std::fs::write(&file, OBJECTS).unwrap();
    let after = folder.path().join("after.yaml").display().to_string();
    std::fs::write(&after, OBJECTS.replace("internalTrafficPolicy: Local, ", "")).unwrap();
    let certificates = folder.path().join("certs").display().to_string();
    let name = "checkout-service-canary-release.payments-production.svc.cluster.local";
    assert_eq!(roster(&["certs", "dev", "--dir", &certificates, "--name", name]).code, 0);
    let certificate = format!("{certificates}/tls.crt");
    let node = "gke-production-cluster-pool-7f3b9a2c-q4zt";
    let service = "payments-production/checkout-service-canary-release";
    for args in [
        &["plan", "-f", &file][..],
        &["plan", "-f", &file, "-o", "wide"],
        &["plan", "-f", &file, "--compat", "1.30", "--against", "1.37"],
        &["explain", "-f", &file],
        &["explain", "-f", &file, service],
        &["explain", "-f", &file, "-o", "wide"],
        &["explain", "-f", &file, service, "--node", node],
        &["view", "-f", &file, "--node", node],
        &["view", "-f", &file, "--node", node, "-o", "wide"],
        &["view", "-f", &file, "--all-nodes", "-o", "wide"],
        &["view", "--diff", &file, &after],
        &["migrate", "topology", "-f", &file],
        &["migrate", "topology", "-f", &file, "-o", "wide"],
        &["review", "-f", &file],
        &["review", "-f", &file, "-o", "wide"],
        &["lint", &file],
        &["lint", &file, "-o", "wide"],
        &["compat"],
        &["compat", "1.30"],
        &["compat", "1.30", "--against", "1.37"],
        &["certs", "show", &certificate],
    ] {
        let whole = roster_with(args, &[("COLUMNS", "1000")], "");
        assert!(whole.code < 2 && whole.out.len() > 60, "{args:?} {}", whole.err);
        for width in [60, 80, 100, 120] {
            let columns = width.to_string();
            let narrow = roster_with(args, &[("COLUMNS", &columns)], "");
            if std::env::var_os("ROSTER_SHOW").is_some() {
                println!("$ {args:?} at {width}\n{}", narrow.out);
            }
            // Prose breaks between words. (A table may be wider than the screen.)
            let first = narrow.out.lines().next().unwrap_or_default();
            assert!(args[0] != "migrate" || first.len() <= width, "{args:?} at {width}: {first}");
            assert_eq!(words(&narrow.out), words(&whole.out), "{args:?} at {width}:\n{}", narrow.out);
            assert_eq!((narrow.code, narrow.err), (whole.code, whole.err.clone()), "{args:?}");
        }
    }
}
