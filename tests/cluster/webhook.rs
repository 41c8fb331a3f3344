//! The webhook, registered with a real API server by the manifests of this repository.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{SOON, assets, control_plane::ControlPlane, get, kubectl, roster, start, wait};

/// The server, ended with the test.
pub(super) struct Webhook {
    child: Child,
    /// Where health and metrics are.
    pub(super) admin: String,
    /// Where API servers call.
    pub(super) address: String,
    /// The folder of its certificate, its key and its CA.
    pub(super) certs: PathBuf,
}

impl Webhook {
    /// Starts it, with further flags. `dir` is for its files alone.
    pub(super) fn start(dir: &Path, flags: &[&str]) -> Self {
        fs::create_dir_all(dir).unwrap();
        let certs = dir.join("webhook-certs");
        assert!(roster().args(["certs", "dev", "--dir"]).arg(&certs).output().unwrap().status.success());
        let mut command = roster();
        command.arg("serve").arg("--tls-cert-file").arg(certs.join("tls.crt"));
        command.arg("--tls-private-key-file").arg(certs.join("tls.key")).args(flags);
        let (child, [address, admin]) = listen(command, &dir.join("roster.log"));
        Self { child, admin, address, certs }
    }

    /// Starts it with a copy of the cluster.
    pub(super) fn start_in(plane: &ControlPlane, dir: &Path) -> Self {
        Self::start(dir, &["--cluster", "--kubeconfig", plane.kubeconfig().to_str().unwrap()])
    }

    /// Its CA, as configurations have it.
    pub(super) fn bundle(&self) -> String {
        BASE64_STANDARD.encode(fs::read(self.certs.join("ca.crt")).unwrap())
    }

    pub(super) fn wait_until_ready(&self) {
        wait("the webhook is ready", || get(&self.admin, "/readyz").filter(|a| a.starts_with("HTTP/1.1 200")));
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it beside the API server, and registers it.
pub(super) fn register(plane: &ControlPlane, dir: &Path) -> Webhook {
    let server = Webhook::start_in(plane, dir);
    let (well, told) = kubectl(plane, "apply -f -", &manifests(&server.address, &server.bundle()));
    assert!(well, "{told}");
    server.wait_until_ready();
    server
}

/// Starts a server on ports that the system chooses, and reads where it listens: for reviews, and for health.
///
/// A port that was found free beforehand may be taken before the server binds it: other tests connect all the time.
pub(super) fn listen(mut command: Command, log: &Path) -> (Child, [String; 2]) {
    command.args(["--webhook-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(fs::File::create(log).unwrap()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (printed, banner) = mpsc::channel();
    // Reads on after the addresses: the server must be able to print.
    thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(printed.send(line))));
    let addresses = ["webhook on https://", "health and metrics on http://"].map(|before| {
        loop {
            let Ok(line) = banner.recv_timeout(SOON) else {
                panic!("it does not listen: {}", fs::read_to_string(log).unwrap());
            };
            if let Some(address) = line.strip_prefix(before) {
                break address.to_owned();
            }
        }
    });
    (child, addresses)
}

/// All of `manifests/base`, but that the webhook is called where it listens here: there is no network of pods.
pub(super) fn manifests(webhook: &str, bundle: &str) -> String {
    let here = |config: &mut Value| {
        let path = config["service"]["path"].as_str().unwrap().to_owned();
        *config = json!({ "url": format!("https://{webhook}{path}"), "caBundle": bundle });
    };
    let mut list = base();
    for document in list["items"].as_array_mut().unwrap() {
        if document["kind"] == "CustomResourceDefinition" {
            here(&mut document["spec"]["conversion"]["webhook"]["clientConfig"]);
        }
        // `get_mut`, because an index would add the key.
        for webhook in document.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
            here(&mut webhook["clientConfig"]);
        }
    }
    list.to_string()
}

/// All of `manifests/base`, as a list.
pub(super) fn base() -> Value {
    let files = roster::deploy::files(&roster::cli::server_permissions()).into_iter();
    let base = files.filter(|f| f.path.starts_with("base/") && !f.path.ends_with("kustomization.yaml"));
    let documents: Vec<Value> = base.flat_map(|f| f.documents).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": documents })
}

/// An object, and what its writer sees by default and with every rule enforced.
struct Case {
    name: &'static str,
    object: &'static str,
    /// Part of what is said; `None` where nothing is.
    default: Option<&'static str>,
    /// Part of the refusal; `None` where it is allowed.
    enforced: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case {
        name: "an annotation that was dropped in 1.24 is put into its field",
        object: r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"tolerant",
            "annotations":{"service.alpha.kubernetes.io/tolerate-unready-endpoints":"true"}},
            "spec":{"selector":{"app":"x"},"ports":[{"port":80}]}}"#,
        default: Some("set to true (tolerate-unready-annotation)"),
        enforced: Some("(selector-matches-nothing, EndpointPolicy strict)"),
    },
    Case {
        name: "a label of the controllers",
        object: r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"reserved",
            "labels":{"service.kubernetes.io/headless":""}},"spec":{"ports":[{"port":80}]}}"#,
        default: Some("denied the request: metadata.labels[service.kubernetes.io/headless]"),
        enforced: Some("(reserved-label, EndpointPolicy strict)"),
    },
    Case {
        name: "an external address",
        object: r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"external"},
            "spec":{"externalIPs":["203.0.113.9"],"ports":[{"port":80}]}}"#,
        default: Some("203.0.113.9 is allowed by no policy, and may be another's (external-ip)"),
        enforced: Some("denied the request: spec.externalIPs[0]"),
    },
    Case {
        name: "addresses behind the annotation of a lock",
        object: r#"{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"locked",
            "annotations":{"control-plane.alpha.kubernetes.io/leader":"{}"}},
            "subsets":[{"addresses":[{"ip":"239.255.0.1"}],"ports":[{"port":80}]}]}"#,
        default: Some("denied the request: subsets[0].addresses[0].ip: 239.255.0.1 is a multicast address"),
        enforced: Some("(special-address, EndpointPolicy strict)"),
    },
    Case {
        name: "a leftover behind the label of the controller",
        object: r#"{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"leftover",
            "labels":{"endpoints.kubernetes.io/managed-by":"endpoint-controller"},
            "annotations":{"endpoints.kubernetes.io/over-capacity":"warning"}},
            "subsets":[{"addresses":[{"ip":"10.9.9.8"}],"ports":[{"port":80}]}]}"#,
        default: Some("(over-capacity-leftover)"),
        enforced: Some("(managed-by-spoofed, EndpointPolicy strict)"),
    },
    Case {
        name: "an allowed external address",
        object: r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"allowed"},
            "spec":{"externalIPs":["192.0.2.7"],"ports":[{"port":80}]}}"#,
        default: Some("(external-ip)"),
        enforced: None,
    },
    Case {
        name: "an address of nobody",
        object: r#"{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"nobody",
            "labels":{"kubernetes.io/service-name":"allowed"}},"addressType":"IPv4",
            "endpoints":[{"addresses":["10.9.9.9"]}],"ports":[{"port":80}]}"#,
        default: Some("10.9.9.9 is not the address of a pod in namespace shop (address-provenance)"),
        enforced: Some("denied the request: endpoints[0].addresses[0]"),
    },
];

