//! What an API server would refuse of each object, beside what the rules and the decoder find.

use std::collections::{BTreeMap, BTreeSet};

use roster_admission::Rule;
use roster_engine::{
    model::Text,
    reason::{Finding, Reason, Severity},
};
use roster_manifests::decode::{DecodeError, Source};
use roster_validation as validation;
use roster_validation::Validation;

use crate::{
    file_finding::{FileFinding, FileObject, FindingCode, FindingEffect},
    finding_room::FindingRoom,
    repeated_claims,
    report::Report,
    reviewed_object::ReviewedObject,
};

/// Adds the findings of the validation to every object.
pub(crate) fn add(report: &mut Report<'_>, source: &Source<'_>) -> Result<(), DecodeError> {
    let mut room = FindingRoom::new(report.max_findings);
    let recorded_pods = recorded_pods(report);
    for object in &mut report.objects {
        source.check_interrupt()?;
        object.rule_findings.iter_mut().for_each(FileFinding::set_not_applied);
        drop_pod_rules(object, &recorded_pods);
        object.input_findings.iter_mut().for_each(refuse);
        if object.unlisted == Some(Severity::Error) {
            continue;
        }
        if object.is_mixture() {
            drop_findings_of_mixture(object);
        } else {
            add_to(object);
        }
        if object.is_listed {
            object.drop_findings_before_kustomize();
        }
        // All of them: the first objects keep theirs.
        object.keep_within(&mut room, (0, 0));
    }
    repeated_claims::add(&mut report.objects, source.defaults.namespace().unwrap_or_default(), &mut room);
    source.check_interrupt()
}

/// What does not fit the mixture of two objects is of no use, until they are apart.
fn drop_findings_of_mixture(object: &mut ReviewedObject<'_>) {
    let of_keys = [Reason::MissingSeparator, Reason::DuplicateKey].map(FindingCode::Reason);
    object.input_findings.retain(|f| of_keys.contains(&f.code));
    object.rule_findings.clear();
}

fn add_to(object: &mut ReviewedObject<'_>) {
    let at = FileObject::of(object.file, &object.document, &object.key);
    let Validation { mut findings, more, has_schema } = validation::check(&object.document.raw, &object.key);
    if object.is_recorded() {
        // The cluster may be of a release that has the version.
        findings.retain(|f| f.code != Reason::UnknownKind);
    }
    if object.is_test {
        findings.retain(|f| !is_of_owner(f));
    }
    object.has_schema = has_schema;
    let mut found = FileFinding::of_input(at, &findings);
    found.iter_mut().for_each(refuse);
    let has_ports = found.iter().any(|f| f.code == FindingCode::Reason(Reason::InvalidPort));
    // A selector that is missing selects nothing.
    let lacking = found.iter().filter(|f| f.code == FindingCode::Reason(Reason::MissingField));
    let lacking: BTreeSet<&str> = lacking.map(|f| f.field.as_str()).collect();
    let lacks = |field: &str| lacking.iter().any(|lacking| field.starts_with(*lacking) || lacking.starts_with(field));
    let lacks_port = lacking.iter().any(|field| field.ends_with(".containerPort"));
    object.input_findings.retain(|f| f.code != FindingCode::Reason(Reason::PodsRefused) || !lacks(&f.field));
    // The decoder knows of a port of a workload only that there is one.
    object.input_findings.retain(|f| {
        !((has_ports || lacks_port)
            && f.code == FindingCode::Reason(Reason::InvalidPort)
            && f.field.ends_with(".containers"))
    });
    // What cannot be decoded, or only as another value, is reported in the words of the schema.
    let of_decoder = [Reason::InvalidObject, Reason::InvalidPort, Reason::InvalidName].map(FindingCode::Reason);
    let is_counted = |f: &FileFinding<'_>| more.iter().any(|of_code| f.code == FindingCode::Reason(of_code.code));
    let mut worst: BTreeMap<String, Severity> = BTreeMap::new();
    for finding in &found {
        let severity = worst.entry(finding.field.clone()).or_insert(finding.severity);
        *severity = finding.severity.max(*severity);
    }
    // Of a kind that is not decoded, only the metadata is read.
    let is_read_as_other =
        found.iter().any(|f| f.code == FindingCode::Reason(Reason::WrongType) && f.field.starts_with("metadata"));
    object.input_findings.retain(|f| {
        let is_repeated =
            if f.field.is_empty() { is_read_as_other } else { is_counted(f) || worst.contains_key(&f.field) };
        !of_decoder.contains(&f.code) || !is_repeated
    });
    // An error says more than a warning about its field.
    object.input_findings.retain(|f| worst.get(&f.field).is_none_or(|worst| f.severity >= *worst));
    let mut fields: BTreeSet<String> = object.input_findings.iter().map(|f| f.field.clone()).collect();
    found.retain(|finding| fields.insert(finding.field.clone()));
    object.input_findings.append(&mut found);
    object.input_findings.extend(FileFinding::of_input(at, &more));
    drop_repeated_rules(object);
}

