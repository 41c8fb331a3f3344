//! What kube-controller-manager 1.37 makes of workloads, row by row.
#![expect(clippy::needless_pass_by_value, reason = "rows are written with json!")]

use std::sync::Arc;

use roster_engine::model::{Node, Pod, Resource, Service, Text};
use serde_json::{Value, json};

use super::*;

/// A workload named `web` in the namespace `shop`, with the uid `u`. A template and a selector are added where `spec` has
/// none.
fn workload(kind: &str, spec: Value) -> Workload {
    named(kind, "web", spec)
}

fn named(kind: &str, name: &str, mut spec: Value) -> Workload {
    let resource = Resource::ALL.iter().find(|r| r.kind() == kind).copied();
    if spec.get("template").is_none() {
        spec["template"] = template();
    }
    if let Some("apps") = resource.map(Resource::group) {
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
    }
    if kind == "CronJob" {
        let suspend = spec["suspend"].take();
        spec = json!({"suspend": suspend, "jobTemplate": {"spec": spec}});
    }
    let object = json!({"metadata": {"namespace": "shop", "name": name, "uid": "u"}, "spec": spec});
    if let Some(resource) = resource {
        return Workload::read(resource, object).unwrap();
    }
    let mut workload = Workload::read_custom(object).unwrap();
    workload.set_type(&"example.com/v1".into(), &kind.into());
    workload
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web"}]}})
}

/// A template with these further fields.
fn template_with(spec: Value) -> Value {
    let mut template = template();
    for (key, value) in spec.as_object().unwrap() {
        template["spec"][key] = value.clone();
    }
    template
}

fn nodes(objects: &[Value]) -> Vec<Arc<Node>> {
    objects.iter().map(|o| serde_json::from_value(o.clone()).unwrap()).collect()
}

fn assumed(workloads: &[Workload], nodes: &[Arc<Node>]) -> AssumedObjects {
    assume(&KnownObjects { nodes, ..known(workloads) })
}

fn known(workloads: &[Workload]) -> KnownObjects<'_> {
    KnownObjects {
        workloads,
        services: &[],
        autoscalers: &[],
        pods: &[],
        nodes: &[],
        zones: &[],
        families: "IPv4".parse().unwrap(),
        due: true,
        max_pods: MAX_PODS,
    }
}

/// `name labels annotations hostname.subdomain owner`, without the label of the template.
fn line(assumed: &AssumedPod) -> String {
    let AssumedPod { pod, annotations } = assumed;
    let pairs = |labels: &roster_engine::model::Labels| {
        labels.iter().filter(|(k, _)| *k != "app").map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",")
    };
    let owner = pod.owner.as_ref().map(|o| format!("{} {} {} {}", o.api_version, o.kind, o.name, o.uid));
    let domain = format!("{}.{}", pod.hostname, pod.subdomain);
    format!("{} [{}] [{}] {domain} {}", pod.name(), pairs(&pod.labels), pairs(annotations), owner.unwrap_or_default())
}

