//! The two versions of an `EndpointPolicy`, and which field of one is which of the other.

use std::{fmt, str::FromStr};

/// The API group.
pub const GROUP: &str = "roster.dev";
/// The kind.
pub const KIND: &str = "EndpointPolicy";

/// A served version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Flat: every setting is a field of `spec`.
    V1alpha1,
    /// Structured: what is stored, and what Roster reads.
    V1,
}

impl Version {
    /// Both, the older one first.
    pub const ALL: [Self; 2] = [Self::V1alpha1, Self::V1];

    /// `v1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1alpha1 => "v1alpha1",
            Self::V1 => "v1",
        }
    }

    /// `roster.dev/v1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1alpha1 => "roster.dev/v1alpha1",
            Self::V1 => "roster.dev/v1",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::V1alpha1 => Self::V1,
            Self::V1 => Self::V1alpha1,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.api_version())
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|v| v.api_version() == text);
        found.ok_or_else(|| format!("{text:?} is neither roster.dev/v1 nor roster.dev/v1alpha1"))
    }
}

/// A field that the versions have in different places of `spec`. The others are the same in both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Its name in v1alpha1.
    pub(crate) flat: &'static str,
    /// Its path in v1.
    pub(crate) path: &'static [&'static str],
}

/// All fields that moved. No name of one column is a first name of the other: the conversion relies on it.
pub(crate) const MOVED: [Moved; 11] = [
    Moved { flat: "namespaces", path: &["match", "namespaces", "names"] },
    Moved { flat: "namespaceSelector", path: &["match", "namespaces", "selector"] },
    Moved { flat: "services", path: &["match", "services", "names"] },
    Moved { flat: "serviceSelector", path: &["match", "services", "selector"] },
    Moved { flat: "exemptUsers", path: &["exempt", "users"] },
    Moved { flat: "exemptGroups", path: &["exempt", "groups"] },
    Moved { flat: "exemptNamespaces", path: &["exempt", "namespaces"] },
    Moved { flat: "exemptObjects", path: &["exempt", "objects"] },
    Moved { flat: "allowedCIDRs", path: &["addresses", "allow"] },
    Moved { flat: "deniedCIDRs", path: &["addresses", "deny"] },
    Moved { flat: "capacityAction", path: &["capacity", "action"] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_versions_do_not_collide() {
        for a in MOVED {
            for b in MOVED {
                assert_ne!(a.flat, b.path[0]);
                assert!(a.flat == b.flat || !a.path.starts_with(b.path), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn versions_are_read_as_they_are_written() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        let why = "\"roster.dev/v2\" is neither roster.dev/v1 nor roster.dev/v1alpha1";
        assert_eq!("roster.dev/v2".parse::<Version>(), Err(why.to_owned()));
    }
}