/// Whether an owner lacks a field. Controllers write owners, and a cluster gives them their uid: what a test compares with leaves
/// out what changes from run to run.
fn is_of_owner(finding: &Finding) -> bool {
    finding.code == Reason::MissingField && finding.at().starts_with("/metadata/ownerReferences/")
}

/// Of a rule and a reason with one cause, one is enough.
fn drop_repeated_rules(object: &mut ReviewedObject<'_>) {
    let ReviewedObject { input_findings, rule_findings, .. } = object;
    for (rule, reason) in [
        (Rule::TrafficDistribution, Reason::InvalidValue),
        (Rule::SpecialAddress, Reason::InvalidValue),
        (Rule::Provenance, Reason::InvalidValue),
        (Rule::TargetPortMissing, Reason::NamedPortMissing),
    ] {
        let of_reason = input_findings.iter().filter(|f| f.code == FindingCode::Reason(reason));
        let fields: BTreeSet<&str> = of_reason.map(|f| f.field.as_str()).collect();
        rule_findings.retain(|f| f.code != FindingCode::Rule(rule) || !fields.contains(f.field.as_str()));
    }
    // The rule names the field.
    let names_service = |f: &FileFinding<'_>| f.code == FindingCode::Rule(Rule::SliceService);
    if rule_findings.iter().any(|f| names_service(f) && f.severity > Severity::Info) {
        input_findings.retain(|f| f.code != FindingCode::Reason(Reason::EndpointsOrphaned));
    }
}

/// Names and ports that an API server refuses are errors in manifests.
fn refuse(finding: &mut FileFinding<'_>) {
    if finding.is_of_refused_value() {
        finding.severity = Severity::Error;
        finding.effect = FindingEffect::Invalid;
    }
}

/// Of manifests, the pods are known only from workloads: what the selector misses is found there. Of a recording, those of a
/// namespace are known if its unit has one of them.
fn drop_pod_rules(object: &mut ReviewedObject<'_>, recorded_pods: &BTreeSet<(usize, Text)>) {
    let of_pods = |f: &FileFinding<'_>| match f.code {
        FindingCode::Rule(Rule::SelectorMatchesNothing) => true,
        // What a policy of the input asks for is kept.
        FindingCode::Rule(Rule::Provenance) => f.policy.is_none() && f.effect == FindingEffect::Warned,
        FindingCode::Rule(_) | FindingCode::Reason(_) | FindingCode::Lint(_) => false,
    };
    let is_known = |object: &ReviewedObject<'_>| {
        object.is_recorded() && recorded_pods.contains(&(object.unit, object.key.namespace.clone()))
    };
    if object.rule_findings.iter().any(of_pods) && !is_known(object) {
        object.rule_findings.retain(|f| !of_pods(f));
    }
}

/// The units and namespaces of pods that come from a cluster.
fn recorded_pods(report: &Report<'_>) -> BTreeSet<(usize, Text)> {
    let pods = report.objects.iter().filter(|object| object.key.kind == "Pod" && object.is_recorded());
    pods.map(|pod| (pod.unit, pod.key.namespace.clone())).collect()
}
