//! What to do about what is wrong with a Service, with the objects that somebody edits.

use roster_engine::{
    explain::{Cause, Diagnosis, Explanation, PodVerdict, PortName},
    model::{Pod, PodReadiness, TargetPort},
    phrase::label_text,
    plan::selected_pods,
    reason::{Reason, Severity},
    state::State,
};
use roster_manifests::inventory::Entry;

use crate::{
    cluster::{Cluster, Explained},
    limits::MAX_ROWS,
};

/// The label with which a Deployment tells the pods of its ReplicaSets apart: the end of their names.
const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// What to do about the first cause; nothing if all is as it should be.
pub(crate) fn of(cluster: &Cluster<'_>, entry: &Entry<'_>, explained: &Explained) -> Option<String> {
    let explanation = &explained.explanation;
    let diagnosis = Diagnosis::of(explanation);
    if let Some((_, fault)) = explained.broken_route().filter(|(_, fault)| fault.severity > diagnosis.severity()) {
        return Some(fault.fix.to_owned());
    }
    let lead = diagnosis.lead().filter(|lead| lead.severity > Severity::Info)?;
    let state = cluster.index.state(entry);
    let selected = selected_pods(&state);
    let row = explanation.rows.iter().find(|row| row.reasons.iter().any(|cause| cause.code == lead.code));
    let pod = row.and_then(|row| selected.iter().copied().find(|pod| *pod.name() == row.pod));
    let special = match (lead.code, row, pod) {
        (Reason::NamedPortMissing, Some(row), Some(pod)) => named_port(&state, &selected, row, pod),
        (Reason::NotReady, _, Some(pod)) => waiting_container(pod),
        (Reason::SelectorMatchesNothing, ..) => label(explanation),
        _ => None,
    };
    special.or_else(|| Some(lead.code.fix().to_owned()).filter(|fix| !fix.is_empty()))
}

/// Where to declare a port, and what its number is in other pods.
fn named_port(state: &State<'_>, selected: &[&Pod], row: &PodVerdict, pod: &Pod) -> Option<String> {
    let port: &PortName = row.ports.names().first()?;
    let TargetPort::Name(name) = &port.target_port else { return None };
    let of_service =
        if port.name.is_empty() { port.port.to_string() } else { format!("{} ({})", port.name, port.port) };
    let number = number_in_pods(state, selected, port);
    let name = label_text(name);
    let declare = match template_owner(pod) {
        Some(owner) => format!("in the pod template of {owner}, give a container port the name {name}"),
        None => format!("give a container port of pod {} the name {name}", pod.name()),
    };
    let number = number.map(|number| format!(" (it is {number} in another pod)")).unwrap_or_default();
    let named = other_name(state, pod).map(|name| format!("{}, which the pod has, or to ", label_text(name)));
    let target = named.unwrap_or_default();
    Some(format!("{declare}{number}, or set targetPort of the Service port {of_service} to {target}a number."))
}

/// The only name of a pod's ports that no port of the Service leads to.
fn other_name<'p>(state: &State<'_>, pod: &'p Pod) -> Option<&'p str> {
    let is_target = |name: &str| {
        let mut targets = state.service.into_iter().flat_map(|service| &service.ports).map(|port| &port.target_port);
        targets.any(|target| matches!(target, TargetPort::Name(of) if of == name))
    };
    let names = pod.ports.iter().map(|port| port.name.as_str()).filter(|name| !name.is_empty());
    let mut others = names.take(MAX_ROWS).filter(|name| !is_target(name));
    others.next().filter(|_| others.next().is_none())
}

/// The number that the name of a target stands for in a pod that has it.
pub(crate) fn number_in_pods(state: &State<'_>, selected: &[&Pod], port: &PortName) -> Option<i32> {
    let TargetPort::Name(name) = &port.target_port else { return None };
    let port = state.service?.ports.iter().find(|of| of.name == port.name && of.port == port.port)?;
    let mut others = selected.iter().flat_map(|pod| pod.ports.iter());
    others.find(|of| of.name == *name && of.protocol == port.protocol).map(|of| of.number)
}

