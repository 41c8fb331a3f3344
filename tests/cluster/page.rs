//! The cluster of the page, at a real API server: what a caller may see is shown and followed, with the caller's own token.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{ControlPlane, SOON, assets, kubectl, roster, start};

/// A server whose page shows the cluster of a kubeconfig.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(kubeconfig: &Path, log: &Path) -> Self {
        let mut command = roster();
        command.args(["serve", "--listen", "127.0.0.1:0", "--page-cluster", "--kubeconfig"]).arg(kubeconfig);
        let mut child = command.stdout(Stdio::piped()).stderr(fs::File::create(log).unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    /// The lines of a call, as they come.
    fn follow(&self, query: &str, token: &str) -> impl Iterator<Item = Value> + use<> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let head = format!("GET /v1/live{query} HTTP/1.0\r\nhost: localhost\r\nroster-cluster-token: {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // HTTP/1.0 has no pieces, which would break lines.
        let lines = BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names of the objects of a kind.
fn names<'v>(objects: &'v Value, kind: &str) -> Vec<&'v str> {
    let of_kind = objects.as_array().into_iter().flatten().filter(|object| object["kind"] == kind);
    of_kind.filter_map(|object| object["metadata"]["name"].as_str()).collect()
}

fn service(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "shop" },
        "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] } })
}

/// Creates a namespace whose endpoints and routes jane may read, with a Service. Returns a token of hers.
fn shop_of_jane(plane: &ControlPlane) -> String {
    let verbs = ["get", "list", "watch"];
    let rules = json!([
        { "apiGroups": [""], "resources": ["services", "pods", "endpoints"], "verbs": verbs },
        { "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": verbs },
        { "apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": verbs },
    ]);
    let meta = json!({ "name": "jane", "namespace": "shop" });
    for object in [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "jane" },
            "subjects": [{ "kind": "ServiceAccount", "name": "jane", "namespace": "shop" }] }),
        service("web"),
    ] {
        create(plane, &object);
    }
    let (well, token) = kubectl(plane, "create token jane -n shop", "");
    assert!(well, "{token}");
    token.trim().to_owned()
}

fn create(plane: &ControlPlane, object: &Value) {
    let (well, output) = kubectl(plane, "create -f -", &object.to_string());
    assert!(well, "{output}");
}

fn ingress() -> Value {
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": backend }]);
    json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": "edge", "namespace": "shop" },
        "spec": { "tls": [{ "secretName": "hidden" }], "rules": [{ "host": "shop.example", "http": { "paths": paths } }] } })
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_page_shows_what_its_user_may_see() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let token = shop_of_jane(&plane);
    // The identity of the kubeconfig may see everything.
    let log = dir.path().join("page.log");
    let server = Server::start(&plane.kubeconfig(), &log);

    let mut lines = server.follow("?namespace=shop", &token);
    assert_eq!(lines.next().unwrap()["cluster"]["release"], "1.37");
    let list = lines.next().unwrap();
    assert_eq!(names(&list["list"]["items"], "Service"), ["web"], "{list}");
    let refused = |line: &Value| -> Vec<(String, Value)> {
        let all = line["unread"].as_array().unwrap().iter();
        all.map(|of| (of["resource"].as_str().unwrap().to_owned(), of["code"].clone())).collect()
    };
    // Of a kind that is not there, she learns only that she may not read it.
    let want = ["nodes", "namespaces", "httproutes"].map(|resource| (resource.to_owned(), json!(403)));
    assert_eq!(refused(&list), want, "{list}");
    create(&plane, &service("cart"));
    let changes = lines.find(|line| names(&line["applied"], "Service") == ["cart"]);
    assert!(changes.is_some());
    create(&plane, &ingress());
    let changes = lines.find(|line| names(&line["applied"], "Ingress") == ["edge"]).unwrap();
    assert!(!changes.to_string().contains("hidden"), "{changes}");
    let (well, output) = kubectl(&plane, "delete service web -n shop", "");
    assert!(well, "{output}");
    let web = json!({ "kind": "Service", "namespace": "shop", "name": "web" });
    assert!(lines.any(|line| line["deleted"].as_array().is_some_and(|gone| gone.contains(&web))));

    // All namespaces are too many for this user.
    let list = server.follow("", &token).nth(1).unwrap();
    assert_eq!((list["list"]["items"].as_array().map(Vec::len), refused(&list).len()), (Some(0), 8), "{list}");
    assert!(!fs::read_to_string(&log).unwrap().contains(&token));
}

/// The folder of the browser tests.
const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser");

/// The browser; `None` if it, or what drives it, is not installed. In continuous integration it must be.
fn browser() -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find);
    let has_packages = Path::new(BROWSER).join("node_modules/playwright-core").is_dir();
    let browser = found.filter(|_| find("node").is_some() && has_packages);
    if browser.is_none() {
        let why = "a browser test needs chromium, node, and npm ci --prefix tests/browser";
        assert!(env::var_os("CI").is_none(), "{why}");
        println!("skipped: {why}");
    }
    browser
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_browser_shows_the_cluster_and_follows_it() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let token = shop_of_jane(&plane);
    let in_other_namespace = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "hidden", "namespace": "back" },
        "spec": { "ports": [{ "port": 80 }] } });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web-0", "namespace": "shop", "labels": { "app": "web" } },
        "spec": { "nodeName": "a", "containers": [{ "name": "web", "image": "web", "ports": [{ "containerPort": 80 }] }] } });
    let back = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "back" } });
    for object in [back, in_other_namespace, service("cart"), ingress(), pod] {
        create(&plane, &object);
    }
    let status = json!({ "status": { "phase": "Running", "podIP": "10.1.0.1", "podIPs": [{ "ip": "10.1.0.1" }],
        "conditions": [{ "type": "Ready", "status": "True" }] } });
    let patch = "patch pod web-0 -n shop --subresource=status --type=merge --patch-file=/dev/stdin";
    let (well, output) = kubectl(&plane, patch, &status.to_string());
    assert!(well, "{output}");

    let log = dir.path().join("page.log");
    let server = Server::start(&plane.kubeconfig(), &log);
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=tap"]).arg(Path::new(BROWSER).join("live.test.mjs"));
    command.env("ROSTER_URL", format!("http://{}", server.address)).env("CHROMIUM", browser);
    command.env("KUBECONFIG", plane.kubeconfig()).env("CLUSTER_TOKEN", &token);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("/v1/live") && !log.contains(&token), "{log}");
}
