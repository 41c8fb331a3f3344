//! Selectors of labels, as workloads and node affinities write them.

use serde::Deserialize;

use crate::model::{Labels, Text, wire::nullable};

/// One condition for a label: `{key, operator, values}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// The label.
    #[serde(deserialize_with = "nullable")]
    pub key: Text,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, and of nodes `Gt` and `Lt`.
    #[serde(deserialize_with = "nullable")]
    pub operator: Text,
    /// What the operator compares with.
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<Text>,
}

impl Requirement {
    /// Whether a label with this value holds it; `None` if the label is missing. An operator that does not exist holds
    /// for nothing: an API server refuses it.
    pub fn holds(&self, value: Option<&Text>) -> bool {
        match self.operator.as_str() {
            "In" => value.is_some_and(|v| self.values.contains(v)),
            "NotIn" => value.is_none_or(|v| !self.values.contains(v)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => self.compares(value, |label, limit| label > limit),
            "Lt" => self.compares(value, |label, limit| label < limit),
            _ => false,
        }
    }

    /// Compares two numbers. A label that is not a number is on no side of any limit.
    fn compares(&self, value: Option<&Text>, is: impl FnOnce(i64, i64) -> bool) -> bool {
        let number = |text: &Text| text.parse::<i64>().ok();
        match (value.and_then(number), self.values.as_slice()) {
            (Some(label), [limit]) => number(limit).is_some_and(|limit| is(label, limit)),
            _ => false,
        }
    }
}

/// `metav1.LabelSelector`: the pods that a workload counts as its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be equal.
    #[serde(deserialize_with = "nullable")]
    pub match_labels: Labels,
    /// Further conditions.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Requirement>,
}

impl LabelSelector {
    /// A selector of equal labels alone.
    pub fn of(match_labels: Labels) -> Self {
        Self { match_labels, match_expressions: Vec::new() }
    }

    /// Whether it has no condition.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether it selects an object with these labels.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.match_labels.selects(labels) && self.match_expressions.iter().all(|r| r.holds(labels.get(&r.key)))
    }
}
