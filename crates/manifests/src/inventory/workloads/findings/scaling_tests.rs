//! What is found about autoscalers, and the Services that give pods their names.
#![expect(clippy::needless_pass_by_value, reason = "rows are written with json!")]

use roster_engine::model::Resource;
use serde_json::{Value, json};

use super::{
    tests::{check, found, service, spec},
    *,
};

/// An autoscaler of a workload, with these metrics.
fn scaler(name: &'static str, kind: &str, of: &str, metrics: Value) -> (&'static str, &'static str, Value) {
    let target = json!({"apiVersion": "apps/v1", "kind": kind, "name": of});
    ("HorizontalPodAutoscaler", name, json!({"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics}))
}

/// A workload called `web` with these containers, and further fields of its pods.
fn of_containers(containers: Value, more: Value) -> (&'static str, &'static str, Value) {
    let mut pod = json!({"containers": containers});
    pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": pod});
    ("Deployment", "web", spec(json!({"app": "web"}), json!({"template": template})))
}

fn shown(given: &[(&str, &str, Value)]) -> Vec<String> {
    let found = found(given).into_iter().filter(|f| f.object.kind == "HorizontalPodAutoscaler");
    found.map(|f| format!("{} {} {} {}", f.severity, f.code, f.at(), f.message)).collect()
}

#[test]
fn autoscalers_name_workloads_of_the_manifests() {
    let of = |api_version: &str, kind: &str, name: &str| {
        let target = json!({"apiVersion": api_version, "kind": kind, "name": name});
        ("HorizontalPodAutoscaler", "scaler", json!({"scaleTargetRef": target, "maxReplicas": 3}))
    };
    let workload = |kind: &'static str, name: &'static str| {
        let more = if kind == "StatefulSet" { json!({"serviceName": "elsewhere"}) } else { json!({}) };
        (kind, name, spec(json!({"app": name}), more))
    };
    let all = || {
        let sets = [workload("StatefulSet", "db"), workload("DaemonSet", "pai")];
        [workload("Deployment", "web"), workload("Deployment", "api")].into_iter().chain(sets).collect::<Vec<_>>()
    };
    for (scaler, want) in [
        (of("apps/v1", "Deployment", "web"), ""),
        // The version does not matter.
        (of("apps/v1beta1", "StatefulSet", "db"), ""),
        // Nothing is known of other kinds.
        (of("argoproj.io/v1alpha1", "Rollout", "wbe"), ""),
        (
            of("apps/v1", "ReplicaSet", "web"),
            "kind ReplicaSet web is not among the manifests of the namespace; nearest: Deployment web",
        ),
        (of("apps/v1", "ReplicaSet", "other"), ""),
        (of("apps/v1", "Deployment", ""), ""),
        (
            of("apps/v1", "Deployment", "wbe"),
            "name Deployment wbe is not among the manifests of the namespace; nearest: Deployment web",
        ),
        // Two letters that have changed places are a typo, whatever else has the name.
        (
            of("apps/v1", "Deployment", "pai"),
            "name Deployment pai is not among the manifests of the namespace; nearest: Deployment api",
        ),
        // Rather the same name than a name that is far away.
        (
            of("apps/v1", "Deployment", "db"),
            "kind Deployment db is not among the manifests of the namespace; nearest: StatefulSet db",
        ),
        (
            of("apps/v1", "StatefulSet", "payments"),
            "name StatefulSet payments is not among the manifests of the namespace; nearest: StatefulSet db",
        ),
        (
            of("extensions/v1beta1", "Deployment", "api"),
            "apiVersion the Deployment api among the manifests is of apps/v1, not of \"extensions/v1beta1\"",
        ),
        (
            of("", "Deployment", "api"),
            "apiVersion the field is missing; the Deployment api among the manifests is of apps/v1",
        ),
    ] {
        let mut given = all();
        given.push(scaler.clone());
        let found = found(&given);
        let found = found.iter().filter(|f| f.code == Reason::ScaleTargetMissing);
        let text = |f: &Finding| {
            let field = f.pointer.as_deref().and_then(|p| p.strip_prefix("/spec/scaleTargetRef/")).unwrap();
            assert_eq!(f.object.to_string(), "HorizontalPodAutoscaler shop/scaler");
            format!("{field} {}", f.message)
        };
        assert_eq!(found.map(text).collect::<Vec<_>>().join("\n"), want, "{scaler:?}");
    }
    // Without any workload, the manifests are those of something else.
    assert_eq!(found(&[of("apps/v1", "Deployment", "web")]), []);
}

#[test]
fn a_kind_that_cannot_be_scaled_is_found_whatever_else_there_is() {
    let api = |api_version: &str, kind: &str| {
        let target = json!({"apiVersion": api_version, "kind": kind, "name": "web"});
        ("HorizontalPodAutoscaler", "s", json!({"scaleTargetRef": target, "maxReplicas": 3}))
    };
    let web = of_containers(json!([{"name": "c"}]), json!({}));
    let at = "/spec/scaleTargetRef/kind";
    let cannot = |kind: &str| {
        format!("warning scale-target-not-scalable {at} the kind {kind} cannot be scaled: it has no scale subresource")
    };
    let missing = format!("warning scale-target-missing {at}");
    let spelling = |kind: &str| format!("{missing} there is no kind {kind:?}; the kind is written Deployment");
    for (scaler, want) in [
        (api("apps/v1", "Deployment"), vec![]),
        (api("apps/v1", "deployment"), vec![spelling("deployment")]),
        (api("apps/v1", "deployments"), vec![spelling("deployments")]),
        (api("apps/v1", "DaemonSet"), vec![cannot("DaemonSet")]),
        (api("batch/v1", "CronJob"), vec![cannot("CronJob")]),
        // Kinds of other groups may be written and scaled in any way.
        (api("example.com/v1", "deployment"), vec![]),
        (api("apps.kruise.io/v1alpha1", "DaemonSet"), vec![]),
    ] {
        assert_eq!(shown(&[scaler.clone(), web.clone()]), want, "{scaler:?}");
        if !want.is_empty() {
            assert_eq!(shown(std::slice::from_ref(&scaler)), want, "{scaler:?} alone");
        }
    }
}

#[test]
fn an_autoscaler_scales_workloads_of_its_own_namespace() {
    let workload = |namespace: &str, name: &str| {
        let meta = json!({"namespace": namespace, "name": name});
        let object = json!({"metadata": meta, "spec": spec(json!({"app": name}), json!({}))});
        Workload::read(Resource::Deployment, object).unwrap()
    };
    let scaler = |namespace: &str, name: &str| -> Autoscaler {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let meta = json!({"namespace": namespace, "name": "s"});
        serde_json::from_value(json!({"metadata": meta, "spec": {"scaleTargetRef": target, "maxReplicas": 3}})).unwrap()
    };
    let message = |namespace: &str| {
        format!("Deployment web is not among the manifests of the namespace, but of namespace {namespace}")
    };
    for (workloads, scalers, want) in [
        (vec![workload("shop", "web")], vec![scaler("shop", "web")], vec![]),
        (vec![workload("back", "web")], vec![scaler("shop", "web")], vec![format!("warning {}", message("back"))]),
        (
            vec![workload("back", "web"), workload("shop", "api")],
            vec![scaler("shop", "web")],
            vec![format!("warning {}", message("back"))],
        ),
        // One of both does not name its namespace.
        (vec![workload("default", "web")], vec![scaler("shop", "web")], vec![format!("info {}", message("default"))]),
        (vec![workload("back", "web")], vec![scaler("default", "web")], vec![format!("info {}", message("back"))]),
        // Another stage, which has an autoscaler of its own.
        (
            vec![workload("back", "web")],
            vec![scaler("back", "web"), scaler("shop", "web")],
            vec![format!("info {}", message("back"))],
        ),
        (vec![workload("back", "api")], vec![scaler("shop", "web")], vec![]),
    ] {
        let outcomes: Vec<_> = (0..workloads.len()).map(|i| (i, WorkloadPods::Assumed(2))).collect();
        let found = findings(&ComparedObjects {
            services: &[],
            pods: &[],
            workloads: &workloads,
            autoscalers: &scalers,
            outcomes: &outcomes,
            custom_resources: &CustomResources::default(),
            unread: &UnreadObjects::default(),
            assumed_namespace: "default",
            documents: &ObjectDocuments::one(0, 0, workloads.len(), scalers.len()),
            units: &Units::one(1),
            unrendered: &[],
            in_tests: &[],
        });
        let got: Vec<String> = found.iter().map(|(_, f)| format!("{} {}", f.severity, f.message)).collect();
        assert_eq!(got, want, "{scalers:?}");
    }
}

#[test]
fn several_autoscalers_of_one_workload_stop_each_other() {
    let web = || of_containers(json!([{"name": "c"}]), json!({}));
    let of = |name: &'static str, workload: &str| scaler(name, "Deployment", workload, json!(null));
    let message = "2 autoscalers scale Deployment web, so that none of them does: a, b";
    let want = format!("warning several-autoscalers /spec/scaleTargetRef {message}");
    assert_eq!(shown(&[web(), of("a", "web"), of("b", "web")]), [want.clone(), want]);
    let set = ("StatefulSet", "web", spec(json!({"app": "db"}), json!({"serviceName": "x"})));
    for given in [
        vec![web(), of("a", "web")],
        // The last one of a name counts.
        vec![web(), of("a", "web"), of("a", "web")],
        vec![web(), set, of("a", "web"), scaler("b", "StatefulSet", "web", json!(null))],
    ] {
        assert_eq!(shown(&given), [""; 0], "{given:?}");
    }
}

#[test]
fn metrics_need_their_containers_and_requests() {
    let cpu = |more: Value| {
        let mut metric = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}});
        metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        metric
    };
    let pods = |metric: Value| json!([{"type": "Resource", "resource": metric}]);
    let container = |metric: Value| json!([{"type": "ContainerResource", "containerResource": metric}]);
    let asks = json!({"requests": {"cpu": "100m"}});
    let app = || json!({"name": "app", "resources": asks});
    let missing = |at: &str, which: &str, verb: &str| {
        format!(
            "info metric-request-missing /spec/metrics/0/{at} the {which} of Deployment web {verb} no request for cpu: without one, \
             which a LimitRange may add, the metric has no value"
        )
    };
    let unknown = |severity: &str, name: &str| {
        format!(
            "{severity} metric-container-missing /spec/metrics/0/containerResource/container no container of Deployment web is \
             named {name}; its only container is app"
        )
    };
    let init = |more: Value| {
        let mut init = json!({"name": "i"});
        init.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"initContainers": [init]})
    };
    let average = json!({"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}});
    for (metrics, containers, more, want) in [
        (pods(cpu(json!({}))), json!([app()]), json!({}), vec![]),
        (pods(cpu(json!({}))), json!([{"name": "app"}]), json!({}), vec![missing("resource", "container app", "has")]),
        (
            pods(cpu(json!({}))),
            json!([{"name": "app"}, {"name": "log"}]),
            json!({}),
            vec![missing("resource", "containers app, log", "have")],
        ),
        // An API server fills in the limit.
        (pods(cpu(json!({}))), json!([{"name": "app", "resources": {"limits": {"cpu": 1}}}]), json!({}), vec![]),
        // Another resource, and another target.
        (pods(json!({"name": "cpu", "target": average["target"]})), json!([{"name": "app"}]), json!({}), vec![]),
        (pods(cpu(json!({"name": "example.com/gpu"}))), json!([{"name": "app"}]), json!({}), vec![]),
        // The request of the pod replaces those of its containers.
        (pods(cpu(json!({}))), json!([{"name": "app"}]), json!({"resources": asks}), vec![]),
        // A sidecar counts, and another init container does not.
        (pods(cpu(json!({}))), json!([app()]), init(json!({})), vec![]),
        (
            pods(cpu(json!({}))),
            json!([app()]),
            init(json!({"restartPolicy": "Always"})),
            vec![missing("resource", "container i", "has")],
        ),
        (container(cpu(json!({"container": "app"}))), json!([app(), {"name": "log"}]), json!({}), vec![]),
        (
            container(cpu(json!({"container": "log"}))),
            json!([app(), {"name": "log"}]),
            json!({}),
            vec![missing("containerResource", "container log", "has")],
        ),
        (container(cpu(json!({"container": "apps"}))), json!([app()]), json!({}), vec![unknown("warning", "apps")]),
        // A sidecar that an admission webhook adds.
        (
            container(cpu(json!({"container": "istio-proxy"}))),
            json!([app()]),
            json!({}),
            vec![unknown("info", "istio-proxy")],
        ),
        // A value of another type is reported elsewhere.
        (json!([{"type": "Resource", "resource": 7}]), json!([{"name": "app", "resources": []}]), json!({}), vec![]),
        (json!("cpu"), json!([{"name": "app", "resources": 1}]), json!({}), vec![]),
    ] {
        let given =
            [scaler("s", "Deployment", "web", metrics.clone()), of_containers(containers.clone(), more.clone())];
        assert_eq!(shown(&given), want, "{metrics} {containers} {more}");
    }
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let of_v1 = json!({"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50});
    let given = [("HorizontalPodAutoscaler", "s", of_v1), of_containers(json!([{"name": "app"}]), json!({}))];
    let want = missing("resource", "container app", "has");
    assert_eq!(shown(&given), [want.replace("metrics/0/resource", "targetCPUUtilizationPercentage")]);
}

#[test]
fn a_subdomain_needs_a_headless_service() {
    let headless = |name: &'static str| ("Service", name, json!({"clusterIP": "None", "selector": {"app": "web"}}));
    let pods = |pod: Value| of_containers(json!([{"name": "c", "readinessProbe": {}}]), pod);
    let job = |more: Value| {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"subdomain": "peers", "containers": [{"name": "c"}]}});
        let mut spec = json!({"template": template});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("Job", "web", spec)
    };
    let cron_job = |more: Value| {
        let (_, name, spec) = job(more);
        ("CronJob", name, json!({"jobTemplate": {"spec": spec}}))
    };
    let missing =
        "the Service peers in subdomain is not among the manifests of the namespace: the pods have no DNS names";
    let with_ip =
        "the Service peers in subdomain has a cluster IP: only a headless one gives pods DNS names in every cluster";
    let named = json!({"subdomain": "peers", "hostname": "one"});
    for (given, want) in [
        (vec![headless("peers"), pods(named.clone())], vec![]),
        (vec![pods(named.clone())], vec![]),
        (
            vec![headless("other"), pods(named.clone())],
            vec![format!("warning /spec/template/spec/subdomain {missing}")],
        ),
        (
            vec![headless("other"), pods(json!({"subdomain": "peers"}))],
            vec![format!("info /spec/template/spec/subdomain {missing}")],
        ),
        (
            vec![("Service", "peers", service(json!({"app": "web"}), json!(80))), pods(named.clone())],
            vec![format!("warning /spec/template/spec/subdomain {with_ip}")],
        ),
        (
            vec![headless("other"), job(json!({"completionMode": "Indexed"}))],
            vec![format!("warning /spec/template/spec/subdomain {missing}")],
        ),
        (vec![headless("peers"), job(json!({"completionMode": "Indexed"}))], vec![]),
        (
            vec![headless("other"), cron_job(json!({"completionMode": "Indexed"}))],
            vec![format!("warning /spec/jobTemplate/spec/template/spec/subdomain {missing}")],
        ),
        (
            vec![headless("other"), pods(named), ("Prometheus", "p", json!({}))],
            vec![format!("info /spec/template/spec/subdomain {missing}")],
        ),
    ] {
        let found = found(&given);
        let found = found.iter().filter(|f| f.code == Reason::SubdomainServiceMissing);
        let got: Vec<String> = found.map(|f| format!("{} {} {}", f.severity, f.at(), f.message)).collect();
        assert_eq!(got, want, "{given:?}");
    }
}