#[test]
fn each_controller_names_labels_and_owns_its_pods() {
    let both = json!({"hostname": "h", "subdomain": "s"});
    for (kind, spec, want) in [
        (
            "Deployment",
            json!({}),
            &["web-assumed-1 [pod-template-hash=assumed] [] . apps/v1 ReplicaSet web-assumed "][..],
        ),
        (
            "Deployment",
            json!({"template": template_with(both.clone()), "replicas": 2}),
            &[
                "web-assumed-1 [pod-template-hash=assumed] [] h.s apps/v1 ReplicaSet web-assumed ",
                "web-assumed-2 [pod-template-hash=assumed] [] h.s apps/v1 ReplicaSet web-assumed ",
            ],
        ),
        ("ReplicaSet", json!({}), &["web-assumed-1 [] [] . apps/v1 ReplicaSet web u"]),
        ("ReplicationController", json!({}), &["web-assumed-1 [] [] . v1 ReplicationController web u"]),
        ("ReplicationController", json!({"selector": {}}), &["web-assumed-1 [] [] . v1 ReplicationController web u"]),
        ("ReplicationController", json!({"selector": {"app": "x"}}), &[]),
        (
            "StatefulSet",
            json!({"serviceName": "db", "template": template_with(both.clone()), "ordinals": {"start": 5}, "replicas": 2}),
            &[
                "web-5 [apps.kubernetes.io/pod-index=5,controller-revision-hash=web-assumed,\
                 statefulset.kubernetes.io/pod-name=web-5] [] web-5.db apps/v1 StatefulSet web u",
                "web-6 [apps.kubernetes.io/pod-index=6,controller-revision-hash=web-assumed,\
                 statefulset.kubernetes.io/pod-name=web-6] [] web-6.db apps/v1 StatefulSet web u",
            ],
        ),
        (
            "StatefulSet",
            json!({"template": template_with(both.clone())}),
            &["web-0 [apps.kubernetes.io/pod-index=0,controller-revision-hash=web-assumed,\
               statefulset.kubernetes.io/pod-name=web-0] [] web-0. apps/v1 StatefulSet web u"],
        ),
        (
            "DaemonSet",
            json!({"template": template_with(both.clone())}),
            &[
                "web-assumed-1 [controller-revision-hash=assumed,pod-template-generation=1] [] h.s apps/v1 DaemonSet web u",
            ],
        ),
        (
            "Job",
            json!({}),
            &["web-assumed-1 [batch.kubernetes.io/controller-uid=u,batch.kubernetes.io/job-name=web,\
               controller-uid=u,job-name=web] [] . batch/v1 Job web u"],
        ),
        ("Job", json!({"manualSelector": true}), &["web-assumed-1 [] [] . batch/v1 Job web u"]),
        (
            "Job",
            json!({"manualSelector": true, "completionMode": "Indexed", "completions": 2, "parallelism": 5,
                "template": template_with(both.clone())}),
            &[
                "web-0-assumed-1 [batch.kubernetes.io/job-completion-index=0] \
                 [batch.kubernetes.io/job-completion-index=0] web-0.s batch/v1 Job web u",
                "web-1-assumed-1 [batch.kubernetes.io/job-completion-index=1] \
                 [batch.kubernetes.io/job-completion-index=1] web-1.s batch/v1 Job web u",
            ],
        ),
        (
            "Job",
            json!({"manualSelector": true, "completionMode": "Indexed", "backoffLimitPerIndex": 1}),
            &["web-0-assumed-1 [batch.kubernetes.io/job-completion-index=0] \
               [batch.kubernetes.io/job-completion-index=0,batch.kubernetes.io/job-index-failure-count=0] \
               web-0. batch/v1 Job web u"],
        ),
        (
            "CronJob",
            json!({}),
            &["web-assumed-1 [batch.kubernetes.io/controller-uid=assumed,\
               batch.kubernetes.io/job-name=web-assumed,controller-uid=assumed,job-name=web-assumed] \
               [] . batch/v1 Job web-assumed "],
        ),
        ("Rollout", json!({"replicas": 1}), &["web-assumed-1 [] [] . example.com/v1 Rollout web u"]),
    ] {
        let lines: Vec<String> = assumed(&[workload(kind, spec.clone())], &[]).pods.iter().map(line).collect();
        assert_eq!(lines, want, "{kind} {spec}");
    }
}

