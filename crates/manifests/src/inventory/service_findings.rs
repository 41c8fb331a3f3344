//! The findings about an input by the Services that they are about, to be shown with the explanations of those.

use std::{cmp::Reverse, collections::BTreeSet};

use roster_engine::{
    explain::{Cause, Explanation},
    model::{Pod, Service, ServicePort, TargetPort, Text, protocol_or_tcp},
    phrase::counted,
    plan::selected_pods,
    reason::{Finding, Reason, Severity},
};

use super::{
    index::{Entry, Index},
    workloads::UnassumedWorkloads,
};

/// Codes that say why the selector of a Service matches no pod, from the manifests of the workloads.
const OF_SELECTOR: [Reason; 3] = [Reason::NoReplicas, Reason::SelectorMatchesNoTemplate, Reason::OtherNamespace];

/// What an explanation says of a selector without matches, from the labels of pods.
const UNMATCHED: [Reason; 3] = [Reason::SelectorMatchesNothing, Reason::LabelDiffers, Reason::OtherNamespace];

/// Most ports that are named.
const NAMED_PORTS: usize = 5;

/// The findings about an input by Service.
#[derive(Debug)]
pub struct ServiceFindings<'a> {
    /// Sorted by namespace and name of the Service.
    of_services: Vec<&'a Finding>,
    /// The namespaces that have pods in the input.
    with_pods: BTreeSet<&'a str>,
    unassumed: UnassumedWorkloads<'a>,
    index: &'a Index<'a>,
}

impl<'a> ServiceFindings<'a> {
    /// The findings of `index`.
    pub fn new(index: &'a Index<'a>) -> Self {
        let mut of_services: Vec<&Finding> =
            index.problems().iter().filter(|finding| finding.object.kind == "Service").collect();
        // Stable: the findings of one Service stay in their order.
        of_services.sort_by(|a, b| service_of(a).cmp(&service_of(b)));
        Self { of_services, with_pods: index.namespaces_with_pods(), unassumed: index.unassumed_workloads(), index }
    }

    /// Adds to the explanation of `entry` the warnings and errors about its manifest.
    pub fn add_to(&self, entry: &Entry<'_>, explanation: &mut Explanation) {
        self.explain_selector(entry, explanation);
        let listed = |f: &Finding| explanation.reasons.iter().any(|c| c.code == f.code);
        let own = self.of(entry).iter().filter(|f| Self::is_of(entry, f) && !listed(f));
        let mut added: Vec<Cause> = own.map(|f| cause(f)).collect();
        added.sort_by_key(|cause| Reverse(cause.severity));
        explanation.reasons.splice(0..0, added);
        explanation.reasons.extend(self.undeclared_target(entry));
    }

