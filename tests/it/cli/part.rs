//! Parts of a cluster: nothing is concluded from a kind that the input has no object of.

use super::{roster, roster_with};

/// The recorded shop without the objects of a kind.
fn shop_without(kind: &str) -> String {
    let shop = include_str!("../../../examples/shop.yaml");
    let mut items = shop.split_inclusive('\n').fold(vec![String::new()], |mut items, line| {
        if line.starts_with("- apiVersion") || line.starts_with("kind:") {
            items.push(String::new());
        }
        items.last_mut().unwrap().push_str(line);
        items
    });
    let before = items.len();
    items.retain(|item| !item.contains(&format!("\n  kind: {kind}\n")));
    assert!(items.len() < before, "{kind}");
    items.concat()
}

/// What the controllers have still to do in the shop.
const TO_DO: &str = "\
NAMESPACE  SERVICE  OBJECT                  ACTION  DETAIL
shop       search   Endpoints search        create  2 addresses, ports http 8080/TCP
shop       search   EndpointSlice search-*  create  IPv4, 2 addresses, ports http 8080/TCP

";

const FIX: &str = "
What to do
CODE         FIX
not-checked  If the message names something unreadable, correct it. Otherwise add the missing objects; or, on the command line, add --complete if the input is the whole cluster.
";

#[test]
fn nothing_is_removed_for_a_kind_that_the_input_lacks() {
    let cases = [
        (
            "Node",
            TO_DO,
            "info      Node    not-checked  no Nodes in the input: not checked whether the nodes of pods exist, nor their \
             zones; stored zones and hints stay",
            "1 of 8 Services: 2 to create, 0 to update, 0 to delete",
            1,
        ),
        (
            "Pod",
            "",
            "info      Pod     not-checked  no Pods in the input: not checked which endpoints Services with a selector have",
            "nothing to do for 1 Service; not checked: 7 Services",
            0,
        ),
        (
            "Service",
            "",
            "info      Service   not-checked  no Services in the input: not checked whether Endpoints and slices are left \
             over",
            "nothing to do for 0 Services",
            0,
        ),
    ];
    for (kind, table, finding, totals, code) in cases {
        let ran = roster_with(&["plan", "-f", "-"], &[], &shop_without(kind));
        let object = format!("{:<1$}", "OBJECT", finding.find("not-checked").unwrap() - 10);
        let want = format!("{table}Findings\nSEVERITY  {object}CODE         MESSAGE\n{finding}\n{FIX}\n{totals}\n");
        assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want.as_str(), "", code), "{kind}");
    }
    let whole = roster(&["plan", "-f", "examples/shop.yaml"]);
    assert!(whole.out.starts_with(TO_DO) && !whole.out.contains("not-checked"), "{}", whole.out);
}

/// The right pods are there, in another namespace.
#[test]
fn a_service_in_a_namespace_without_pods_may_be_in_the_wrong_one() {
    let input = "\
kind: Service
apiVersion: v1
metadata: {name: web, namespace: front, uid: s}
spec: {selector: {app: web}, ports: [{port: 80, protocol: TCP, targetPort: 80}], clusterIP: 10.96.0.1, ipFamilies: [IPv4]}
---
kind: Pod
apiVersion: v1
metadata: {name: web-1, namespace: shop, uid: p, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}
";
    let ran = roster_with(&["explain", "-f", "-"], &[], input);
    let first = "front/web: pods not checked\n  SEVERITY  CODE             DETAIL\n  info      other-namespace  it would match pods: 1 in namespace shop\n";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    let ran = roster_with(&["plan", "-f", "-"], &[], input);
    assert!(ran.out.ends_with("\nnot checked: 1 Service\n"), "{}", ran.out);
}

