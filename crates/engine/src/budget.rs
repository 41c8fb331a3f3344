//! The limit on what one plan may repeat.
//!
//! Most of a plan is as long as its input. The exceptions are what the written objects repeat: the ports of a Service in
//! every group of pods, its labels in every slice, the address of a pod in every subset. Their weight is added up before
//! anything is created. If it is over `MAX_WEIGHT`, the controller plans nothing, and reports it.

use crate::{
    model::{EndpointAddress, Labels, ObjectKey, ObjectMeta, Text},
    reason::{Finding, Reason},
    state::SyncReport,
};

/// 64 MiB of repetition: as much as the largest body that the server accepts by default.
///
/// A port weighs about 100 bytes, and the rest that a slice repeats about 2000. This is enough for 300 Service ports with
/// different numbers in each of 2000 groups of pods, or for 30 000 slices: three million pods. An API server would store
/// the first only as slices of one or two pods, as it accepts objects up to 1.5 MiB.
pub(crate) const MAX_WEIGHT: usize = 64 << 20;

/// The error of a plan that would repeat more than 64 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The weight of what it would repeat.
    pub(crate) weight: usize,
}

/// Checks a weight against [`MAX_WEIGHT`].
pub(crate) fn check(weight: usize) -> Result<(), TooLarge> {
    if weight > MAX_WEIGHT { Err(TooLarge { weight }) } else { Ok(()) }
}

impl TooLarge {
    /// Reports that nothing is planned for `what`.
    pub(crate) fn report(self, what: &str, object: ObjectKey, report: &mut SyncReport) {
        let message = format!(
            "no {what} are planned: they would repeat {} MiB of ports, labels and addresses, and {} are allowed",
            self.weight >> 20,
            MAX_WEIGHT >> 20
        );
        report.errors.push(format!("{object}: {message}"));
        report.problems.push(Finding::new(Reason::PlanTooLarge, object, message));
    }
}

/// The weight of a port: its fields in memory, which are about as long as its punctuation in JSON, and its texts.
pub(crate) fn port(name: &str, protocol: &str, app_protocol: Option<&Text>) -> usize {
    const FIELDS: usize = 3 * size_of::<Text>() + 8;
    FIELDS + name.len() + protocol.len() + app_protocol.map_or(0, Text::len)
}

/// The weight of labels or annotations.
pub(crate) fn labels(labels: &Labels) -> usize {
    labels.iter().map(|(k, v)| 2 * size_of::<Text>() + k.len() + v.len()).sum()
}

/// The weight of what a slice repeats of its owner: namespace, owner reference and generated name.
pub(crate) fn owner(meta: &ObjectMeta) -> usize {
    const FIELDS: usize = 256;
    FIELDS + meta.namespace.len() + 3 * meta.name.len() + meta.uid.len()
}

