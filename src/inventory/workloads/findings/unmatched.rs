//! A selector that matches no workload and no pod of its namespace, and what was probably meant.

use std::collections::BTreeMap;

use super::{
    candidate_index::CandidateIndex,
    manifests::Manifests,
    near_miss::{NearMiss, NearbyCandidates},
    selection::Comparisons,
    unread_index::UnreadMatch,
};
use crate::{
    engine::reason::{Reason, Severity},
    model::{Labels, Text},
};

/// The namespaces, and all that is in them.
pub(super) struct Namespaces<'n, 'a> {
    pub(super) all: &'n BTreeMap<&'a Text, Manifests<'a>>,
    pub(super) index: &'n CandidateIndex<'a>,
    /// The namespace of objects that do not name one: these may be applied anywhere.
    pub(super) assumed: &'a str,
}

/// What is wrong with a selector.
#[derive(Clone, Debug)]
pub(super) struct SelectorFault {
    pub(super) code: Reason,
    pub(super) severity: Severity,
    pub(super) message: String,
}

impl SelectorFault {
    pub(super) fn new(code: Reason, message: String) -> Self {
        Self { code, severity: code.severity(), message }
    }
}

impl<'a> Namespaces<'_, 'a> {
    /// What is wrong with a selector that selects nothing in `namespace`; `None` if nothing is known of it.
    pub(super) fn unmatched(
        &self,
        namespace: &Text,
        selector: &'a Labels,
        nearby: &NearbyCandidates<'a>,
        comparisons: &mut Comparisons,
    ) -> Option<SelectorFault> {
        let manifests = self.all.get(namespace)?;
        let nearest = nearby.nearest(selector);
        match manifests.unread.selected_by(selector) {
            Some(UnreadMatch::Known(_)) => return None,
            Some(UnreadMatch::Possible(unread)) => return Some(not_checked(&nearest?, &unread)),
            None => {}
        }
        if nearest.as_ref().is_none_or(|n| !n.is_typo())
            && let Some(fault) = self.of_other(namespace, selector, comparisons)
        {
            return Some(fault);
        }
        let nearest = nearest?;
        let message = nothing_matches(&nearest);
        let custom = manifests.custom_resources.map(|custom| format!("pods of {custom}"));
        let of_others = custom.or_else(|| {
            let is_system = namespace == "kube-system";
            is_system.then(|| "pods that the cluster itself runs in kube-system".to_owned())
        });
        // What looks like a mistake of typing is one all the same.
        if let Some(pods) = of_others.filter(|_| !nearest.is_typo()) {
            let message = format!("{message}; not checked: whether it matches {pods}");
            return Some(SelectorFault::new(Reason::SelectorNotChecked, message));
        }
        let fault = SelectorFault::new(Reason::SelectorMatchesNoTemplate, message);
        if nearest.may_come_at_run_time(manifests.selectors_of(nearest.candidate)) {
            return Some(SelectorFault { severity: Severity::Info, ..fault });
        }
        Some(fault)
    }

    /// The fault of a selector that matches a workload of another namespace.
    fn of_other(&self, own: &Text, selector: &Labels, comparisons: &mut Comparisons) -> Option<SelectorFault> {
        let here = &self.all.get(own)?.places;
        let mut places = self.index.places(selector, 0..here.start);
        places.extend(self.index.places(selector, here.end..self.index.len()));
        comparisons.take(places.len())?;
        let mut candidates = places.into_iter().map(|place| self.index.at(place));
        let candidate = candidates.find(|c| !c.is_recorded() && c.is_selected_by(selector))?;
        let namespace = candidate.namespace();
        let message = format!(
            "the selector matches {} of namespace {namespace}; a Service selects pods of its own namespace",
            candidate.name()
        );
        let fault = SelectorFault::new(Reason::OtherNamespace, message);
        // An object without a namespace may be applied to the right one; and pods that have a Service of their own are
        // probably not those that are meant.
        let is_known = [own, namespace].iter().all(|n| n.as_str() != self.assumed);
        let is_served = || self.all.get(namespace).is_some_and(|m| m.selectors_of(candidate).next().is_some());
        let is_meant = is_known && !is_served();
        Some(if is_meant { SelectorFault { severity: Severity::Warning, ..fault } } else { fault })
    }
}

fn nothing_matches(nearest: &NearMiss<'_>) -> String {
    format!("the selector matches no workload and no pod; nearest: {}", nearest.text())
}

/// The finding that what cannot be read may have the pods: even what looks like a mistake of typing may be right.
fn not_checked(nearest: &NearMiss<'_>, unread: &str) -> SelectorFault {
    let message =
        format!("{}; not checked: whether it matches pods of {unread}, which cannot be read", nothing_matches(nearest));
    SelectorFault::new(Reason::SelectorNotChecked, message)
}
