//! `roster view`, `roster migrate topology` and `roster explain --node`: one node's view, and that of all nodes.

use serde_json::{Value, json};

use super::{Case, check, data, roster, roster_with};

/// What is printed for the input, which has no slices.
const ASSUMED: &str = "Findings
SEVERITY  OBJECT          CODE     MESSAGE
info      EndpointSlice   assumed  no EndpointSlices in the input; assumed: what the controllers would write

";

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&roster(args).out).unwrap()
}

#[test]
fn a_node_sees_the_services_without_endpoints_first() {
    let ran = roster(&["view", "-f", &data("edge.yaml"), "--node", "west-1", "--scheme", "superedge"]);
    let want = format!(
        "\
node west-1 (no zone, superedge): 4 Services, 2 rejected (no endpoint), 1 not served by kube-proxy
SERVICE     USES    STATUS    CODE           DETAIL
shop/cache  0 of 1  rejected  port-unserved  1 endpoint removed before kube-proxy (topology-label-differs)
shop/web    0 of 2  rejected  port-unserved  3 endpoints removed before kube-proxy (topology-label-differs)
shop/open   2 of 2  ok
shop/peers  -       info      not-proxied    the Service has no cluster IP, so clients get addresses from DNS

{ASSUMED}For the endpoints of one Service, add its name (shop/cache); of all, add -o wide
"
    );
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want.as_str(), "", 1));
}

#[test]
fn one_service_has_all_its_endpoints_with_reasons() {
    let ran = roster(&["view", "-f", &data("edge.yaml"), "--node", "south-2", "--scheme", "superedge", "web"]);
    let want = format!(
        "\
node south-2 (no zone, superedge)

shop/web: uses 1 of 2 endpoints
  SEVERITY  CODE                    DETAIL
  info      topology-label-differs  1 endpoint does not reach kube-proxy
  ENDPOINT       TARGET     NODE     ZONE  PORT  USED FOR  REASON
  10.0.3.5:8080  Pod/web-1  south-1        http  cluster
  10.0.4.5:8080  Pod/web-2  south-2        http  -         not-ready
  10.0.1.5       Pod/web-0  north-1              -         topology-label-differs

{ASSUMED}"
    );
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want.as_str(), "", 0));
}

#[test]
fn nodes_that_do_the_same_share_a_row() {
    let ran = roster(&["view", "-f", &data("edge.yaml"), "--all-nodes", "--scheme", "superedge"]);
    let want = format!(
        "\
5 nodes in 4 groups, 3 Services (1 more not served by kube-proxy): 5 pairs of a node and a Service without an endpoint
NODES             EMPTY  shop/cache  shop/web    shop/open
west-1            2      0 rejected  0 rejected  2
north-2           1      0 rejected  1           2
south-1, south-2  1      0 rejected  1           2
north-1           0      1           1           2

{ASSUMED}For the endpoints of one node, use --node west-1
"
    );
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want.as_str(), "", 1));
    assert_eq!(roster(&["view", "-f", &data("edge.yaml"), "--all-nodes"]).code, 0);
    let value = document(&["view", "-f", &data("edge.yaml"), "--all-nodes", "--scheme", "superedge", "-o", "json"]);
    let rows: Vec<_> = value["items"].as_array().unwrap().iter().map(|row| (&row["nodes"], &row["empty"])).collect();
    let [west, north_2, south, north_1] =
        [json!(["west-1"]), json!(["north-2"]), json!(["south-1", "south-2"]), json!(["north-1"])];
    let [two, one, none] = [json!(2), json!(1), json!(0)];
    assert_eq!(rows, [(&west, &two), (&north_2, &one), (&south, &one), (&north_1, &none)]);
    assert_eq!(value["summary"]["empty"], 5);
}

/// A Service of which each node uses its own endpoint.
#[test]
fn many_nodes_with_endpoints_of_their_own_share_a_row_that_says_so() {
    let mut input = "\
apiVersion: v1
kind: Service
metadata: {name: agent, namespace: shop}
spec: {clusterIP: 10.96.0.9, internalTrafficPolicy: Local, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: agent-1, namespace: shop, labels: {kubernetes.io/service-name: agent}}
addressType: IPv4
ports: [{name: '', port: 80}]
endpoints:
"
    .to_owned();
    let endpoint = |n: usize| format!("- {{addresses: [10.0.0.{n}], nodeName: n{n:02}}}\n");
    let node = |n: usize| format!("---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{n:02}}}\n");
    input.extend((0..25).map(endpoint).chain((0..25).map(node)));
    let run = |format: &str| roster_with(&["view", "-f", "-", "--all-nodes", "-o", format], &[], &input).out;
    let table = run("table");
    assert!(table.contains("\nn00, n01, n02 and 22 more  0      1 each\n"), "{table}");
    let wide = run("wide");
    assert!(wide.contains("\nn07    0      1\n") && wide.contains("\nn24    0      1\n"), "{wide}");
    let value: serde_json::Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(value["items"].as_array().unwrap().len(), 25);
}