#[test]
fn each_controller_makes_as_many_pods_as_its_spec_says() {
    use PodNumber::{EachNode, None, Some};
    let host = |port: i32| json!({"containerPort": port});
    let two_ports = |b: i32| {
        let containers = json!([{"name": "a", "ports": [host(80)]}, {"name": "b", "ports": [host(b)]}]);
        json!({"template": template_with(json!({"hostNetwork": true, "containers": containers}))})
    };
    let init = json!({"hostNetwork": true, "containers": [{"name": "a", "ports": [host(80)]}],
        "initContainers": [{"name": "b", "restartPolicy": "Always", "ports": [host(80)]}]});
    for (kind, spec, want) in [
        ("Deployment", json!({}), Some(1)),
        ("Deployment", json!({"replicas": null}), Some(1)),
        ("Deployment", json!({"replicas": 7}), Some(7)),
        ("Deployment", json!({"replicas": 0}), None(NoPods::Zero)),
        // It was in a cluster: nothing is known of the pods that it had when it was paused.
        ("Deployment", json!({"paused": true}), Some(1)),
        ("Deployment", two_ports(80), None(NoPods::HostPortTwice(80))),
        ("Deployment", two_ports(81), Some(1)),
        ("Deployment", json!({"template": template_with(init)}), Some(1)),
        ("Deployment", json!({"template": {"metadata": {"labels": {"app": "x"}}}}), None(NoPods::SelectorDiffers)),
        ("DaemonSet", json!({}), EachNode),
        ("DaemonSet", two_ports(80), None(NoPods::HostPortTwice(80))),
        ("Job", json!({"completions": 3}), Some(1)),
        ("Job", json!({"parallelism": 3}), Some(3)),
        ("Job", json!({"parallelism": 3, "completions": 2}), Some(2)),
        ("Job", json!({"parallelism": 0}), None(NoPods::Zero)),
        ("Job", json!({"parallelism": 3, "completionMode": "Indexed"}), Some(1)),
        ("Job", json!({"suspend": true}), None(NoPods::Suspended)),
        ("Job", json!({"managedBy": "example.com/queue"}), None(NoPods::ManagedBy("example.com/queue".into()))),
        ("Job", json!({"managedBy": "kubernetes.io/job-controller"}), Some(1)),
        ("CronJob", json!({"parallelism": 2}), Some(2)),
        ("CronJob", json!({"suspend": true}), None(NoPods::Suspended)),
    ] {
        assert_eq!(workload(kind, spec.clone()).pod_number(Option::None, true), want, "{kind} {spec}");
    }
    assert_eq!(workload("CronJob", json!({})).pod_number(Option::None, false), None(NoPods::NotDue));
    let manifest = Workload { uid: Text::default(), ..workload("Deployment", json!({"paused": true})) };
    assert_eq!(manifest.pod_number(Option::None, false), None(NoPods::Paused));
    for (kind, name, want) in [
        ("StatefulSet", "a".repeat(52), Some(1)),
        ("StatefulSet", "a".repeat(54), None(NoPods::NameTooLong)),
        ("StatefulSet", "a.b".to_owned(), None(NoPods::NameHasDot)),
        ("Deployment", "a.b".to_owned(), Some(1)),
    ] {
        assert_eq!(named(kind, &name, json!({})).pod_number(Option::None, false), want, "{kind} {name}");
    }
    assert_eq!(
        named("Job", "a.b", json!({"completionMode": "Indexed"})).pod_number(Option::None, false),
        None(NoPods::NameHasDot)
    );
}

