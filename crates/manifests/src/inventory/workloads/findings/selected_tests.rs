//! What counts as selected: hooks, pods beside workloads, pods of a StatefulSet by number, and ports of init containers.

use roster_engine::reason::{Reason, Severity};
use serde_json::{Value, json};

use super::tests::{check, found, service, spec};

fn web() -> Value {
    json!({"app": "web"})
}

fn by(selector: &Value, target: Value) -> (&'static str, &'static str, Value) {
    ("Service", "web", service(selector.clone(), target))
}

fn pod(name: &'static str, port: &str) -> (&'static str, &'static str, Value) {
    let container = json!({"name": "c", "ports": [{"name": port, "containerPort": 8080}]});
    ("Pod", name, json!({"labels": web(), "containers": [container]}))
}

/// The template of pods whose only port has this name.
fn with_port(name: &str) -> Value {
    let container = json!({"name": "c", "readinessProbe": {}, "ports": [{"name": name, "containerPort": 9000}]});
    json!({"template": {"metadata": {"labels": web()}, "spec": {"containers": [container]}}})
}

#[test]
fn a_hook_counts_only_where_nothing_else_is_selected() {
    let hook = ("hook Pod", "test", web());
    let job = |labels: Value| ("hook Job", "migrate", spec(labels, json!({"selector": null})));
    let deployment = |more: Value| ("Deployment", "web", spec(web(), more));
    let wrong = "named-port-missing web /spec/ports/0/targetPort";
    for (given, want) in [
        (vec![by(&web(), json!("http")), deployment(json!({})), hook.clone()], &[][..]),
        (vec![hook.clone(), by(&web(), json!("http")), deployment(json!({})), pod("other", "http")], &[]),
        // The port of the Deployment is looked at, whatever a hook has.
        (vec![by(&web(), json!("http")), deployment(with_port("htpp")), hook.clone()], &[wrong]),
        // A Job of the release is another workload; a hook is not.
        (vec![by(&web(), json!("http")), deployment(json!({})), job(web())], &[]),
        (
            vec![
                by(&web(), json!("http")),
                deployment(json!({})),
                ("Job", "once", spec(web(), json!({"selector": null}))),
            ],
            &["several-workloads web /spec/selector"],
        ),
        // The Service of a hook.
        (vec![by(&web(), json!("http")), job(web())], &[]),
        (vec![by(&web(), json!("http")), hook.clone()], &[]),
        // A hook says nothing of the other workloads, and is not what is meant.
        (vec![by(&json!({"app": "wbe"}), json!("http")), hook.clone()], &[]),
        (vec![by(&json!({"app": "wbe"}), json!("http")), job(json!({"app": "x"}))], &[]),
        (
            vec![by(&json!({"app": "wbe"}), json!("http")), hook.clone(), deployment(json!({}))],
            &["selector-matches-no-template web /spec/selector"],
        ),
        // A Job that nothing selects.
        (vec![job(json!({"app": "x"})), deployment(json!({}))], &[]),
        // Its rollout does not empty a Service that nothing but a hook is behind.
        (
            vec![by(&web(), json!("http")), deployment(json!({"strategy": {"type": "Recreate"}})), hook.clone()],
            &["rollout-empties-service web /spec/strategy"],
        ),
        (vec![by(&web(), json!("http")), deployment(json!({"strategy": {"type": "Recreate"}})), pod("p", "http")], &[]),
    ] {
        assert_eq!(check(&given, false), want, "{given:?}");
    }
}

#[test]
fn ports_of_workloads_are_checked_beside_pods() {
    let deployment = |more: Value| ("Deployment", "web", spec(web(), more));
    let of = |port: &'static str, more: Value| {
        let found = found(&[by(&web(), json!("http")), pod("p", port), deployment(more)]);
        found.iter().map(|f| format!("{} {}", f.severity, f.message)).collect::<Vec<_>>()
    };
    assert_eq!(of("http", json!({})), [""; 0]);
    let lacks = "no container of Deployment web has a port named http; the only name is htpp";
    assert_eq!(of("http", with_port("htpp")), [format!("warning {lacks}; pods behind the Service have it")]);
    assert_eq!(of("htpp", with_port("htpp")), [format!("error {lacks}")]);
    // A number that a pod declares.
    let numbered = [by(&web(), json!(8080)), pod("p", "http"), deployment(with_port("http"))];
    assert_eq!(check(&numbered, false), [""; 0]);
    let others = [by(&web(), json!(8081)), pod("p", "http"), deployment(with_port("http"))];
    assert_eq!(check(&others, false), ["target-port-undeclared web /spec/ports/0/targetPort"]);
}

