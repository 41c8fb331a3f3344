//! `--context` and `--kubeconfig`, against a server that answers as an API server would.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{Ran, data, roster_with};

/// An answer: status and body.
type Answer = (u16, Value);

/// Runs the program with a kubeconfig that leads to a server of these answers. Also gives the requests it made.
fn against(answer: impl Fn(&str) -> Answer + Send + Sync + 'static, args: &[&str]) -> (Ran, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (answer, seen) = (Arc::new(answer), requests.clone());
    // Ends with the test program.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, seen) = (answer.clone(), seen.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                while let Some(request) = request(&mut reader) {
                    seen.lock().unwrap().push(request.clone());
                    let (status, body) = answer(request.strip_prefix("GET ").unwrap_or_default());
                    let body = body.to_string();
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n");
                    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
                }
            });
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config");
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    });
    fs::write(&config, text.to_string()).unwrap();
    let ran = roster_with(args, &[("KUBECONFIG", config.to_str().unwrap())], "");
    let requests = requests.lock().unwrap().clone();
    (ran, requests)
}

/// Method and path of a request, whose headers are skipped.
fn request(reader: &mut impl BufRead) -> Option<String> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|n| *n > 0)?;
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    Some(first.rsplit_once(' ')?.0.to_owned())
}

/// The shop as a cluster of release 1.30 has it: the items of a list have no kind.
fn shop(path: &str) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if path == "/version" {
        return (200, json!({"major": "1", "minor": "30+", "gitVersion": "v1.30.4-gke.1"}));
    }
    let kind = match path.rsplit('/').next().unwrap() {
        "services" => "Service",
        "pods" => "Pod",
        "nodes" => "Node",
        _ => "Endpoints",
    };
    let text = fs::read_to_string(data("shop.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let mut items: Vec<Value> =
        all["items"].as_array().unwrap().iter().filter(|o| o["kind"] == kind).cloned().collect();
    for item in &mut items {
        item.as_object_mut().unwrap().remove("kind");
    }
    // Pods come in two pages.
    let next = (kind == "Pod" && !query.contains("continue")).then_some("a=b");
    if kind == "Pod" {
        items = if next.is_some() { items[..1].to_vec() } else { items[1..].to_vec() };
    }
    (200, json!({"kind": format!("{kind}List"), "metadata": {"continue": next}, "items": items}))
}

fn status(code: u16, message: &str) -> Answer {
    (code, json!({"kind": "Status", "status": "Failure", "message": message, "reason": "X", "code": code}))
}

#[test]
fn a_live_cluster_is_read_page_by_page_and_as_its_own_release() {
    let (ran, requests) = against(shop, &["plan", "--context", "here", "-o", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(plan["summary"]["pods"], 3);
    // 1.30 knows no managed-by label of Endpoints.
    assert_eq!(plan["items"][0]["endpoints"]["object"]["metadata"]["labels"], Value::Null);
    let want = [
        "GET /version",
        "GET /api/v1/services?limit=500",
        "GET /api/v1/pods?limit=500",
        "GET /api/v1/pods?limit=500&continue=a%3Db",
        "GET /api/v1/nodes?limit=500",
        "GET /api/v1/endpoints?limit=500",
        "GET /apis/discovery.k8s.io/v1/endpointslices?limit=500",
    ];
    assert_eq!(requests, want);
}

#[test]
fn one_namespace_is_read_alone() {
    let (ran, requests) = against(shop, &["plan", "--context", "here", "-n", "shop", "--compat", "1.37"]);
    assert!(ran.out.ends_with("1 of 1 Service: 2 to create, 0 to update, 0 to delete\n"), "{}{}", ran.out, ran.err);
    assert_eq!(requests[1], "GET /api/v1/namespaces/shop/services?limit=500");
    assert_eq!(requests[4], "GET /api/v1/nodes?limit=500");
}

#[test]
fn a_list_that_expired_is_read_again_in_one_piece() {
    let expired = |path: &str| if path.contains("continue") { status(410, "gone") } else { shop_in_one(path) };
    let (ran, requests) = against(expired, &["plan", "--context", "here", "-o", "json"]);
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(plan["summary"]["pods"], 3, "no pod is lost, and none is there twice");
    assert_eq!(requests[4], "GET /api/v1/pods");
}

/// [`shop`], with all pods where no limit is given.
fn shop_in_one(path: &str) -> Answer {
    if path != "/api/v1/pods" {
        return shop(path);
    }
    let (_, mut first) = shop("/api/v1/pods?limit=500");
    let (_, mut second) = shop("/api/v1/pods?limit=500&continue=x");
    let mut items = first["items"].take().as_array().unwrap().clone();
    items.extend(second["items"].take().as_array().unwrap().clone());
    (200, json!({"kind": "PodList", "metadata": {}, "items": items}))
}

#[test]
fn objects_of_a_cluster_are_checked_like_those_of_a_file() {
    let odd = |path: &str| {
        let (code, mut answer) = shop(path);
        if path.starts_with("/api/v1/services") {
            answer["items"][0]["spec"]["ports"][0]["port"] = json!(70_000);
            answer["items"].as_array_mut().unwrap().push(json!({"metadata": {"name": "x"}, "spec": {"ports": 80}}));
        }
        (code, answer)
    };
    let (ran, _) = against(odd, &["plan", "--context", "here", "-o", "json"]);
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    let problems = plan["summary"]["inputProblems"].as_array().unwrap_or_else(|| panic!("{plan}"));
    let found: Vec<_> = problems.iter().map(|p| (p["code"].as_str(), p["pointer"].as_str())).collect();
    let want = [
        (Some("invalid-port"), Some("/items/0/spec/ports/0/port")),
        (Some("invalid-object"), Some("/items/1/spec/ports")),
    ];
    assert_eq!((found, ran.code), (want.to_vec(), 2), "{}", ran.err);
}

#[test]
fn refusals_of_the_cluster_are_reported() {
    let forbidden =
        |path: &str| if path.contains("pods") { status(403, "pods is forbidden: User \"u\"") } else { shop(path) };
    let (ran, _) = against(forbidden, &["plan", "--context", "here"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("error: listing pods: ") && ran.err.contains("pods is forbidden"), "{}", ran.err);

    // No role for one namespace allows Nodes.
    let without_nodes =
        |path: &str| if path.contains("nodes") { status(403, "nodes is forbidden: User \"u\"") } else { shop(path) };
    let (whole, _) = against(shop, &["explain", "--context", "here", "-n", "shop"]);
    let (ran, _) = against(without_nodes, &["explain", "--context", "here", "-n", "shop"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, "warning: Nodes are not checked: nodes is forbidden: User \"u\"\n"));
    let pods = |out: &str| out.split("\n\n").next().unwrap().split_once("\n  PODS").unwrap().1.to_owned();
    assert_eq!(pods(&ran.out), pods(&whole.out), "the pods that serve are the same");
    assert!(ran.out.contains("info      Node    not-checked  no Nodes in the input"), "{}", ran.out);

    let (ran, _) = against(shop, &["plan", "--context", "elsewhere"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: cannot tell which cluster is meant: "), "{}", ran.err);

    let (ran, _) = against(shop, &["plan", "--context", "here", "-f", "x.json"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: -f, -k and --chart cannot be combined with --context or --kubeconfig\n")
    );
}

#[test]
fn a_missing_kubeconfig_is_named() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let elsewhere = format!("{home}/elsewhere");
    let of_home = "~/.kube/config";
    for (args, variable, place, flags) in [
        (&["disable"][..], "", of_home, "--context or --kubeconfig"),
        (&["plan", "--context", "here"], "", of_home, "--kubeconfig or -f"),
        (&["plan", "--context", "here"], "/no/such/file", "/no/such/file ($KUBECONFIG)", "--kubeconfig or -f"),
        (&["plan", "--context", "here"], &elsewhere, "~/elsewhere ($KUBECONFIG)", "--kubeconfig or -f"),
        (&["explain", "--kubeconfig", "/no/such/file"], &elsewhere, "/no/such/file", "another --kubeconfig or -f"),
    ] {
        let ran = roster_with(args, &[("HOME", home), ("KUBECONFIG", variable)], "");
        let want = format!("error: no kubeconfig at {place}: use {flags}\n");
        assert_eq!((ran.code, ran.err.as_str()), (2, want.as_str()), "{args:?} {variable}");
    }
}

/// A Service with a key of OpenYurt, and two nodes; `pools` is the answer to a list of pools.
fn yurt(path: &str, pools: Answer) -> Answer {
    let items = match path.split('?').next().unwrap_or_default() {
        "/version" => return shop(path),
        "/apis/apps.openyurt.io/v1beta1/nodepools" => return pools,
        "/api/v1/services" => json!([{ "metadata": { "name": "web", "namespace": "shop",
            "annotations": { "openyurt.io/topologyKeys": "openyurt.io/nodepool" } },
            "spec": { "clusterIP": "10.96.0.7", "ports": [{ "port": 80 }] } }]),
        "/api/v1/nodes" => json!([{ "metadata": { "name": "a" } }, { "metadata": { "name": "b" } }]),
        "/apis/discovery.k8s.io/v1/endpointslices" => json!([{ "metadata": { "name": "web-1", "namespace": "shop",
            "labels": { "kubernetes.io/service-name": "web" } }, "addressType": "IPv4",
            "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
            "endpoints": [{ "addresses": ["10.0.0.1"], "nodeName": "a" }, { "addresses": ["10.0.0.2"], "nodeName": "b" }] }]),
        _ => json!([]),
    };
    let kind = match path.split('?').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default() {
        "endpointslices" => ("discovery.k8s.io/v1", "EndpointSliceList"),
        "services" => ("v1", "ServiceList"),
        "nodes" => ("v1", "NodeList"),
        "pods" => ("v1", "PodList"),
        _ => ("v1", "EndpointsList"),
    };
    (200, json!({ "apiVersion": kind.0, "kind": kind.1, "metadata": {}, "items": items }))
}

#[test]
fn pools_of_openyurt_are_read_where_they_count() {
    const LIST: &str = "GET /apis/apps.openyurt.io/v1beta1/nodepools?limit=500";
    let pool = |nodes: &[&str]| json!({ "metadata": { "name": "p" }, "status": { "nodes": nodes } });
    let pools = json!({ "apiVersion": "apps.openyurt.io/v1beta1", "kind": "NodePoolList", "metadata": {},
        "items": [pool(&["a"])] });
    let view = ["view", "--context", "here", "--node", "a", "-o", "json", "--scheme"];
    let missing = "warning: no NodePools: the cluster has no resource nodepools of apps.openyurt.io\n";
    for (args, answer, err, is_asked, endpoints) in [
        ([&view[..], &["openyurt"]].concat(), (200, pools.clone()), "", true, Some(1)),
        ([&view[..], &["openyurt"]].concat(), status(404, "not found"), missing, true, Some(2)),
        (
            [&view[..], &["openyurt"]].concat(),
            status(403, "no pools for u"),
            "warning: no NodePools: no pools for u\n",
            true,
            Some(2),
        ),
        ([&view[..], &["kube-proxy"]].concat(), status(404, "not found"), "", false, Some(2)),
        (vec!["migrate", "topology", "--context", "here"], status(404, "not found"), missing, true, None),
        (vec!["plan", "--context", "here"], status(404, "not found"), "", false, None),
    ] {
        let (ran, requests) = against(move |path| yurt(path, answer.clone()), &args);
        assert_eq!((ran.err.as_str(), requests.iter().any(|request| request == LIST)), (err, is_asked), "{args:?}");
        if let Some(endpoints) = endpoints {
            let used = ran.out.matches("\"cluster\":true").count();
            assert_eq!(used, endpoints, "{args:?}: {}", ran.out);
        }
    }
}
