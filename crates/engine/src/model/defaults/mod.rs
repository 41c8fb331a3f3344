//! What an API server fills in when an object is created, as far as the engine reads it.
//!
//! People leave out most fields of a manifest, and the controllers see what kube-apiserver 1.37 made of it. `service.rs`
//! and `others.rs` have the rules, `assumption.rs` has the table of what may be filled in. `cargo xtask test cluster`
//! compares the rules with a real API server.

mod assumption;
mod cluster_families;
mod others;
mod service;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

pub use assumption::{Assumption, Assumptions};
pub use cluster_families::{ClusterFamilies, ClusterFamiliesError};
use serde::Deserialize;

use super::Text;

/// The namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Which objects get defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultsMode {
    /// Objects with neither `uid` nor `resourceVersion`: they were never in a cluster.
    #[default]
    Auto,
    /// All objects.
    Always,
    /// None: objects are read as they are written.
    Never,
}

impl DefaultsMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Always, Self::Never];

    /// `auto`, `always` or `never`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for DefaultsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a [`DefaultsMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected auto, always or never")]
pub struct UnknownDefaultsMode;

impl FromStr for DefaultsMode {
    type Err = UnknownDefaultsMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(UnknownDefaultsMode)
    }
}

/// What to fill in, and for which cluster. A setting that is not given has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaults<'a> {
    /// Which objects get defaults. Default: `auto`.
    pub mode: Option<DefaultsMode>,
    /// The address families of the cluster. Default: IPv4.
    pub families: Option<ClusterFamilies>,
    /// The namespace of objects that do not name one. Empty: `default`.
    pub namespace: &'a str,
}

impl Defaults<'_> {
    /// Nothing is filled in.
    pub const NEVER: Self = Self { mode: Some(DefaultsMode::Never), families: None, namespace: "" };

    /// These settings, and those of `other` that are not given here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            families: self.families.or(other.families),
            namespace: if self.namespace.is_empty() { other.namespace } else { self.namespace },
        }
    }

    /// The namespace of an object that does not name one; `None` if it stays empty.
    pub fn namespace(&self) -> Option<&str> {
        let default = if self.namespace.is_empty() { DEFAULT_NAMESPACE } else { self.namespace };
        (self.mode() != DefaultsMode::Never).then_some(default)
    }

    fn mode(&self) -> DefaultsMode {
        self.mode.unwrap_or_default()
    }

    /// The address families of the cluster.
    pub fn families(&self) -> ClusterFamilies {
        self.families.unwrap_or_default()
    }

    /// Fills in the namespace. Even an object that was in a cluster is in one, wherever its name was removed.
    pub fn place(&self, namespace: &mut Text, assumed: &mut Assumptions) {
        if let Some(default) = self.namespace().filter(|_| namespace.is_empty()) {
            *namespace = default.into();
            assumed.count_namespace(namespace);
        }
    }

    /// Whether an object with this `uid` and `resourceVersion` gets defaults. An API server stores nothing with the version 0; old
    /// manifests have it.
    pub fn apply_to(&self, uid: &Text, resource_version: &Text) -> bool {
        match self.mode() {
            DefaultsMode::Auto => uid.is_empty() && (resource_version.is_empty() || resource_version == "0"),
            DefaultsMode::Always => true,
            DefaultsMode::Never => false,
        }
    }
}
