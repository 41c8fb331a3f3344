//! Requests of the page, and what their answers show.

use roster_manifests::decode::Source;
use serde_json::{Value, json};

use crate::{
    PageAnswer, PageFault, answer, examples,
    limits::{MAX_NODE_VIEWS, MAX_OBJECT, MAX_POD_PORTS, MAX_YAML},
};

fn ask(request: &Value) -> Result<PageAnswer, PageFault> {
    answer(&request.to_string(), &Source { max_yaml_bytes: MAX_YAML, ..Source::body() })
}

pub(crate) fn shown(request: &Value) -> PageAnswer {
    ask(request).unwrap_or_else(|fault| panic!("{request}: {fault}"))
}

/// A fragment without the explanations of codes.
fn without_meanings(html: &crate::html::Html) -> crate::html::Html {
    let mut parts = html.as_str().split("<div class=\"meaning\">");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.filter_map(|part| part.split_once("</div>")).map(|(_, after)| after);
    crate::html::Html::of(|html| html.picture(&(first + &rest.collect::<String>())))
}

/// The text of a fragment.
pub(crate) fn text(html: &crate::html::Html) -> String {
    text_of(html.as_str())
}

/// The text of a part of one.
pub(crate) fn text_of(html: &str) -> String {
    let mut out = String::new();
    let mut is_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => out.push(c),
            _ => {}
        }
        if c == '>' && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.replace("&quot;", "\"").replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

#[test]
fn a_service_in_plain_words() {
    for (service, want) in [
        (
            "shop/catalog",
            "5 of 6 pod ports get traffic. Why: Pod catalog-qrjbl8xmbj-hqz2x: no container port is named \"metrics\"; there is http. \
             Do this: in the pod template of Deployment catalog, give a container port the \
             name metrics (it is 9102 in another pod), or set targetPort of the Service port metrics (9102) to a number. What if port metrics of shop/catalog leads to 9102? A pod port is one port of the Service on one pod: 3 pods × 2 ports = 6.",
        ),
        (
            "shop/cart",
            "No pod matches the selector. Why: pod cart-ccjkzb7sns-bdx7f and 1 other pod: label tier is \"back\", not \"backend\". \
             Do this: give the pods the label tier=backend instead of back, or write back into the selector of the Service. What if \
             the selector of shop/cart has tier=back?",
        ),
        (
            "shop/payment",
            "1 of 2 pods gets traffic. Why: Pod payment-6dgktw2zzd-5vxgx: condition Ready is False (ContainersNotReady); container \
             payment is not ready (CrashLoopBackOff). Do this: read the log of container payment: it ends each time soon after it \
             starts. What if pod shop/payment-6dgktw2zzd-5vxgx is ready?",
        ),
        (
            "shop/warehouse",
            "2 of 2 endpoints ready, from Endpoints without a selector. Why: there are hand-made Endpoints with 2 addresses.",
        ),
        ("shop/web", "All 3 pods get traffic."),
        (
            "shop/db",
            "All 2 pods are in DNS. The Service is headless: its DNS name leads clients to the pods themselves.",
        ),
    ] {
        let lead = text(&without_meanings(&shown(&json!({ "example": "shop", "service": service })).lead));
        let lead: Vec<&str> = lead.split_whitespace().collect();
        assert_eq!(lead.join(" "), format!("{service} {want}"));
    }
}