    /// A number in `targetPort` that no pod of the cluster declares, though each of them declares others: the controllers publish
    /// it, and nobody may listen there. Pods of manifests are compared with their workloads.
    fn undeclared_target(&self, entry: &Entry<'_>) -> Option<Cause> {
        let service = entry.service?;
        let state = self.index.state(entry);
        let pods = selected_pods(&state);
        let is_declared = |pod: &&Pod| !pod.reference.uid.is_empty() && !pod.ports.is_empty();
        if pods.is_empty() || !pods.iter().all(is_declared) {
            return None;
        }
        let declared: BTreeSet<(i32, &str)> = pods
            .iter()
            .flat_map(|pod| pod.ports.iter().map(|port| (port.number, protocol_or_tcp(&port.protocol))))
            .collect();
        let is_undeclared = |port: &&ServicePort| match port.target_port {
            TargetPort::Number(number) => number != 0 && !declared.contains(&(number, protocol_or_tcp(&port.protocol))),
            TargetPort::Name(_) => false,
        };
        let port = service.ports.iter().find(is_undeclared)?;
        let TargetPort::Number(number) = port.target_port else { return None };
        let numbers: Vec<String> = declared.iter().take(NAMED_PORTS).map(|(number, _)| number.to_string()).collect();
        let more = declared.len().saturating_sub(NAMED_PORTS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let pods = counted(pods.len(), "selected pod");
        let detail =
            format!("no container of {pods} declares the port {number}; they declare {}{more}", numbers.join(", "));
        Some(Cause { severity: Severity::Info, ..Cause::new(Reason::TargetPortUndeclared, detail) })
    }

    /// Whether a finding is shown with the explanation of `entry`: a warning or an error about its Service.
    pub fn is_of(entry: &Entry<'_>, finding: &Finding) -> bool {
        let is_own = service_of(finding) == (entry.namespace, entry.name) && finding.object.kind == "Service";
        is_own && finding.severity > Severity::Info && entry.service.is_some()
    }

    /// Says why the selector of `entry` matches nothing, where the manifests of workloads say more than labels of pods can.
    pub fn explain_selector(&self, entry: &Entry<'_>, explanation: &mut Explanation) {
        let Some(service) = entry.service else { return };
        let has = |code| explanation.reasons.iter().any(|c| c.code == code);
        let is_unmatched = has(Reason::SelectorMatchesNothing);
        if !is_unmatched && !has(Reason::NotChecked) {
            return;
        }
        // A workload of another namespace is known, even if nothing else is; but a cluster may have more.
        let says_why = |f: &Finding| match f.code {
            Reason::OtherNamespace => is_unmatched || service.meta.uid.is_empty(),
            // The only workloads of the namespace cannot be read, but their labels are known.
            Reason::SelectorMatchesNoTemplate => true,
            code => is_unmatched && OF_SELECTOR.contains(&code),
        };
        let mut causes: Vec<Cause> = self.of(entry).iter().filter(|f| says_why(f)).map(|f| cause(f)).collect();
        if let Some(unread) = self.index.unread_pods_of(entry) {
            causes = vec![Cause::new(Reason::NotChecked, format!("it {unread}"))];
        }
        if causes.is_empty() && is_unmatched {
            causes.extend(self.too_many_pods(service));
        }
        if causes.is_empty() && is_unmatched && self.may_have_other_pods(entry) {
            let detail = format!("nothing in the input makes its pods in namespace {}", entry.namespace);
            causes.push(Cause::new(Reason::NotChecked, detail));
        }
        if !causes.is_empty() {
            explanation.reasons.retain(|c| !UNMATCHED.contains(&c.code) && c.code != Reason::NotChecked);
            explanation.reasons.splice(0..0, causes);
        }
    }

    /// Why the pods of a workload that a Service selects are not known. The workload has a warning.
    fn too_many_pods(&self, service: &Service) -> Option<Cause> {
        let detail = self.unassumed.selected_by(&service.meta.namespace, service.selector.as_ref()?)?;
        Some(Cause { severity: Severity::Info, ..Cause::new(Reason::TooManyPods, detail) })
    }

    /// Whether something that is not in the input may make pods that a Service selects: the input has no pod of its
    /// namespace, and its manifests do not say why the selector matches nothing.
    pub fn may_have_other_pods(&self, entry: &Entry<'_>) -> bool {
        let is_written = entry.service.is_some_and(|service| service.meta.uid.is_empty());
        let is_explained = || self.of(entry).iter().any(|f| OF_SELECTOR.contains(&f.code));
        self.index.is_part() && is_written && !self.with_pods.contains(entry.namespace.as_str()) && !is_explained()
    }

    fn of(&self, entry: &Entry<'_>) -> &[&'a Finding] {
        let service = (entry.namespace, entry.name);
        let start = self.of_services.partition_point(|finding| service_of(finding) < service);
        let from = &self.of_services[start..];
        &from[..from.partition_point(|finding| service_of(finding) == service)]
    }
}

/// Namespace and name of the Service that a finding is about.
fn service_of(finding: &Finding) -> (&Text, &Text) {
    (&finding.object.namespace, &finding.object.name)
}

/// A finding about the Service itself.
fn cause(finding: &Finding) -> Cause {
    let at = finding.pointer.as_ref().map(|at| format!(" (at {at})")).unwrap_or_default();
    Cause { severity: finding.severity, ..Cause::new(finding.code, format!("{}{at}", finding.message)) }
}

#[cfg(test)]
mod tests {
    use roster_engine::{
        explain::{Focus, explain_only},
        model::{ObjectKey, Resource, defaults::Defaults},
        state::Options,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::inventory::{AnyObject, Inventory, workloads};

    fn service(namespace: &str, selector: &Value) -> AnyObject {
        let object = json!({ "metadata": { "name": "web", "namespace": namespace },
            "spec": { "selector": selector, "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] } });
        AnyObject::Service(serde_json::from_value(object).unwrap())
    }

    fn deployment(namespace: &str, app: &str, replicas: u32) -> AnyObject {
        let object = json!({
            "metadata": { "name": app, "namespace": namespace },
            "spec": { "replicas": replicas, "selector": { "matchLabels": { "app": app } }, "template": {
                "metadata": { "labels": { "app": app } },
                "spec": { "containers": [{ "name": "c", "ports": [{ "containerPort": 80 }] }] } } } });
        let workload = workloads::Workload::read(Resource::Deployment, object).unwrap();
        AnyObject::Workload(Box::new(workload))
    }

    fn word(severity: Severity) -> &'static str {
        match severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// The causes of the Service `web`, of an input that may be a part.
    fn causes(objects: Vec<AnyObject>, extra: Option<Finding>) -> Vec<String> {
        let mut inventory = Inventory::default();
        for object in objects {
            inventory.add(object);
        }
        inventory.problems.extend(extra);
        inventory.assume_pods(&Defaults::default(), &[], workloads::MAX_PODS);
        let index = inventory.index_of_part();
        let entry = index.entries().iter().find(|entry| entry.name == "web").unwrap();
        let focus = Focus { unknown: index.unknown_of(entry), ..Focus::default() };
        let mut explanation = explain_only(&index.state(entry), &Options::default(), focus);
        ServiceFindings::new(&index).add_to(entry, &mut explanation);
        explanation.reasons.iter().map(|c| format!("{} {} {}", word(c.severity), c.code, c.detail)).collect()
    }

    #[test]
    fn the_manifests_say_why_a_selector_matches_nothing() {
        let web = || json!({ "app": "web" });
        let refused = Finding {
            pointer: Some("/spec/ports/0/port".to_owned()),
            ..Finding::new(Reason::InvalidPort, ObjectKey::new("Service", &"shop".into(), &"web".into()), "port 99999")
        };
        for (name, objects, extra, want) in [
            ("served", vec![service("shop", &web()), deployment("shop", "web", 2)], None, vec![]),
            (
                "a refused value",
                vec![service("shop", &web()), deployment("shop", "web", 2)],
                Some(refused),
                vec!["warning invalid-port port 99999 (at /spec/ports/0/port)"],
            ),
            (
                "no replicas",
                vec![service("shop", &web()), deployment("shop", "web", 0)],
                None,
                vec![
                    "info no-replicas Deployment web is the only workload behind the Service and makes no pods: \
                     it is scaled to 0 (at /spec/selector)",
                ],
            ),
            (
                "too many pods",
                vec![service("shop", &web()), deployment("shop", "web", 200_000)],
                None,
                vec!["info too-many-pods the pods of Deployment web are not assumed: they are too many"],
            ),
            (
                "a typo",
                vec![service("shop", &json!({ "app": "wed" })), deployment("shop", "web", 2)],
                None,
                vec![
                    "warning selector-matches-no-template the selector matches no workload and no pod; nearest: \
                     Deployment web, which has app=web instead of wed (at /spec/selector)",
                ],
            ),
            (
                "pods of something else",
                vec![service("kube-system", &web()), deployment("shop", "api", 2)],
                None,
                vec!["info not-checked no Pods of its namespace in the input"],
            ),
            (
                "a workload of another namespace",
                vec![service("front", &web()), deployment("shop", "web", 2)],
                None,
                vec![
                    "warning other-namespace the selector matches Deployment web of namespace shop; a Service selects pods \
                     of its own namespace (at /spec/selector)",
                ],
            ),
        ] {
            assert_eq!(causes(objects, extra), want, "{name}");
        }
    }
}
