//! The copy of a cluster as watches and the applier change it: what is due, and what a plan sees.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use roster_engine::{
    model::{EndpointSlice, Endpoints, Node, Pod, Resource, Service, installed::SELECTOR, names},
    state::{Controller, Options},
};
use roster_manifests::inventory::Table;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    cluster_copy::{ClusterCopy, Pacing},
    queue::{Cause, DueService, Notice, ServiceKey, SyncEnd},
    service_scope::ServiceScope,
    watched_value::Watched,
};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn service() -> Service {
    read(json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": { "selector": { "app": "web" } } }))
}

fn pod(ready: &str) -> Pod {
    let status = json!({ "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
        "conditions": [{ "type": "Ready", "status": ready }] });
    let meta = json!({ "name": "web-0", "namespace": "shop", "uid": "u", "labels": { "app": "web" } });
    read(json!({ "metadata": meta, "spec": { "nodeName": "n" }, "status": status }))
}

fn slice(name: &str, version: u32) -> EndpointSlice {
    let labels = json!({ names::SERVICE_NAME: "web", names::SLICE_MANAGED_BY: names::SLICE_CONTROLLER });
    let meta = json!({ "name": name, "namespace": "shop", "uid": name, "resourceVersion": version.to_string(), "labels": labels });
    let target = json!({ "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u" });
    read(
        json!({ "metadata": meta, "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"], "targetRef": target }] }),
    )
}

fn list<T: Watched>(copy: &ClusterCopy, objects: Vec<T>) {
    copy.begin_list::<T>();
    let new: Vec<Arc<T>> = objects.into_iter().filter_map(|object| copy.list(Arc::new(object))).collect();
    copy.end_list::<T>(Table::new(new, |_| {}));
}

/// A copy of a Service with a pod and a slice.
pub(super) fn synced() -> ClusterCopy {
    let copy = ClusterCopy::new(
        Controller::ALL.into(),
        Options::default(),
        Pacing::Batch(Duration::ZERO),
        ServiceScope::default(),
    );
    list(&copy, vec![pod("True")]);
    list(&copy, vec![service()]);
    list::<Node>(&copy, Vec::new());
    list(&copy, vec![slice("web-1", 5)]);
    assert_eq!(copy.unlisted(), [Resource::Endpoints]);
    assert!(copy.next().now_or_never().is_none(), "Endpoints are not listed yet");
    list::<Endpoints>(&copy, Vec::new());
    assert_eq!(copy.unlisted(), []);
    assert!(copy.next().now_or_never().is_none(), "nothing is due before this replica leads");
    copy.begin_to_lead();
    copy
}

/// A copy of these Services, with what is stored for them and the pod of [`synced`]. Its replica leads.
pub(super) fn copy_of(
    scope: ServiceScope,
    services: Vec<Value>,
    endpoints: Vec<Value>,
    slices: Vec<Value>,
) -> ClusterCopy {
    let copy = ClusterCopy::new(Controller::ALL.into(), Options::default(), Pacing::Batch(Duration::ZERO), scope);
    list(&copy, vec![pod("True")]);
    let services: Vec<Service> = services.into_iter().map(|service| copy.held(read(service))).collect();
    list(&copy, services);
    list::<Node>(&copy, vec![read(json!({ "metadata": { "name": "n" } }))]);
    list::<EndpointSlice>(&copy, slices.into_iter().map(read).collect());
    list::<Endpoints>(&copy, endpoints.into_iter().map(read).collect());
    copy.begin_to_lead();
    copy
}

fn key() -> ServiceKey {
    ServiceKey { namespace: "shop".into(), name: "web".into() }
}

/// What is due now, settled at once.
fn due(copy: &ClusterCopy) -> Vec<DueService> {
    let all = std::iter::from_fn(|| copy.next().now_or_never());
    let settled = all.inspect(|due| copy.end(due, SyncEnd::Settled, None));
    settled.take(10).collect()
}