/// An API server does not require the field.
#[test]
fn a_missing_service_name_is_no_warning() {
    for (more, want) in [
        (json!({}), "info the field serviceName is missing: the pods have no DNS names"),
        (
            json!({"serviceName": "db"}),
            "warning the Service db in serviceName is not among the manifests of the namespace",
        ),
    ] {
        let other = ("Service", "other", service(json!({"app": "db"}), json!(80)));
        let found = found(&[other, ("StatefulSet", "db", spec(json!({"app": "db"}), more))]);
        let found = found.iter().filter(|f| f.code == Reason::GoverningServiceMissing);
        assert_eq!(found.map(|f| format!("{} {}", f.severity, f.message)).collect::<Vec<_>>(), [want]);
    }
}

#[test]
fn a_governing_service_without_selector_is_described() {
    let set = ("StatefulSet", "db", spec(json!({"app": "db"}), json!({"serviceName": "db"})));
    let governing = |spec: Value| ("Service", "db", spec);
    let want = ["governing-service-no-selector db /spec/serviceName"];
    for (service, want) in [
        (json!({"clusterIP": "None"}), &want[..]),
        (json!({"clusterIP": "None", "selector": {}}), &want),
        (json!({"clusterIP": "None", "selector": {"app": "db"}}), &[]),
    ] {
        assert_eq!(check(&[governing(service.clone()), set.clone()], false), want, "{service}");
    }
}
