//! A selector that matches no workload and no pod of its namespace, and what was probably meant.

use std::{collections::BTreeMap, ops::Range};

use roster_engine::{
    model::Text,
    reason::{Reason, Severity},
};

use super::{
    candidate_index::{CandidateIndex, CandidatePlaces},
    comparisons::{Comparisons, NotCompared},
    manifests::Manifests,
    matching::Candidate,
    near_miss::{NearMiss, NearbyCandidates},
    selection::SelectorSearch,
    unread_index::UnreadMatch,
};
use crate::units::Units;

/// What the selector of pods that matches nothing matches.
const PODS: &str = "no workload and no pod";

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

/// The finding that what cannot be read may have the pods: even what looks like a typo may be right.
pub(super) fn not_checked(message: &str, unread: &str) -> SelectorFault {
    let message = format!("{message}; not checked: whether it matches pods of {unread}, which cannot be read");
    SelectorFault::new(Reason::SelectorNotChecked, message)
}

/// The namespaces, and all that is in them.
pub(super) struct Namespaces<'n, 'a> {
    pub(super) all: &'n BTreeMap<&'a Text, Manifests<'a>>,
    pub(super) index: &'n CandidateIndex<'a>,
    pub(super) units: &'n Units,
    /// The documents that a kustomization changes before they are applied: how they fit together is not known.
    pub(super) unrendered: &'n [bool],
    /// The documents that are data of a test: what they refer to may be made by it.
    pub(super) in_tests: &'n [bool],
    /// The namespace of objects that do not name one: these may be applied anywhere.
    pub(super) assumed: &'a str,
}

impl<'a> Namespaces<'_, 'a> {
    /// Whether something is concluded of how a document fits with others.
    pub(super) fn is_judged(&self, document: usize) -> bool {
        !self.unrendered.get(document).copied().unwrap_or_default()
    }

    /// What is wrong with a selector that selects nothing in `namespace`; `None` if nothing is known of it.
    pub(super) fn unmatched(
        &self,
        namespace: &Text,
        search: &SelectorSearch<'_, 'a>,
        nearby: &NearbyCandidates<'a>,
    ) -> Result<Option<SelectorFault>, NotCompared> {
        let SelectorSearch { selector, document, manifests, comparisons, .. } = *search;
        let nearest = nearby.nearest(selector, comparisons)?;
        if self.is_made_by_test(document, |file| manifests.has_candidate(file)) {
            return Ok(None);
        }
        match manifests.unread.selected_by(selector, Some(document)) {
            Some(UnreadMatch::Known(_) | UnreadMatch::Unrendered) => return Ok(None),
            Some(UnreadMatch::Possible(unread)) => {
                return Ok(nearest.map(|nearest| not_checked(&nothing_matches(PODS, &nearest), &unread)));
            }
            None => {}
        }
        if nearest.as_ref().is_none_or(|n| !n.is_typo())
            && let Some(fault) = self.of_other(namespace, search)?
        {
            return Ok(Some(fault));
        }
        Ok(nearest.map(|nearest| of_nearest(namespace, manifests, &nearest, comparisons)))
    }

    /// Whether a document is data of a test.
    pub(super) fn is_in_test(&self, document: usize) -> bool {
        self.in_tests.get(document).copied().unwrap_or_default()
    }

    /// Whether a document is that of a test which may make what it refers to: its own file has none. `has` says whether some
    /// documents have one.
    pub(super) fn is_made_by_test(&self, document: usize, has: impl FnOnce(&Range<usize>) -> bool) -> bool {
        self.is_in_test(document) && !has(&self.units.file(document))
    }

    /// The fault of a selector that matches a workload of another namespace.
    fn of_other(&self, own: &Text, search: &SelectorSearch<'_, 'a>) -> Result<Option<SelectorFault>, NotCompared> {
        let SelectorSearch { kind, selector, comparisons, .. } = *search;
        let Some(Manifests { places: here, .. }) = self.all.get(own) else { return Ok(None) };
        let places = [0..here.start, here.end..self.index.len()].map(|range| self.index.places(selector, range));
        comparisons.take_selector(selector, places.iter().map(CandidatePlaces::len).sum())?;
        let mut candidates = places.into_iter().flat_map(CandidatePlaces::in_order).map(|place| self.index.at(place));
        let is_meant = |c: &Candidate<'_>| !c.is_recorded() && !c.is_hook() && c.is_known_to_be_selected_by(selector);
        let Some(candidate) = candidates.find(is_meant) else { return Ok(None) };
        let namespace = candidate.namespace();
        let message = format!(
            "the selector matches {} of namespace {namespace}; a {kind} selects pods of its own namespace",
            candidate.name()
        );
        let fault = SelectorFault::new(Reason::OtherNamespace, message);
        // An object without a namespace may be applied to the right one.
        let is_known = [own, namespace].iter().all(|n| n.as_str() != self.assumed);
        Ok(Some(if is_known { fault } else { SelectorFault { severity: Severity::Info, ..fault } }))
    }
}

/// The fault of a selector that only a custom resource may match, if it looks like a typo.
pub(super) fn typo<'a>(
    namespace: &Text,
    search: &SelectorSearch<'_, 'a>,
    nearby: &NearbyCandidates<'a>,
) -> Result<Option<SelectorFault>, NotCompared> {
    let SelectorSearch { selector, document, manifests, comparisons, .. } = *search;
    let nearest = nearby.nearest_that_differs(selector, comparisons)?.filter(NearMiss::is_typo);
    let Some(nearest) = nearest.filter(|_| manifests.unread.selected_by(selector, Some(document)).is_none()) else {
        return Ok(None);
    };
    Ok(Some(of_nearest(namespace, manifests, &nearest, comparisons)))
}

/// The fault of a selector that matches nothing of its namespace, but almost `nearest`.
fn of_nearest(
    namespace: &Text,
    manifests: &Manifests<'_>,
    nearest: &NearMiss<'_>,
    comparisons: &Comparisons,
) -> SelectorFault {
    let message = nothing_matches(PODS, nearest);
    let custom = manifests.custom_resources.map(|custom| format!("pods of {custom}"));
    let of_others = custom.or_else(|| {
        let is_system = namespace == "kube-system";
        is_system.then(|| "pods that the cluster itself runs in kube-system".to_owned())
    });
    // What looks like a typo is one all the same.
    if let Some(pods) = of_others.filter(|_| !nearest.is_typo()) {
        let message = format!("{message}; not checked: whether it matches {pods}");
        return SelectorFault::new(Reason::SelectorNotChecked, message);
    }
    let fault = SelectorFault::new(Reason::SelectorMatchesNoTemplate, message);
    // The pods of a selector that nothing is like are probably made by something else.
    if !nearest.is_alike() {
        return SelectorFault { severity: Severity::Info, ..fault };
    }
    let selectors = manifests.selectors_of(nearest.candidate, comparisons).map_while(Result::ok);
    let selectors = selectors.take_while(|selector| comparisons.take(selector.len()).is_ok());
    if nearest.may_come_at_run_time(selectors) {
        return SelectorFault { severity: Severity::Info, ..fault };
    }
    fault
}

/// The message about a selector that matches nothing of some kinds.
pub(super) fn nothing_matches(kinds: &str, nearest: &NearMiss<'_>) -> String {
    let matches = format!("the selector matches {kinds}");
    if nearest.is_alike() { format!("{matches}; nearest: {}", nearest.text()) } else { matches }
}