#[test]
fn mirrored_slices_stay_when_the_input_has_no_endpoints() {
    let service =
        r#"{"kind": "Service", "metadata": {"name": "hand", "namespace": "n"}, "spec": {"ports": [{"port": 80}]}}"#;
    let slice = r#"{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4", "endpoints": [],
        "metadata": {"name": "hand-1", "namespace": "n", "uid": "u", "labels": {"kubernetes.io/service-name": "hand",
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"}}}"#;
    let input = format!("{service}{slice}");
    let part = roster_with(&["plan", "-f", "-"], &[], &input);
    assert_eq!(part.code, 0, "{}", part.out);
    assert!(part.out.contains("no Endpoints in the input: not checked whether mirrored slices are left over"));
    let whole = roster_with(&["plan", "-f", "-", "--complete"], &[], &input);
    assert_eq!(whole.code, 1, "{}", whole.out);
    assert!(whole.out.contains("EndpointSlice hand-1  delete"), "{}", whole.out);
}

#[test]
fn complete_input_lacks_what_the_cluster_lacks() {
    let nodes = roster_with(&["plan", "-f", "-", "--complete"], &[], &shop_without("Node"));
    assert!(nodes.out.contains("6 of 8 Services: 2 to create, 6 to update, 1 to delete"), "{}", nodes.out);
    let pods = roster_with(&["plan", "-f", "-", "--complete", "-o", "json"], &[], &shop_without("Pod"));
    assert!(!pods.out.contains("not-checked"), "{}", pods.out);
    assert_eq!(pods.code, 1);
}

#[test]
fn an_explanation_without_pods_or_services_does_not_guess() {
    let pods = roster_with(&["explain", "-f", "-", "-o", "wide"], &[], &shop_without("Pod"));
    assert!(pods.out.contains("shop/cart: pods not checked\n"), "{}", pods.out);
    assert!(!pods.out.contains("selector-matches-nothing"), "{}", pods.out);
    let brief = roster_with(&["explain", "-f", "-"], &[], &shop_without("Pod"));
    let line = "shop/cart       pods not checked  info    not-checked  no Pods of its namespace in the input\n";
    assert!(brief.out.contains(line) && !brief.out.contains("selector-matches-nothing"), "{}", brief.out);
    assert_eq!(brief.code, 0);
    let services = roster_with(&["explain", "-f", "-", "-o", "json"], &[], &shop_without("Service"));
    assert!(services.out.contains("\"items\":[\n]"), "{}", services.out);
    assert!(services.out.contains("not-checked") && !services.out.contains("service-missing"), "{}", services.out);
    assert_eq!((pods.code, services.code), (0, 0));
}

/// A Deployment of two replicas, a Service in front of it and one with a mistake of typing.
const MANIFESTS: &str = "
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: 'n'}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: 'n'}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
kind: Service
apiVersion: v1
metadata: {name: typo, namespace: 'n'}
spec: {selector: {app: wbe}, ports: [{port: 80}]}
";

/// What an API server has stored for the first of the Services.
const STORED: &str = "
---
kind: Endpoints
apiVersion: v1
metadata: {name: web, namespace: 'n', uid: e, resourceVersion: '7'}
subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80, protocol: TCP}]}]
";

#[test]
fn workloads_stand_for_pods_where_no_address_is_stored() {
    let planned = |input: &str, more: &[&str]| {
        let ran = roster_with(&[&["plan", "-f", "-"][..], more].concat(), &[], input);
        let rows = ran.out.lines().take_while(|line| !line.is_empty()).skip(1);
        let row = |line: &str| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
        (rows.map(row).collect::<Vec<_>>(), ran.out.contains("not-checked"))
    };
    let typo = ["n typo Endpoints typo create", "n typo EndpointSlice typo-* create"];
    let web = ["n web Endpoints web create", "n web EndpointSlice web-* create"];
    let replaced = ["n web Endpoints web update", "n web EndpointSlice web-* create"];
    let stored = format!("{MANIFESTS}{STORED}");
    for (input, more, want, is_part) in [
        (MANIFESTS, &[][..], [&typo[..], &web].concat(), false),
        // The stored address is that of a pod which the files do not have.
        (&stored, &[], typo.to_vec(), true),
        (&stored, &["--complete"], [&typo[..], &replaced].concat(), false),
    ] {
        assert_eq!(planned(input, more), (want.iter().map(ToString::to_string).collect(), is_part), "{more:?} {input}");
    }
}

#[test]
fn pods_of_one_namespace_say_nothing_about_another() {
    let other = STORED.replace("namespace: 'n'", "namespace: other");
    let service = "---\nkind: Service\napiVersion: v1\nmetadata: {name: web, namespace: other, uid: s, resourceVersion: '3'}\n\
                   spec: {selector: {app: web}, clusterIP: 10.96.0.1, ipFamilies: [IPv4], ports: [{port: 80, protocol: TCP, \
                   targetPort: 80}]}\n";
    let input = format!("{MANIFESTS}{service}{other}");
    let message = "no Pods of namespace other in the input: not checked which endpoints Services with a selector have";
    let part = roster_with(&["plan", "-f", "-"], &[], &input);
    assert!(part.out.contains(message) && !part.out.contains("\nother "), "{}", part.out);
    let whole = roster_with(&["plan", "-f", "-", "--complete"], &[], &input);
    assert!(!whole.out.contains("not-checked") && whole.out.contains("\nother "), "{}", whole.out);
    let explained = roster_with(&["explain", "-f", "-"], &[], &input);
    let line = explained.out.lines().find(|line| line.starts_with("other/web")).unwrap_or_default();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>()[1..4], ["pods", "not", "checked"], "{}", explained.out);
    let chosen = roster_with(&["plan", "-f", "-", "-n", "n"], &[], &input);
    assert!(!chosen.out.contains("namespace other"), "{}", chosen.out);
}