#[test]
fn dns_leads_to_pods_of_a_headless_service_whatever_their_ports() {
    let objects = json!([
        {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n", "name": "db"}, "spec": {
            "clusterIP": "None", "selector": {"app": "db"}, "ports": [{"name": "pg", "port": 5432, "targetPort": "pgsql"}]}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "n", "name": "db-0", "labels": {"app": "db"}},
            "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i", "ports": [{"name": "pg", "containerPort": 5432}]}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
                "conditions": [{"type": "Ready", "status": "True"}]}},
    ]);
    let answer = shown(&json!({ "text": json!({"kind": "List", "apiVersion": "v1", "items": objects}).to_string() }));
    let lead = text(&without_meanings(&answer.lead));
    let lead: Vec<&str> = lead.split_whitespace().collect();
    let want = "n/db The only pod port is not in DNS. Why: Pod db-0: no container port is named \"pgsql\"; there is pg; a \
                headless Service needs it for its SRV record only. Do this:";
    assert!(lead.join(" ").starts_with(want), "{lead:?}");
    let reasons = answer.reasons.as_str();
    assert!(reasons.contains("<b class=\"no\">not in DNS</b> <span class=\"pod\">db-0</span>"), "{reasons}");
}

#[test]
fn problems_come_first_and_a_filter_finds_the_others() {
    let names = |filter: &str| {
        let services = shown(&json!({ "example": "shop", "filter": filter })).services;
        let parts = services.as_str().split("<span class=\"name\">").skip(1);
        parts.filter_map(|part| part.split('<').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        names(""),
        ["catalog", "cart", "payment", "warehouse", "db", "gateway", "search", "web"]
            .map(|name| format!("shop/{name}"))
    );
    assert_eq!(names("ca"), ["shop/catalog", "shop/cart"]);
    assert_eq!(names("nothing").len(), 0);
}

#[test]
fn what_changes_is_grouped_by_its_cause() {
    for (service, changes, account, group) in [
        (
            "shop/catalog",
            json!([{ "change": "pod-readiness", "pod": "shop/catalog-bjjctq5qrd-x2j74", "to": "not-ready" }]),
            "After: 3 of 6 pod ports get traffic.",
            "2 pod ports without traffic now",
        ),
        (
            "shop/payment",
            json!([{ "change": "pod-readiness", "pod": "shop/payment-6dgktw2zzd-5vxgx", "to": "ready" }]),
            "After: All 2 pods get traffic.",
            "1 pod port with traffic now . What was in the way:",
        ),
        (
            "shop/cart",
            json!([{ "change": "selector", "service": "shop/cart", "key": "tier", "value": "back" }]),
            "After: All 2 pods get traffic.",
            "2 pod ports with traffic now : the selector matches the pod now",
        ),
        (
            "shop/cart",
            json!([{ "change": "pod-label", "pod": "shop/cart-ccjkzb7sns-bdx7f", "of": "owner", "key": "tier", "value": "backend" }]),
            "After: All 2 pods get traffic.",
            "2 pod ports with traffic now",
        ),
        (
            "shop/catalog",
            json!([{ "change": "target-port", "service": "shop/catalog", "port": "metrics", "target": "9102" }]),
            "After: All 6 pod ports get traffic.",
            "1 pod port with traffic now",
        ),
        (
            "shop/web",
            json!([{ "change": "drain-node", "node": "node-a" }, { "change": "lose-zone", "zone": "eu-central-1b" }]),
            "After: 1 of 3 pods gets traffic.",
            "1 pod port without traffic now",
        ),
        (
            "shop/web",
            json!([{ "change": "traffic-distribution", "service": "shop/web", "value": "PreferSameNode" }]),
            "After: All 3 pods get traffic.",
            "Nothing changes for the pods of this Service.",
        ),
    ] {
        let answer = shown(&json!({ "example": "shop", "service": service, "tab": "what-if", "changes": changes }));
        let panel = text(&answer.panel);
        for want in [account, group] {
            assert!(panel.contains(want), "{changes}: {want} in {panel}");
        }
        assert_eq!(answer.panel.as_str().matches("<svg ").count(), 2, "before and after");
    }
}

#[test]
fn what_cannot_be_shown_is_said() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\n";
    let no_name = "apiVersion: v1\nkind: Service\nmetadata: {namespace: n}\n";
    for (name, text, want) in [
        ("empty", " \n", "Nothing to show yet: paste YAML or JSON, or choose an example"),
        ("no Service", config, "The input has no Service. Roster needs Services and Pods."),
        ("a text", "hello world", "The text is neither YAML nor JSON of Kubernetes objects"),
        ("wrong JSON", "{\"a\": 1", "line 1, column 8: not JSON: "),
    ] {
        let fault = ask(&json!({ "text": text })).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert!(fault.starts_with(want), "{name}: {fault:?}");
    }
    assert!(!shown(&json!({})).has_objects);
    let answer = shown(&json!({ "text": no_name }));
    assert!(answer.has_objects && text(&answer.lead).contains("The input has no Service."), "with what is wrong");
    assert!(text(&answer.reasons).contains("Service"), "{}", text(&answer.reasons));
}

