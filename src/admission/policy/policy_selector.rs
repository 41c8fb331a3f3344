//! The label selector of a policy, in the form of `metav1.LabelSelector`.

use serde::Deserialize;

use crate::model::{Labels, Text, wire::nullable};

/// A selection by labels. The empty selector selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySelector {
    /// Labels that must have these values.
    #[serde(deserialize_with = "nullable")]
    pub match_labels: Labels,
    /// Conditions; all must hold.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabelRequirement {
    /// The label.
    pub key: Text,
    /// The condition.
    pub operator: LabelOperator,
    /// Values to compare with.
    #[serde(default, deserialize_with = "nullable")]
    pub values: Vec<Text>,
}

/// The operator of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the names are Kubernetes' own")]
pub enum LabelOperator {
    In,
    /// Holds also if the label is missing.
    NotIn,
    Exists,
    DoesNotExist,
}

impl PolicySelector {
    /// Whether an object is selected; `label` returns the value of one of its labels.
    pub(super) fn selects<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.match_labels.iter().all(|(k, v)| label(k) == Some(v))
            && self.match_expressions.iter().all(|r| r.holds(label(&r.key)))
    }

    /// Whether all conditions on one label hold for its value, whatever the other labels are.
    pub(super) fn admits(&self, key: &str, value: &str) -> bool {
        self.match_labels.get(key).is_none_or(|wanted| wanted == value)
            && self.match_expressions.iter().filter(|r| r.key == key).all(|r| r.holds(Some(value)))
    }

    /// The keys of all labels in the selector.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Text> {
        self.match_labels.iter().map(|(k, _)| k).chain(self.match_expressions.iter().map(|r| &r.key))
    }
}

impl LabelRequirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|v| self.values.iter().any(|w| w == v));
        match self.operator {
            LabelOperator::In => listed,
            LabelOperator::NotIn => !listed,
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_kubernetes_does() {
        let labels: Labels = [("a", "1"), ("b", "")].into_iter().collect();
        for (selector, want) in [
            ("{}", true),
            (r#"{"matchLabels":{"a":"1"}}"#, true),
            (r#"{"matchLabels":{"a":"1","c":"1"}}"#, false),
            (r#"{"matchExpressions":[{"key":"a","operator":"In","values":["2","1"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"c","operator":"NotIn","values":["1"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]}"#, false),
            (r#"{"matchExpressions":[{"key":"b","operator":"Exists"}]}"#, true),
            (r#"{"matchExpressions":[{"key":"b","operator":"DoesNotExist","values":null}]}"#, false),
        ] {
            let selector: PolicySelector = serde_json::from_str(selector).unwrap();
            assert_eq!(selector.selects(|k| labels.get(k).map(Text::as_str)), want, "{selector:?}");
        }
    }
}
