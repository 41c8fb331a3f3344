//! Checks of a slice against its Service and the other slices of that Service.

use roster_engine::model::{Text, names};

use super::checked_slice::CheckedSlice;
use crate::{
    ListedSlice, OtherSlices, Rule, Unknown, fault::Fault, findings::RuleFindings, kinds::object_check::Subject,
};

/// The label of the slices of a multi-cluster Service (KEP-1645), which kube-proxy must not use.
const MULTICLUSTER: &str = "multicluster.kubernetes.io/service-name";

/// [`Rule::SliceLabels`] and [`Rule::SliceService`].
pub(super) fn check(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let labels = &subject.object.metadata.labels;
    let field = format_args!("metadata.labels[{}]", names::SERVICE_NAME);
    let Some(name) = subject.object.service_name() else {
        if !labels.contains_key(MULTICLUSTER) {
            let message = format_args!("is missing, so no consumer uses the slice");
            findings.add(Rule::SliceLabels, Fault::Text(""), field, message);
        }
        return;
    };
    match subject.cluster.service(subject.namespace, name) {
        Ok(Some(_)) => {}
        Ok(None) => {
            let message = format_args!("Service {name:?} does not exist in namespace {}", subject.namespace);
            findings.add(Rule::SliceService, Fault::Text(name), field, message);
        }
        Err(Unknown(why)) => findings.unchecked(Rule::SliceService, why),
    }
}

/// [`Rule::DuplicateEndpoint`], in this slice or in another one of the Service.
pub(super) fn check_duplicates(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let repeated = repeated(subject.object);
    let others = match subject.object.service_name() {
        Some(service) => other_slices(subject, service),
        None => Ok(OtherSlices::default()),
    };
    let names = others.as_ref().map(|others| others.names.as_slice()).unwrap_or_default();
    for (i, listed) in subject.object.addresses().enumerate() {
        let (text, field) = (listed.address.text(), listed.field);
        let (field, fault) = (format_args!("{field}"), listed.fault());
        if repeated[i] {
            findings.add(Rule::DuplicateEndpoint, fault, field, format_args!("{text} is listed twice"));
        } else if let Some(Some(other)) = names.get(i) {
            findings.add(Rule::DuplicateEndpoint, fault, field, format_args!("{text} is also in slice {other}"));
        }
    }
    match others {
        Err(Unknown(why)) if repeated.contains(&false) => findings.unchecked(Rule::DuplicateEndpoint, why),
        Ok(OtherSlices { is_cut: true, .. }) => findings.over_budget(
            Rule::DuplicateEndpoint,
            "too many other slices of the Service list the same addresses, or have too many ports",
        ),
        _ => {}
    }
}

fn other_slices(subject: &Subject<'_, CheckedSlice>, service: &str) -> Result<OtherSlices, Unknown> {
    let mut ports: Vec<Text> = subject.object.ports.iter().map(|port| port.name.clone()).collect();
    ports.sort_unstable();
    ports.dedup();
    let addresses: Vec<&str> = subject.object.addresses().map(|listed| listed.address.text()).collect();
    let slice =
        ListedSlice { namespace: subject.namespace, service, name: subject.name, ports: &ports, addresses: &addresses };
    subject.cluster.other_slices(&slice)
}

/// For each address, whether an earlier one is the same.
fn repeated(slice: &CheckedSlice) -> Vec<bool> {
    let mut order: Vec<_> = slice.addresses().enumerate().map(|(i, listed)| (listed.address.key(), i)).collect();
    order.sort_unstable();
    let mut repeated = vec![false; order.len()];
    for pair in order.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        repeated[pair[1].1] = true;
    }
    repeated
}
