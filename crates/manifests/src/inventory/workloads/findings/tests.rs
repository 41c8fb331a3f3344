//! What is found, and what is not.
#![expect(clippy::needless_pass_by_value, reason = "rows are written with json!")]

use roster_engine::model::{ObjectKey, Resource};
use serde_json::{Value, json};

use super::*;
use crate::inventory::workloads::{KnownObjects, MAX_PODS, assume};

/// The objects of a namespace, each as its kind, its name and its `spec`, which is that of a Pod with its `labels`. A kind with
/// `hook` before it is that of a hook of Helm.
#[derive(Default)]
struct Objects {
    services: Vec<Service>,
    pods: Vec<Pod>,
    workloads: Vec<Workload>,
    autoscalers: Vec<Autoscaler>,
    custom_resources: CustomResources,
    unread: UnreadObjects,
}

fn objects(given: &[(&str, &str, Value)]) -> Objects {
    let mut all = Objects::default();
    for (kind, name, spec) in given {
        let object = json!({"metadata": {"namespace": "shop", "name": name}, "spec": spec});
        let (kind, is_hook) = kind.strip_prefix("hook ").map_or((*kind, false), |kind| (kind, true));
        match kind {
            "Service" => all.services.push(serde_json::from_value(object).unwrap()),
            "Pod" => {
                let labels = spec.get("labels").unwrap_or(spec);
                let meta = json!({"namespace": "shop", "name": name, "labels": labels});
                let pod = serde_json::from_value(json!({ "metadata": meta, "spec": spec })).unwrap();
                all.pods.push(Pod { is_hook, ..pod });
            }
            "HorizontalPodAutoscaler" => all.autoscalers.push(serde_json::from_value(object).unwrap()),
            "Rollout" => all.workloads.push(Workload::read_custom(object).unwrap()),
            "Prometheus" | "HelmRelease" => {
                let namespace = Text::new(if kind == "Prometheus" { "shop" } else { "flux-system" });
                all.custom_resources.add(namespace.clone(), ObjectKey::new(kind, &namespace, &Text::new(name)));
            }
            _ => {
                let resource = Resource::ALL.iter().find(|r| r.kind() == kind).copied().unwrap();
                let workload = Workload::read(resource, object).unwrap();
                all.workloads.push(Workload { is_hook, ..workload });
            }
        }
    }
    all
}

pub(super) fn found(given: &[(&str, &str, Value)]) -> Vec<Finding> {
    found_in(&objects(given))
}

/// What is found beside objects that cannot be read.
pub(super) fn found_beside(unread: UnreadObjects, given: &[(&str, &str, Value)]) -> Vec<Finding> {
    found_in(&Objects { unread, ..objects(given) })
}

fn found_in(all: &Objects) -> Vec<Finding> {
    let assumed = assume(&KnownObjects {
        workloads: &all.workloads,
        services: &all.services,
        autoscalers: &all.autoscalers,
        pods: &all.pods,
        nodes: &[],
        zones: &[],
        families: roster_engine::model::defaults::ClusterFamilies::default(),
        due: false,
        max_pods: MAX_PODS,
    });
    let found = findings(&ComparedObjects {
        services: &all.services,
        pods: &all.pods,
        workloads: &all.workloads,
        autoscalers: &all.autoscalers,
        outcomes: &assumed.workloads,
        custom_resources: &all.custom_resources,
        unread: &all.unread,
        assumed_namespace: "default",
        documents: &ObjectDocuments::one(
            all.services.len(),
            all.pods.len(),
            all.workloads.len(),
            all.autoscalers.len(),
        ),
        units: &Units::one(1),
        unrendered: &[],
        in_tests: &[],
    });
    let found: Vec<Finding> = found.into_iter().map(|(_, finding)| finding).collect();
    for finding in &found {
        assert!(finding.code.severities().contains(&finding.severity), "{finding:?}");
    }
    found
}

