//! A label selector as text, as `kubectl -l` and the query `labelSelector` of an API server take it.

use std::str::FromStr;

use super::{Labels, Text};

/// Most different conditions of a selector.
const MAX_CONDITIONS: usize = 32;

/// What labels must be like: all of its conditions hold. The default has none, and selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelQuery(Vec<LabelCondition>);

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelCondition {
    key: Text,
    test: LabelTest,
}

/// What the value of a label must be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelTest {
    /// One of these, which are sorted.
    In(Vec<Text>),
    /// None of these, which are sorted; a missing label is fine.
    NotIn(Vec<Text>),
    /// Anything.
    Exists,
    /// There must not be such a label.
    Missing,
}

impl LabelQuery {
    /// Whether all conditions hold.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|LabelCondition { key, test }| match (test, labels.get(key)) {
            (LabelTest::In(values), found) => found.is_some_and(|value| values.binary_search(value).is_ok()),
            (LabelTest::NotIn(values), found) => found.is_none_or(|value| values.binary_search(value).is_err()),
            (LabelTest::Exists, found) => found.is_some(),
            (LabelTest::Missing, found) => found.is_none(),
        })
    }

    /// The labels of which one value is wanted: whatever it matches has them.
    pub fn single_values(&self) -> Labels {
        let single = self.0.iter().filter_map(|condition| match &condition.test {
            LabelTest::In(values) if values.len() == 1 => Some((condition.key.clone(), values[0].clone())),
            _ => None,
        });
        single.collect()
    }
}

impl FromStr for LabelQuery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        distinct_conditions(split(text).map(|part| condition(part.trim()))).map(Self)
    }
}

/// Each of the conditions of a selector once. More than `MAX_CONDITIONS` are an error: each is compared with every object.
pub fn distinct_conditions<C: PartialEq>(
    conditions: impl Iterator<Item = Result<C, String>>,
) -> Result<Vec<C>, String> {
    let mut distinct = Vec::new();
    for condition in conditions {
        let condition = condition?;
        if distinct.contains(&condition) {
            continue;
        }
        if distinct.len() == MAX_CONDITIONS {
            return Err(format!("a selector has at most {MAX_CONDITIONS} different conditions"));
        }
        distinct.push(condition);
    }
    Ok(distinct)
}

/// The conditions, which commas outside of parentheses separate.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    text.split(move |c| {
        within = (within || c == '(') && c != ')';
        c == ',' && !within
    })
}

fn condition(text: &str) -> Result<LabelCondition, String> {
    if text.is_empty() {
        return Err("a condition is missing before or after a comma".to_owned());
    }
    let (key, test) = if let Some((head, values)) = text.split_once('(') {
        let values = values.strip_suffix(')').ok_or_else(|| format!("{text:?} lacks its closing parenthesis"))?;
        let mut values: Vec<Text> = values.split(',').map(|value| Text::new(value.trim())).collect();
        values.sort_unstable();
        values.dedup();
        match head.split_whitespace().collect::<Vec<_>>()[..] {
            [key, "in"] => (key, LabelTest::In(values)),
            [key, "notin"] => (key, LabelTest::NotIn(values)),
            _ => return Err(format!("{text:?} is neither KEY in (…) nor KEY notin (…)")),
        }
    } else if let Some((key, value)) = text.split_once("!=") {
        (key, LabelTest::NotIn(vec![Text::new(value.trim())]))
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (key, LabelTest::In(vec![Text::new(value.trim())]))
    } else if let Some(key) = text.strip_prefix('!') {
        (key, LabelTest::Missing)
    } else {
        (text, LabelTest::Exists)
    };
    let key = key.trim();
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) {
        return Err(format!("{key:?} is not the key of a label"));
    }
    Ok(LabelCondition { key: Text::new(key), test })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values_are_labels_of_all_that_matches() {
        let query: LabelQuery = "app=web,tier in (front),zone in (a,b),!x,y,z!=1".parse().unwrap();
        let want: Labels = [("app", "web"), ("tier", "front")].into_iter().collect();
        assert_eq!(query.single_values(), want);
    }

    #[test]
    fn selectors_match_as_those_of_kubectl() {
        let mut labels = Labels::default();
        labels.insert("app", "web");
        labels.insert("example.com/tier", "front");
        labels.insert("empty", "");
        for (selector, want) in [
            ("", true),
            (" ", true),
            ("app", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , example.com/tier=front", true),
            ("app=web,example.com/tier=back", false),
            ("app!=web", false),
            ("track!=canary", true),
            ("!track", true),
            ("!app", false),
            ("track", false),
            ("app in (web, api)", true),
            ("app in (api),app", false),
            ("app notin (api,cart),!track", true),
            ("app notin (web)", false),
            ("track notin (canary)", true),
            ("empty=", true),
            ("app=", false),
        ] {
            assert_eq!(selector.parse().map(|s: LabelQuery| s.matches(&labels)), Ok(want), "{selector}");
        }
    }

    #[test]
    fn a_selector_has_few_different_conditions() {
        let different = |count: usize| (0..count).map(|i| format!("!a{i}")).collect::<Vec<_>>().join(",");
        let refused = Err("a selector has at most 32 different conditions".to_owned());
        for (name, text, want) in [
            ("the most", different(32), Ok(32)),
            ("one more", different(33), refused.clone()),
            ("very many", different(5000), refused),
            ("one, again and again", vec!["!a"; 5000].join(","), Ok(1)),
            ("the same values", "a in (x,y),a in (y,x,x),a notin (x,y)".to_owned(), Ok(2)),
        ] {
            assert_eq!(text.parse::<LabelQuery>().map(|query| query.0.len()), want, "{name}");
        }
    }

    #[test]
    fn what_is_not_a_selector_is_refused() {
        for (text, want) in [
            ("app in (web", "\"app in (web\" lacks its closing parenthesis"),
            ("app is (web)", "\"app is (web)\" is neither KEY in (…) nor KEY notin (…)"),
            ("=web", "\"\" is not the key of a label"),
            ("a b=web", "\"a b\" is not the key of a label"),
            ("app>1", "\"app>1\" is not the key of a label"),
            ("app=web,", "a condition is missing before or after a comma"),
            (",app=web", "a condition is missing before or after a comma"),
            ("app=web, ,x", "a condition is missing before or after a comma"),
            (",", "a condition is missing before or after a comma"),
        ] {
            assert_eq!(text.parse::<LabelQuery>(), Err(want.to_owned()), "{text}");
        }
    }
}