#[test]
fn the_picture_is_self_contained_and_escapes_names() {
    let input = std::fs::read_to_string(data("edge.yaml")).unwrap().replace("north-2", "<b>&\\\"x");
    let ran = roster_with(&["view", "-f", "-", "--all-nodes", "-o", "svg"], &[], &input);
    assert!(ran.out.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "), "{}", ran.out);
    for part in ["role=\"img\" aria-label=\"Endpoints that", "<title>", "<desc>", "uses none", "shop/web"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    for part in ["<b>", "href", "<script", "url("] {
        assert!(!ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn a_change_is_shown_for_all_nodes() {
    let after = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let text = std::fs::read_to_string(data("edge.yaml")).unwrap();
    std::fs::write(after.path(), text.replace("south-1, site: south", "south-1, site: west")).unwrap();
    let after = after.path().display().to_string();
    let edge = data("edge.yaml");
    let ran = roster(&["view", "--scheme", "superedge", "--diff", &edge, &after]);
    let want = format!(
        "\
5 nodes, 4 Services: 2 changes, 1 of which leaves nodes without an endpoint
SERVICE   PORT  NODES    BEFORE      AFTER       LOST           GAINED
shop/web  http  south-2  1           0 rejected  10.0.3.5:8080
shop/web  http  west-1   0 rejected  1                          10.0.3.5:8080

{ASSUMED}"
    );
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want.as_str(), "", 1));
    let value = document(&["view", "--scheme", "superedge", "-o", "json", "--diff", &edge, &after]);
    let change = &value["items"][0];
    assert_eq!((&change["nodes"], &change["becomesEmpty"]), (&json!(["south-2"]), &json!(true)));
    assert_eq!(roster(&["view", "--diff", &edge, &after]).code, 0, "kube-proxy does not read the label");
}

#[test]
fn explain_says_what_a_node_uses() {
    let args = ["explain", "-f", &data("edge.yaml"), "web", "--node", "south-2", "--scheme", "superedge"];
    let ran = roster(&args);
    let want = "
  node south-2 (no zone, superedge): uses 1 of 3
  POD    PORT  USED FOR  REASON
  web-1  http  cluster
  web-0  http  -         topology-label-differs
  web-2  http  -         not-ready
";
    assert!(ran.out.contains(want), "{}", ran.out);
    let value = document(&[&args[..], &["-o", "json"]].concat());
    let pods = json!([
        { "pod": "web-0", "port": "http", "cluster": false, "local": false, "reason": "topology-label-differs" },
        { "pod": "web-1", "port": "http", "cluster": true, "local": false },
        { "pod": "web-2", "port": "http", "cluster": false, "local": false, "reason": "not-ready" },
    ]);
    assert_eq!(value["items"][0]["view"]["pods"], pods);
}

#[test]
fn the_first_line_of_a_migration_fits_the_terminal() {
    let ran = roster_with(&["migrate", "topology", "-f", &data("edge.yaml")], &[("COLUMNS", "60")], "");
    let first = ran.out.split("\n\n").next().unwrap_or_default();
    assert!(first.lines().count() > 1 && first.lines().all(|line| line.chars().count() <= 60), "{first}");
}

#[test]
fn topology_keys_are_replaced() {
    let ran = roster(&["migrate", "topology", "-f", &data("edge.yaml")]);
    for part in [
        "topologyKeys is a fence: traffic never leaves it. trafficDistribution is a preference",
        "shop/web    site                    SuperEdge  trafficDistribution: PreferSameZone  the fence becomes a preference",
        "shop/cache  kubernetes.io/hostname  SuperEdge  internalTrafficPolicy: Local         a fence before and after",
        "5 nodes get the label topology.kubernetes.io/zone with the value of site",
        "shop/web    http  west-1                                0 rejected  2                10.0.1.5:8080, 10.0.3.5:8080",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert_eq!((ran.err.as_str(), ran.code), ("", 1));
    let ran = roster(&["migrate", "topology", "-f", &data("edge.yaml"), "-o", "kubectl"]);
    let want = "kubectl patch service web --namespace shop --type merge --patch \
                '{\"metadata\":{\"annotations\":{\"topologyKeys\":null}},\"spec\":{\"trafficDistribution\":\"PreferSameZone\"}}'";
    assert_eq!(ran.out.lines().last(), Some(want));
    for (name, want) in [("web", true), ("--server=https://evil.example", false)] {
        let input =
            std::fs::read_to_string(data("edge.yaml")).unwrap().replace("name: cache,", &format!("name: \"{name}\","));
        let ran = roster_with(&["migrate", "topology", "-f", "-", "-o", "kubectl"], &[], &input);
        let is_command = |line: &str| line.starts_with("kubectl patch") && line.contains(name);
        assert_eq!(ran.out.lines().any(is_command), want, "{}", ran.out);
        let refused = format!("# Service shop/{name}: no patch, because no API server stores an object of this name");
        assert_eq!(ran.out.lines().any(|line| line == refused), !want, "{}", ran.out);
    }
    let older = roster(&["migrate", "topology", "-f", &data("edge.yaml"), "--compat", "1.33", "-o", "kubectl"]);
    assert!(older.out.contains("PreferClose") && !older.out.contains("PreferSame"), "{}", older.out);
    let ran = roster(&["migrate", "topology", "-f", &data("shop.json")]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn what_cannot_be_viewed_is_reported() {
    let edge = data("edge.yaml");
    check(&[
        Case {
            name: "another name is meant",
            args: &["view", "-f", &edge, "--node", "north-3"],
            code: 2,
            out: "",
            err: "error: node north-3 not found; did you mean north-1?\n",
        },
        Case {
            name: "no name is near",
            args: &["view", "-f", &edge, "--node", "zzz"],
            code: 2,
            out: "",
            err: "error: node zzz not found; the input has 5 Nodes, such as north-1\n",
        },
        Case {
            name: "a picture of one node",
            args: &["view", "-f", &edge, "--node", "north-1", "-o", "svg"],
            code: 2,
            out: "",
            err: "error: -o svg shows all nodes",
        },
        Case {
            name: "no node",
            args: &["view", "-f", &edge],
            code: 2,
            out: "",
            err: "<--node <NODE>|--all-nodes|--diff <BEFORE> <AFTER>>",
        },
    ]);
    let slice = r#"{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4",
        "metadata":{"name":"a-1","namespace":"n","labels":{"kubernetes.io/service-name":"a"}},
        "ports":[{"name":"","port":80,"protocol":"TCP"}],"endpoints":[{"addresses":["10.0.0.1"],"nodeName":"n1","zone":"z"}]}"#;
    let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"n"},"spec":{"ports":[{"port":80}]}}"#;
    let input = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{service},{slice}]}}"#);
    for (node, title) in [("n1", "node n1 (zone z)"), ("n2", "node n2 (zone not known)")] {
        let ran = roster_with(&["view", "-f", "-", "--node", node], &[], &input);
        assert!(ran.out.starts_with(title), "{}", ran.out);
        assert!(
            ran.out.contains("no Nodes in the input: nodes and their zones are known from endpoints only"),
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_node_without_a_node_object_is_viewed_if_something_is_on_it() {
    let cluster = |nodes: &str| {
        let pod = |name: &str, node: &str, ip: &str| {
            format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web}}}}\nspec: {{nodeName: {node}, \
                 containers: [{{name: c, image: i}}]}}\nstatus: {{podIP: {ip}, podIPs: [{{ip: {ip}}}], conditions: [{{type: \
                 Ready, status: \"True\"}}]}}\n"
            )
        };
        let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 10.0.0.1, selector: {app: \
                       web}, ports: [{port: 80}]}\n";
        [nodes, service, &pod("a", "edge-1", "10.1.0.1"), &pod("b", "edge-2", "10.1.0.2")].concat()
    };
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: edge-1, labels: {topology.kubernetes.io/zone: z}}\n";
    let unknown = "other labels are not; nothing is known of node";
    for (nodes, name, code, wanted, unwanted) in [
        (node, "edge-1", 0, "node edge-1 (zone z)", "not known"),
        (node, "edge-2", 0, "no Node edge-2 in the input: its zone and its labels are not known", "nothing"),
        (node, "edgy-1", 2, "error: node edgy-1 not found; did you mean edge-1?\n", "web"),
        ("", "edge-1", 0, "known from endpoints only, other labels are not", "nothing is known"),
        ("", "edge-3", 0, &format!("{unknown} edge-3; did you mean edge-1?"), "node edge-1"),
        ("", "zzz", 0, &format!("{unknown} zzz\n"), "did you mean"),
    ] {
        let ran = roster_with(&["view", "-f", "-", "--node", name, "-o", "wide"], &[], &cluster(nodes));
        // A long message takes several lines.
        let text = (ran.out + &ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, code, "{name}: {text}");
        assert!(text.contains(wanted.trim_end()) && !text.contains(unwanted), "{name}: {text}");
    }
}

#[test]
fn pods_that_something_else_makes_are_not_missing() {
    let service = |namespace: &str, name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
             spec: {{selector: {{app: {name}}}, ports: [{{port: 80}}]}}\n"
        )
    };
    let deployment = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: a}\nspec:\n  \
                      selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: {containers: \
                      [{name: c, image: i}]}}\n";
    let custom = "---\napiVersion: acid.zalan.do/v1\nkind: postgresql\nmetadata: {name: db, namespace: a}\n";
    let foreign = "---\napiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: fn, namespace: a}\n\
                   spec: {template: {spec: {containers: [{image: x}]}}}\n";
    let input = [deployment, &service("a", "web"), custom, &service("a", "db"), &service("b", "x"), foreign].concat();
    let message = "no Pods of a/db and 1 other Service in the input: not checked which endpoints nodes use";
    for args in [&["--all-nodes"][..], &["--node", "assumed-node"]] {
        let ran = roster_with(&[&["view", "-f", "-"], args].concat(), &[], &input);
        assert_eq!(ran.code, 0, "{}", ran.out);
        assert!(ran.out.contains(message) && ran.out.contains("a/web") && !ran.out.contains("rejected"), "{}", ran.out);
    }
    let whole = roster_with(&["view", "-f", "-", "--all-nodes", "--complete"], &[], &input);
    assert!(whole.code == 1 && whole.out.contains("2 pairs of a node and a Service"), "{}", whole.out);
}

