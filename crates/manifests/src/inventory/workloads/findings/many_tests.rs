//! Many Services that select the same many workloads, and many that select nothing.

use std::collections::BTreeMap;

use roster_engine::model::Resource;
use serde_json::{Value, json};

use super::*;

/// As many Services as Deployments. `selector` and `labels` make what the one of a number selects, and has.
fn many(
    count: usize,
    selector: impl Fn(usize) -> Value,
    labels: impl Fn(usize) -> Value,
) -> (Vec<Service>, Vec<Workload>) {
    let service = |i: usize| {
        let meta = json!({"namespace": "shop", "name": format!("s{i}")});
        let ports = json!([{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 81}]);
        serde_json::from_value(json!({"metadata": meta, "spec": {"selector": selector(i), "ports": ports}})).unwrap()
    };
    let workload = |i: usize| {
        let name = if i.is_multiple_of(2) { "http" } else { "htpp" };
        let containers = json!([{"name": "c", "ports": [{"name": name, "containerPort": 8080}]}]);
        let template = json!({"metadata": {"labels": labels(i)}, "spec": {"containers": containers}});
        let spec = json!({"selector": {"matchLabels": labels(i)}, "template": template});
        let meta = json!({"namespace": "shop", "name": format!("d{i}")});
        Workload::read(Resource::Deployment, json!({"metadata": meta, "spec": spec})).unwrap()
    };
    ((0..count).map(service).collect(), (0..count).map(workload).collect())
}

fn check((services, workloads): &(Vec<Service>, Vec<Workload>), comparisons: usize) -> Vec<Finding> {
    let outcomes: Vec<_> = (0..workloads.len()).map(|i| (i, WorkloadPods::Assumed(1))).collect();
    let objects = ComparedObjects {
        services,
        pods: &[],
        workloads,
        autoscalers: &[],
        outcomes: &outcomes,
        custom_resources: &CustomResources::default(),
        unread: &UnreadObjects::default(),
        assumed_namespace: "default",
        documents: &ObjectDocuments::one(services.len(), 0, workloads.len(), 0),
        units: &Units::one(1),
        unrendered: &[],
        in_tests: &[],
    };
    let unread = UnreadIndex::new(objects.unread);
    Comparison::within(&objects, &unread, comparisons).findings().into_iter().map(|(_, finding)| finding).collect()
}

/// How many findings of each code there are, and the message of the first.
fn by_code(findings: &[Finding]) -> BTreeMap<&'static str, (usize, &str)> {
    let mut counts: BTreeMap<&'static str, (usize, &str)> = BTreeMap::new();
    for finding in findings {
        counts.entry(finding.code.code()).or_insert((0, &finding.message)).0 += 1;
    }
    counts
}

#[test]
fn findings_grow_with_the_objects_and_not_with_their_pairs() {
    let web = |_| json!({"app": "web"});
    // Each Service selects the pods of all workloads by another label.
    let one_of = |i: usize| json!({format!("l{}", i % 12): "x", "app": "web"});
    let all_of = |_| {
        let mut labels: serde_json::Map<String, Value> = (0..12).map(|i| (format!("l{i}"), json!("x"))).collect();
        labels.insert("app".into(), json!("web"));
        Value::Object(labels)
    };
    for objects in [many(60, web, web), many(60, one_of, all_of)] {
        let found = check(&objects, MAX_COMPARISONS);
        let want = [
            (
                "named-port-missing",
                (
                    60 * 20,
                    "no container of Deployment d1 has a port named http; the only name is htpp; \
                     other workloads behind the Service have it",
                ),
            ),
            (
                "no-readiness-probe",
                (
                    60,
                    "no container (c) has a readinessProbe: Services s0, s1, s2 and 57 more send traffic to each pod before the pod can answer",
                ),
            ),
            (
                "several-workloads",
                (
                    60,
                    "the selector matches the pods of several workloads: Deployment d0, Deployment d1, Deployment d2, \
                     Deployment d3, Deployment d4 and 55 more",
                ),
            ),
            (
                "target-port-undeclared",
                (
                    60,
                    "no container of Deployment d0, Deployment d1, Deployment d2, Deployment d3, Deployment d4 and 55 more \
                     declares the port 81 (TCP); they declare 8080",
                ),
            ),
        ];
        assert_eq!(by_code(&found), BTreeMap::from(want));
        let last = found.iter().rfind(|f| f.code == Reason::NamedPortMissing).map(|f| f.message.as_str());
        assert!(
            last.is_some_and(|m| m.ends_with("other workloads behind the Service have it; 10 more lack it")),
            "{last:?}"
        );
    }
}

