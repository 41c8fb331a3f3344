//! Autoscalers whose workload is not among the manifests, or cannot be scaled.

use std::collections::HashMap;

use super::{
    letters::{letters, may_be_mistyped},
    manifests::Manifests,
    matching::workload_name,
    selection::Comparisons,
    unmatched::Namespaces,
    unread_index::UnreadMatch,
};
use crate::{
    engine::reason::{Finding, Reason, Severity},
    inventory::workloads::{
        autoscaler::Autoscaler,
        workload::{Workload, api_group},
    },
    model::{HashSeed, ObjectKey, OwnerReference, Resource, json::message::shortened},
};

/// Most workloads of a kind whose names are compared with the one of an autoscaler.
const MAX_COMPARED: usize = 256;

/// The kinds of Kubernetes that an autoscaler may change: they have the subresource `scale`.
const SCALABLE: [Resource; 4] =
    [Resource::Deployment, Resource::ReplicaSet, Resource::ReplicationController, Resource::StatefulSet];
/// Kinds of Kubernetes without that subresource.
const NOT_SCALABLE: [Resource; 4] = [Resource::DaemonSet, Resource::Job, Resource::CronJob, Resource::Pod];

/// Workloads by their names.
pub(super) type ByName<'a> = HashMap<&'a str, Vec<&'a Workload>, HashSeed>;

/// Workloads of all namespaces by their names, kinds and API groups, of which the first counts.
pub(super) type ByOwner<'a> = HashMap<(&'a str, &'a str, &'a str), &'a Workload, HashSeed>;

/// The workloads that autoscalers may name.
pub(super) struct ScaleTargets<'n, 'a> {
    manifests: &'n Manifests<'a>,
    namespaces: &'n Namespaces<'n, 'a>,
    /// All namespaces.
    elsewhere: &'n ByOwner<'a>,
    comparisons: &'n Comparisons,
    by_kind: HashMap<&'a str, Vec<&'a Workload>, HashSeed>,
    by_name: ByName<'a>,
}

/// What is wrong with a field of a `scaleTargetRef`.
struct TargetFault {
    code: Reason,
    severity: Severity,
    field: &'static str,
    message: String,
}

impl TargetFault {
    fn new(code: Reason, field: &'static str, message: String) -> Self {
        Self { code, severity: code.severity(), field, message }
    }

    fn missing(field: &'static str, message: String) -> Self {
        Self::new(Reason::ScaleTargetMissing, field, message)
    }
}

/// A finding about a field of an autoscaler.
pub(super) fn of_autoscaler(code: Reason, autoscaler: &Autoscaler, pointer: String, message: String) -> Finding {
    let key = ObjectKey::new(Resource::HorizontalPodAutoscaler.kind(), &autoscaler.namespace, &autoscaler.name);
    Finding { pointer: Some(pointer), ..Finding::new(code, key, message) }
}

impl Manifests<'_> {
    /// The finding that an object is missing, if it does not exist for all that cannot be read; an info if that is not known.
    pub(super) fn unless_unread(&self, kind: &str, name: &str, finding: Finding) -> Option<Finding> {
        match self.unread.may_be(kind, name) {
            None => Some(finding),
            Some(UnreadMatch::Known(_)) => None,
            Some(UnreadMatch::Possible(unread)) => {
                let message =
                    format!("{}; not checked: whether it is in {unread}, which cannot be read", finding.message);
                Some(Finding { severity: Severity::Info, message, ..finding })
            }
        }
    }
}

impl<'n, 'a> ScaleTargets<'n, 'a> {
    /// The workloads of a namespace, and of all of them, by name.
    pub(super) fn new(
        manifests: &'n Manifests<'a>,
        namespaces: &'n Namespaces<'n, 'a>,
        elsewhere: &'n ByOwner<'a>,
        comparisons: &'n Comparisons,
    ) -> Self {
        let (mut by_kind, mut by_name) = (HashMap::default(), ByName::default());
        for (workload, _) in &manifests.workloads {
            by_kind.entry(workload.kind.as_str()).or_insert_with(Vec::new).push(*workload);
            by_name.entry(&workload.name).or_default().push(*workload);
        }
        Self { manifests, namespaces, elsewhere, comparisons, by_kind, by_name }
    }

