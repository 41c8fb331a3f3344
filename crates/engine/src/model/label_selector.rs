//! A label selector in the form of `metav1.LabelSelector`, and the conditions that it shares with node affinities.

use serde::{Deserialize, Deserializer};

use super::{Labels, Text, wire::nullable};

/// A selection of objects by their labels. The empty selector selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have these values.
    #[serde(deserialize_with = "nullable")]
    pub match_labels: Labels,
    /// Conditions; all must hold.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// A condition on one label: `{key, operator, values}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LabelRequirement {
    /// The label.
    #[serde(deserialize_with = "nullable")]
    pub key: Text,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`; for nodes, also `Gt` and `Lt`.
    #[serde(deserialize_with = "nullable")]
    pub operator: Text,
    /// Values to compare with, sorted: there may be thousands, and thousands of objects.
    #[serde(deserialize_with = "sorted")]
    values: Vec<Text>,
}

fn sorted<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Text>, D::Error> {
    let mut values: Vec<Text> = nullable(d)?;
    values.sort_unstable();
    Ok(values)
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

    /// The labels of which it asks for one value: whatever it selects has them.
    pub fn single_values(&self) -> Labels {
        let single = |r: &LabelRequirement| match r.values.as_slice() {
            [value] if r.operator == "In" => Some((r.key.clone(), value.clone())),
            _ => None,
        };
        let mut labels = self.match_labels.clone();
        self.match_expressions.iter().filter_map(single).for_each(|(key, value)| labels.insert(key, value));
        labels
    }

    /// Whether it selects an object with these labels.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.match_labels.selects(labels)
            && self.match_expressions.iter().all(|r| r.holds(labels.get(&r.key).map(Text::as_str)))
    }

    /// Whether it selects an object whose labels `label` looks up.
    pub fn selects_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.match_labels.iter().all(|(k, v)| label(k) == Some(v))
            && self.match_expressions.iter().all(|r| r.holds(label(&r.key)))
    }

    /// Whether all conditions on one label hold for its value, whatever the other labels are.
    pub fn admits(&self, key: &str, value: &str) -> bool {
        self.match_labels.get(key).is_none_or(|wanted| wanted == value)
            && self.match_expressions.iter().filter(|r| r.key == key).all(|r| r.holds(Some(value)))
    }

    /// The keys of all labels in the selector.
    pub fn keys(&self) -> impl Iterator<Item = &Text> {
        self.match_labels.iter().map(|(k, _)| k).chain(self.match_expressions.iter().map(|r| &r.key))
    }
}

impl LabelRequirement {
    /// How many values a label is compared with.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Whether it holds for a label with this value; `None` if the label is missing. An operator that does not exist
    /// holds for nothing: an API server refuses it.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let is_listed = || value.is_some_and(|v| self.values.binary_search_by(|listed| listed.as_str().cmp(v)).is_ok());
        match self.operator.as_str() {
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => self.compares(value, |label, limit| label > limit),
            "Lt" => self.compares(value, |label, limit| label < limit),
            _ => false,
        }
    }

    /// Compares two numbers. A label that is not a number is on no side of any limit.
    fn compares(&self, value: Option<&str>, is: impl FnOnce(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        match (value.and_then(number), self.values.as_slice()) {
            (Some(label), [limit]) => number(limit).is_some_and(|limit| is(label, limit)),
            _ => false,
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
            (r#"{"matchExpressions":[{"key":"a","operator":"Gt","values":["0"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"a","operator":"Lt","values":["0"]}]}"#, false),
            (r#"{"matchExpressions":[{"key":"b","operator":"Lt","values":["1"]}]}"#, false),
            (r#"{"matchExpressions":[{"key":"a","operator":"in","values":["1"]}]}"#, false),
        ] {
            let selector: LabelSelector = serde_json::from_str(selector).unwrap();
            let by_lookup = selector.selects_by(|k| labels.get(k).map(Text::as_str));
            assert_eq!((selector.selects(&labels), by_lookup), (want, want), "{selector:?}");
        }
    }
}
