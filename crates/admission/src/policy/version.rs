//! The two versions of `EndpointPolicy`, and the table of fields that differ between them.

use std::{fmt, str::FromStr};

/// A served version of `EndpointPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyVersion {
    /// The flat version: every setting is a field of `spec`.
    V1alpha1,
    /// The structured version, which is stored, and which Roster reads.
    V1,
}

impl PolicyVersion {
    /// Both versions, the older one first.
    pub const ALL: [Self; 2] = [Self::V1alpha1, Self::V1];

    /// The name, such as `v1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1alpha1 => "v1alpha1",
            Self::V1 => "v1",
        }
    }

    /// The `apiVersion`, such as `roster.dev/v1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1alpha1 => "roster.dev/v1alpha1",
            Self::V1 => "roster.dev/v1",
        }
    }

    /// The other version.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::V1alpha1 => Self::V1,
            Self::V1 => Self::V1alpha1,
        }
    }
}

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.api_version())
    }
}

impl FromStr for PolicyVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|v| v.api_version() == text);
        found.ok_or_else(|| format!("{text:?} is neither roster.dev/v1 nor roster.dev/v1alpha1"))
    }
}

/// A field with different paths in the two versions of `spec`. All other fields have the same path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldMove {
    /// Its name in v1alpha1.
    pub(crate) flat: &'static str,
    /// Its path in v1.
    pub(crate) path: &'static [&'static str],
}

/// All fields with different paths. The conversion relies on this: no flat name is the first element of a path.
pub(crate) const FIELD_MOVES: [FieldMove; 12] = [
    FieldMove { flat: "namespaces", path: &["match", "namespaces", "names"] },
    FieldMove { flat: "namespaceSelector", path: &["match", "namespaces", "selector"] },
    FieldMove { flat: "services", path: &["match", "services", "names"] },
    FieldMove { flat: "serviceSelector", path: &["match", "services", "selector"] },
    FieldMove { flat: "exemptUsers", path: &["exempt", "users"] },
    FieldMove { flat: "exemptGroups", path: &["exempt", "groups"] },
    FieldMove { flat: "exemptNamespaces", path: &["exempt", "namespaces"] },
    FieldMove { flat: "exemptObjects", path: &["exempt", "objects"] },
    FieldMove { flat: "allowedCIDRs", path: &["addresses", "allow"] },
    FieldMove { flat: "deniedCIDRs", path: &["addresses", "deny"] },
    FieldMove { flat: "hostNetworkAddresses", path: &["addresses", "hostNetwork"] },
    FieldMove { flat: "capacityAction", path: &["capacity", "action"] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_versions_do_not_collide() {
        for a in FIELD_MOVES {
            for b in FIELD_MOVES {
                assert_ne!(a.flat, b.path[0]);
                assert!(a.flat == b.flat || !a.path.starts_with(b.path), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn versions_are_read_as_they_are_written() {
        for version in PolicyVersion::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        let why = "\"roster.dev/v2\" is neither roster.dev/v1 nor roster.dev/v1alpha1";
        assert_eq!("roster.dev/v2".parse::<PolicyVersion>(), Err(why.to_owned()));
    }
}
