//! Whatever comes in: a clear error, or a problem, and never a lost rest.

use std::{
    io::{self, Read, Write},
    num::NonZeroUsize,
    sync::Mutex,
};

use roster_engine::model::defaults::Defaults;

use super::*;
use crate::inventory::Inventory;

/// The keys of the objects, each finding as `code pointer message`, and the error.
pub(super) fn outcome(input: impl Read + Send, source: &Source<'_>) -> (Vec<String>, Vec<String>, Option<String>) {
    let mut inventory = Inventory::default();
    let error = read(input, source, &mut inventory).err().map(|e| e.to_string());
    let key = |k: roster_engine::model::ObjectKey| k.to_string();
    let mut objects: Vec<_> = inventory.services.iter().map(|o| key(o.key())).collect();
    objects.extend(inventory.pods.iter().map(|o| key(o.key())));
    objects.extend(inventory.nodes.iter().map(|o| format!("Node {}", o.name)));
    objects.extend(inventory.endpoints.iter().map(|o| key(o.key())));
    objects.extend(inventory.slices.iter().map(|o| key(o.key())));
    objects.extend(inventory.workloads.iter().map(|o| key(o.key())));
    objects.extend(inventory.autoscalers.iter().map(|o| format!("HorizontalPodAutoscaler {}", o.name)));
    let index = inventory.index();
    let problems = index.problems().into_iter();
    let problems = problems.map(|p| format!("{} {} {}", p.code, p.pointer.as_deref().unwrap_or("-"), p.message));
    (objects, problems.collect(), error)
}

pub(super) fn one_thread() -> Source<'static> {
    Source { threads: NonZeroUsize::MIN, defaults: Defaults::NEVER, ..Source::file("in") }
}

/// A reader that returns one byte at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(1).min(self.0.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// Checks that the result is the same at once, byte by byte and compressed.
#[track_caller]
pub(super) fn check(input: impl AsRef<[u8]>, objects: &[&str], problems: &[&str], error: Option<&str>) {
    let input = input.as_ref();
    let got = outcome(input, &one_thread());
    let want = (
        objects.iter().map(ToString::to_string).collect::<Vec<_>>(),
        problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        error.map(str::to_owned),
    );
    let shown = String::from_utf8_lossy(&input[..input.len().min(300)]);
    assert_eq!(got, want, "{shown}");
    assert_eq!(outcome(Drip(input), &one_thread()), want, "drip: {shown}");
    assert_eq!(outcome(&*gzip(input), &one_thread()), want, "gzip: {shown}");
}

pub(super) const A: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"}}"#;
pub(super) const B: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"n"}}"#;

