//! The affinity of a pod to nodes and to other pods.

use crate::lint::validation::{
    faults::{Faults, quoted},
    field::{Field, Presence, Rule},
    values::not_label_value,
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT: Rule = Rule::Range(1, 100);

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
        Rule::QualifiedName.check(&expression.key("key"), Presence::Required, faults);
        let values = expression.key("values");
        let operator = expression.key("operator");
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => values.require("the operator needs values", faults),
            "Exists" | "DoesNotExist" if !values.is_empty() => values.refuse("the operator takes no values", faults),
            "Gt" | "Lt" if values.len() != 1 => values.refuse("the operator takes one value", faults),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => operator.refuse(format!("{} is not an operator of node selectors", quoted(other)), faults),
        }
        for value in values.items().filter(|_| is_required) {
            if let Some(why) = not_label_value(value.text()) {
                value.refuse(format!("{} is not the value of a label: {why}", quoted(value.text())), faults);
            }
        }
    }
    for field in term.key("matchFields").items() {
        Rule::OneOf(&["metadata.name"]).check(&field.key("key"), Presence::Required, faults);
        Rule::OneOf(&["In", "NotIn"]).check(&field.key("operator"), Presence::Required, faults);
        let values = field.key("values");
        if values.len() != 1 {
            values.refuse("a field takes one value", faults);
        }
        for value in values.items() {
            Rule::Subdomain.check(&value, Presence::Required, faults);
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
    Rule::QualifiedName.check(&term.key("topologyKey"), Presence::Required, faults);
    for namespace in term.key("namespaces").items() {
        Rule::Label.check(&namespace, Presence::Required, faults);
    }
}
