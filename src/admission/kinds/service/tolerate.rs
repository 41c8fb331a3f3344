//! The tolerate-unready annotation, read as it was read up to 1.23.

use crate::{
    admission::{
        Rule,
        findings::{About, Findings},
        kinds::Subject,
        patch,
    },
    model::{Service, names},
};

/// The annotation replaces `publishNotReadyAddresses`, in both directions.
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    const ANNOTATION: &str = names::TOLERATE_UNREADY;
    let service = subject.object;
    let Some(text) = service.meta.annotations.get(ANNOTATION) else { return };
    let Some(publish) = service.tolerates_unready() else {
        findings.add(
            Rule::TolerateUnreadyValue,
            About::Text(text),
            format_args!("metadata.annotations[{ANNOTATION}]"),
            format_args!("{text:?} is no Go boolean"),
        );
        return;
    };
    if publish != service.publish_not_ready {
        findings.add_mended(
            Rule::TolerateUnready,
            format_args!("spec.publishNotReadyAddresses"),
            format_args!("is {}; an annotation of 1.23 says {publish}", !publish),
            || patch::set(subject.raw, &["spec", "publishNotReadyAddresses"], publish),
        );
    }
}