#[test]
fn every_output_format_of_kubectl_is_read() {
    for input in [
        format!("{A}{B}"),
        format!("{A}\n{B}\n"),
        format!(r#"{{"apiVersion":"v1","kind":"List","items":[{A},{B}]}}"#),
        format!("\n{{ \"apiVersion\" : \"v1\" , \"items\" : [ {A} ,\n {B} ] , \"kind\" : \"List\", \"metadata\": {{}} }}\n"),
        format!(r#"{{"items":[{A}],"kind":"List","items":[{B}]}}"#),
        format!("[{A},{B}]"),
        format!("\u{feff}{A}{B}"),
        format!(r#"{{"kind":"List","apiVersion":"v1","items":[{{"apiVersion":"v1","items":[{A}],"kind":"PodList"}},{B}]}}"#),
        // The output of `kubectl get --raw`: only the list names the kind.
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a","namespace":"n"}},{"metadata":{"name":"b","namespace":"n"}}]}"#.into(),
        // The same, sorted.
        r#"{"apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"n"}},{"metadata":{"name":"b","namespace":"n"}}],"kind":"PodList"}"#.into(),
        r#"{"metadata":{"namespace":"n","name":"a"},"kind":"Pod"}{"metadata":{"namespace":"n","name":"b"},"kind":"Pod"}"#.into(),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 'n'}\n---\n# nothing\n---\nkind: Pod\nmetadata:\n  name: b\n  namespace: 'n'\n".into(),
        "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata: &m\n    name: a\n    namespace: 'n'\n- kind: Pod\n  metadata: {name: \"b\", namespace: 'n'}\n".into(),
        "- kind: Pod\n  metadata: {name: a, namespace: &ns 'n'}\n- kind: Pod\n  metadata: {name: b, namespace: *ns}\n".into(),
    ] {
        check(input, &["Pod n/a", "Pod n/b"], &[], None);
    }
    check("", &[], &[], None);
    check(" \n", &[], &[], None);
    check("# nothing\n---\n---\n", &[], &[], None);
    check(r#"{"kind":"List","items":[]}"#, &[], &[], None);
    check(r#"{"kind":"List","items":null}"#, &[], &[], None);
}

#[test]
fn kinds_are_recognized_and_others_are_counted() {
    check(
        r#"{"kind":"ServiceList","apiVersion":"v1","items":[{"metadata":{"name":"s"}}]}
           {"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"s"}}]}
           {"kind":"EndpointsList","apiVersion":"v1","items":[{"metadata":{"name":"s"}}]}
           {"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","items":[{"metadata":{"name":"s"}}]}
           {"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"s"}}]}
           {"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"s"}}
           {"kind":"Rollout","apiVersion":"argoproj.io/v1alpha1","metadata":{"name":"s"},
            "spec":{"strategy":"blue","template":{"spec":{"containers":[]}}}}
           {"kind":"Rollout","apiVersion":"argoproj.io/v1alpha1","spec":{"template":{"spec":{"containers":"none"}}}}
           {"kind":"IngressList","apiVersion":"networking.k8s.io/v1","items":[{"metadata":{"name":"s"}},{}]}
           {"kind":"Service","apiVersion":"serving.knative.dev/v1","metadata":{"name":"k"}}
           {"kind":"ConfigMap","apiVersion":"v1"}"#,
        &[
            "Service s",
            "Node s",
            "Endpoints s",
            "EndpointSlice s",
            "Deployment s",
            "Rollout s",
            "HorizontalPodAutoscaler s",
        ],
        &[
            "ignored-object - 1 object of kind ConfigMap is not read",
            "ignored-object - 1 object of kind Rollout (argoproj.io/v1alpha1) is not read",
            "ignored-object - 1 object of kind Service (serving.knative.dev/v1) is not read",
        ],
        None,
    );
}

#[test]
fn an_invalid_object_does_not_affect_the_others() {
    let list = |bad: &str| format!(r#"{{"kind":"List","items":[{A},{bad},{B}]}}"#);
    for (bad, problem) in [
        ("null", "invalid-object /items/1 in:1:98: invalid type: null, expected an object"),
        ("5", "invalid-object /items/1 in:1:98: invalid type: integer `5`, expected an object"),
        ("{}", "invalid-object /items/1 in:1:98: the field `kind` is missing"),
        (
            r#"{"kind":"Pod","spec":5}"#,
            "invalid-object /items/1/spec in:1:119: invalid type: integer `5`, expected an object",
        ),
        (
            "{\"kind\":\"Pod\",\n\"metadata\":{\"labels\":{\"a\":true}}}",
            "invalid-object /items/1/metadata/labels/a in:2:27: invalid type: boolean `true`, expected a string",
        ),
        (
            r#"{"kind":"Service","spec":{"ports":[{"port":99999999999}]}}"#,
            "invalid-object /items/1/spec/ports/0/port in:1:141: invalid value: integer `99999999999`, expected a 32-bit integer",
        ),
        (
            r#"{"kind":"Service","spec":{"ports":[{"port":80},{"port":"80"}]}}"#,
            "invalid-object /items/1/spec/ports/1/port in:1:153: invalid type: string \"80\", expected a 32-bit integer",
        ),
        ("[[[[]]]]", "invalid-object /items/1 in:1:98: invalid type: list, expected an object"),
    ] {
        let (objects, problems, error) = outcome(list(bad).as_bytes(), &one_thread());
        assert_eq!((objects, error), (vec!["Pod n/a".to_owned(), "Pod n/b".to_owned()], None), "{bad}");
        assert_eq!(problems, [problem], "{bad}");
    }
}

#[test]
fn names_and_ports_that_an_api_server_refuses_are_reported() {
    let long = "x".repeat(300);
    let service = |name: &str, spec: &str| {
        format!(r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{name}"}},"spec":{spec}}}"#)
    };
    check(
        format!(
            "[{},{},{}]",
            service(&long, "{}"),
            service("-a", "{}"),
            service("a", r#"{"ports":[{"port":70000,"targetPort":0,"protocol":"TCP"},{"port":80,"targetPort":-1}]}"#)
        ),
        &[&format!("Service {long}"), "Service -a", "Service a"],
        &[
            "invalid-name /items/0/metadata/name the name has 300 characters; 63 are allowed",
            "invalid-name /items/1/metadata/name a name consists of lower case letters, digits and '-', and begins and \
             ends with a letter or digit",
            "invalid-port /items/2/spec/ports/0/port port 70000 is not from 1 to 65535",
            "invalid-port /items/2/spec/ports/1/targetPort port -1 is not from 1 to 65535",
            "missing-protocol /items/2/spec/ports/1/protocol the port has no protocol",
        ],
        None,
    );
    // Ports of all containers are one list to the model; init containers count if they are sidecars.
    let pod = r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{
        "initContainers":[{"ports":[{"containerPort":0}]},{"restartPolicy":"Always","ports":[{"containerPort":-1}]}],
        "containers":[{},{"ports":[{"containerPort":80},{"name":"http","containerPort":70000}]}]}}"#;
    check(
        pod,
        &["Pod a"],
        &[
            "invalid-port /spec/containers/1/ports/1/containerPort port 70000 is not from 1 to 65535",
            "missing-protocol /spec/containers/1/ports/1/protocol the port has no protocol",
            "invalid-port /spec/initContainers/1/ports/0/containerPort port -1 is not from 1 to 65535",
        ],
        None,
    );
    for (object, pointer) in [
        (r#"{"kind":"Endpoints","metadata":{"name":"a"},"subsets":[{"ports":[{"port":80}]}]}"#, "/subsets/0/ports/0"),
        (r#"{"kind":"EndpointSlice","metadata":{"name":"a"},"ports":[{"port":80}]}"#, "/ports/0"),
    ] {
        let problem = format!("missing-protocol {pointer}/protocol the port has no protocol");
        assert_eq!(outcome(object.as_bytes(), &one_thread()).1, [problem], "{object}");
    }
}

#[test]
fn the_last_of_equal_names_and_keys_counts() {
    check(
        format!("{A}{B}{A}"),
        &["Pod n/a", "Pod n/b", "Pod n/a"],
        &["duplicate-object - Pod n/a is present more than once; the last one counts"],
        None,
    );
    check(
        r#"{"kind":"Pod","metadata":{"name":"a","name":"b","x":1,"x":2},"kind":"Pod"}"#,
        &["Pod b"],
        &[
            "duplicate-key /metadata/name in:1:38: the key name is repeated; the last one counts",
            "duplicate-key /metadata/x in:1:55: the key x is repeated; the last one counts",
            "duplicate-key /kind in:1:62: the key kind is repeated; the last one counts",
        ],
        None,
    );
    check(
        "kind: Pod\nmetadata:\n  name: a\n  name: b\n",
        &["Pod b"],
        &["duplicate-key /metadata/name in:4:3: the key name is repeated; the last one counts"],
        None,
    );
    // A fault does not hide another one.
    check(
        "kind: Pod\nmetadata: {name: a}\n---\nkind: Service\nmetadata:\n  name: b\n  name: c\nspec:\n  ports: 80\n",
        &["Pod a"],
        &[
            "duplicate-key /metadata/name in:7:3 (document 2): the key name is repeated; the last one counts",
            "invalid-object /spec/ports in:9:12 (document 2): invalid type: integer `80`, expected a list",
        ],
        None,
    );
}

#[test]
fn invalid_json_is_an_error_at_its_position() {
    for (bad, objects, error) in [
        (format!("{A}\n{{\"kind\":\"Pod\""), 1, "in:2:14: not JSON: the input ends within an object"),
        (format!("[{A},{B}"), 2, "in:1:147: not JSON: the input ends within a list"),
        (format!("[{A},]"), 1, "in:1:75: not JSON: expected a value"),
        (format!("[{A} {B}]"), 1, "in:1:75: not JSON: expected a comma or the end of the list"),
        (format!("{A}x"), 1, "in:1:73: not JSON: expected an object"),
        (format!("{{\"kind\":\"List\",\"items\":[{A}],}}"), 1, "in:1:99: not JSON: expected a key in quotes"),
        (
            format!("{{\"kind\":\"List\",\n\"items\":[{A}],\n\"metadata\":{{\"a\":}}}}"),
            1,
            "in:3:17: not JSON: expected value",
        ),
        (format!("{{\"kind\":\"List\",\"metadata\":[}},\"items\":[{A}]}}"), 0, "in:1:28: not JSON: expected value"),
        (format!("[{A},\n{{\"kind\":\"Pod\",\"metadata\":tru}}]"), 1, "in:2:29: not JSON: expected ident"),
        (
            format!("[{A},\n{{\"kind\":\"Pod\",\"x\":\"\t\"}}]"),
            1,
            "in:2:19: not JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        ("{\"a\" 1}".into(), 0, "in:1:6: not JSON: expected a colon"),
        ("{1:1}".into(), 0, "in:1:2: not JSON: expected a key in quotes"),
    ] {
        let source = Source { format: InputFormat::Json, ..one_thread() };
        let got = outcome(bad.as_bytes(), &source);
        assert_eq!((got.0.len(), got.2.as_deref()), (objects, Some(error)), "{bad}");
        assert_eq!(outcome(Drip(bad.as_bytes()), &source), got, "{bad}");
    }
}

#[test]
fn a_truncated_character_is_an_error_at_its_position() {
    let mut bytes = format!("[{A},\n{{\"kind\":\"Pod\",\"x\":\"").into_bytes();
    bytes.extend(b"\xe2\x82\"}]");
    let (objects, _, error) = outcome(&*bytes, &one_thread());
    assert_eq!((objects.len(), error.as_deref()), (1, Some("in:2:20: not JSON: not UTF-8")));
    let (_, _, error) = outcome(&b"kind: Pod\nmetadata: \xe2\x82\n"[..], &one_thread());
    assert_eq!(error.as_deref(), Some("in:2:11: not YAML: not UTF-8"));
}

#[test]
fn every_prefix_of_a_list_keeps_its_complete_objects() {
    let whole = format!(r#"{{"kind":"List","items":[{A},{B}],"metadata":{{"x":"\"]"}}}}"#);
    for cut in 1..whole.len() {
        let (objects, problems, error) = outcome(&whole.as_bytes()[..cut], &one_thread());
        let complete = [24 + A.len(), 25 + A.len() + B.len()].iter().filter(|end| cut >= **end).count();
        assert_eq!((objects.len(), problems.len()), (complete, 0), "{}", &whole[..cut]);
        assert!(error.is_some(), "{}", &whole[..cut]);
    }
}

#[test]
fn limits_hold() {
    let source = Source { max_bytes: Some(1 << 20), ..one_thread() };
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let (_, _, error) = outcome(&*bomb, &source);
    assert_eq!(error.as_deref(), Some("in:1:1048577: more than 1048576 bytes after decompression"));
    // Exactly the limit is allowed.
    let exact = Source { max_bytes: Some(A.len() as u64), ..one_thread() };
    assert_eq!(outcome(A.as_bytes(), &exact).2, None);

    let source = Source { max_object_bytes: 2 << 20, ..one_thread() };
    let huge = format!("{A}{{\"a\":\"{}\"}}{B}", "x".repeat(3 << 20));
    let (objects, _, error) = outcome(huge.as_bytes(), &source);
    assert_eq!((objects.len(), error.as_deref()), (1, Some("in:1:73: one object has more than 2097152 bytes")));

    let source = Source { max_objects: 3, ..one_thread() };
    assert_eq!(outcome(format!("[{A},{B}]{A}").as_bytes(), &source).2, None);
    let (.., error) = outcome(format!("[{A},{{\"kind\":\"List\",\"items\":[{A},{B}]}}]").as_bytes(), &source);
    assert_eq!(error.as_deref(), Some("in:1:75: more than 3 objects"));

    let deep = format!("[{A},{}{},{B}]", "[".repeat(100_000), "]".repeat(100_000));
    let (objects, problems, error) = outcome(deep.as_bytes(), &one_thread());
    assert_eq!((objects.len(), problems.len(), error), (2, 1, None));
    let deep =
        format!(r#"[{A},{{"kind":"Pod","metadata":{{"labels":{}{}}}}},{B}]"#, "[".repeat(9000), "]".repeat(9000));
    assert_eq!(outcome(deep.as_bytes(), &one_thread()).0.len(), 2);
    let lists = format!(r"{}{A}{}", r#"{"kind":"List","items":["#.repeat(200), "]}".repeat(200));
    assert_eq!(outcome(lists.as_bytes(), &one_thread()).1.len(), 1);
    for deep in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
        assert!(outcome(deep.as_bytes(), &one_thread()).2.is_some());
    }
}

#[test]
fn large_objects_are_read_in_linear_time() {
    let labels: Vec<_> = (0..1_000_000).map(|i| format!(r#""k{i}":"v""#)).collect();
    let pod = format!(r#"{{"kind":"Pod","metadata":{{"name":"a","labels":{{{}}}}}}}"#, labels.join(","));
    let mut inventory = Inventory::default();
    read(pod.as_bytes(), &one_thread(), &mut inventory).unwrap();
    assert_eq!(inventory.pods[0].labels.len(), 1_000_000);

    let fields: Vec<_> = (0..10_000).map(|i| format!(r#""f{i}":{{"x":[{i}]}}"#)).collect();
    let pod = format!(r#"{{{},"kind":"Pod","metadata":{{"name":"a"}}}}"#, fields.join(","));
    check(pod, &["Pod a"], &[], None);
}

#[test]
fn millions_of_bad_objects_are_counted_in_linear_time() {
    for bad in ["{}", "5", r#"{"kind":"List","items":[]}"#, r#"{"kind":"Pod","spec":5}"#] {
        let list =
            format!(r#"{{"items":[{bad}{}],"kind":"PodList","apiVersion":"v1"}}"#, format!(",\n{bad}").repeat(20_000));
        let mut inventory = Inventory::default();
        read(list.as_bytes(), &one_thread(), &mut inventory).unwrap();
        assert!(inventory.problems.as_slice().len() <= 1000);
    }
    let nested: Vec<_> = (0..250).map(|i| format!("{}a: &a{i}", " ".repeat(i))).collect();
    let yaml = format!("{}\n{}b: {}\n", nested.join("\n"), " ".repeat(250), "x".repeat(1 << 20));
    let (.., error) = outcome(yaml.as_bytes(), &one_thread());
    assert!(error.is_some_and(|e| e.contains("too much text")));
}

#[test]
fn addresses_are_parsed_as_upstream_parses_them() {
    let pod = r#"{"kind":"Pod","metadata":{"name":"a"},"status":{"podIP":"010.0.0.1","podIPs":[{"ip":"010.0.0.1"},{"ip":"::ffff:10.0.0.1"}]}}"#;
    let mut inventory = Inventory::default();
    read(pod.as_bytes(), &one_thread(), &mut inventory).unwrap();
    let ips: Vec<_> = inventory.pods[0].ips.iter().map(|ip| ip.canonical.as_deref()).collect();
    assert_eq!(ips, [Some("10.0.0.1"), Some("10.0.0.1")]);
}

#[test]
fn yaml_scalars_have_the_types_of_kubectl() {
    let yaml = "kind: Service\nmetadata:\n  name: 'a'\n  labels: {app: 'yes', n: \"80\", d: 2026-01-01, e: !!str 5, v: 1.2.3, z: 0o, h: 12e3456}\n\
                spec:\n  publishNotReadyAddresses: on\n  clusterIP: None\n  ports:\n  - {port: 0x50, targetPort: http}\n  \
                - port: 81\n    targetPort: 8081\n    name: |-\n      x\n";
    let mut inventory = Inventory::default();
    read(yaml.as_bytes(), &one_thread(), &mut inventory).unwrap();
    let service = &inventory.services[0];
    assert_eq!(
        serde_json::to_value(&service.meta.labels).unwrap(),
        serde_json::json!({"app": "yes", "false": "80", "d": "2026-01-01", "e": "5", "v": "1.2.3", "z": "0o", "h": "12e3456"})
    );
    assert!(service.publish_not_ready && service.declared_headless());
    assert_eq!(serde_json::to_value(&service.ports[0].target_port).unwrap(), "http");
    assert_eq!(serde_json::to_value(&service.ports[1].target_port).unwrap(), 8081);
    assert_eq!(service.ports[1].name, "x");
}

#[test]
fn yaml_errors_name_line_and_field() {
    check(
        "kind: List\nitems:\n- kind: Service\n  metadata: {name: a}\n- kind: Service\n  metadata:\n    name: b\n  spec:\n    ports:\n    - port: http\n",
        &["Service a"],
        &[
            "invalid-object /items/1/spec/ports/0/port in:10:16: invalid type: string \"http\", expected a 32-bit integer",
        ],
        None,
    );
    let bomb: Vec<_> =
        (1..20).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(","))).collect();
    for (yaml, error) in [
        ("kind: Pod\nmetadata:\n  name: [a\n", "in:3:9: not YAML: unclosed bracket '['"),
        ("kind: Pod\n\tname: a\n", "?"),
        ("kind: Pod\nmetadata:\n  <<: a\n", "in:3:7: not YAML: a merge key (<<) needs a mapping or a list of mappings"),
        (
            "kind: Pod\nspec: {a: .inf}\n",
            "in:2:11: not YAML: JSON has no infinite numbers, and none that is not a number",
        ),
        ("kind: Pod\n~: x\n", "in:2:1: not YAML: null cannot be a key"),
        ("kind: Pod\nv: !!int x\n", "in:2:10: not YAML: \"x\" is not of the type !!int"),
        ("? [a]\n: b\n", "in:1:3: not YAML: a key must be a string"),
        ("a: &x [*x]\n", "in:1:8: not YAML: an alias refers to a node that contains it"),
        ("a: *x\n", "?"),
        ("just text", "in:1:1: not JSON: expected an object"),
        (
            &format!("a0: &a0 xxxxxxxxxx\n{}", bomb.concat()),
            "in:8:10: not YAML: anchors and aliases expand to too much text",
        ),
    ] {
        let got = outcome(yaml.as_bytes(), &one_thread()).2.unwrap();
        assert!(got == error || error == "?", "{yaml}: {got}");
    }
}

#[test]
fn beta_slices_get_zone_and_node() {
    let slice = r#"{"apiVersion":"discovery.k8s.io/v1beta1","kind":"EndpointSlice","metadata":{"name":"s"},"endpoints":[
        {"addresses":["1.1.1.1"],"nodeName":"n","topology":{"topology.kubernetes.io/zone":"z","kubernetes.io/hostname":"n"}},
        {"addresses":["1.1.1.2"],"nodeName":"n","topology":{"kubernetes.io/hostname":"h","r":"x"}},
        {"addresses":["1.1.1.3"],"topology":{}}]}"#;
    let mut inventory = Inventory::default();
    read(slice.as_bytes(), &one_thread(), &mut inventory).unwrap();
    let endpoints = serde_json::to_value(&inventory.slices[0].endpoints).unwrap();
    assert_eq!(
        endpoints,
        serde_json::json!([
            {"addresses": ["1.1.1.1"], "conditions": {}, "nodeName": "n", "zone": "z"},
            {"addresses": ["1.1.1.2"], "conditions": {}, "nodeName": "n", "deprecatedTopology": {"kubernetes.io/hostname": "h", "r": "x"}},
            {"addresses": ["1.1.1.3"], "conditions": {}},
        ])
    );
}

#[test]
fn objects_before_a_read_error_are_kept() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let (objects, _, error) = outcome(format!("{A}{A}\n").as_bytes().chain(Fails), &one_thread());
    assert_eq!(error.as_deref(), Some("in:2:1: cannot read: the disk is gone"));
    assert_eq!(objects, ["Pod n/a", "Pod n/a"]);
    let mut cut = gzip(A.repeat(100).as_bytes());
    cut.truncate(cut.len() - 12);
    assert!(outcome(&*cut, &one_thread()).2.is_some_and(|e| e.contains("cannot read")));
}

#[test]
fn several_threads_read_the_same_as_one() {
    // Some megabytes, so that there are several batches, and an error in the middle of the second run.
    let pod = |i: usize, bad: bool| {
        let pad = "p\\\"{".repeat(200 + i % 700);
        let labels = if bad { "5" } else { "{\"app\":\"x\"}" };
        format!("{{\"kind\":\"Pod\",\"x\":\"{pad}\",\n\"metadata\":{{\"name\":\"p{i}\",\"labels\":{labels}}}}}")
    };
    let pods: Vec<_> = (0..3000).map(|i| pod(i, i % 500 == 499)).collect();
    let list = format!("{{\"kind\":\"List\",\"items\":[{}]}}", pods.join(",\n"));
    let four = Source { threads: NonZeroUsize::new(4).unwrap(), ..one_thread() };
    let got = outcome(list.as_bytes(), &four);
    assert_eq!((got.0.len(), got.1.len()), (2994, 6));
    assert_eq!(got, outcome(list.as_bytes(), &one_thread()));
    assert!(got.1[0].starts_with("invalid-object /items/499/metadata/labels in:1000:"), "{}", got.1[0]);
    let broken = list.replacen("\"name\":\"p2000\",", "\"name\":\"p2000\";", 1);
    let got = outcome(broken.as_bytes(), &four);
    assert_eq!(got, outcome(broken.as_bytes(), &one_thread()));
    assert_eq!((got.0.len(), got.2.is_some()), (1996, true));
}

/// `examples/shop.yaml` is at rest, but for the Service that was just created.
#[test]
fn the_sample_is_a_cluster_at_rest() {
    use crate::inventory::whole;
    let mut inventory = Inventory::default();
    read(&include_bytes!("../../../../examples/shop.yaml")[..], &one_thread(), &mut inventory).unwrap();
    let index = inventory.index();
    assert!(index.problems().is_empty());
    let options = roster_engine::state::Options::default();
    let writes = |e: &crate::inventory::Entry<'_>| {
        !whole::plan_of(&index, e, &roster_engine::state::Controller::ALL, &options).is_noop()
    };
    let changed: Vec<_> = index.entries().iter().filter(|e| writes(e)).map(|e| e.name).collect();
    assert_eq!(changed, ["search"]);
}

/// What is charged to an account.
#[derive(Debug, Default)]
struct Charged(Mutex<usize>);

impl MemoryAccount for Charged {
    fn take(&self, bytes: usize) -> bool {
        *self.0.lock().unwrap() += bytes;
        true
    }

    fn give_back(&self, bytes: usize) {
        *self.0.lock().unwrap() -= bytes;
    }
}

#[test]
fn objects_are_charged_with_what_they_take_and_refused_at_the_limit() {
    let long = "x".repeat(60);
    for (name, object, each) in [
        ("an empty pod", r#"{"kind":"Pod","metadata":{"name":"@"}}"#.to_owned(), 700..1100),
        (
            "a subset with one address",
            r#"{"kind":"Endpoints","metadata":{"name":"@"},"subsets":[{"addresses":[{}]}]}"#.to_owned(),
            1200..1500,
        ),
        (
            "what lies behind pointers",
            r#"{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"name":"@"},
                "endpoints":[{"targetRef":{},"hints":{}}]}"#
                .to_owned(),
            1500..2800,
        ),
        (
            "long texts",
            format!(r#"{{"kind":"Node","metadata":{{"name":"@","labels":{{"a":"{long}@","b":"{long}@"}}}}}}"#),
            450..600,
        ),
        ("what is not read", r#"{"kind":"Pod","metadata":{"name":5,"x":[1,2,3]}}"#.to_owned(), 0..1),
        ("another kind", r#"{"kind":"Secret","metadata":{"name":"@"}}"#.to_owned(), 0..1),
    ] {
        const COUNT: usize = 20_000;
        let text: String = (0..COUNT).map(|i| object.replace('@', &i.to_string())).collect();
        let charged = Charged::default();
        let source = Source { account: Some(&charged), ..Source::body() };
        let mut inventory = Inventory::default();
        read(text.as_bytes(), &source, &mut inventory).unwrap();
        let bytes = *charged.0.lock().unwrap() / COUNT;
        assert!(each.contains(&bytes), "{name}: {bytes} each");

        let source = Source { max_memory: 8 << 20, ..Source::body() };
        let refused = read(text.as_bytes(), &source, &mut Inventory::default()).is_err();
        assert_eq!(refused, each.start * COUNT > 8 << 20, "{name}");
    }
}