#[test]
fn a_port_of_an_init_container_is_none() {
    let template = |init: Value| {
        let container = json!({"name": "c", "readinessProbe": {}, "ports": [{"name": "api", "containerPort": 9000}]});
        let pod = json!({"containers": [container], "initContainers": [init]});
        json!({"template": {"metadata": {"labels": web()}, "spec": pod}})
    };
    let init = |more: Value| {
        let mut init = json!({"name": "i", "ports": [{"name": "http", "containerPort": 8080}]});
        init.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        init
    };
    let only = "only an init container does, which ends before they start";
    for (target, init, want) in [
        (json!("http"), init(json!({"restartPolicy": "Always"})), vec![]),
        (json!(8080), init(json!({"restartPolicy": "Always"})), vec![]),
        (
            json!("http"),
            init(json!({})),
            vec![format!("named-port-missing: no container of Deployment web has a port named http; {only}")],
        ),
        (
            json!(8080),
            init(json!({})),
            vec![format!(
                "target-port-undeclared: no container of Deployment web declares the port 8080 (TCP); {only}"
            )],
        ),
        // An API server refuses a number in quotes: it is reported with the field.
        (json!("8080"), init(json!({})), vec![]),
    ] {
        let given = [by(&web(), target.clone()), ("Deployment", "web", spec(web(), template(init.clone())))];
        assert_eq!(check(&given, true), want, "{target} {init}");
    }
}

#[test]
fn a_port_that_a_headless_service_does_not_find_is_a_warning() {
    for (cluster_ip, want) in [("10.96.0.1", Severity::Error), ("None", Severity::Warning)] {
        let mut service = service(web(), json!("https"));
        service["clusterIP"] = json!(cluster_ip);
        let findings = found(&[("Service", "web", service), ("Deployment", "web", spec(web(), json!({})))]);
        let severities: Vec<_> = findings.iter().map(|f| (f.code, f.severity)).collect();
        assert_eq!(severities, [(Reason::NamedPortMissing, want)], "{cluster_ip}");
    }
}