#[test]
fn a_node_is_one_of_the_input_and_its_sums_have_one_unit() {
    for (service, node, want) in [
        ("shop/catalog", "node-x", &["node node-x not found; did you mean node-a?"][..]),
        (
            "shop/catalog",
            "node-a",
            &["Node node-a uses 5 of 6 pod ports.", "node node-a uses 5 of 6 pod ports", "no named-port-missing"],
        ),
        (
            "shop/db",
            "node-a",
            &[
                "From node node-a, the Service is not served by kube-proxy.",
                "from node node-a, the Service is not served",
            ],
        ),
        ("shop/warehouse", "node-a", &["Node node-a uses 2 of 2 endpoints.", "node node-a uses 2 of 2 endpoints"]),
    ] {
        let answer = shown(&json!({ "example": "shop", "service": service, "tab": "node", "node": node }));
        let panel = text(&answer.panel).split_whitespace().collect::<Vec<_>>().join(" ");
        for want in want {
            assert!(panel.contains(want), "{want} in {panel}");
        }
        assert_eq!(answer.panel.as_str().contains("<svg "), node != "node-x");
    }
}

#[test]
fn the_review_says_whose_answer_it_is() {
    let answer = shown(&json!({ "example": "shop", "service": "shop/catalog", "tab": "review" }));
    let panel = text(&answer.panel);
    for want in [
        "Roster's admission webhook would answer, if your cluster has it installed",
        " This Service ",
        " Other objects ",
    ] {
        assert!(panel.contains(want), "{want} in {panel}");
    }
    assert!(!panel.contains("warned"), "{panel}");
    assert!(panel.contains("allowed, with "), "{panel}");
}

#[test]
fn another_release_says_what_the_controllers_write_differently() {
    let answer = shown(&json!({ "example": "shop", "service": "shop/web", "tab": "what-if", "against": "1.22" }));
    let panel = text(&answer.panel);
    assert!(panel.contains("Kubernetes 1.22 instead of 1.37"), "{panel}");
    assert!(
        panel.contains("label endpoints.kubernetes.io/managed-by") || panel.contains("EndpointSlice web"),
        "{panel}"
    );
}

#[test]
fn every_tab_of_every_example_has_an_answer() {
    for example in examples::all() {
        let first = shown(&json!({ "example": example.code }));
        assert_eq!(first.text, Some(example.text));
        for tab in ["picture", "what-if", "review", "node"] {
            let answer = shown(&json!({ "example": example.code, "tab": tab }));
            assert!(!answer.announcement.is_empty(), "{} {tab}", example.code);
        }
    }
}

