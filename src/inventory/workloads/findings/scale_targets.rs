//! Autoscalers whose workload is not among the manifests.

use std::collections::BTreeMap;

use super::{
    letters::{letters, may_be_mistyped},
    manifests::Manifests,
    matching::workload_name,
    unread_index::UnreadMatch,
};
use crate::{
    engine::reason::{Finding, Reason, Severity},
    inventory::workloads::{autoscaler::Autoscaler, workload::Workload},
    model::{ObjectKey, Resource, Text, json::message::shortened},
};

/// Most workloads of a kind whose names are compared with the one of an autoscaler.
const MAX_COMPARED: usize = 256;

impl Manifests<'_> {
    /// The findings about the autoscalers of the namespace.
    pub(super) fn check_scale_targets(&self) -> Vec<Finding> {
        if self.autoscalers.is_empty() {
            return Vec::new();
        }
        let (mut by_kind, mut by_name) = (Names::new(), Names::new());
        for (workload, _) in &self.workloads {
            by_kind.entry(&workload.kind).or_default().push(workload);
            by_name.entry(&workload.name).or_default().push(workload);
        }
        let found = |autoscaler: &&Autoscaler| {
            let finding = check_target(autoscaler, &by_kind, &by_name)?;
            let Autoscaler { target, .. } = autoscaler;
            self.unless_unread(&target.kind, &target.name, finding)
        };
        self.autoscalers.iter().filter_map(found).collect()
    }

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

/// Workloads by their kind, or by their name.
type Names<'a> = BTreeMap<&'a Text, Vec<&'a Workload>>;

/// The finding about one autoscaler. If no workload of the kind is there, the manifests are those of something else.
fn check_target(autoscaler: &Autoscaler, by_kind: &Names<'_>, by_name: &Names<'_>) -> Option<Finding> {
    let target = &autoscaler.target;
    let alike = by_kind.get(&target.kind).filter(|_| !target.name.is_empty())?;
    let of_name = by_name.get(&target.name).map(Vec::as_slice).unwrap_or_default();
    if of_name.iter().any(|workload| workload.is_owner(target)) {
        return None;
    }
    let (field, message) = if let Some(other) = of_name.iter().find(|workload| workload.kind == target.kind) {
        let message = format!(
            "the {} among the manifests is of {}, not of {:?}",
            workload_name(other),
            other.api_version,
            shortened(&target.api_version)
        );
        ("apiVersion", message)
    } else {
        let of_kind = alike.iter().take(MAX_COMPARED).min_by_key(|w| letters(&w.name, &target.name));
        let is_typo = |w: &&&Workload| may_be_mistyped(&w.name, &target.name);
        // Rather a workload of the name than a name that is far away.
        let nearest = of_kind.filter(is_typo).or(of_name.first()).or(of_kind)?;
        let message = format!(
            "{} {} is not among the manifests of the namespace; nearest: {}",
            shortened(&target.kind),
            shortened(&target.name),
            workload_name(nearest)
        );
        ("name", message)
    };
    let key = ObjectKey::new(Resource::HorizontalPodAutoscaler.kind(), &autoscaler.namespace, &autoscaler.name);
    let pointer = Some(format!("/spec/scaleTargetRef/{field}"));
    Some(Finding { pointer, ..Finding::new(Reason::ScaleTargetMissing, key, message) })
}