/// The object with the template of a pod: its owner, or the Deployment of a ReplicaSet, which names it by the hash of the
/// template.
fn template_owner(pod: &Pod) -> Option<String> {
    // A kubelet owns the pods of its manifests, and has no template.
    let owner = pod.owner.as_ref().filter(|owner| owner.kind != "Node")?;
    let hash = pod.labels.get(POD_TEMPLATE_HASH);
    let deployment = hash.and_then(|hash| owner.name.strip_suffix(hash.as_str())?.strip_suffix('-'));
    Some(match deployment.filter(|_| owner.kind == "ReplicaSet") {
        Some(deployment) => format!("Deployment {deployment}"),
        None => format!("{} {}", owner.kind, owner.name),
    })
}

/// What to do about a container that does not start.
fn waiting_container(pod: &Pod) -> Option<String> {
    let PodReadiness::NotReady(why) = &pod.readiness else { return None };
    why.containers.iter().find_map(|(container, reason)| match reason.as_str() {
        "CrashLoopBackOff" => {
            Some(format!("read the log of container {container}: it ends each time soon after it starts."))
        }
        "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" => Some(format!(
            "correct the image of container {container}, or give the node access to it: it cannot be pulled."
        )),
        _ => None,
    })
}

/// Which label to change.
fn label(explanation: &Explanation) -> Option<String> {
    let nearest: &Cause = explanation.reasons.iter().find(|cause| !cause.labels.is_empty())?;
    let miss = nearest.labels.first()?;
    let [key, wanted] = [&miss.key, &miss.wanted].map(|text| label_text(text));
    Some(match &miss.found {
        Some(found) => {
            let found = label_text(found);
            format!(
                "give the pods the label {key}={wanted} instead of {found}, or write {found} into the selector of the \
                 Service."
            )
        }
        None => format!("give the pods the label {key}={wanted}, or remove it from the selector of the Service."),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::tests::{shown, text};

    #[test]
    fn advice_names_the_object_that_somebody_edits() {
        let pod = |name: &str, owner: Value, port: &str| {
            json!({ "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": name, "namespace": "n", "labels": { "app": "a", "pod-template-hash": "1f" }, "ownerReferences": owner },
                "spec": { "nodeName": "k", "containers": [{ "name": "c", "ports": [{ "name": port, "containerPort": 9 }] }] },
                "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }], "conditions": [{ "type": "Ready", "status": "True" }] } })
        };
        let udp = |name: &str| {
            let mut pod = pod(name, json!([]), "http");
            pod["spec"]["containers"][0]["ports"][0]["protocol"] = json!("UDP");
            pod
        };
        let by = |kind: &str, name: &str| json!([{ "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": true }]);
        let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "namespace": "n" },
            "spec": { "clusterIP": "10.96.0.1", "selector": { "app": "a" }, "ports": [{ "port": 80, "targetPort": "http" }] } });
        for (objects, want) in [
            (
                vec![pod("x", json!([]), "other")],
                "give a container port of pod x the name http, or set targetPort of the Service port 80 to other, which the pod has, or to a number.",
            ),
            (vec![pod("x", json!([]), "other"), udp("y")], "give a container port of pod x the name http, or set"),
            (
                vec![pod("x", by("ReplicaSet", "w"), "other")],
                "in the pod template of ReplicaSet w, give a container port the name http, or",
            ),
            (
                vec![pod("x", by("ReplicaSet", "w-1f"), "other")],
                "in the pod template of Deployment w, give a container port the name http, or",
            ),
            (
                vec![pod("x", by("StatefulSet", "db"), "other"), pod("y", json!([]), "http")],
                "in the pod template of StatefulSet db, give a container port the name http (it is 9 in another pod), or",
            ),
        ] {
            let items: Vec<Value> = [service.clone()].into_iter().chain(objects).collect();
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
            let lead = text(&shown(&json!({ "text": list.to_string() })).lead);
            assert!(lead.contains(want), "{want} in {lead}");
        }
    }
}
