//! What objects are converted to.

use std::{fmt, str::FromStr};

use super::discovery::Discovery;
use crate::admission::policy::version::Version;

/// What objects are converted to. Objects that it says nothing about stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `EndpointSlice`s of this version.
    Discovery(Discovery),
    /// `EndpointSlice`s become `Endpoints`, one for each Service.
    Endpoints,
    /// `Endpoints` become `EndpointSlice`s of v1.
    EndpointSlice,
    /// `EndpointPolicy` objects of this version.
    Policy(Version),
}

impl Target {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::EndpointSlice,
        Self::Endpoints,
        Self::Discovery(Discovery::V1),
        Self::Discovery(Discovery::V1beta1),
        Self::Policy(Version::V1),
        Self::Policy(Version::V1alpha1),
    ];

    /// As it is written: a kind, or a group and a version.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovery(version) => version.api_version(),
            Self::Endpoints => "Endpoints",
            Self::EndpointSlice => "EndpointSlice",
            Self::Policy(version) => version.api_version(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|t| t.as_str()).collect();
            format!("expected {}", all.join(", "))
        })
    }
}
