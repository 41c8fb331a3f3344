//! `roster convert`.

use serde_json::{Value, json};

use super::{Case, check, roster, roster_with};

/// Hand-made Endpoints with an address that is none.
const ENDPOINTS: &str = "\
apiVersion: v1
kind: Endpoints
metadata: {name: db, namespace: shop}
subsets:
- addresses: [{ip: 192.0.2.7}, {ip: junk}]
  ports: [{name: sql, port: 5432, protocol: TCP}]
";

const POLICY: &str = "\
apiVersion: roster.dev/v1alpha1
kind: EndpointPolicy
metadata: {name: base}
spec:
  defaultMode: 'off'
  namespaces: [shop]
  future: 18446744073709551615
";

#[test]
fn objects_go_to_standard_output_and_losses_to_standard_error() {
    let ran = roster_with(&["convert", "--to", "EndpointSlice", "-f", "-"], &[], ENDPOINTS);
    let want = "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-1
  namespace: shop
  labels:
    endpointslice.kubernetes.io/managed-by: roster-convert
    kubernetes.io/service-name: db
addressType: IPv4
endpoints:
- addresses:
  - \"192.0.2.7\"
  conditions:
    ready: true
ports:
- name: sql
  protocol: TCP
  port: 5432
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 1));
    assert!(
        ran.err.starts_with("OBJECT             LOST FIELD  MORE  REASON\nEndpoints shop/db  subsets"),
        "{}",
        ran.err
    );
}

#[test]
fn policies_convert_there_and_back_with_unknown_fields() {
    let there = roster_with(&["convert", "--to", "roster.dev/v1", "-f", "-"], &[], POLICY);
    assert_eq!((there.err.as_str(), there.code), ("", 0));
    let want = "\
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata:
  name: base
spec:
  defaultMode: \"off\"
  match:
    namespaces:
      names:
      - shop
  future: 18446744073709551615
";
    assert_eq!(there.out, want);
    let back = roster_with(&["convert", "--to", "roster.dev/v1alpha1", "-o", "ndjson", "-f", "-"], &[], &there.out);
    let want = concat!(
        r#"{"apiVersion":"roster.dev/v1alpha1","kind":"EndpointPolicy","metadata":{"name":"base"},"#,
        r#""spec":{"defaultMode":"off","namespaces":["shop"],"future":18446744073709551615}}"#,
        "\n"
    );
    assert_eq!((back.out.as_str(), back.code), (want, 0));
}

#[test]
fn an_object_that_cannot_be_converted_fails_alone_and_is_named() {
    let input = "\
apiVersion: discovery.k8s.io/v1beta1
kind: EndpointSlice
metadata: {name: good, namespace: shop}
---
apiVersion: discovery.k8s.io/v1beta1
kind: EndpointSlice
metadata: {name: bad, namespace: shop}
endpoints: [{topology: 5}]
---
apiVersion: v1
kind: Service
";
    let ran = roster_with(&["convert", "--to", "discovery.k8s.io/v1", "-o", "json", "-f", "-"], &[], input);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let good = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "good", "namespace": "shop"},
    });
    let service = json!({"apiVersion": "v1", "kind": "Service"});
    assert_eq!(list, json!({"apiVersion": "v1", "kind": "List", "items": [good, service]}));
    let want = "error: <stdin>:5: EndpointSlice shop/bad: endpoints[0].topology is not an object\n";
    assert_eq!((ran.err.as_str(), ran.code), (want, 2));
}

#[test]
fn wrong_use_of_convert_is_an_error() {
    check(&[
        Case { name: "no target", args: &["convert", "-f", "x"], code: 2, out: "", err: "--to" },
        Case {
            name: "no such target",
            args: &["convert", "--to", "v2", "-f", "x"],
            code: 2,
            out: "",
            err: "[possible values: EndpointSlice, Endpoints, discovery.k8s.io/v1, discovery.k8s.io/v1beta1, \
                  roster.dev/v1, roster.dev/v1alpha1]",
        },
        Case {
            name: "no such file",
            args: &["convert", "--to", "Endpoints", "-f", "/no/such/file"],
            code: 2,
            out: "",
            err: "cannot open /no/such/file",
        },
    ]);
}

#[test]
fn invalid_yaml_is_reported_with_its_place() {
    let ran = roster_with(&["convert", "--to", "Endpoints", "-f", "-"], &[], "a: [\n");
    assert_eq!((ran.out.as_str(), ran.code), ("", 2));
    assert!(ran.err.contains("<stdin>:"), "{}", ran.err);
    assert_eq!(roster(&["convert", "--help"]).code, 0);
}
