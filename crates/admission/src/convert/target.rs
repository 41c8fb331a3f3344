//! The target of a conversion.

use std::{fmt, str::FromStr};

use roster_engine::model::slice_version::SliceVersion;

use crate::policy::PolicyVersion;

/// The target of a conversion. Objects that it does not apply to stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionTarget {
    /// `EndpointSlice`s of this version.
    Slice(SliceVersion),
    /// `EndpointSlice`s become `Endpoints`, one for each Service.
    Endpoints,
    /// `Endpoints` become `EndpointSlice`s of v1.
    EndpointSlice,
    /// `EndpointPolicy` objects of this version.
    Policy(PolicyVersion),
}

impl ConversionTarget {
    /// All targets, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::EndpointSlice,
        Self::Endpoints,
        Self::Slice(SliceVersion::V1),
        Self::Slice(SliceVersion::V1beta1),
        Self::Policy(PolicyVersion::V1),
        Self::Policy(PolicyVersion::V1alpha1),
    ];

    /// The name: a kind, or a group and a version.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slice(version) => version.api_version(),
            Self::Endpoints => "Endpoints",
            Self::EndpointSlice => "EndpointSlice",
            Self::Policy(version) => version.api_version(),
        }
    }
}

impl fmt::Display for ConversionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ConversionTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|t| t.as_str()).collect();
            format!("expected {}", all.join(", "))
        })
    }
}