const STRICT: &str = r#"{"apiVersion":"roster.dev/v1alpha1","kind":"EndpointPolicy","metadata":{"name":"strict"},
    "spec":{"defaultMode":"enforce","namespaces":["shop"],"allowedCIDRs":["192.0.2.0/24"]}}"#;

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn rules_hold_where_a_real_api_server_asks() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets, dir.path());
    let server = register(&plane, dir.path());
    assert!(kubectl(&plane, "create namespace shop", "").0);

    for case in CASES {
        let (_, told) = kubectl(&plane, "create -n shop -f -", case.object);
        assert!(told.contains(case.default.unwrap_or_default()), "{}: {told}", case.name);
    }
    let field = "get service tolerant -n shop -o jsonpath={.spec.publishNotReadyAddresses}";
    assert_eq!(kubectl(&plane, field, ""), (true, "true".to_owned()));

    // Stored in one version, read in the other.
    assert!(kubectl(&plane, "create -f -", STRICT).0);
    let read = "get endpointpolicies.v1.roster.dev strict -o jsonpath={.spec}";
    let want = json!({
        "defaultMode": "enforce",
        "match": { "namespaces": { "names": ["shop"] } },
        "addresses": { "allow": ["192.0.2.0/24"] },
    });
    let (well, spec) = kubectl(&plane, read, "");
    assert_eq!((well, serde_json::from_str::<Value>(&spec).ok()), (true, Some(want)), "{spec}");

    assert!(kubectl(&plane, "delete services,endpoints,endpointslices --all -n shop", "").0);
    let probe = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"probe"},
        "spec":{"externalIPs":["203.0.113.9"],"ports":[{"port":80}]}}"#;
    wait("the policy holds", || (!kubectl(&plane, "create -n shop --dry-run=server -f -", probe).0).then_some(()));
    for case in CASES {
        let (well, told) = kubectl(&plane, "create -n shop -f -", case.object);
        assert_eq!(well, case.enforced.is_none(), "{}: {told}", case.name);
        assert!(told.contains(case.enforced.unwrap_or_default()), "{}: {told}", case.name);
    }
    controllers_are_left_alone(&plane);
    let metrics = get(&server.admin, "/metrics").unwrap();
    assert!(metrics.contains("roster_admission_decisions_total"), "{metrics}");
}

/// With every rule enforced the controllers write what they want, once.
fn controllers_are_left_alone(plane: &ControlPlane) {
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","labels":{"app":"web"}},
        "spec":{"nodeName":"n","containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"name":"http"}]}]}}"#;
    // A status is written with the labels: without them they would be gone.
    let status = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","labels":{"app":"web"}},"status":{"phase":"Running",
        "podIP":"10.244.0.7","podIPs":[{"ip":"10.244.0.7"}],"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},
        "spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":"http"}]}}"#;
    for (line, object) in [
        ("create -f -", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}"#),
        ("create -n shop -f -", pod),
        ("replace -n shop --subresource=status -f -", status),
    ] {
        let (well, told) = kubectl(plane, line, object);
        assert!(well, "{told}");
    }
    // The cache may be a moment behind the pod.
    wait("the Service is allowed", || kubectl(plane, "create -n shop -f -", service).0.then_some(()));
    let written = "get endpoints,endpointslices -n shop -l kubernetes.io/service-name=web -o name";
    wait("the slice is written", || {
        let (_, names) = kubectl(plane, written, "");
        names.contains("endpointslice").then_some(())
    });
    let addresses = "get endpoints web -n shop -o jsonpath={.subsets[*].addresses[*].ip}";
    wait("the Endpoints are written", || kubectl(plane, addresses, "").1.starts_with("10.244.0.7").then_some(()));
    let versions = "get endpoints,endpointslices -n shop -o jsonpath={.items[*].metadata.resourceVersion}";
    let before = kubectl(plane, versions, "").1;
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(kubectl(plane, versions, "").1, before, "nobody writes any more");
}