/// Names and versions of the slices that a plan sees.
fn slices(copy: &ClusterCopy) -> String {
    let slices = copy.input(&key()).slices;
    slices.iter().map(|s| format!("{}@{}", s.meta.name, s.meta.resource_version)).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn everything_is_due_once_when_all_is_listed() {
    let copy = synced();
    let all = due(&copy);
    assert_eq!(
        all.iter().map(|due| (&due.key, due.cause, due.notice, due.failures)).collect::<Vec<_>>(),
        [(&key(), Cause::Change, Notice::default(), 0)]
    );
    let input = copy.input(&key());
    assert_eq!((input.pods.len(), input.slices.len(), input.service.is_some()), (1, 1, true));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_says_nothing_new_wakes_nobody() {
    let copy = synced();
    due(&copy);
    copy.apply(Arc::new(pod("True")));
    assert_eq!(due(&copy), []);
    copy.apply(Arc::new(pod("False")));
    assert_eq!(due(&copy).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_plan_sees_what_was_written_however_late_the_watch_is() {
    let copy = synced();
    due(&copy);
    copy.wrote(slice("web-1", 7));
    copy.wrote(slice("web-2", 8));
    copy.apply(Arc::new(slice("web-1", 6)));
    assert_eq!(slices(&copy), "web-1@7 web-2@8");
    // A list that was read before is complete only now.
    list(&copy, vec![slice("web-1", 6)]);
    assert_eq!(slices(&copy), "web-1@7 web-2@8");
    copy.deleted(&slice("web-2", 8));
    copy.apply(Arc::new(slice("web-2", 8)));
    assert_eq!(slices(&copy), "web-1@7");
    copy.delete::<EndpointSlice>("shop", "web-2");
    copy.apply(Arc::new(slice("web-1", 7)));
    copy.delete::<EndpointSlice>("shop", "web-1");
    assert_eq!(slices(&copy), "");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_the_watch_does_not_show_is_doubted() {
    let copy = synced();
    due(&copy);
    copy.wrote(slice("web-2", 8));
    advance(Duration::from_secs(9)).await;
    copy.doubt_overdue();
    assert!(!copy.is_doubted(&key()));
    advance(Duration::from_secs(2)).await;
    copy.doubt_overdue();
    assert!(copy.is_doubted(&key()) && due(&copy).len() == 1);
    copy.read(&key(), None, Some((vec![slice("web-1", 5)], "9".to_owned())));
    assert_eq!((slices(&copy), copy.is_doubted(&key())), ("web-1@5".to_owned(), false));
    for _ in 0..2 {
        advance(Duration::from_secs(11)).await;
        copy.doubt_overdue();
        copy.read(&key(), None, Some((vec![slice("web-1", 5)], "9".to_owned())));
    }
    advance(Duration::from_secs(11)).await;
    copy.doubt_overdue();
    assert!(!copy.is_doubted(&key()), "an event that never comes is not waited for forever");
}

#[tokio::test(start_paused = true)]
async fn what_is_newer_than_an_answer_stays() {
    let copy = synced();
    copy.apply(Arc::new(slice("web-2", 8)));
    copy.read(&key(), None, Some((vec![slice("web-1", 5)], "7".to_owned())));
    assert_eq!(slices(&copy), "web-1@5 web-2@8");
    let mut before = slice("web-2", 4);
    before.meta.uid = "another".into();
    copy.deleted(&before);
    assert_eq!(slices(&copy), "web-1@5 web-2@8");
    copy.stop_leading();
    copy.apply(Arc::new(slice("web-2", 9)));
    advance(Duration::from_secs(2)).await;
    assert_eq!(due(&copy), [], "a follower queues nothing");
}

#[tokio::test(start_paused = true)]
async fn a_write_does_not_wake_its_own_service() {
    let copy = synced();
    due(&copy);
    copy.wrote(slice("web-1", 7));
    copy.apply(Arc::new(slice("web-1", 7)));
    advance(Duration::from_secs(2)).await;
    assert_eq!(due(&copy), []);
}

#[tokio::test(start_paused = true)]
async fn what_another_program_writes_is_corrected_after_a_second() {
    let copy = synced();
    due(&copy);
    copy.apply(Arc::new(slice("web-1", 6)));
    assert_eq!(due(&copy), []);
    advance(Duration::from_secs(1)).await;
    assert_eq!(due(&copy).len(), 1);
}

/// The sums over all Services after a sync of each that is due: endpoints in slices, in mirrored slices, and Services with
/// `PreferClose`. Then how many Services have a record.
fn sums(copy: &ClusterCopy, keys: &[&str]) -> [usize; 4] {
    while let Some(due) = copy.next().now_or_never() {
        let input = copy.input(&due.key);
        let (plan, seen) = copy.plan_of(&input, due.cause);
        let result = copy.result_of(&input, &plan);
        copy.record(&due, Some(result), &[], Duration::ZERO);
        copy.end(&due, SyncEnd::Settled, seen);
    }
    let records = keys.iter().map(|name| ServiceKey::new(&"shop".into(), &(*name).into()));
    let records = records.filter(|key| copy.report_of(key).record.is_some()).count();
    let (_, sums) = copy.report();
    [sums.slices.endpoints, sums.mirrored.endpoints, sums.distributions.iter().sum(), records]
}

#[tokio::test(start_paused = true)]
async fn only_services_that_are_served_are_summed_up() {
    let service = |name: &str, team: &str, annotation: Value, selector: Value| {
        let annotations = json!({ SELECTOR: annotation });
        let meta = json!({ "name": name, "namespace": "shop", "uid": name, "labels": { "team": team }, "annotations": annotations });
        let spec = json!({ "selector": selector, "ports": [{ "port": 80, "targetPort": 80 }], "clusterIP": "10.96.0.1",
            "ipFamilies": ["IPv4"], "trafficDistribution": "PreferClose" });
        json!({ "metadata": meta, "spec": spec })
    };
    let names = ["selecting", "annotated", "bare", "unreadable"];
    let services = |team: &str| {
        vec![
            service("selecting", team, Value::Null, json!({ "app": "web" })),
            service("annotated", team, json!("app=web"), Value::Null),
            service("bare", team, Value::Null, Value::Null),
            service("unreadable", team, json!("app in web"), Value::Null),
        ]
    };
    let endpoints = |name: &&str| {
        let subsets = json!([{ "addresses": [{ "ip": "10.0.0.9" }], "ports": [{ "port": 80 }] }]);
        json!({ "metadata": { "name": name, "namespace": "shop" }, "subsets": subsets })
    };
    let team = ServiceScope { labels: Some("team=a".parse().unwrap()), ..ServiceScope::default() };
    let beside = ServiceScope { is_beside: true, ..ServiceScope::default() };
    for (scope, team, want) in [
        (ServiceScope::default(), "a", [1, 3, 4, 4]),
        (team.clone(), "a", [1, 3, 4, 4]),
        (team.clone(), "b", [0, 0, 0, 0]),
        (beside.clone(), "a", [1, 0, 1, 1]),
        (ServiceScope { is_beside: true, ..team.clone() }, "b", [0, 0, 0, 0]),
    ] {
        let endpoints = names.iter().map(endpoints).collect();
        let copy = copy_of(scope.clone(), services(team), endpoints, Vec::new());
        assert_eq!(sums(&copy, &names), want, "{scope:?} {team}");
    }

    let copy = copy_of(team, services("a"), Vec::new(), Vec::new());
    assert_eq!(sums(&copy, &names)[2..], [4, 4]);
    for service in services("b") {
        copy.apply(Arc::new(copy.held(read::<Service>(service))));
    }
    assert_eq!(sums(&copy, &names), [0; 4], "a Service that leaves the selection counts no more");
}

#[test]
fn endpoints_share_the_references_of_their_pods() {
    let copy = synced();
    let shared = |copy: &ClusterCopy| {
        let input = copy.input(&key());
        Arc::ptr_eq(&input.pods[0].reference, input.slices[0].endpoints[0].target_ref.as_ref().unwrap())
    };
    assert!(shared(&copy));
    copy.apply(Arc::new(pod("False")));
    assert!(shared(&copy), "after a change of the pod");
    copy.apply(Arc::new(slice("web-1", 6)));
    assert!(shared(&copy), "after a change of the slice");
}
