//! The label that marks the Endpoints of a headless Service.

use roster_engine::model::{json::pointer::pointer, names};

use super::checked_endpoints::CheckedEndpoints;
use crate::patch::{PatchOp, set};
use crate::{
    KnownClusterIp, Rule, Unknown,
    findings::{Correction, RuleFindings},
    kinds::object_check::Subject,
};

/// Mirrored slices inherit the label, and kube-proxy ignores slices that have it.
pub(super) fn check<A>(subject: &Subject<'_, CheckedEndpoints<A>>, findings: &mut RuleFindings<'_>) {
    let service = match subject.cluster.service(subject.namespace, subject.name) {
        // A Service from a file may not have a cluster IP yet: whether it is headless is not known.
        Ok(Some(service)) if !service.is_external_name && service.cluster_ip != KnownClusterIp::Missing => service,
        Ok(_) => return,
        Err(Unknown(why)) => return findings.unchecked(Rule::HeadlessLabel, why),
    };
    let path = ["metadata", "labels", names::HEADLESS];
    let field = format_args!("metadata.labels[{}]", names::HEADLESS);
    let present = subject.object.metadata.labels.contains_key(names::HEADLESS);
    match (service.cluster_ip == KnownClusterIp::Headless, present) {
        (true, false) => {
            let message = format_args!("is missing, but the Service is headless");
            let patch = || set(subject.raw, &path, "");
            let correction = Correction { field, message, change: format_args!("added"), patch };
            findings.correct(Rule::HeadlessLabel, correction);
        }
        (false, true) => {
            let message = format_args!("is set, but the Service is not headless");
            let patch = || vec![PatchOp::remove(pointer(&path))];
            let correction = Correction { field, message, change: format_args!("removed"), patch };
            findings.correct(Rule::HeadlessLabel, correction);
        }
        _ => {}
    }
}
