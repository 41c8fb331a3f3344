//! Labels, annotations and label selectors, wherever an object has them.

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, Presence},
    values::{not_label_value, not_qualified},
};

/// Most bytes of the keys and values of all annotations of an object.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

/// Checks labels, or the labels that a selector names.
pub(super) fn check_labels(labels: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for (key, value) in labels.entries() {
        if let Some(why) = not_qualified(key) {
            value.refuse(format!("{} is not the key of a label: {why}", quoted(key)), faults);
        }
        check_value(&value, faults);
    }
}

/// Checks annotations. Their keys may have capital letters in the prefix.
pub(super) fn check_annotations(annotations: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut bytes = 0;
    for (key, value) in annotations.entries() {
        bytes += key.len() + value.text().len();
        if let Some(why) = not_qualified(&key.to_ascii_lowercase()) {
            value.refuse(format!("{} is not the key of an annotation: {why}", quoted(key)), faults);
        }
    }
    if bytes > MOST_ANNOTATION_BYTES {
        annotations.refuse(format!("they have {bytes} bytes; {MOST_ANNOTATION_BYTES} are allowed"), faults);
    }
}

/// Checks a selector with `matchLabels` and `matchExpressions`.
pub(super) fn check_selector(selector: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_labels(&selector.key("matchLabels"), faults);
    for expression in selector.key("matchExpressions").items() {
        check_expression(&expression, false, faults);
        for value in expression.key("values").items() {
            check_value(&value, faults);
        }
    }
}

/// Whether a selector selects these labels.
pub(super) fn selects(selector: &Field<'_, '_>, labels: &Field<'_, '_>) -> bool {
    let equal = selector.key("matchLabels").entries().all(|(key, value)| labels.key(key).as_text() == value.as_text());
    equal
        && selector.key("matchExpressions").items().all(|expression| {
            let found = labels.key(expression.key("key").text()).as_text();
            let is_named = expression.key("values").items().any(|value| value.as_text() == found && found.is_some());
            match expression.key("operator").text() {
                "In" => is_named,
                "NotIn" => !is_named,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

/// Checks the key and the operator of an expression, and the number of its values. Only node selectors compare numbers.
pub(super) fn check_expression(expression: &Field<'_, '_>, compares: bool, faults: &mut Faults<'_>) {
    FieldRule::QualifiedName.check(&expression.key("key"), Presence::Required, faults);
    let (operator, values) = (expression.key("operator"), expression.key("values"));
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => values.require("the operator needs values", faults),
        "Exists" | "DoesNotExist" if !values.is_empty() => values.refuse("the operator takes no values", faults),
        "Gt" | "Lt" if compares && values.len() != 1 => values.refuse("the operator takes one value", faults),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" if compares => {}
        other => operator.refuse(format!("{} is not an operator of this selector", quoted(other)), faults),
    }
}

/// Checks the value of a label.
pub(super) fn check_value(value: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if let Some(why) = not_label_value(value.text()) {
        value.refuse(format!("{} is not the value of a label: {why}", quoted(value.text())), faults);
    }
}
