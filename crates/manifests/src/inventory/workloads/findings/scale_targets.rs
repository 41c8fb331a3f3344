//! Autoscalers whose workload is not among the manifests, or cannot be scaled.

use std::collections::HashMap;

use roster_engine::{
    model::{
        HashSeed, ObjectKey, OwnerReference, Resource,
        json::message::shortened,
        spelling::{letters_below, typo},
    },
    reason::{Finding, Reason, Severity},
};

use super::{
    comparisons::Comparisons,
    manifests::{Located, Manifests, nearest},
    matching::workload_name,
    unmatched::Namespaces,
    unread_index::UnreadMatch,
};
use crate::inventory::workloads::{
    autoscaler::Autoscaler,
    workload::{Workload, api_group},
};

/// Most workloads of a kind whose names are compared with the one of an autoscaler.
const MAX_COMPARED: usize = 256;

/// The kinds of Kubernetes that an autoscaler may change: they have the subresource `scale`.
const SCALABLE: [Resource; 4] =
    [Resource::Deployment, Resource::ReplicaSet, Resource::ReplicationController, Resource::StatefulSet];
/// Kinds of Kubernetes without that subresource.
const NOT_SCALABLE: [Resource; 4] = [Resource::DaemonSet, Resource::Job, Resource::CronJob, Resource::Pod];

/// Workloads by their names, kinds and API groups, of which the first counts.
pub(super) type ByOwner<'a> = HashMap<(&'a str, &'a str, &'a str), &'a Workload, HashSeed>;

/// The workloads that autoscalers may name.
pub(super) struct ScaleTargets<'n, 'a> {
    manifests: &'n Manifests<'a>,
    namespaces: &'n Namespaces<'n, 'a>,
    /// All namespaces.
    elsewhere: &'n ByOwner<'a>,
    comparisons: &'n Comparisons,
    by_kind: HashMap<&'a str, Vec<&'a Workload>, HashSeed>,
    /// Those of one name, kind and API group: several are versions of one.
    by_owner: HashMap<(&'a str, &'a str, &'a str), Vec<Located<&'a Workload>>, HashSeed>,
    /// The first of a name and a kind, whatever the API group.
    by_name_and_kind: HashMap<(&'a str, &'a str), &'a Workload, HashSeed>,
    by_name: HashMap<&'a str, OfName<'a>, HashSeed>,
}

/// Of any number of workloads of one name, those that are named.
#[derive(Clone, Copy)]
struct OfName<'a> {
    first: &'a Workload,
    scalable: Option<&'a Workload>,
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
            Some(UnreadMatch::Known(_) | UnreadMatch::Unrendered) => None,
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
        let mut this = Self {
            manifests,
            namespaces,
            elsewhere,
            comparisons,
            by_kind: HashMap::default(),
            by_owner: HashMap::default(),
            by_name_and_kind: HashMap::default(),
            by_name: HashMap::default(),
        };
        for Located { document, object: (workload, _) } in &manifests.workloads {
            let placed = Located { document: *document, object: *workload };
            let (name, kind) = (workload.name.as_str(), workload.kind.as_str());
            this.by_kind.entry(kind).or_default().push(*workload);
            this.by_owner.entry((name, kind, api_group(&workload.api_version))).or_default().push(placed);
            this.by_name_and_kind.entry((name, kind)).or_insert(*workload);
            let of_name = this.by_name.entry(name).or_insert(OfName { first: workload, scalable: None });
            if workload.resource().is_some_and(|resource| SCALABLE.contains(&resource)) {
                of_name.scalable.get_or_insert(*workload);
            }
        }
        this
    }

    /// The workloads that an autoscaler names, and that are nearest to it.
    pub(super) fn of<'s>(&'s self, autoscaler: Located<&'s Autoscaler>) -> &'s [Located<&'a Workload>] {
        let target = &autoscaler.object.target;
        let owner = (target.name.as_str(), target.kind.as_str(), api_group(&target.api_version));
        let Some(versions) = self.by_owner.get(&owner) else { return &[] };
        nearest(versions, autoscaler.document, self.namespaces.units, |version| version.document)
    }

    /// The finding about the workload that an autoscaler names.
    pub(super) fn check(&self, placed: Located<&Autoscaler>) -> Option<Finding> {
        let autoscaler = placed.object;
        let target = &autoscaler.target;
        if target.name.is_empty() {
            return None;
        }
        let certain = wrong_kind(target);
        let is_certain = certain.is_some();
        let TargetFault { code, severity, field, message } = match certain {
            Some(fault) => fault,
            None if !self.of(placed).is_empty() => return None,
            None if self.namespaces.is_made_by_test(placed.document, |file| self.manifests.has_workload(file)) => {
                return None;
            }
            None => self.missing(target)?,
        };
        let pointer = format!("/spec/scaleTargetRef/{field}");
        let finding = Finding { severity, ..of_autoscaler(code, autoscaler, pointer, message) };
        if is_certain { Some(finding) } else { self.manifests.unless_unread(&target.kind, &target.name, finding) }
    }

    /// What is wrong with a target that is not among the workloads of the namespace. If nothing is like it, the manifests are
    /// those of something else.
    fn missing(&self, target: &OwnerReference) -> Option<TargetFault> {
        if let Some(other) = self.by_name_and_kind.get(&(target.name.as_str(), target.kind.as_str())) {
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
        let of_kind = nearest_name(alike, &target.name);
        if let Some(typo) = of_kind.filter(|w| typo(&w.name, &target.name).is_some()) {
            return nearest("name", typo);
        }
        if let Some(fault) = self.of_other_namespace(target, &named) {
            return Some(fault);
        }
        // Nothing is known of how custom resources are scaled.
        let is_known = SCALABLE.iter().any(|r| r.kind() == target.kind);
        let of_name = self.by_name.get(target.name.as_str());
        if let Some(other) = of_name.and_then(|of_name| of_name.scalable).filter(|_| is_known) {
            return nearest("kind", other);
        }
        // Rather a workload of the name than a name that is far away.
        nearest("name", of_kind.map(|of_kind| of_name.map_or(*of_kind, |of_name| of_name.first))?)
    }

    /// What is wrong with a target that is in another namespace. An object without a namespace may be applied to the right one,
    /// and a workload that has an autoscaler of its own is probably not the one that is meant.
    fn of_other_namespace(&self, target: &OwnerReference, named: &str) -> Option<TargetFault> {
        let other = *self.elsewhere.get(&(&*target.name, &*target.kind, api_group(&target.api_version)))?;
        let message = format!("{named} of the namespace, but of namespace {}", other.namespace);
        let fault = TargetFault::missing("name", message);
        let own = self.manifests.autoscalers.first().map_or("", |placed| placed.object.namespace.as_str());
        let is_placed = [own, other.namespace.as_str()].iter().all(|namespace| *namespace != self.namespaces.assumed);
        let there = self.namespaces.all.get(&other.namespace);
        let is_scaled = there.is_some_and(|there| there.most_replicas(other).is_some());
        let severity = if is_placed && !is_scaled { fault.severity } else { Severity::Info };
        Some(TargetFault { severity, ..fault })
    }
}

/// The first of the workloads whose names differ least from a name.
fn nearest_name<'w, 'a>(workloads: &'w [&'a Workload], name: &str) -> Option<&'w &'a Workload> {
    let mut best = (None, usize::MAX);
    for workload in workloads {
        if let Some(letters) = letters_below(&workload.name, name, best.1) {
            best = (Some(workload), letters);
        }
    }
    best.0
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