#[test]
fn what_is_not_compared_is_reported() {
    let objects = many(60, |i| json!({"app": "web", format!("l{i}"): "x"}), |_| json!({"app": "web"}));
    let web = many(60, |_| json!({"app": "web"}), |_| json!({"app": "web"}));
    for (objects, comparisons, want) in [
        // The rarest label of each selector is that of no workload.
        (&objects, 0, vec![("selector-matches-no-template", 60)]),
        // The first Service says it for all.
        (&web, 119, vec![("selector-not-checked", 1)]),
        (
            &web,
            120,
            vec![
                ("named-port-missing", 1200),
                ("no-readiness-probe", 60),
                ("several-workloads", 60),
                ("target-port-undeclared", 60),
            ],
        ),
    ] {
        let found = check(objects, comparisons);
        let counts: Vec<_> = by_code(&found).into_iter().map(|(code, (count, _))| (code, count)).collect();
        assert_eq!(counts, want, "{comparisons} comparisons");
    }
}

/// Thousands of StatefulSets name Services that select others: each has its finding, and each selector is compared once.
#[test]
fn governing_services_are_compared_once() {
    const COUNT: usize = 60;
    let (services, _) = many(COUNT, |_| json!({"app": "web"}), |_| json!({}));
    let services: Vec<Service> = services.into_iter().map(|s| Service { cluster_ip: "None".into(), ..s }).collect();
    let set = |i: usize| {
        let labels = json!({"app": if i == 0 { "web" } else { "db" }});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}});
        let spec = json!({"serviceName": format!("s{i}"), "selector": {"matchLabels": labels}, "template": template});
        Workload::read(
            Resource::StatefulSet,
            json!({"metadata": {"namespace": "shop", "name": format!("d{i}")}, "spec": spec}),
        )
        .unwrap()
    };
    let objects = (services, (0..COUNT).map(set).collect());
    // One workload is selected, and its Services are compared together.
    let found = check(&objects, 1);
    let found: Vec<&str> = found.iter().map(|f| f.code.code()).filter(|code| code.starts_with("governing")).collect();
    assert_eq!(found, ["governing-service-selects-others"; COUNT - 1]);
}

/// The neighbours of a value in two orders find the mistyped one, wherever the mistake is.
#[test]
fn the_nearest_of_many_is_found() {
    for (wrong, want) in [
        ("app-0777x", "Deployment d777, which has app=app-0777 instead of app-0777x"),
        ("xapp-0777", "Deployment d777, which has app=app-0777 instead of xapp-0777"),
        ("ap-0777", "Deployment d777, which has app=app-0777 instead of ap-0777"),
        ("app-777", "Deployment d777, which has app=app-0777 instead of app-777"),
    ] {
        let selector = |i: usize| if i == 0 { json!({"app": wrong, "of": "shop"}) } else { json!(null) };
        let objects = many(1000, selector, |i| json!({"app": format!("app-{i:04}"), "of": "shop"}));
        let message = check(&objects, MAX_COMPARISONS).remove(0).message;
        assert_eq!(message, format!("the selector matches no workload and no pod; nearest: {want}"));
    }
    let selector = |i: usize| if i == 0 { json!({"ap": "app-0777"}) } else { json!(null) };
    let objects = many(1000, selector, |i| json!({"app": format!("app-{i:04}")}));
    let message = check(&objects, MAX_COMPARISONS).remove(0).message;
    assert!(message.ends_with("Deployment d777, which has app=app-0777 instead of ap=app-0777"), "{message}");
}