#[test]
fn a_stateful_set_makes_pods_of_some_numbers() {
    let name = |name: &str| json!({"statefulset.kubernetes.io/pod-name": name});
    let index = |index: &str| json!({"app": "web", "apps.kubernetes.io/pod-index": index});
    let set = |more: Value| {
        let mut spec = spec(web(), more);
        spec["serviceName"] = json!("elsewhere");
        ("StatefulSet", "st", spec)
    };
    let governing = ("Service", "elsewhere", json!({"clusterIP": "None", "selector": web()}));
    let scaler = |name: &str, least: i32, most: i32| {
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name});
        let spec = json!({"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most});
        ("HorizontalPodAutoscaler", "scaler", spec)
    };
    let makes = |pods: &str, label: &str| {
        format!("the selector matches no pod: StatefulSet st makes {pods}, none with the label {label}")
    };
    let (by_name, by_index) = ("statefulset.kubernetes.io/pod-name=st-", "apps.kubernetes.io/pod-index=");
    for (selector, more, scaler, want) in [
        (name("st-1"), json!({}), None, String::new()),
        (name("st-5"), json!({}), None, format!("warning {}", makes("the pods st-0 and st-1", &format!("{by_name}5")))),
        (name("st-2"), json!({}), None, format!("warning {}", makes("the pods st-0 and st-1", &format!("{by_name}2")))),
        (
            name("st-1"),
            json!({"replicas": 1}),
            None,
            format!("warning {}", makes("only the pod st-0", &format!("{by_name}1"))),
        ),
        // Without a number, it may be scaled by somebody.
        (
            name("st-1"),
            json!({"replicas": null}),
            None,
            format!("info {}", makes("only the pod st-0", &format!("{by_name}1"))),
        ),
        (name("st-6"), json!({"ordinals": {"start": 5}}), None, String::new()),
        (
            name("st-1"),
            json!({"replicas": 3, "ordinals": {"start": 5}}),
            None,
            format!("warning {}", makes("the pods st-5 to st-7", &format!("{by_name}1"))),
        ),
        (index("1"), json!({}), None, String::new()),
        (index("2"), json!({}), None, format!("warning {}", makes("the pods st-0 and st-1", &format!("{by_index}2")))),
        // An autoscaler may make as many as it allows.
        (name("st-5"), json!({}), Some(scaler("st", 2, 6)), String::new()),
        (name("st-5"), json!({}), Some(scaler("st", 6, 6)), String::new()),
        (
            name("st-6"),
            json!({}),
            Some(scaler("st", 2, 6)),
            format!("warning {}", makes("the pods st-0 to st-5 at most", &format!("{by_name}6"))),
        ),
        (
            name("st-5"),
            json!({}),
            Some(scaler("other", 2, 6)),
            format!("warning {}", makes("the pods st-0 and st-1", &format!("{by_name}5"))),
        ),
    ] {
        let mut given = vec![governing.clone(), by(&selector, json!("http")), set(more.clone())];
        given.extend(scaler.clone());
        let found = found(&given);
        let of_service = found.iter().filter(|f| f.object.kind == "Service" && f.object.name == "web");
        let got: Vec<String> = of_service.map(|f| format!("{} {}", f.severity, f.message)).collect();
        assert_eq!(got.join("\n"), want, "{selector} {more} {scaler:?}");
    }
    // Scaled to 0, it may have any number of pods; and a pod of the input is one.
    let scaled = [by(&name("st-5"), json!("http")), governing.clone(), set(json!({"replicas": 0}))];
    assert_eq!(check(&scaled, false), ["no-replicas web /spec/selector", "no-replicas elsewhere /spec/selector"]);
    let labels = json!({"app": "web", "statefulset.kubernetes.io/pod-name": "st-5"});
    let there = [by(&name("st-5"), json!("http")), governing, set(json!({})), ("Pod", "st-5", labels)];
    assert_eq!(check(&there, false), [""; 0]);
}

#[test]
fn a_job_without_labels_is_not_what_is_meant() {
    let job = |kind: &'static str, labels: Value| {
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}});
        let spec = match kind {
            "CronJob" => json!({"jobTemplate": {"spec": {"template": template}}}),
            _ => json!({"template": template}),
        };
        (kind, "cleanup", spec)
    };
    let nearest = |name: &str, what: &str| {
        vec![format!(
            "selector-matches-no-template: the selector matches no workload and no pod; nearest: {name}, which has {what}"
        )]
    };
    let web = || by(&web(), json!("http"));
    for (given, want) in [
        (vec![web(), job("CronJob", json!({}))], vec![]),
        (vec![web(), job("Job", json!(null))], vec![]),
        (vec![web(), job("CronJob", json!({"app": "wbe"}))], nearest("CronJob cleanup", "app=wbe instead of web")),
        (
            vec![web(), job("CronJob", json!({})), ("Deployment", "db", spec(json!({"app": "db"}), json!({})))],
            nearest("Deployment db", "app=db instead of web"),
        ),
        // Labels that are missing are a mistake.
        (vec![web(), ("Pod", "p", json!({}))], nearest("Pod p", "no label app=web")),
    ] {
        assert_eq!(check(&given, true), want, "{given:?}");
    }
}

