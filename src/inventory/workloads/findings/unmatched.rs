//! A Service whose selector matches no workload and no pod of its namespace, and what was probably meant.

use std::collections::BTreeMap;

use super::{
    manifests::{Manifests, of_service},
    matching::NearMiss,
};
use crate::{
    engine::reason::{Finding, Reason, Severity},
    model::{Labels, Service, Text},
};

/// The namespaces beside the one of a Service.
pub(super) struct OtherNamespaces<'n, 'a> {
    pub(super) all: &'n BTreeMap<&'a Text, Manifests<'a>>,
    pub(super) own: &'a Text,
    /// The namespace of objects that do not name one: these may be applied anywhere.
    pub(super) assumed: &'a str,
}

/// The finding about a Service that selects nothing in its namespace.
pub(super) fn finding<'a>(
    service: &'a Service,
    manifests: &Manifests<'a>,
    others: &OtherNamespaces<'_, 'a>,
) -> Option<Finding> {
    let selector = service.selector.as_ref()?;
    let nearest = NearMiss::find(selector, manifests.candidates());
    if nearest.as_ref().is_none_or(|n| !n.is_typo())
        && let Some(finding) = others.finding(service, selector)
    {
        return Some(finding);
    }
    let nearest = nearest?;
    let message = format!("the selector matches no workload and no pod; nearest: {}", nearest.text());
    let custom = manifests.custom_resources.map(|custom| format!("pods of {custom}"));
    let of_others = custom.or_else(|| {
        let is_system = service.meta.namespace == "kube-system";
        is_system.then(|| "pods that the cluster itself runs in kube-system".to_owned())
    });
    // What looks like a mistake of typing is one all the same.
    if let Some(pods) = of_others.filter(|_| !nearest.is_typo()) {
        let message = format!("{message}; not checked: whether it matches {pods}");
        return Some(of_service(Reason::SelectorNotChecked, service, "/spec/selector", message));
    }
    let finding = of_service(Reason::SelectorMatchesNoTemplate, service, "/spec/selector", message);
    let siblings = manifests.services.iter().filter(|s| s.meta.name != service.meta.name);
    if nearest.may_come_at_run_time(siblings.filter_map(|s| s.selector.as_ref())) {
        return Some(Finding { severity: Severity::Info, ..finding });
    }
    Some(finding)
}

impl OtherNamespaces<'_, '_> {
    /// A workload of another namespace that the selector matches.
    fn finding(&self, service: &Service, selector: &Labels) -> Option<Finding> {
        let others = self.all.iter().filter(|(namespace, _)| **namespace != self.own);
        let (namespace, manifests, candidate) = others.into_iter().find_map(|(namespace, manifests)| {
            let candidate = manifests.candidates().find(|c| c.is_selected_by(selector))?;
            Some((*namespace, manifests, candidate))
        })?;
        let message = format!(
            "the selector matches {} of namespace {namespace}; a Service selects pods of its own namespace",
            candidate.name()
        );
        let finding = of_service(Reason::OtherNamespace, service, "/spec/selector", message);
        // An object without a namespace may be applied to the right one; and pods that have a Service of their own are
        // probably not those that are meant.
        let is_known = [self.own, namespace].iter().all(|n| n.as_str() != self.assumed);
        let is_served =
            |s: &&Service| s.selector.as_ref().is_some_and(|s| !s.is_empty() && candidate.is_selected_by(s));
        let is_meant = is_known && !manifests.services.iter().copied().any(|s| is_served(&s));
        Some(if is_meant { Finding { severity: Severity::Warning, ..finding } } else { finding })
    }
}