#[test]
fn an_autoscaler_keeps_replicas_within_its_limits() {
    let autoscaler = |spec: Value| -> Autoscaler {
        serde_json::from_value(json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": spec})).unwrap()
    };
    let target = |kind: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
    for (replicas, limits, kind, want) in [
        (None, json!({"minReplicas": 3, "maxReplicas": 9}), "Deployment", 3),
        (None, json!({"maxReplicas": 9}), "Deployment", 1),
        (Some(5), json!({"minReplicas": 3, "maxReplicas": 9}), "Deployment", 5),
        (Some(50), json!({"minReplicas": 3, "maxReplicas": 9}), "Deployment", 9),
        (Some(0), json!({"minReplicas": 3, "maxReplicas": 9}), "Deployment", 0),
        (None, json!({"minReplicas": 3, "maxReplicas": 9}), "StatefulSet", 1),
    ] {
        let mut spec = limits.clone();
        spec["scaleTargetRef"] = target(kind);
        let workloads = [workload("Deployment", json!({"replicas": replicas}))];
        let autoscalers = [autoscaler(spec)];
        let assumed = assume(&KnownObjects { autoscalers: &autoscalers, ..known(&workloads) });
        assert_eq!(assumed.pods.len(), want, "{replicas:?} {limits} {kind}");
    }
}

/// The six nodes of the recording.
fn six_nodes() -> Vec<Arc<Node>> {
    let node =
        |name: &str, labels: Value, spec: Value| json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
    let taints = |taints: Value| json!({"taints": taints});
    nodes(&[
        node("cordoned", json!({}), json!({"unschedulable": true})),
        node(
            "dedicated",
            json!({"size": "8"}),
            taints(json!([{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])),
        ),
        node(
            "new",
            json!({}),
            taints(json!([
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])),
        ),
        node("plain", json!({"disk": "ssd", "size": "4"}), json!({})),
        node("soft", json!({"disk": "hdd"}), taints(json!([{"key": "a", "effect": "PreferNoSchedule"}]))),
        node("windows", json!({"kubernetes.io/os": "windows"}), json!({})),
    ])
}

#[test]
fn a_daemon_set_has_a_pod_on_each_node_that_fits() {
    let affinity = |terms: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": terms}}}})
    };
    let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    for (spec, want) in [
        (json!({}), "cordoned plain soft windows"),
        (json!({"nodeSelector": {"disk": "ssd"}}), "plain"),
        (json!({"nodeSelector": {"disk": "ssd", "size": "8"}}), ""),
        (json!({"nodeName": "new"}), "new"),
        (json!({"tolerations": [{"operator": "Exists"}]}), "cordoned dedicated new plain soft windows"),
        (json!({"tolerations": [{"key": "dedicated", "value": "db"}]}), "cordoned dedicated plain soft windows"),
        (json!({"tolerations": [{"key": "dedicated", "value": "x"}]}), "cordoned plain soft windows"),
        (
            json!({"tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}]}),
            "cordoned plain soft windows",
        ),
        (
            json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}]}),
            "cordoned new plain soft windows",
        ),
        (affinity(json!([expression("disk", "In", json!(["ssd", "hdd"]))])), "plain soft"),
        (affinity(json!([expression("disk", "NotIn", json!(["ssd"]))])), "cordoned soft windows"),
        (affinity(json!([expression("disk", "Exists", json!([]))])), "plain soft"),
        (affinity(json!([expression("disk", "DoesNotExist", json!([]))])), "cordoned windows"),
        (affinity(json!([expression("size", "Gt", json!(["3"]))])), "plain"),
        (affinity(json!([expression("size", "Lt", json!(["4"]))])), ""),
        // One term is enough, all expressions of it must hold, and an empty one holds for nothing.
        (
            affinity(json!([expression("disk", "In", json!(["hdd"])), expression("size", "In", json!(["4"]))])),
            "plain soft",
        ),
        (affinity(json!([{}])), ""),
        (affinity(json!([{}, expression("disk", "In", json!(["hdd"]))])), "soft"),
        (affinity(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["soft"]}]}])), "soft"),
        (
            json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 1, "preference": expression("disk", "In", json!(["ssd"]))}]}}}),
            "cordoned plain soft windows",
        ),
    ] {
        let daemons = [workload("DaemonSet", json!({"template": template_with(spec.clone())}))];
        let mut got: Vec<String> =
            assumed(&daemons, &six_nodes()).pods.iter().map(|p| p.pod.node_name.to_string()).collect();
        got.sort();
        assert_eq!(got.join(" "), want, "{spec}");
    }
    let network = nodes(&[json!({"metadata": {"name": "a"}, "spec": {"taints": [
        {"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]}})]);
    for (host_network, want) in [(false, 0), (true, 1)] {
        let template = template_with(json!({"hostNetwork": host_network}));
        assert_eq!(assumed(&[workload("DaemonSet", json!({"template": template}))], &network).pods.len(), want);
    }
}

/// `pod@node/zone address ready` of each pod.
fn places(assumed: &AssumedObjects) -> Vec<String> {
    let place = |AssumedPod { pod, .. }: &AssumedPod| {
        let zone = pod.labels.get(roster_engine::model::names::ZONE).map(|z| format!("/{z}")).unwrap_or_default();
        let addresses: Vec<&str> = pod.ips.iter().map(|ip| ip.raw.as_str()).collect();
        format!("{}@{}{zone} {} {}", pod.name(), pod.node_name, addresses.join(","), pod.ready())
    };
    assumed.pods.iter().map(place).collect()
}

#[test]
fn pods_are_spread_over_the_nodes_that_fit() {
    let workloads = [workload("Deployment", json!({"replicas": 3}))];
    let zones: Vec<Text> = ["a", "b"].map(Text::from).to_vec();
    let node =
        |name: &str, zone: &str| json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}});
    let four = nodes(&[node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "b")]);
    for (known, want) in [
        (
            known(&workloads),
            [
                "web-assumed-1@assumed-node 192.0.2.1 true",
                "web-assumed-2@assumed-node 192.0.2.2 true",
                "web-assumed-3@assumed-node 192.0.2.3 true",
            ],
        ),
        (
            KnownObjects { zones: &zones, families: "IPv6,IPv4".parse().unwrap(), ..known(&workloads) },
            [
                "web-assumed-1@assumed-node-1/a 2001:db8::1,192.0.2.1 true",
                "web-assumed-2@assumed-node-2/b 2001:db8::2,192.0.2.2 true",
                "web-assumed-3@assumed-node-1/a 2001:db8::3,192.0.2.3 true",
            ],
        ),
        (
            KnownObjects { nodes: &four, ..known(&workloads) },
            [
                "web-assumed-1@n1/a 192.0.2.1 true",
                "web-assumed-2@n3/b 192.0.2.2 true",
                "web-assumed-3@n2/a 192.0.2.3 true",
            ],
        ),
    ] {
        assert_eq!(places(&assume(&known)), want);
    }
}

#[test]
fn pods_without_a_node_wait_and_named_nodes_need_not_exist() {
    let one = nodes(&[json!({"metadata": {"name": "n1"}})]);
    for (template, want, outcome) in [
        (json!({"nodeSelector": {"disk": "ssd"}}), "web-assumed-1@  false", WorkloadPods::Waiting(1)),
        (json!({"schedulingGates": [{"name": "quota"}]}), "web-assumed-1@  false", WorkloadPods::Gated(1)),
        (json!({"nodeName": "far"}), "web-assumed-1@far 192.0.2.1 true", WorkloadPods::Assumed(1)),
        (json!({"nodeName": "n1"}), "web-assumed-1@n1 192.0.2.1 true", WorkloadPods::Assumed(1)),
    ] {
        let assumed = assumed(&[workload("Deployment", json!({"template": template_with(template)}))], &one);
        assert_eq!((places(&assumed), &assumed.workloads[0].1), (vec![want.to_owned()], &outcome));
    }
    // Of an assumed node, nothing is known but a zone that was given.
    let (zone, zones) = ("topology.kubernetes.io/zone", [Text::from("a")]);
    let affinity = |term: Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}});
    let fields = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]});
    let expressions =
        json!({"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]});
    for (template, zones, want) in [
        (json!({"nodeSelector": {"disk": "ssd", "kubernetes.io/os": "windows"}}), &[][..], WorkloadPods::Assumed(1)),
        (json!({"nodeSelector": {"kubernetes.io/hostname": "n1", zone: "b"}}), &[], WorkloadPods::Assumed(1)),
        (json!({"nodeSelector": {"kubernetes.io/hostname": "n1", zone: "b"}}), &zones, WorkloadPods::Waiting(1)),
        (affinity(fields), &[], WorkloadPods::Assumed(1)),
        (affinity(expressions), &zones, WorkloadPods::Assumed(1)),
    ] {
        let workloads = [workload("Deployment", json!({"template": template_with(template.clone())}))];
        let assumed = assume(&KnownObjects { zones, ..known(&workloads) });
        assert_eq!(assumed.workloads[0].1, want, "{template}");
    }
}

/// The StatefulSet controller waits until a pod is ready before it makes the next one.
#[test]
fn an_ordered_stateful_set_stops_at_a_pod_that_is_never_ready() {
    let one = nodes(&[json!({"metadata": {"name": "n1"}})]);
    let lost = json!([{"name": "web", "readinessProbe": {"tcpSocket": {"port": "http"}}}]);
    for (template, one_by_one, parallel) in [
        (json!({}), WorkloadPods::Assumed(3), WorkloadPods::Assumed(3)),
        (json!({"containers": lost}), WorkloadPods::Assumed(1), WorkloadPods::Assumed(3)),
        (json!({"nodeSelector": {"disk": "ssd"}}), WorkloadPods::Waiting(1), WorkloadPods::Waiting(3)),
        (json!({"schedulingGates": [{"name": "quota"}]}), WorkloadPods::Gated(1), WorkloadPods::Gated(3)),
        (json!({"nodeName": "far"}), WorkloadPods::Assumed(3), WorkloadPods::Assumed(3)),
    ] {
        for (kind, policy, want) in [
            ("StatefulSet", json!(null), &one_by_one),
            ("StatefulSet", json!("OrderedReady"), &one_by_one),
            ("StatefulSet", json!("Parallel"), &parallel),
            ("Deployment", json!(null), &parallel),
        ] {
            let template = template_with(template.clone());
            let spec = json!({"replicas": 3, "podManagementPolicy": policy, "template": template});
            let assumed = assumed(&[workload(kind, spec)], &one);
            let (WorkloadPods::Assumed(count) | WorkloadPods::Waiting(count) | WorkloadPods::Gated(count)) = want
            else {
                panic!("{want:?}");
            };
            assert_eq!((&assumed.workloads[0].1, assumed.pods.len()), (want, *count as usize), "{kind} {template}");
        }
    }
}

fn pod(owner: Value, uid: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"namespace": "shop", "name": "given", "uid": uid, "ownerReferences": [owner]},
    }))
    .unwrap()
}

