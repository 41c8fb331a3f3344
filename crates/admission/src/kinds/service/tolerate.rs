//! The tolerate-unready annotation, with its meaning up to 1.23.

use roster_engine::model::{Service, names};

use crate::patch::set;
use crate::{
    Rule,
    fault::Fault,
    findings::{Correction, RuleFindings},
    kinds::object_check::Subject,
};

/// [`Rule::TolerateUnready`] and [`Rule::TolerateUnreadyValue`]. The annotation replaces `publishNotReadyAddresses`, in
/// both directions.
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    const ANNOTATION: &str = names::TOLERATE_UNREADY;
    let service = subject.object;
    let Some(text) = service.meta.annotations.get(ANNOTATION) else { return };
    let Some(publish) = service.tolerates_unready() else {
        findings.add(
            Rule::TolerateUnreadyValue,
            Fault::Text(text),
            format_args!("metadata.annotations[{ANNOTATION}]"),
            format_args!("{text:?} is not a Go boolean"),
        );
        return;
    };
    if publish != service.publish_not_ready {
        let correction = Correction {
            field: format_args!("spec.publishNotReadyAddresses"),
            message: format_args!("is {}, but the annotation says {publish}", !publish),
            change: format_args!("set to {publish}"),
            patch: || set(subject.raw, &["spec", "publishNotReadyAddresses"], publish),
        };
        findings.correct(Rule::TolerateUnready, correction);
    }
}
