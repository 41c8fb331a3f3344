//! Labels of controllers, set by a user.

use crate::{
    admission::{
        Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::{Service, names},
};

/// The labels, and what comes of each. Its value does not matter: controllers look for the key.
const RESERVED: [(&str, &str); 4] = [
    (names::HEADLESS, "kube-proxy ignores a Service with this label"),
    (names::SERVICE_NAME, "the label names the Service of a slice"),
    (names::SLICE_MANAGED_BY, "the label names the writer of a slice"),
    (names::ENDPOINTS_MANAGED_BY, "the label makes the Endpoints controller write for ever"),
];

pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    for (label, why) in RESERVED {
        if subject.object.meta.labels.contains_key(label) {
            findings.add(
                Rule::ReservedLabel,
                About::Text(label),
                format_args!("metadata.labels[{label}]"),
                format_args!("{why}"),
            );
        }
    }
}
