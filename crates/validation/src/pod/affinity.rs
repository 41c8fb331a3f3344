//! The affinity of a pod to nodes and to other pods.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
    labels::{check_expression, check_selector, check_value},
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT: FieldRule = FieldRule::Range(1, 100);

pub(super) fn check(affinity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_nodes(&affinity.key("nodeAffinity"), faults);
    for of_pods in ["podAffinity", "podAntiAffinity"] {
        check_pods(&affinity.key(of_pods), faults);
    }
}

fn check_nodes(affinity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let required = affinity.key(REQUIRED);
    let terms = required.key("nodeSelectorTerms");
    if required.is_set() && terms.is_empty() {
        terms.require("a node selector needs a term", faults);
    }
    for term in terms.items() {
        check_term(&term, true, faults);
    }
    for preferred in affinity.key(PREFERRED).items() {
        WEIGHT.check(&preferred.key("weight"), Presence::Required, faults);
        check_term(&preferred.key("preference"), false, faults);
    }
}

/// Values of preferred terms are not checked.
fn check_term(term: &Field<'_, '_>, is_required: bool, faults: &mut Faults<'_>) {
    for expression in term.key("matchExpressions").items() {
        check_expression(&expression, true, faults);
        for value in expression.key("values").items().filter(|_| is_required) {
            check_value(&value, faults);
        }
    }
    for field in term.key("matchFields").items() {
        FieldRule::OneOf(&["metadata.name"]).check(&field.key("key"), Presence::Required, faults);
        FieldRule::OneOf(&["In", "NotIn"]).check(&field.key("operator"), Presence::Required, faults);
        let values = field.key("values");
        if values.len() != 1 {
            values.refuse("a field takes one value", faults);
        }
        for value in values.items() {
            FieldRule::Subdomain.check(&value, Presence::Required, faults);
        }
    }
}

fn check_pods(affinity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for term in affinity.key(REQUIRED).items() {
        check_pod_term(&term, faults);
    }
    for preferred in affinity.key(PREFERRED).items() {
        WEIGHT.check(&preferred.key("weight"), Presence::Required, faults);
        check_pod_term(&preferred.key("podAffinityTerm"), faults);
    }
}

fn check_pod_term(term: &Field<'_, '_>, faults: &mut Faults<'_>) {
    FieldRule::QualifiedName.check(&term.key("topologyKey"), Presence::Required, faults);
    for namespace in term.key("namespaces").items() {
        FieldRule::Label.check(&namespace, Presence::Required, faults);
    }
    check_selector(&term.key("namespaceSelector"), faults);
    check_label_keys(term, faults);
}

/// Checks the selector of pods of a term or of a spread constraint, and the keys whose values are those of the pod itself.
pub(super) fn check_label_keys(of: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let selector = of.key("labelSelector");
    check_selector(&selector, faults);
    let (same, other) = (of.key("matchLabelKeys"), of.key("mismatchLabelKeys"));
    for keys in [&same, &other] {
        if !keys.is_empty() && !selector.is_set() {
            keys.refuse("it needs a labelSelector", faults);
        }
        for key in keys.items() {
            FieldRule::QualifiedName.check(&key, Presence::Required, faults);
        }
    }
    let labels = selector.key("matchLabels");
    let expressions = selector.key("matchExpressions");
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    let of_selector = labels.entries().map(|(name, _)| name).chain(expressions.items().map(|e| e.key("key").text()));
    of_selector.for_each(|name| *times.entry(name).or_default() += 1);
    let others: BTreeSet<&str> = other.items().map(|other| other.text()).collect();
    for key in same.items() {
        if times.get(key.text()).is_some_and(|times| *times > 1) {
            key.refuse("the labelSelector has it twice", faults);
        }
        if others.contains(key.text()) {
            key.refuse("it is in mismatchLabelKeys, too", faults);
        }
    }
}

/// Checks the keys of the terms of a Pod with these labels: an API server adds an expression for each label that the Pod
/// has, so that the selector may not have it already.
pub(crate) fn check_own_labels(spec: &Field<'_, '_>, labels: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for constraint in spec.key("topologySpreadConstraints").items() {
        check_own_keys(&constraint, labels, faults);
    }
    let affinity = spec.key("affinity");
    for of_pods in ["podAffinity", "podAntiAffinity"].map(|name| affinity.key(name)) {
        for term in of_pods.key(REQUIRED).items() {
            check_own_keys(&term, labels, faults);
        }
        for preferred in of_pods.key(PREFERRED).items() {
            check_own_keys(&preferred.key("podAffinityTerm"), labels, faults);
        }
    }
}

fn check_own_keys(term: &Field<'_, '_>, labels: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let selector = term.key("labelSelector");
    let (equal, expressions) = (selector.key("matchLabels"), selector.key("matchExpressions"));
    let of_expressions: BTreeSet<&str> = expressions.items().map(|e| e.key("key").text()).collect();
    for key in term.key("matchLabelKeys").items().filter(|key| labels.key(key.text()).is_set()) {
        let name = key.text();
        if equal.key(name).is_set() || of_expressions.contains(name) {
            key.refuse("the labelSelector has it already, and the Pod has this label", faults);
        }
    }
}
