//! What `roster lint` and `explain` conclude beside objects that cannot be read.

use super::{
    lint::{DEPLOYMENT, directory, lint, service},
    roster,
};

/// Another workload, an autoscaler and a Service that refer to the Deployment `web`.
const OTHERS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: c, image: c, ports: [{name: http, containerPort: 8080}]}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
";

/// A Service that selects other pods than those of a workload that cannot be read: nothing says that there is no workload.
#[test]
fn a_selector_is_compared_with_the_labels_of_what_cannot_be_read() {
    let broken = DEPLOYMENT.replace("spec:\n  selector", "spec:\n  replicas: two\n  selector");
    let folder = directory(&[("a.yaml", &broken), ("b.yaml", &service("wbe", "port: 80"))]);
    let folder = folder.path().to_str().unwrap();
    let nearest = "nearest: Deployment web, which has app=web instead of wbe";
    for (args, wanted, unwanted) in [
        (&["lint", folder][..], nearest, "not-checked"),
        (&["explain", folder], nearest, "no Pods of its namespace"),
        (&["explain", folder, "web"], nearest, "no Pods of its namespace"),
        (
            &["plan", folder],
            "no Pods in the input, and Deployment web cannot be read: not checked which",
            "no Pods in the input:",
        ),
        (&["view", "--all-nodes", folder], "0 nodes, 0 Services: no node to look from", "kube-proxy"),
        (&["view", "--all-nodes", folder, "--complete"], "0 nodes, 1 Service: no node to look from", "kube-proxy"),
    ] {
        let ran = roster(args);
        let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(wanted) && !out.contains(unwanted), "{args:?}: {}{}", ran.out, ran.err);
        let fix = "If the message names something unreadable, correct it.";
        assert_eq!(out.contains(fix), out.contains(" not-checked "), "{args:?}: {}", ran.out);
    }
}

/// Of two objects without `---` between them, none is read as it is meant: no answer is complete.
#[test]
fn a_missing_separator_is_unreadable_input() {
    let text = format!("{DEPLOYMENT}{}", service("web", "port: 80"));
    let folder = directory(&[("a.yaml", &text)]);
    let folder = folder.path().to_str().unwrap();
    for (args, code) in [
        (&["lint", folder][..], 1),
        (&["review", folder], 2),
        (&["explain", folder], 2),
        (&["explain", folder, "web"], 2),
        (&["plan", folder], 2),
        (&["plan", folder, "--complete"], 2),
        (&["view", folder, "--all-nodes"], 2),
        (&["view", folder, "--node", "n"], 2),
    ] {
        let ran = roster(args);
        let is_said = format!("{}{}", ran.out, ran.err).contains("missing-separator");
        assert_eq!((ran.code, is_said), (code, true), "{args:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_manifest_that_cannot_be_read_is_the_only_error() {
    let misses =
        "the selector matches no workload and no pod; nearest: Deployment other, which has app=other instead of web";
    let known = "it selects the pods of Deployment web, which cannot be read";
    for (name, changed, not_checked, explained) in [
        ("a type error", DEPLOYMENT.replace("containerPort: 80", "containerPort: '80'"), None, known),
        (
            "a type error in the labels",
            DEPLOYMENT.replace("labels: {app: web}", "labels: {app: web, b: true}"),
            Some("Deployment web"),
            "it may select pods of Deployment web, which cannot be read",
        ),
        (
            "a document that is not YAML",
            DEPLOYMENT.replace("image: web", "image: \"web"),
            Some("a.yaml:8"),
            "it may select pods of a.yaml:8, which cannot be read",
        ),
        ("a version that is gone", DEPLOYMENT.replace("apps/v1", "apps/v1beta1"), None, known),
        (
            "a misspelt kind",
            DEPLOYMENT.replace("kind: Deployment", "kind: Deploymnt"),
            None,
            "it selects the pods of Deploymnt web, which cannot be read",
        ),
    ] {
        let folder = directory(&[("a.yaml", &changed), ("b.yaml", OTHERS)]);
        let ran = lint(folder.path(), &[]);
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let items = document["items"].as_array().unwrap();
        let serious: Vec<_> = items.iter().filter(|f| f["severity"] != "info").map(|f| f["severity"].clone()).collect();
        assert_eq!(serious, ["error"], "{name}: {}", ran.out);
        let folder = folder.path().display().to_string();
        let of_selector: Vec<String> = items
            .iter()
            .filter(|f| f["code"] == "selector-not-checked")
            .map(|f| f["message"].as_str().unwrap().replace(&format!("{folder}/"), ""))
            .collect();
        let want = not_checked
            .map(|what| format!("{misses}; not checked: whether it matches pods of {what}, which cannot be read"));
        assert_eq!(of_selector, want.into_iter().collect::<Vec<_>>(), "{name}");
        let ran = roster(&["explain", &folder, "web"]);
        assert!(ran.out.replace(&format!("{folder}/"), "").contains(explained), "{name}: {}{}", ran.out, ran.err);
        // Nothing is planned for the Service, nor assumed to be its endpoints.
        let (_, what) = explained.split_once(' ').unwrap();
        for (args, consequence) in [
            (["plan", &folder, "web"].as_slice(), "not checked which endpoints it has"),
            (&["plan", &folder, "web", "--complete"], "not checked which endpoints it has"),
            (&["view", "--all-nodes", &folder, "web"], "not checked which endpoints nodes use of it"),
            (&["view", "--all-nodes", &folder, "web", "--complete"], "not checked which endpoints nodes use of it"),
        ] {
            let ran = roster(args);
            let said = format!("default/web {what}: {consequence}");
            let out = format!("{}{}", ran.out, ran.err).replace(&format!("{folder}/"), "");
            // Tables break long lines.
            let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words.matches(&*said).count(), 1, "{name} {args:?}: {out}");
            assert!(!out.contains("create"), "{name} {args:?}: {out}");
        }
    }
}

/// Its labels can be read, so that a typo is one all the same.
#[test]
fn a_selector_may_almost_match_what_cannot_be_read() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: wbe}, ports: [{port: 80}]}\n";
    let unread = DEPLOYMENT.replace("containerPort: 80", "containerPort: '80'");
    for more in ["", OTHERS] {
        let folder = directory(&[
            ("a.yaml", &*unread),
            ("b.yaml", service),
            ("c.yaml", &more.replace("name: web}", "name: x}")),
        ]);
        let ran = lint(folder.path(), &[]);
        assert!(ran.out.contains("nearest: Deployment web, which has app=web instead of wbe"), "{more}: {}", ran.out);
    }
}