/// `code object pointer`; or, where `messages` asks for them, the code and the message.
pub(super) fn check(given: &[(&str, &str, Value)], messages: bool) -> Vec<String> {
    let line = |f: Finding| {
        if messages {
            format!("{}: {}", f.code, f.message)
        } else {
            format!("{} {} {}", f.code, f.object.name, f.pointer.unwrap_or_default())
        }
    };
    found(given).into_iter().map(line).collect()
}

/// A Service with this selector and one port, to this target.
pub(super) fn service(selector: Value, target: Value) -> Value {
    json!({"clusterIP": "10.96.0.1", "selector": selector, "ports": [{"port": 80, "targetPort": target, "protocol": "TCP"}]})
}

/// The spec of a workload: the labels of its template, one container with a probe and two ports, and further fields.
pub(super) fn spec(labels: Value, more: Value) -> Value {
    let ports =
        json!([{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]);
    let container = json!({"name": "c", "readinessProbe": {"httpGet": {}}, "ports": ports});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let mut spec = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

#[test]
fn manifests_that_fit_raise_nothing() {
    let web = || json!({"app": "web", "tier": "front"});
    let probed = |port: &str| {
        let probe = json!({"httpGet": {"port": port}});
        json!({"metadata": {"labels": web()}, "spec": {"containers": [{"name": "c", "readinessProbe": probe, "ports": [{"name": "http", "containerPort": 1}]}]}})
    };
    let unprobed = json!({"metadata": {"labels": web()}, "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 1}]}]}});
    let deployment = || ("Deployment", "web", spec(web(), json!({})));
    let by = |selector: Value| ("Service", "web", service(selector, json!("http")));
    for given in [
        vec![by(web()), deployment()],
        vec![by(json!({"app": "web"})), deployment()],
        // Nothing is known of the pods of the namespace.
        vec![by(json!({"app": "other"}))],
        vec![by(json!({"app": "other"})), ("Pod", "p", json!({"app": "other"})), deployment()],
        vec![by(json!(null)), deployment()],
        vec![by(json!({})), deployment()],
        vec![("Service", "web", json!({"type": "ExternalName", "selector": {"app": "x"}})), deployment()],
        // Labels that only a controller knows.
        vec![by(json!({"app": "web", "pod-template-hash": "5d4f8c7b9"})), deployment()],
        vec![by(json!({"app": "web", "topology.kubernetes.io/zone": "a"})), deployment()],
        vec![
            by(json!({"statefulset.kubernetes.io/pod-name": "db-1"})),
            ("Service", "db", json!({"clusterIP": "None", "selector": {"apps.kubernetes.io/pod-index": "0"}})),
            ("StatefulSet", "db", spec(web(), json!({"serviceName": "db"}))),
        ],
        vec![by(json!({"job-name": "once"})), ("Job", "once", spec(web(), json!({"selector": null})))],
        // An operator makes the pods of a custom resource, and may add labels to them.
        vec![by(json!({"app": "web", "role": "primary"})), ("Rollout", "web", spec(web(), json!({})))],
        // Nor is it behind a Service whose labels another workload has.
        vec![
            ("Service", "db", service(json!({"role": "db"}), json!("http"))),
            ("Deployment", "db", spec(json!({"role": "db"}), json!({}))),
            (
                "Rollout",
                "checkout",
                spec(
                    json!({"app": "checkout"}),
                    json!({"template": {"metadata": {"labels": {"app": "checkout"}}, "spec": {"containers": [{"name": "c", "readinessProbe": {}}]}}}),
                ),
            ),
        ],
        // It gives its pods no label that a StatefulSet's controller gives.
        vec![
            by(json!({"statefulset.kubernetes.io/pod-name": "db-1"})),
            ("Rollout", "web", spec(json!({"app": "roll"}), json!({}))),
            ("Service", "db", json!({"clusterIP": "None", "selector": web()})),
            ("StatefulSet", "db", spec(web(), json!({"serviceName": "db"}))),
        ],
        vec![by(web()), ("Deployment", "web", spec(web(), json!({"replicas": 1})))],
        vec![("StatefulSet", "db", spec(web(), json!({"serviceName": "elsewhere"})))],
        vec![("Deployment", "worker", spec(web(), json!({"replicas": 0})))],
        vec![("Deployment", "web", spec(web(), json!({"template": probed("http")})))],
        vec![("Deployment", "web", spec(web(), json!({"template": probed("")})))],
        // Readiness plays no part.
        vec![
            (
                "Service",
                "web",
                json!({"publishNotReadyAddresses": true, "selector": web(), "ports": [{"port": 80, "targetPort": "http"}]}),
            ),
            ("Deployment", "web", spec(web(), json!({"template": unprobed}))),
        ],
    ] {
        assert_eq!(check(&given, false), [""; 0], "{given:?}");
    }
}

#[test]
fn contradictions_are_found_where_they_are() {
    let web = || json!({"app": "web", "tier": "front"});
    let deployment = || ("Deployment", "web", spec(web(), json!({})));
    let to = |target: Value| ("Service", "web", service(json!({"app": "web"}), target));
    let by = |selector: Value| ("Service", "web", service(selector, json!("http")));
    let probed = |port: &str| {
        let probe = json!({"httpGet": {"port": port}});
        json!({"metadata": {"labels": web()}, "spec": {"containers": [{"name": "c", "readinessProbe": probe, "ports": [{"name": "http", "containerPort": 1}]}]}})
    };
    let typo = json!({"metadata": {"labels": web()}, "spec": {"containers": [{"name": "c", "readinessProbe": {}, "ports": [{"name": "htttp", "containerPort": 1}]}]}});
    let unprobed = json!({"metadata": {"labels": web()}, "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 1}]}]}});
    for (given, want) in [
        (vec![by(json!({"app": "wbe"})), deployment()], &["selector-matches-no-template web /spec/selector"][..]),
        (vec![by(json!({"app": "wbe"})), ("Pod", "p", web())], &["selector-matches-no-template web /spec/selector"]),
        (
            vec![by(json!({"app": "wbe"})), deployment(), ("Prometheus", "k8s", json!({}))],
            &["selector-matches-no-template web /spec/selector"],
        ),
        (
            vec![by(json!({"ap": "web"})), deployment(), ("Prometheus", "k8s", json!({}))],
            &["selector-matches-no-template web /spec/selector"],
        ),
        // An operator may make pods with these labels.
        (
            vec![by(json!({"app": "prometheus"})), deployment(), ("Prometheus", "k8s", json!({}))],
            &["selector-not-checked web /spec/selector"],
        ),
        // Its pods are in another namespace.
        (
            vec![by(json!({"app": "prometheus"})), deployment(), ("HelmRelease", "k8s", json!({}))],
            &["selector-matches-no-template web /spec/selector"],
        ),
        (
            vec![
                by(json!({"statefulset.kubernetes.io/pod-name": "db-x"})),
                ("StatefulSet", "db", spec(web(), json!({"serviceName": "web"}))),
            ],
            &["selector-matches-no-template web /spec/selector", "governing-service-not-headless db /spec/serviceName"],
        ),
        (vec![to(json!("https")), deployment()], &["named-port-missing web /spec/ports/0/targetPort"]),
        (vec![to(json!("dns")), deployment()], &["protocol-mismatch web /spec/ports/0/targetPort"]),
        (vec![to(json!(8081)), deployment()], &["target-port-undeclared web /spec/ports/0/targetPort"]),
        (vec![to(json!(null)), deployment()], &["target-port-undeclared web /spec/ports/0/targetPort"]),
        (
            vec![by(web()), deployment(), ("Deployment", "canary", spec(web(), json!({})))],
            &["several-workloads web /spec/selector"],
        ),
        (
            vec![by(web()), ("Deployment", "web", spec(web(), json!({"replicas": 0})))],
            &["no-replicas web /spec/selector"],
        ),
        (
            vec![by(web()), ("Deployment", "web", spec(web(), json!({"strategy": {"type": "Recreate"}})))],
            &["rollout-empties-service web /spec/strategy"],
        ),
        (
            vec![
                by(web()),
                ("Deployment", "web", spec(web(), json!({"strategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}))),
            ],
            &["rollout-empties-service web /spec/strategy"],
        ),
        (
            vec![by(web()), ("Deployment", "web", spec(web(), json!({"template": unprobed})))],
            &["no-readiness-probe web /spec/template/spec/containers"],
        ),
        (
            vec![("Deployment", "web", spec(web(), json!({"template": probed("htpp")})))],
            &["probe-port-missing web /spec/template/spec/containers/0/readinessProbe"],
        ),
        // Of two workloads behind a Service, one lacks the port.
        (
            vec![
                by(json!({"app": "web"})),
                deployment(),
                ("Deployment", "new", spec(web(), json!({"template": typo}))),
            ],
            &["named-port-missing web /spec/ports/0/targetPort", "several-workloads web /spec/selector"],
        ),
    ] {
        assert_eq!(check(&given, false), want, "{given:?}");
    }
}

#[test]
fn workloads_that_cannot_work_are_found() {
    let web = || json!({"app": "web", "tier": "front"});
    let deployment = || ("Deployment", "web", spec(web(), json!({})));
    let by = |selector: Value| ("Service", "web", service(selector, json!("http")));
    for (given, want) in [
        (
            vec![
                ("Service", "web", json!({"clusterIP": "None", "selector": web()})),
                deployment(),
                ("StatefulSet", "db", spec(json!({"app": "db"}), json!({"serviceName": "web"}))),
            ],
            &["governing-service-selects-others db /spec/serviceName"][..],
        ),
        // An API server refuses the spelling, which is reported.
        (
            vec![
                ("Service", "db", json!({"clusterIP": "none", "selector": web()})),
                ("StatefulSet", "db", spec(web(), json!({"serviceName": "db"}))),
            ],
            &[],
        ),
        (
            vec![("Deployment", "web", spec(web(), json!({"selector": {"matchLabels": {"app": "x"}}})))],
            &["pods-refused web /spec/selector"],
        ),
        (
            vec![by(web()), ("StatefulSet", "web", spec(web(), json!({"serviceName": "db"})))],
            &["governing-service-missing web /spec/serviceName"],
        ),
        (vec![("StatefulSet", "db", spec(web(), json!({})))], &["governing-service-missing db /spec/serviceName"]),
        (vec![("Deployment", "web", spec(web(), json!({"replicas": 200_000})))], &["too-many-pods web /spec/replicas"]),
        (
            vec![("Job", "j", spec(web(), json!({"selector": null, "parallelism": 200_000})))],
            &["too-many-pods j /spec/parallelism"],
        ),
        (
            vec![("Job", "j", spec(web(), json!({"selector": null, "parallelism": 300_000, "completions": 200_000})))],
            &["too-many-pods j /spec/completions"],
        ),
    ] {
        assert_eq!(check(&given, false), want, "{given:?}");
    }
}

#[test]
fn messages_name_the_nearest_workload_and_what_differs() {
    let db = ("Deployment", "db", spec(json!({"app": "db"}), json!({})));
    let web = ("Deployment", "web", spec(json!({"app": "web", "tier": "front"}), json!({})));
    for (selector, target, want) in [
        (
            json!({"app": "wbe", "tier": "front"}),
            json!("http"),
            "nearest: Deployment web, which has app=web instead of wbe",
        ),
        (json!({"app": "web", "role": "x"}), json!("http"), "nearest: Deployment web, which has no label role=x"),
        (json!({"ap": "db"}), json!("http"), "nearest: Deployment db, which has app=db instead of ap=db"),
        (json!({"app": "db "}), json!("http"), "nearest: Deployment db, which has app=db instead of \"db \""),
        (
            json!({"app": "web"}),
            json!("htpp"),
            "no container of Deployment web has a port named htpp; the names are http, dns",
        ),
        (
            json!({"app": "web"}),
            json!(81),
            "no container of Deployment web declares the port 81 (TCP); they declare 8080, 53/UDP",
        ),
        (
            json!({"app": "web"}),
            json!("dns"),
            "the port dns of Deployment web has the protocol UDP, and that of the Service TCP",
        ),
    ] {
        let found = check(&[("Service", "web", service(selector.clone(), target)), web.clone(), db.clone()], true);
        assert!(found.len() == 1 && found[0].ends_with(want), "{selector}: {found:?}");
    }
}

/// Of several workloads, one lacks a port: a warning if it has pods.
#[test]
fn a_port_that_some_workloads_lack_is_a_warning() {
    let web = json!({"app": "web"});
    let ports = |name: &str| {
        let container = json!({"name": "c", "readinessProbe": {}, "ports": [{"name": name, "containerPort": 9000}]});
        json!({"metadata": {"labels": web}, "spec": {"containers": [container]}})
    };
    let lacks = |kind: &'static str, more: Value| {
        let mut of_kind = json!({"template": ports("metrics")});
        of_kind.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (kind, "other", spec(web.clone(), of_kind))
    };
    let job = json!({"jobTemplate": {"spec": {"template": ports("metrics")}}});
    for (other, want) in [
        (lacks("Deployment", json!({})), "Warning"),
        (lacks("DaemonSet", json!({})), "Warning"),
        (lacks("Deployment", json!({"replicas": 0})), "Info"),
        (("CronJob", "other", job), "Info"),
    ] {
        let both = [
            ("Service", "web", service(web.clone(), json!("http"))),
            ("Deployment", "web", spec(web.clone(), json!({}))),
            other.clone(),
        ];
        let found = found(&both);
        let found: Vec<_> = found.iter().filter(|f| f.code == Reason::NamedPortMissing).collect();
        let message = format!(
            "no container of {} other has a port named http; the only name is metrics; other workloads behind the Service have it",
            other.0
        );
        let got: Vec<_> = found.iter().map(|f| (format!("{:?}", f.severity), f.message.clone())).collect();
        assert_eq!(got, [(want.to_owned(), message)], "{other:?}");
    }
}

/// A strategy that is a choice is not a warning.
#[test]
fn a_rollout_that_empties_a_service_is_described() {
    let web = json!({"app": "web"});
    let service = ("Service", "web", service(web.clone(), json!("http")));
    for (replicas, strategy, want) in [
        (
            2,
            json!({"type": "Recreate"}),
            "Info a rollout stops all 2 pods before it starts new ones (Recreate), which leaves Service web empty",
        ),
        (
            1,
            json!({"type": "Recreate"}),
            "Info a rollout stops its only pod before it starts new ones (Recreate), which leaves Service web empty",
        ),
        (0, json!({"type": "Recreate"}), ""),
        (2, json!({"type": "RollingUpdate"}), ""),
        (
            2,
            json!({"rollingUpdate": {"maxUnavailable": 2}}),
            "Warning a rollout may stop all 2 pods before new ones are ready (maxUnavailable allows it), which leaves Service web empty",
        ),
        (
            1,
            json!({"rollingUpdate": {"maxUnavailable": 1}}),
            "Warning a rollout may stop its only pod before a new one is ready (maxUnavailable allows it), which leaves Service web empty",
        ),
    ] {
        let deployment = spec(web.clone(), json!({"replicas": replicas, "strategy": strategy}));
        let found = found(&[service.clone(), ("Deployment", "web", deployment)]);
        let found = found.iter().filter(|f| f.code == Reason::RolloutEmptiesService);
        let found: Vec<String> = found.map(|f| format!("{:?} {}", f.severity, f.message)).collect();
        assert_eq!(found.join("\n"), want, "{replicas} {strategy}");
    }
}

/// A custom resource may have any label, which brings it no closer than a workload that is known to lack one.
#[test]
fn labels_that_a_custom_resource_may_add_bring_it_no_closer() {
    let db = json!({"app": "db"});
    let given = [
        ("Rollout", "a", spec(json!({"app": "roll"}), json!({}))),
        ("StatefulSet", "db", spec(db.clone(), json!({"serviceName": "db"}))),
        ("Service", "db", json!({"clusterIP": "None", "selector": db})),
        ("Service", "leader", service(json!({"app": "db", "role": "leader"}), json!("http"))),
    ];
    let found: Vec<_> = found(&given).into_iter().map(|f| format!("{:?} {}", f.severity, f.message)).collect();
    let want =
        "Info the selector matches no workload and no pod; nearest: StatefulSet db, which has no label role=leader";
    assert_eq!(found, [want]);
}

/// The objects of several namespaces: kind, namespace, name and selector or labels. Returns `severity code`.
fn across(given: &[(&str, &str, Value)]) -> Vec<String> {
    let mut all = Objects::default();
    for (i, (kind, namespace, labels)) in given.iter().enumerate() {
        let meta = json!({"namespace": namespace, "name": format!("n{i}")});
        match *kind {
            "Service" => {
                let service = json!({"metadata": meta, "spec": service(labels.clone(), json!("http"))});
                all.services.push(serde_json::from_value(service).unwrap());
            }
            kind => {
                let resource = Resource::ALL.iter().find(|r| r.kind() == kind).copied().unwrap();
                let object = json!({"metadata": meta, "spec": spec(labels.clone(), json!({"serviceName": "n0"}))});
                all.workloads.push(Workload::read(resource, object).unwrap());
            }
        }
    }
    let outcomes: Vec<_> = (0..all.workloads.len()).map(|i| (i, WorkloadPods::Assumed(1))).collect();
    let found = findings(&ComparedObjects {
        services: &all.services,
        pods: &[],
        workloads: &all.workloads,
        autoscalers: &all.autoscalers,
        outcomes: &outcomes,
        custom_resources: &CustomResources::default(),
        unread: &UnreadObjects::default(),
        assumed_namespace: "default",
        documents: &ObjectDocuments::one(all.services.len(), 0, all.workloads.len(), all.autoscalers.len()),
        units: &Units::one(1),
        unrendered: &[],
        in_tests: &[],
    });
    found.into_iter().map(|(_, f)| format!("{:?} {} {}", f.severity, f.code, f.object.name)).collect()
}

#[test]
fn other_namespaces_and_labels_of_running_pods_are_considered() {
    let web = || json!({"app": "web"});
    let leader = || json!({"app": "web", "role": "leader"});
    for (given, want) in [
        (&[("Service", "shop", web()), ("Deployment", "back", web())][..], &["Warning other-namespace n0"][..]),
        // `web` is another word than `db`, and not that mistyped.
        (
            &[
                ("Service", "shop", json!({"app": "db"})),
                ("Deployment", "back", json!({"app": "db"})),
                ("Deployment", "shop", web()),
            ],
            &["Warning other-namespace n0"],
        ),
        // One of the two does not name its namespace.
        (&[("Service", "shop", web()), ("Deployment", "default", web())], &["Info other-namespace n0"]),
        (&[("Service", "default", web()), ("Deployment", "back", web())], &["Info other-namespace n0"]),
        // The copy for another stage has a Service of its own.
        (
            &[("Service", "shop", web()), ("Service", "back", web()), ("Deployment", "back", web())],
            &["Warning other-namespace n0"],
        ),
        (&[("Service", "shop", json!({"app": "wbe"})), ("Deployment", "back", web())], &[]),
        // A program marks one of its pods.
        // The cluster runs pods of its own there.
        (
            &[("Service", "kube-system", json!({"k8s-app": "kube-dns"})), ("Deployment", "kube-system", web())],
            &["Info selector-not-checked n0"],
        ),
        (
            &[("Service", "kube-system", json!({"app": "wbe"})), ("Deployment", "kube-system", web())],
            &["Warning selector-matches-no-template n0"],
        ),
        (
            &[("Service", "shop", web()), ("Service", "shop", leader()), ("Deployment", "shop", web())],
            &["Info selector-matches-no-template n1"],
        ),
        (&[("Service", "shop", leader()), ("Deployment", "shop", web())], &["Warning selector-matches-no-template n0"]),
        // The label is there under another key.
        (
            &[
                ("Service", "shop", json!({"app": "web", "tiers": "front"})),
                ("Service", "shop", web()),
                ("Deployment", "shop", json!({"app": "web", "tier": "front"})),
            ],
            &["Warning selector-matches-no-template n0"],
        ),
    ] {
        assert_eq!(across(given), want, "{given:?}");
    }
}