#[test]
fn pods_of_the_input_replace_those_of_their_workload() {
    use WorkloadPods::{Assumed, InInput, OfAnother};
    let owner = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "name": name, "controller": true});
    let manifest = |kind: &str| Workload { uid: Text::default(), ..workload(kind, json!({})) };
    let mut replica_set = Workload { name: "other".into(), ..manifest("ReplicaSet") };
    replica_set.owner = Some(serde_json::from_value(owner("apps/v1", "Deployment", "web")).unwrap());
    let replica_set_of = owner("apps/v1", "ReplicaSet", "web-5d4f8c7b9");
    let all = |pods: &[Pod], workloads: &[Workload]| {
        let outcomes = assume(&KnownObjects { pods, ..known(workloads) }).workloads;
        outcomes.into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>()
    };
    for (pods, workloads, want) in [
        (vec![], vec![manifest("Deployment")], vec![Assumed(1)]),
        (vec![pod(replica_set_of.clone(), "")], vec![manifest("Deployment")], vec![InInput]),
        (vec![pod(replica_set_of, "")], vec![manifest("StatefulSet")], vec![Assumed(1)]),
        (vec![pod(owner("apps/v1", "StatefulSet", "web"), "")], vec![manifest("StatefulSet")], vec![InInput]),
        (vec![pod(owner("apps/v1", "StatefulSet", "web-x"), "")], vec![manifest("StatefulSet")], vec![Assumed(1)]),
        (
            vec![pod(owner("apps/v1", "ReplicaSet", "other"), "")],
            vec![manifest("Deployment"), replica_set.clone()],
            vec![InInput, InInput],
        ),
        (vec![], vec![manifest("Deployment"), replica_set.clone()], vec![Assumed(1), OfAnother]),
        (vec![], vec![replica_set], vec![Assumed(1)]),
        // Pods of a cluster are all that its workloads have.
        (vec![pod(owner("apps/v1", "StatefulSet", "db"), "u")], vec![workload("Deployment", json!({}))], vec![InInput]),
        (vec![pod(owner("apps/v1", "StatefulSet", "db"), "u")], vec![manifest("Deployment")], vec![Assumed(1)]),
    ] {
        assert_eq!(all(&pods, &workloads), want, "{workloads:?}");
    }
}

