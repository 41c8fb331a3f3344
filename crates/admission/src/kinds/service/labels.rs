//! Labels of a Service that are reserved for controllers.

use roster_engine::model::{Service, names};

use crate::{Rule, fault::Fault, findings::RuleFindings, kinds::object_check::Subject};

/// The labels and their effects. The value does not matter: controllers look for the key.
const RESERVED: [(&str, &str); 4] = [
    (names::HEADLESS, "kube-proxy ignores a Service with this label"),
    (names::SERVICE_NAME, "the label names the Service of a slice"),
    (names::SLICE_MANAGED_BY, "the label names the writer of a slice"),
    (names::ENDPOINTS_MANAGED_BY, "the Endpoints controller writes Endpoints at every sync"),
];

/// [`Rule::ReservedLabel`].
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    for (label, why) in RESERVED {
        if subject.object.meta.labels.contains_key(label) {
            findings.add(
                Rule::ReservedLabel,
                Fault::Text(label),
                format_args!("metadata.labels[{label}]"),
                format_args!("{why}"),
            );
        }
    }
}
