//! The address families of a cluster.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::model::{Family, Text};

/// The address families of a cluster, its own one first: what the flag `--service-cluster-ip-range` of an API server
/// has ranges for. Default: IPv4 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterFamilies {
    first: Family,
    dual: bool,
}

impl Default for ClusterFamilies {
    fn default() -> Self {
        Self { first: Family::V4, dual: false }
    }
}

impl ClusterFamilies {
    /// IPv4 and IPv6.
    pub const DUAL: Self = Self { first: Family::V4, dual: true };

    /// The family of a Service that names none.
    pub fn first(self) -> Family {
        self.first
    }

    /// Whether the cluster has both families.
    pub fn is_dual(self) -> bool {
        self.dual
    }

    /// As `--ip-families` takes it, such as `IPv4,IPv6`.
    pub fn as_str(self) -> &'static str {
        match (self.first, self.dual) {
            (Family::V4, false) => "IPv4",
            (Family::V4, true) => "IPv4,IPv6",
            (Family::V6, false) => "IPv6",
            (Family::V6, true) => "IPv6,IPv4",
        }
    }

    /// From the names of one or two families.
    pub fn of<'t>(mut names: impl Iterator<Item = &'t str>) -> Result<Self, ClusterFamiliesError> {
        let family = |name: &str| match name.trim_ascii() {
            "IPv4" => Ok(Family::V4),
            "IPv6" => Ok(Family::V6),
            _ => Err(ClusterFamiliesError),
        };
        let first = names.next().ok_or(ClusterFamiliesError).and_then(family)?;
        let second = names.next().map(family).transpose()?;
        if second == Some(first) || names.next().is_some() {
            return Err(ClusterFamiliesError);
        }
        Ok(Self { first, dual: second.is_some() })
    }
}

/// A text or a list that is not [`ClusterFamilies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected IPv4, IPv6, or both with a comma between them")]
pub struct ClusterFamiliesError;

impl FromStr for ClusterFamilies {
    type Err = ClusterFamiliesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of(text.split(','))
    }
}

impl<'de> Deserialize<'de> for ClusterFamilies {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let names = Vec::<Text>::deserialize(d)?;
        Self::of(names.iter().map(Text::as_str)).map_err(|_| D::Error::custom("expected IPv4, IPv6, or both"))
    }
}