/// A stored slice and a webhook tell that a Service serves nothing. Its pods may be among what cannot be read, in one folder as
/// in two.
#[test]
fn what_cannot_be_read_may_serve_a_webhook_and_fill_a_slice() {
    let objects = "\
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: d}
spec: {clusterIP: 10.96.0.9, selector: {app: hook}, ports: [{port: 443, protocol: TCP, targetPort: 8443}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: d, labels: {app: other}}
spec: {containers: [{name: c, image: c}]}
status: {phase: Running, podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.2}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: hook-1
  namespace: d
  resourceVersion: '3'
  labels: {kubernetes.io/service-name: hook, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
addressType: IPv4
ports: [{name: '', port: 8443, protocol: TCP}]
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, namespace: d, name: hook-1}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: hook.d.example
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {namespace: d, name: hook}}
  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
";
    let deployment = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: hook, namespace: d}
spec:
  selector: {matchLabels: {app: hook}}
  template:
    metadata: {labels: {app: hook}}
    spec: {containers: [{name: c, image: c, ports: [{containerPort: 8443}]}]}
";
    let beside = [("x/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")];
    let template = format!("{deployment}  replicas: {{{{ .Values.replicas }}}}\n");
    let broken = format!("{deployment}  replicas: [\n");
    for (name, unread, is_found) in
        [("nothing", "", true), ("a template", &template, false), ("broken", &broken, false)]
    {
        let one = [("a/a.yaml", objects), ("a/deploy.yaml", unread)];
        for folder in [directory(&one), directory(&[&one[..], &beside].concat())] {
            let ran = lint(folder.path(), &[]);
            for code in ["stored-differs", "webhook-unserved"] {
                let found = ran.out.contains(&format!("\"code\": \"{code}\""));
                assert_eq!(found, is_found, "{name}, {code}: {}", ran.out);
            }
        }
    }
}