#[test]
fn texts_of_the_input_are_never_markup() {
    for trick in ["<img src=x onerror=alert(1)>", "\" onload=\"x", "'><script>", "a\u{202e}b\u{7}"] {
        let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Service", "metadata": { "name": trick, "namespace": trick, "annotations": { trick: trick } },
              "spec": { "selector": { trick: trick }, "ports": [{ "name": trick, "port": 80, "targetPort": trick }] } },
            { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": trick, "namespace": trick, "labels": { trick: trick } },
              "spec": { "nodeName": trick }, "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
              "conditions": [{ "type": "Ready", "status": "False", "reason": trick }] } },
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": trick, "labels": { "topology.kubernetes.io/zone": trick } } },
        ] });
        for tab in ["picture", "what-if", "review", "node"] {
            let change =
                json!({ "change": "pod-label", "pod": format!("{trick}/{trick}"), "key": trick, "value": trick });
            let request = json!({ "text": objects.to_string(), "tab": tab, "changes": [change], "filter": "" });
            let answer = shown(&request);
            for html in [&answer.summary, &answer.services, &answer.lead, &answer.panel, &answer.reasons] {
                let html = html.as_str();
                for found in ["<img", "<script", " onload=\"", "\u{202e}", "\u{7}"] {
                    assert!(!html.contains(found), "{tab} {trick}: {found} in {html}");
                }
            }
            assert!(!answer.announcement.contains(['\u{202e}', '\u{7}']));
        }
    }
}

/// The values of an attribute, as a browser reads them.
fn values(html: &str, name: &str) -> Vec<String> {
    let begin = format!(" {name}=\"");
    html.split(&begin).skip(1).filter_map(|rest| Some(as_read(rest.split_once('"')?.0))).collect()
}

/// Escaped text, as a browser reads it.
fn as_read(escaped: &str) -> String {
    let mut parts = escaped.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (reference, rest) = part.split_once(';').expect("a character reference ends");
        let number = reference.strip_prefix('#').and_then(|number| char::from_u32(number.parse().ok()?));
        let named = || [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"')].into_iter().find(|n| n.0 == reference);
        out.push(number.or_else(|| Some(named()?.1)).expect("a known reference"));
        out.push_str(rest);
    }
    out
}

#[test]
fn what_the_browser_sends_back_is_what_it_was_given() {
    for name in ["we\u{200d}b", "a\u{202e}b\u{7}", "\"'<b>&lt;", "a\\nb\n", "\u{e0041}é\u{feff}"] {
        let full = format!("{name}/{name}");
        let meta = json!({ "name": name, "namespace": name, "labels": { "app": "a" } });
        let of_pod = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "False" }] });
        let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Service", "metadata": meta,
              "spec": { "selector": { "app": "a" }, "ports": [{ "port": 80 }] } },
            { "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": { "nodeName": name }, "status": of_pod },
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } },
        ] });
        let ask = |tab: &str| {
            let object = format!("# {name}\n\nkind: [");
            let answer = shown(&json!({ "text": objects.to_string(), "tab": tab, "service": full, "object": object }));
            assert_eq!(answer.service, full, "the Service is found by its name");
            for html in [&answer.services, &answer.lead, &answer.panel, &answer.reasons, &answer.examples] {
                for patch in ["data-set", "data-start"].into_iter().flat_map(|of| values(html.as_str(), of)) {
                    let patch: Value =
                        serde_json::from_str(&patch).unwrap_or_else(|e| panic!("{name:?}: {patch}: {e}"));
                    if let Some(service) = patch.get("service") {
                        assert_eq!(*service, json!(full));
                    }
                }
            }
            assert_eq!(values(answer.services.as_str(), "data-service"), [full.as_str()]);
            (answer, object)
        };
        let (answer, object) = ask("review");
        let field =
            answer.panel.as_str().split_once("id=\"object\">").and_then(|(_, rest)| rest.split_once("</textarea>"));
        assert_eq!(as_read(field.expect("a field").0), format!("\n{object}"), "a browser drops the first line feed");
        let (answer, _) = ask("what-if");
        let values = values(answer.panel.as_str(), "value");
        assert!(values.contains(&full) && values.iter().any(|value| value == name), "{values:?}");
        ask("node");
        ask("picture");
    }
}