    /// The workload that an autoscaler names.
    pub(super) fn of(&self, autoscaler: &Autoscaler) -> Option<&'a Workload> {
        self.of_name(&autoscaler.target).iter().copied().find(|workload| workload.is_owner(&autoscaler.target))
    }

    fn of_name(&self, target: &OwnerReference) -> &[&'a Workload] {
        self.by_name.get(target.name.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The finding about the workload that an autoscaler names.
    pub(super) fn check(&self, autoscaler: &Autoscaler) -> Option<Finding> {
        let target = &autoscaler.target;
        if target.name.is_empty() {
            return None;
        }
        let certain = wrong_kind(target);
        let is_certain = certain.is_some();
        let TargetFault { code, severity, field, message } = match certain {
            Some(fault) => fault,
            None if self.of(autoscaler).is_some() => return None,
            None => self.missing(target)?,
        };
        let pointer = format!("/spec/scaleTargetRef/{field}");
        let finding = Finding { severity, ..of_autoscaler(code, autoscaler, pointer, message) };
        if is_certain { Some(finding) } else { self.manifests.unless_unread(&target.kind, &target.name, finding) }
    }

    /// What is wrong with a target that is not among the workloads of the namespace. If nothing is like it, the manifests are
    /// those of something else.
    fn missing(&self, target: &OwnerReference) -> Option<TargetFault> {
        let of_name = self.of_name(target);
        if let Some(other) = of_name.iter().find(|workload| workload.kind == target.kind) {
            let (found, version) = (workload_name(other), &other.api_version);
            let message = match &*shortened(&target.api_version) {
                "" => format!("the field is missing; the {found} among the manifests is of {version}"),
                wanted => format!("the {found} among the manifests is of {version}, not of {wanted:?}"),
            };
            return Some(TargetFault::missing("apiVersion", message));
        }
        let named = format!("{} {} is not among the manifests", shortened(&target.kind), shortened(&target.name));
        let nearest = |field, workload| {
            let message = format!("{named} of the namespace; nearest: {}", workload_name(workload));
            Some(TargetFault::missing(field, message))
        };
        let alike = self.by_kind.get(target.kind.as_str()).map(Vec::as_slice).unwrap_or_default();
        let alike = &alike[..alike.len().min(MAX_COMPARED)];
        if self.comparisons.take_letters(target.name.len(), alike.len()).is_err() {
            let message = format!("{named} of the namespace; too many names are compared to find the nearest");
            return Some(TargetFault { severity: Severity::Info, ..TargetFault::missing("name", message) });
        }
        let of_kind = alike.iter().min_by_key(|w| letters(&w.name, &target.name));
        if let Some(typo) = of_kind.filter(|w| may_be_mistyped(&w.name, &target.name)) {
            return nearest("name", typo);
        }
        if let Some(fault) = self.of_other_namespace(target, &named) {
            return Some(fault);
        }
        // Nothing is known of how custom resources are scaled.
        let is_known = SCALABLE.iter().any(|r| r.kind() == target.kind);
        let is_scalable = |w: &&&Workload| w.resource().is_some_and(|r| SCALABLE.contains(&r));
        if let Some(other) = of_name.iter().find(is_scalable).filter(|_| is_known) {
            return nearest("kind", other);
        }
        // Rather a workload of the name than a name that is far away.
        nearest("name", of_kind.map(|of_kind| of_name.first().unwrap_or(of_kind))?)
    }

    /// What is wrong with a target that is in another namespace. An object without a namespace may be applied to the right one,
    /// and a workload that has an autoscaler of its own is probably not the one that is meant.
    fn of_other_namespace(&self, target: &OwnerReference, named: &str) -> Option<TargetFault> {
        let other = *self.elsewhere.get(&(&*target.name, &*target.kind, api_group(&target.api_version)))?;
        let message = format!("{named} of the namespace, but of namespace {}", other.namespace);
        let fault = TargetFault::missing("name", message);
        let own = self.manifests.autoscalers.first().map_or("", |autoscaler| autoscaler.namespace.as_str());
        let is_placed = [own, other.namespace.as_str()].iter().all(|namespace| *namespace != self.namespaces.assumed);
        let there = self.namespaces.all.get(&other.namespace);
        let is_scaled = there.is_some_and(|there| there.most_replicas(other).is_some());
        let severity = if is_placed && !is_scaled { fault.severity } else { Severity::Info };
        Some(TargetFault { severity, ..fault })
    }
}

/// What is wrong with the kind of a target, whatever else there is.
fn wrong_kind(target: &OwnerReference) -> Option<TargetFault> {
    let is_group = |resource: &&Resource| resource.group() == api_group(&target.api_version);
    let all = || SCALABLE.iter().chain(&NOT_SCALABLE).filter(is_group);
    let kind = target.kind.as_str();
    if let Some(resource) = NOT_SCALABLE.iter().filter(is_group).find(|resource| resource.kind() == kind) {
        let message = format!("the kind {} cannot be scaled: it has no scale subresource", resource.kind());
        return Some(TargetFault::new(Reason::ScaleTargetNotScalable, "kind", message));
    }
    let is_spelling = |r: &&Resource| kind.eq_ignore_ascii_case(r.kind()) || kind.eq_ignore_ascii_case(r.plural());
    let meant = all().find(|resource| is_spelling(resource) && resource.kind() != kind)?;
    let message = format!("there is no kind {:?}; the kind is written {}", shortened(kind), meant.kind());
    Some(TargetFault::missing("kind", message))
}
