//! What an API server would refuse of each object, beside what the rules and the decoder find.

use crate::{
    admission::Rule,
    cli::review::{
        file_finding::{FileFinding, FileObject, FindingCode, FindingEffect},
        reviewed_input::ReviewedInput,
        reviewed_object::ReviewedObject,
    },
    engine::reason::{Reason, Severity},
    lint::validation,
};

/// Adds the findings of the validation to every object.
pub(super) fn add(input: &mut ReviewedInput<'_>) {
    for object in &mut input.objects {
        object.rule_findings.iter_mut().for_each(FileFinding::set_not_applied);
        drop_pod_rules(object);
        add_to(object);
        object.input_findings.iter_mut().for_each(refuse);
    }
}

fn add_to(object: &mut ReviewedObject<'_>) {
    let at = FileObject::of(object.file, &object.document, &object.key);
    let found: Vec<FileFinding<'_>> =
        validation::check(&object.document.raw, &object.key).iter().map(|f| FileFinding::of_input(at, f)).collect();
    let has_ports = found.iter().any(|f| f.code == FindingCode::Reason(Reason::InvalidPort));
    // A selector that is missing selects nothing.
    let lacks =
        |field: &str| found.iter().any(|f| f.code == FindingCode::Reason(Reason::MissingField) && f.field == field);
    object.input_findings.retain(|f| f.code != FindingCode::Reason(Reason::PodsRefused) || !lacks(&f.field));
    // The decoder knows of a port of a workload only that there is one.
    object.input_findings.retain(|f| {
        !(has_ports && f.code == FindingCode::Reason(Reason::InvalidPort) && f.field.ends_with(".containers"))
    });
    for finding in found {
        // What cannot be decoded has another type than in the schema.
        if !object.input_findings.iter().any(|f| f.field == finding.field) {
            object.input_findings.push(finding);
        }
    }
}

/// The names and ports of objects of a cluster may date from another release: they are warnings. An API server refuses
/// to create them.
fn refuse(finding: &mut FileFinding<'_>) {
    if [Reason::InvalidName, Reason::InvalidPort].map(FindingCode::Reason).contains(&finding.code) {
        finding.severity = Severity::Error;
        finding.effect = FindingEffect::Invalid;
    }
}

/// Of manifests, the pods are known only from workloads: what the selector misses is found there.
fn drop_pod_rules(object: &mut ReviewedObject<'_>) {
    let of_pods = |f: &FileFinding<'_>| f.code == FindingCode::Rule(Rule::SelectorMatchesNothing);
    if object.rule_findings.iter().any(of_pods) && !object.is_recorded() {
        object.rule_findings.retain(|f| !of_pods(f));
    }
}