/// A list of as many Services and as many pods, each of which all Services select.
fn crowd(count: usize) -> String {
    let meta = |name: String| json!({ "name": name, "namespace": "n", "uid": name, "labels": { "app": "a" } });
    let services = (0..count).map(|n| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta(format!("s{n:04}")),
            "spec": { "clusterIP": "10.0.0.1", "selector": { "app": "a" }, "ports": [{ "protocol": "TCP", "port": 80, "targetPort": 80 }] } })
    });
    let pod = |n: usize| {
        let status = json!({ "podIPs": [{ "ip": format!("10.1.{}.{}", n / 250, n % 250 + 1) }], "conditions": [{ "type": "Ready", "status": "True" }] });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta(format!("p{n:04}")), "spec": { "nodeName": "node-a" }, "status": status })
    };
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-a" } });
    let items: Vec<Value> = services.chain((0..count).map(pod)).chain([node]).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

#[test]
fn services_that_select_the_same_pods_have_a_budget() {
    let count = 1000;
    assert!(count * count > MAX_POD_PORTS && MAX_POD_PORTS > MAX_NODE_VIEWS);
    let objects = crowd(count);
    let answer = shown(&json!({ "text": objects, "filter": "s0999", "service": "n/s0999" }));
    assert!(text(&answer.services).contains("too many pods to list: choose it"), "{}", text(&answer.services));
    let lead = text(&answer.lead);
    assert!(lead.contains("All 1000 pods get traffic."), "the chosen one is explained: {lead}");
    let panel = text(&shown(&json!({ "text": objects, "service": "n/s0999", "tab": "node" })).panel);
    for want in [
        "Node node-a uses 1000 of 1000 pods.",
        "n/s0000 1000 of 1000 ",
        "n/s0999 1000 of 1000 ",
        "900 other Services not looked at, because there are too many endpoints: choose one",
    ] {
        assert!(panel.contains(want), "{want} in {panel}");
    }
    assert!(!panel.contains("n/s0500"), "{panel}");
}

#[test]
fn what_is_too_long_is_refused() {
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "w", "namespace": "x" } });
    let block = "apiVersion: v1\nkind: Service\nmetadata: {name: w, namespace: x}\n";
    let flow = "{apiVersion: v1, kind: Service, metadata: {name: w, namespace: x}}\n";
    let comments = format!("# {}\n", "x".repeat(1000)).repeat(MAX_YAML / 1000 + 1);
    let spaces = " ".repeat(MAX_YAML);
    for (name, text, want) in [
        ("block style", format!("{block}{comments}"), Some("8388608 bytes of YAML")),
        ("flow style", format!("{flow}{comments}"), Some("8388608 bytes of YAML")),
        ("a JSON document before one of YAML", format!("{{}}\n---\n{block}{comments}"), Some("8388608 bytes of YAML")),
        ("JSON documents", format!("{service}\n---\n{spaces}{service}"), Some("8388608 bytes of YAML")),
        ("broken JSON", format!("{service}{spaces}}}"), Some("not JSON: expected an object")),
        ("JSON", format!("{spaces}{service}"), None),
        ("several values of JSON", format!("{service}{spaces}\n{service}"), None),
    ] {
        let error = ask(&json!({ "text": text, "tab": "review" })).err().map(|fault| fault.to_string());
        let is_as_wanted = match (&error, want) {
            (Some(error), Some(want)) => error.contains(want),
            (error, want) => error.is_none() && want.is_none(),
        };
        assert!(is_as_wanted, "{name}: {want:?}, not {error:?}");
    }
    for (length, is_too_long) in [(MAX_OBJECT, false), (MAX_OBJECT + 1, true)] {
        let object = format!("{block}{}", "#".repeat(length - block.len()));
        let answer = ask(&json!({ "text": block, "tab": "review", "object": object }));
        assert_eq!(matches!(answer, Err(PageFault::ObjectTooLong)), is_too_long);
    }
    for (length, is_too_long) in [(MAX_OBJECT, false), (2 * MAX_OBJECT, true)] {
        let annotations = json!({ "long": "x".repeat(length) });
        let meta = json!({ "name": "w", "namespace": "x", "annotations": annotations });
        let long = json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta }).to_string();
        let answer = ask(&json!({ "text": long, "tab": "review" }));
        assert_eq!(matches!(answer, Err(PageFault::ObjectTooLong)), is_too_long, "an object of the text");
        assert!(ask(&json!({ "text": long, "tab": "picture" })).is_ok(), "other tabs show it");
    }
}

