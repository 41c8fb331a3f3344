//! Why a finding is not reported.

use serde::Serialize;

/// Why a finding is not reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Suppression {
    /// An annotation of the object.
    Annotation {
        /// Why.
        reason: String,
    },
    /// The file of waivers.
    Waiver {
        /// Why.
        reason: String,
    },
    /// The baseline.
    Baseline,
}

impl Suppression {
    /// The reason that somebody gave.
    pub fn reason(&self) -> &str {
        match self {
            Self::Annotation { reason } | Self::Waiver { reason } => reason,
            Self::Baseline => "in the baseline",
        }
    }

    /// Whether it is part of the manifest.
    pub fn is_in_source(&self) -> bool {
        matches!(self, Self::Annotation { .. })
    }
}
