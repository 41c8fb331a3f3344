//! How many pods of a Deployment a rollout may take away.

use roster_engine::model::{Text, wire::nullable};
use serde::Deserialize;

/// A number of pods, or a part of all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a number or a percentage")]
pub enum PodShare {
    /// A number.
    Number(i64),
    /// A percentage, such as `25%`.
    Percentage(Text),
}

impl PodShare {
    /// How many of `all` pods it is, in hundredths; `None` if it is neither a number nor a percentage.
    fn hundredths(&self, all: u32) -> Option<i64> {
        match self {
            Self::Number(n) => n.checked_mul(100),
            Self::Percentage(text) => text.strip_suffix('%')?.parse::<i64>().ok()?.checked_mul(i64::from(all)),
        }
    }
}

/// `spec.strategy` of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStrategy {
    /// `RollingUpdate` or `Recreate`; empty for `RollingUpdate`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: Text,
    /// The limits of a rolling update.
    #[serde(deserialize_with = "nullable")]
    pub rolling_update: RollingUpdate,
}

/// `spec.strategy.rollingUpdate` of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct RollingUpdate {
    pub max_unavailable: Option<PodShare>,
    pub max_surge: Option<PodShare>,
}

impl RolloutStrategy {
    /// Whether it stops all pods before it starts new ones.
    pub fn recreates(&self) -> bool {
        self.kind == "Recreate"
    }

    /// How many of `replicas` pods may be unavailable during a rollout (upstream's `ResolveFenceposts`): percentages are
    /// rounded down, and the surge up; if both come out as 0, one pod may be unavailable.
    pub fn max_unavailable(&self, replicas: u32) -> u32 {
        if self.recreates() {
            return replicas;
        }
        let default = PodShare::Percentage(Text::new_static("25%"));
        let hundredths = |share: &Option<PodShare>| share.as_ref().unwrap_or(&default).hundredths(replicas);
        let unavailable = hundredths(&self.rolling_update.max_unavailable).unwrap_or_default() / 100;
        let surge = (hundredths(&self.rolling_update.max_surge).unwrap_or_default().saturating_add(99)) / 100;
        let unavailable = if unavailable == 0 && surge == 0 { 1 } else { unavailable };
        u32::try_from(unavailable).unwrap_or_default().min(replicas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_takes_away_as_many_pods_as_its_strategy_allows() {
        for (strategy, replicas, want) in [
            ("{}", 1, 0),
            ("{}", 4, 1),
            (r#"{"type":"Recreate"}"#, 3, 3),
            (r#"{"rollingUpdate":{"maxUnavailable":1}}"#, 1, 1),
            (r#"{"rollingUpdate":{"maxUnavailable":"100%"}}"#, 5, 5),
            (r#"{"rollingUpdate":{"maxUnavailable":"50%"}}"#, 1, 0),
            (r#"{"rollingUpdate":{"maxUnavailable":9}}"#, 2, 2),
            // Without either, a rollout could not go on.
            (r#"{"rollingUpdate":{"maxUnavailable":"50%","maxSurge":0}}"#, 1, 1),
            (r#"{"rollingUpdate":{"maxUnavailable":0,"maxSurge":"1%"}}"#, 1, 0),
            (r#"{"rollingUpdate":{"maxUnavailable":"many"}}"#, 2, 0),
        ] {
            let parsed: RolloutStrategy = serde_json::from_str(strategy).unwrap();
            assert_eq!(parsed.max_unavailable(replicas), want, "{strategy} of {replicas}");
        }
    }
}