/// The weight of an address in a subset.
pub(crate) fn address(a: &EndpointAddress) -> usize {
    let target = a.target_ref.as_ref().map_or(0, |t| {
        [&t.kind, &t.namespace, &t.name, &t.uid, &t.api_version, &t.resource_version, &t.field_path]
            .iter()
            .map(|text| text.len())
            .sum()
    });
    size_of::<EndpointAddress>() + a.ip.len() + a.hostname.len() + a.node_name.as_ref().map_or(0, Text::len) + target
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        explain::{self, PodState},
        model::builders,
        plan::PlanRequest,
        state::Plan,
    };

    fn request(service: &Value, pods: &[Value]) -> Value {
        let mut service = json!({"metadata": {"namespace": "n", "name": "s", "uid": "u"}, "spec": service});
        service["spec"]["ipFamilies"] = json!(["IPv4"]);
        let nodes = [json!({"metadata": {"name": "n"}})];
        json!({"service": service, "pods": pods, "nodes": nodes, "options": {"maxEndpointsPerSlice": 1}})
    }

    /// Pods of which each has its own numbers under `names` names.
    fn pods(count: usize, names: usize) -> Vec<Value> {
        let pod = |i: usize| {
            let ports: Vec<(String, usize)> = (0..names).map(|n| (format!("p{n}"), 1 + i)).collect();
            let ports: Vec<(&str, usize)> = ports.iter().map(|(name, number)| (name.as_str(), *number)).collect();
            let pod = builders::pod(&format!("p{i}")).namespace("n").node("n").container_ports(&ports);
            json!(pod.ip(&format!("10.0.{}.{}", i / 250, i % 250)))
        };
        (0..count).map(pod).collect()
    }

    fn service_ports(count: usize, target: &Value) -> Value {
        let port = |i| json!({"name": format!("port-{i}"), "protocol": "TCP", "port": i, "targetPort": target});
        (0..count).map(port).collect()
    }

    fn plan(request: &Value) -> Plan {
        serde_json::from_value::<PlanRequest>(request.clone()).unwrap().plan()
    }

    /// Requests of one or two megabytes whose answer would be a product of them.
    #[test]
    fn products_are_not_planned() {
        let many_numbers =
            request(&json!({"selector": {}, "ports": service_ports(2000, &json!("p0"))}), &pods(1000, 1));
        let mut labels = request(&json!({"selector": {}}), &pods(500, 0));
        labels["service"]["metadata"]["labels"] =
            (0..2000).map(|i| (format!("l{i}"), json!("x".repeat(100)))).collect();
        let mut zone = request(&json!({"selector": {}}), &pods(1000, 0));
        zone["nodes"][0]["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "z".repeat(100_000)});
        let mut name = request(&json!({"selector": {}}), &pods(1000, 0));
        name["nodes"] = json!([]);
        name["service"]["metadata"]["name"] = json!("s".repeat(100_000));
        let mut mirror = request(&json!({}), &[]);
        let subset = |i: usize| json!({"addresses": [{"ip": "10.0.0.1"}, {"ip": format!("10.0.1.{i}")}], "ports": [{"port": i}]});
        mirror["endpoints"] =
            json!({"metadata": {"namespace": "n", "name": "s"}, "subsets": (1..250).map(subset).collect::<Vec<_>>()});
        mirror["endpoints"]["metadata"]["annotations"] = json!({"a": "x".repeat(400_000)});
        for (case, request, refused) in [
            ("ports in every group", &many_numbers, &["Endpoints", "slices"][..]),
            ("labels in every slice", &labels, &["slices"]),
            ("the zone in every endpoint", &zone, &["slices"]),
            ("the name in every error", &name, &["slices"]),
            ("annotations in every mirrored slice", &mirror, &["mirrored slices"]),
        ] {
            let plan = plan(request);
            let found: Vec<_> = plan.problems.iter().filter(|p| p.code == Reason::PlanTooLarge).collect();
            assert_eq!((found.len(), plan.errors.len()), (refused.len(), refused.len()), "{case}");
            for (what, (problem, error)) in refused.iter().zip(found.iter().zip(&plan.errors)) {
                assert!(problem.message.starts_with(&format!("no {what} are planned")), "{case}: {}", problem.message);
                assert!(error.ends_with(&problem.message), "{case}: {error}");
            }
            assert!(plan.endpoint_slices.is_noop(), "{case}");
        }
    }

    /// What is large, and no product, is planned.
    #[test]
    fn as_many_ports_as_pods_are_planned() {
        for (case, ports, names) in [("a number", json!(80), 0), ("a name", json!("p0"), 1)] {
            let service = json!({"selector": {}, "clusterIP": "10.0.0.1", "ports": service_ports(1000, &ports)});
            let mut request = request(&service, &pods(1000, names));
            request["options"] = json!({});
            for pod in request["pods"].as_array_mut().unwrap() {
                pod["spec"]["containers"] =
                    json!([{"ports": [{"name": "p0", "protocol": "TCP", "containerPort": 80}]}]);
            }
            let plan = plan(&request);
            let object = plan.endpoints.object().unwrap();
            assert_eq!((object.subsets.len(), object.subsets[0].ports.len()), (1, 1000), "{case}");
            assert_eq!((plan.endpoint_slices.create.len(), plan.errors.len()), (10, 0), "{case}");
        }
    }

    #[test]
    fn every_pod_is_told_why_nothing_is_planned() {
        let request = request(&json!({"selector": {}, "ports": service_ports(2000, &json!("p0"))}), &pods(1000, 1));
        let request: PlanRequest = serde_json::from_value(request).unwrap();
        let explanation = request.with_state(|state, _| explain::explain(state, &request.options));
        assert!(
            explanation.rows.iter().all(|r| r.state == PodState::Absent && r.reasons[0].code == Reason::PlanTooLarge)
        );
        let listed: usize = explanation.rows.iter().map(|row| row.ports.places().len()).sum();
        assert_eq!(listed + explanation.summary.omitted_rows, 2 * 2000 * 1000);
    }
}