/// A controller may give the pods of a custom resource any label, so that it may be behind any Service. That says nothing
/// about the ports, probes and namespaces of others.
#[test]
fn nothing_is_concluded_from_what_a_custom_resource_may_have() {
    let custom = || {
        let template = json!({"spec": {"containers": [{"name": "c"}]}});
        ("Rollout", "hello", json!({"template": template}))
    };
    let nearest =
        "the selector matches no workload and no pod; nearest: Deployment web, which has app=web instead of wbe";
    for (given, want) in [
        (vec![by(&web(), json!("http")), custom()], vec![]),
        (
            vec![by(&web(), json!("http")), custom(), ("Deployment", "db", spec(json!({"app": "db"}), json!({})))],
            vec![],
        ),
        // A typo all the same.
        (
            vec![by(&json!({"app": "wbe"}), json!("http")), custom(), ("Deployment", "web", spec(web(), json!({})))],
            vec![format!("selector-matches-no-template: {nearest}")],
        ),
    ] {
        assert_eq!(check(&given, true), want, "{given:?}");
    }
}

/// Unlike the label of a leader, the one with the name of a pod does not come at run time.
#[test]
fn a_mistyped_name_of_a_pod_is_a_warning() {
    let pod_name = "statefulset.kubernetes.io/pod-name";
    let governing = ("Service", "elsewhere", json!({"clusterIP": "None", "selector": web()}));
    let mut set = spec(web(), json!({}));
    set["serviceName"] = json!("elsewhere");
    let given = [by(&json!({"app": "web", pod_name: "ts-0"}), json!("http")), governing, ("StatefulSet", "st", set)];
    let found: Vec<String> = found(&given).iter().map(|f| format!("{} {}", f.severity, f.message)).collect();
    let nearest = format!("nearest: StatefulSet st, which has no pod with the label {pod_name}=ts-0");
    assert_eq!(found, [format!("warning the selector matches no workload and no pod; {nearest}")]);
}

#[test]
fn a_port_that_nothing_suggests_is_a_warning() {
    let with = |containers: Value| {
        let template = json!({"metadata": {"labels": web()}, "spec": {"containers": containers}});
        ("Deployment", "web", json!({"selector": {"matchLabels": web()}, "template": template}))
    };
    let container = |more: Value| {
        let mut container = json!({"name": "c", "ports": [{"containerPort": 8080}], "readinessProbe": {}});
        container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        container
    };
    for (containers, want) in [
        (json!([container(json!({}))]), "warning"),
        (json!([container(json!({"args": ["--port=90901"]}))]), "warning"),
        (json!([container(json!({"args": ["--listen", ":9090"]}))]), "info"),
        (json!([container(json!({"command": ["serve", "--port=9090"]}))]), "info"),
        (json!([container(json!({"env": [{"name": "PORT", "value": "9090"}]}))]), "info"),
        (json!([container(json!({"livenessProbe": {"tcpSocket": {"port": 9090}}}))]), "info"),
        (json!([container(json!({"ports": []}))]), "info"),
        (json!([container(json!({"ports": [{"name": "http-metrics", "containerPort": 8080}]}))]), "info"),
        (json!([container(json!({"ports": [{"protocol": "UDP", "containerPort": 9090}]}))]), "info"),
        (json!([container(json!({"envFrom": [{"configMapRef": {"name": "c"}}]}))]), "info"),
        (json!([container(json!({})), {"name": "d", "readinessProbe": {}}]), "info"),
    ] {
        let given = [by(&web(), json!(9090)), with(containers.clone())];
        let found: Vec<String> = found(&given).iter().map(|f| format!("{} {}", f.severity, f.code)).collect();
        assert_eq!(found, [format!("{want} target-port-undeclared")], "{containers}");
    }
    // What is configured by files may listen anywhere; and a Service that sends to a declared port knows the program.
    let mut with_files = with(json!([container(json!({}))]));
    with_files.2["template"]["spec"]["volumes"] = json!([{"name": "c", "configMap": {"name": "c"}}]);
    let two = json!({"selector": web(), "ports": [{"name": "a", "port": 8080}, {"name": "b", "port": 9090}]});
    for given in [[by(&web(), json!(9090)), with_files], [("Service", "web", two), with(json!([container(json!({}))]))]]
    {
        let found: Vec<String> = found(&given).iter().map(|f| format!("{} {}", f.severity, f.code)).collect();
        assert_eq!(found, ["info target-port-undeclared"], "{given:?}");
    }
}