#[test]
fn no_input_makes_too_many_pods_and_no_name_twice() {
    let workloads = [
        workload("ReplicaSet", json!({"replicas": 2})),
        workload("DaemonSet", json!({})),
        named("Deployment", "big", json!({"replicas": i32::MAX})),
    ];
    let assumed = assumed(&workloads, &[]);
    let names: Vec<&str> = assumed.pods.iter().map(|p| p.pod.name().as_str()).collect();
    assert_eq!(names, ["web-assumed-1", "web-assumed-2", "web-assumed-3"]);
    assert_eq!(assumed.workloads[1].1, WorkloadPods::TooMany(i32::MAX.unsigned_abs()));
}

/// Thousands of Services that select the same pods cost as much as thousands of times the pods.
#[test]
fn a_pod_counts_for_each_service_that_may_select_it() {
    let tier = |name: &str, tier: &str, replicas: u32| {
        let mut template = template();
        template["metadata"]["labels"]["tier"] = json!(tier);
        named("Deployment", name, json!({"replicas": replicas, "template": template}))
    };
    let workloads = [
        tier("a", "hot", 1000),
        tier("b", "hot", 500),
        tier("c", "hot", 500),
        tier("d", "cold", 1000),
        tier("e", "hot", 100),
    ];
    let service = |i: usize| {
        let meta = json!({"namespace": "shop", "name": format!("s{i}")});
        serde_json::from_value(json!({"metadata": meta, "spec": {"selector": {"app": "web", "tier": "hot"}}})).unwrap()
    };
    let services: Vec<Service> = (0..3000).map(service).collect();
    let known = KnownObjects { services: &services, ..known(&workloads) };
    let assumed = assume(&known);
    let outcomes = [
        WorkloadPods::TooMany(1000),
        WorkloadPods::Assumed(500),
        WorkloadPods::TooMany(500),
        WorkloadPods::Assumed(1000),
        WorkloadPods::Assumed(100),
    ];
    assert_eq!(assumed.workloads, outcomes.into_iter().enumerate().collect::<Vec<_>>());
    assert_eq!(assumed.pods.len(), 1600);
    assert_eq!(super::outcomes(&known), assumed.workloads);
}

#[test]
fn ports_are_tcp_and_those_of_the_host_network_share_addresses() {
    let template = template_with(json!({
        "hostNetwork": true,
        "containers": [{"name": "a", "ports": [{"name": "http", "containerPort": 80}]}],
        "initContainers": [{"name": "i", "ports": [{"name": "init", "containerPort": 1}]},
            {"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 2, "protocol": "UDP"}]}],
    }));
    let assumed = assumed(&[workload("Deployment", json!({"replicas": 2, "template": template}))], &[]);
    let ports: Vec<String> = assumed.pods[0]
        .pod
        .ports
        .iter()
        .map(|p| format!("{} {}/{} {}", p.name, p.number, p.protocol, p.sidecar))
        .collect();
    assert_eq!(ports, ["http 80/TCP false", "side 2/UDP true"]);
    assert_eq!(
        places(&assumed),
        ["web-assumed-1@assumed-node 192.0.2.1 true", "web-assumed-2@assumed-node 192.0.2.1 true"]
    );
}
