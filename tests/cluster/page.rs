//! The cluster of the page, at a real API server: what a caller may see is shown and followed, with the caller's own token.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use super::{SOON, assets, kubectl, roster, start};

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

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_page_shows_what_its_user_may_see() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let create = |object: &Value| {
        let (well, output) = kubectl(&plane, "create -f -", &object.to_string());
        assert!(well, "{output}");
    };
    let rules = json!([
        { "apiGroups": [""], "resources": ["services", "pods", "endpoints"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["get", "list", "watch"] },
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
        create(&object);
    }
    let (well, token) = kubectl(&plane, "create token jane -n shop", "");
    assert!(well, "{token}");
    // The identity of the kubeconfig may see everything.
    let log = dir.path().join("page.log");
    let server = Server::start(&plane.kubeconfig(), &log);

    let mut lines = server.follow("?namespace=shop", token.trim());
    assert_eq!(lines.next().unwrap()["cluster"]["release"], "1.37");
    let list = lines.next().unwrap();
    assert_eq!(names(&list["list"]["items"], "Service"), ["web"], "{list}");
    let refused = |line: &Value| -> Vec<(String, Value)> {
        let all = line["unread"].as_array().unwrap().iter();
        all.map(|of| (of["resource"].as_str().unwrap().to_owned(), of["code"].clone())).collect()
    };
    let want = [("nodes".to_owned(), json!(403)), ("namespaces".to_owned(), json!(403))];
    assert_eq!(refused(&list), want, "{list}");
    create(&service("cart"));
    let changes = lines.find(|line| names(&line["applied"], "Service") == ["cart"]);
    assert!(changes.is_some());
    let (well, output) = kubectl(&plane, "delete service web -n shop", "");
    assert!(well, "{output}");
    let web = json!({ "kind": "Service", "namespace": "shop", "name": "web" });
    assert!(lines.any(|line| line["deleted"].as_array().is_some_and(|gone| gone.contains(&web))));

    // All namespaces are too many for this user.
    let list = server.follow("", token.trim()).nth(1).unwrap();
    assert_eq!((list["list"]["items"].as_array().map(Vec::len), refused(&list).len()), (Some(0), 6), "{list}");
    assert!(!fs::read_to_string(&log).unwrap().contains(token.trim()));
}