#[test]
fn a_slice_of_one_service_does_not_make_the_others_lack_theirs() {
    let web = |label: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\n\
             spec: {{selector: {{app: {label}}}, ports: [{{port: 80}}]}}\n"
        )
    };
    let rest = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  \
                selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: {containers: \
                [{name: c, image: i}]}}\n\
                ---\napiVersion: v1\nkind: Service\nmetadata: {name: legacy}\nspec: {ports: [{port: 80}]}\n\
                ---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n\
                metadata: {name: legacy-1, labels: {kubernetes.io/service-name: legacy}}\n\
                ports: [{port: 80}]\nendpoints: [{addresses: [192.0.2.1]}]\n";
    let ran = roster_with(&["view", "-f", "-", "--all-nodes", "-o", "wide"], &[], &(web("web") + rest));
    let assumed = "no EndpointSlices of default/web in the input; assumed: what the controllers would write";
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains(assumed) && !ran.out.contains("rejected"), "{}", ran.out);
    // A label that is mistyped takes its endpoints from all nodes.
    let dir = tempfile::tempdir().unwrap();
    let paths = ["web", "wbe"].map(|label| {
        let path = dir.path().join(format!("{label}.yaml"));
        std::fs::write(&path, web(label) + rest).unwrap();
        path.display().to_string()
    });
    let ran = roster(&["view", "--diff", &paths[0], &paths[1]]);
    assert!(ran.code == 1 && ran.out.contains("default/web"), "{} {}", ran.code, ran.out);
}

#[test]
fn arguments_of_another_scheme_are_refused() {
    for (args, want) in [
        (["--topology-mode", "ordered"].as_slice(), "--topology-mode requires --scheme superedge"),
        (&["--unhealthy", "west-1", "--scheme", "openyurt"], "--unhealthy requires --scheme superedge"),
        (&["--pool-topology", "--scheme", "superedge"], "--pool-topology requires --scheme openyurt"),
    ] {
        for command in [["view", "-f"], ["explain", "-f"]] {
            let input = [data("edge.yaml"), "--node=west-1".to_owned()];
            let all: Vec<&str> =
                command.into_iter().chain(input.iter().map(String::as_str)).chain(args.iter().copied()).collect();
            let ran = roster(&all);
            assert_eq!((ran.out.as_str(), ran.err, ran.code), ("", format!("error: {want}\n"), 2));
        }
    }
}