#[test]
fn files_of_json_are_read_one_after_the_other() {
    let service =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "x" } });
    let text = format!("{}\n{}\n", service("a"), service("b"));
    let answer = shown(&json!({ "text": text, "tab": "review" }));
    for html in [&answer.services, &answer.panel] {
        assert!(["x/a", "x/b"].iter().all(|name| self::text(html).contains(name)), "{}", self::text(html));
    }
}

#[test]
fn a_review_says_what_is_not_checked() {
    let policy = "apiVersion: roster.dev/v1\nkind: EndpointPolicy\nmetadata: {name: machines}\nspec: {rules: [{name: address-provenance, \
        mode: enforce}], addresses: {allow: [192.0.2.0/24]}, match: {namespaceSelector: {matchLabels: {a: b}}}}\n";
    let slice = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s-1, namespace: x, labels: \
        {kubernetes.io/service-name: s}}\naddressType: IPv4\nendpoints: [{addresses: [192.0.2.1]}]\nports: [{port: 80}]\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: x}\nspec: {ports: [{port: 80}]}\n";
    let both = format!("{service}---\n{slice}");
    for (name, text, object, want) in [
        ("no Service", slice, "", "EndpointSlice x/s-1: allowed"),
        ("no Service, and an object", slice, service, "Service x/s: allowed"),
        ("a rule that was not checked", both.as_str(), "", "not checked: address-provenance"),
        ("a policy with a wrong field", policy, slice, "is not a known field"),
    ] {
        let answer = shown(&json!({ "text": text, "tab": "review", "object": object }));
        let panel = self::text(&answer.panel);
        assert!(panel.contains(want), "{name}: {want} in {panel}");
        if panel.contains("rule not checked") || panel.contains("rules not checked") {
            assert!(!panel.contains("without a finding"), "{name}: {panel}");
        }
    }
}

/// What is wrong with a route is wrong in the list, in the lead, among the reasons and in the picture.
#[test]
fn a_route_that_names_no_port_is_a_problem_everywhere() {
    let text = |port: u16| {
        let objects = [
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "namespace": "x" },
                "spec": { "clusterIP": "10.0.0.1", "selector": { "app": "a" }, "ports": [{ "port": 80 }] } }),
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "x", "labels": { "app": "a" } },
                "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 80 }] }] },
                "status": { "podIPs": [{ "ip": "10.1.0.1" }], "conditions": [{ "type": "Ready", "status": "True" }] } }),
            json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": "i", "namespace": "x" },
                "spec": { "defaultBackend": { "service": { "name": "s", "port": { "number": port } } } } }),
        ];
        json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string()
    };
    for (port, list, lead, summary) in [
        (80, "x/s 1 of 1 ok", "x/s The only pod gets traffic. ", "1 Service, none with problems"),
        (
            99,
            "x/s 1 of 1 warning backend-port-missing",
            "x/s The only pod gets traffic. Ingress i does not reach it. Why: the Service s has no port 99; its port is 80. Do this: ",
            "1 Service, 1 with warnings",
        ),
    ] {
        let answer = shown(&json!({ "text": text(port) }));
        let words = |html: &crate::html::Html| self::text(html).split_whitespace().collect::<Vec<_>>().join(" ") + " ";
        for (html, want) in [(&answer.services, list), (&answer.lead, lead), (&answer.summary, summary)] {
            assert!(words(html).starts_with(want), "{port}: {want}, not {}", words(html));
        }
        for html in [&answer.reasons, &answer.panel] {
            assert_eq!(html.as_str().contains("backend-port-missing"), port == 99, "{port}: {}", html.as_str());
        }
    }
}
