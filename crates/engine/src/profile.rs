//! Which behaviour belongs to which Kubernetes minor: one table of switches.
//!
//! Comments name the row of `docs/reference/versions.md` that describes a switch, such as `versions.md#e1`. Code asks a [`Profile`]
//! for a switch; it never compares version numbers.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A Kubernetes minor release that has a profile: from [`Minor::OLDEST`] to [`Minor::NEWEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u8);

impl Minor {
    /// The oldest one with a profile.
    pub const OLDEST: Self = Self(22);
    /// The newest one, which is the default.
    pub const NEWEST: Self = Self(37);

    /// All of them, oldest first.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        (Self::OLDEST.0..=Self::NEWEST.0).map(Self)
    }

    /// The release that a text names, or the nearest one that has a profile: the newest for a later release. `None`: it names
    /// none.
    pub fn nearest(text: &str) -> Option<Self> {
        number(text).map(|minor| Self(u8::try_from(minor).unwrap_or(u8::MAX).clamp(Self::OLDEST.0, Self::NEWEST.0)))
    }

    /// What this release does.
    pub fn profile(self) -> &'static Profile {
        &PROFILES[usize::from(self.0 - Self::OLDEST.0)]
    }
}

/// The pattern of the texts that name a release with a profile, as a regular expression for JSON schemas.
pub const PATTERN: &str = r"^v?1\.0*(2[2-9]|3[0-7])(\.[0-9]+)?$";

impl Default for Minor {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// The error for a text that does not name a release with a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a Kubernetes release from {oldest} to {newest}", oldest = Minor::OLDEST, newest = Minor::NEWEST)]
pub struct UnknownMinor(String);

impl FromStr for Minor {
    type Err = UnknownMinor;

    /// Reads `1.30`, `v1.30` and `1.30.14` (a patch release acts as its minor).
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        number(s)
            .and_then(|minor| u8::try_from(minor).ok())
            .filter(|m| (Self::OLDEST.0..=Self::NEWEST.0).contains(m))
            .map(Self)
            .ok_or_else(|| UnknownMinor(s.chars().take(40).collect()))
    }
}

/// The number of the minor release that a text names.
fn number(text: &str) -> Option<u64> {
    let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let patch = parts.next().is_none_or(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let minor = minor.parse().ok().filter(|_| minor.bytes().all(|b| b.is_ascii_digit()))?;
    (major == "1" && patch && parts.next().is_none()).then_some(minor)
}

impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The hash whose order decides the order of ports and subsets (versions.md#e8, versions.md#s16, versions.md#m9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashKind {
    /// Up to 1.34.
    Md5,
    /// FNV-1a with 128 bits, from 1.35.
    Fnv128,
}

/// What a pod on a node that does not exist does to the slices of its Service (versions.md#s1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingNode {
    /// Nothing of the address type is written.
    Abort,
    /// Only this pod is left out; the sync fails and is retried.
    Skip,
}

/// Which values of `spec.trafficDistribution` give hints (versions.md#s12 to versions.md#s14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficDistribution {
    /// The field does nothing.
    Ignored,
    /// `PreferClose`, and a hint for the zone `""` where the endpoint has none.
    CloseWithEmptyZone,
    /// `PreferClose`.
    Close,
    /// `PreferClose`, `PreferSameZone` and `PreferSameNode`.
    Same,
}

/// The switches of one minor release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "a table of switches")]
pub struct Profile {
    /// The tolerate-unready annotation replaces `publishNotReadyAddresses` for Endpoints (versions.md#e1).
    pub tolerate_unready_annotation: bool,
    /// `targetRef.resourceVersion` is published (versions.md#e2, versions.md#s4).
    pub target_resource_version: bool,
    /// `ExternalName` Services with a selector are served (versions.md#e3, versions.md#s11).
    pub external_name: bool,
    /// Endpoints find named ports of native sidecars (versions.md#e4).
    pub sidecar_ports_endpoints: bool,
    /// Slices find named ports of native sidecars (versions.md#s7).
    pub sidecar_ports_slices: bool,
    /// Addresses are printed canonically (versions.md#e5, versions.md#s15, versions.md#m4).
    pub canonical_ips: bool,
    /// Endpoints carry a managed-by label (versions.md#e6).
    pub managed_by_label: bool,
    /// Some patch of this minor crashes on a Service without `ipFamilies`; every profile infers the family
    /// (versions.md#e7).
    pub some_patch_panics: bool,
    /// The hash that orders ports and subsets (versions.md#e8, versions.md#s16, versions.md#m9).
    pub hash: HashKind,
    /// Stored subsets are compared a second time, after repacking (versions.md#e9).
    pub compare_repacked: bool,
    /// What a missing node does (versions.md#s1).
    pub missing_node: MissingNode,
    /// A stored placeholder slice is kept (versions.md#s2).
    pub keep_placeholder: bool,
    /// A changed node name or zone is seen (versions.md#s3, versions.md#m3).
    pub compare_topology: bool,
    /// Zone hints are given (versions.md#s5).
    pub hints: bool,
    /// The `topology-mode` annotation is known (versions.md#s6).
    pub topology_mode: bool,
    /// Hints are announced by events (versions.md#s8).
    pub hint_events: bool,
    /// The target is part of an endpoint's identity (versions.md#s9, versions.md#m3).
    pub target_in_identity: bool,
    /// Serving and terminating are compared even where one side has none (versions.md#s10, versions.md#m3).
    pub compare_missing_conditions: bool,
    /// Values of `trafficDistribution` that count (versions.md#s12 to versions.md#s14).
    pub traffic_distribution: TrafficDistribution,
    /// A missing port list is the empty one (versions.md#s17, versions.md#m8).
    pub nil_ports_are_empty: bool,
    /// Subsets are repacked before they are mirrored (versions.md#m2).
    pub mirror_repacks: bool,
    /// A mirrored slice of a dead owner is rewritten (versions.md#m5).
    pub mirror_compares_owner: bool,
    /// An outside edit of a mirrored slice is noticed at once (versions.md#m7).
    pub mirror_notices_edits: bool,
    /// Mirroring reads IPv4 addresses with leading zeros (versions.md#m1).
    pub mirror_leading_zeros: bool,
    /// A cached object that was already replaced is not written again (versions.md#e10). No plan depends on it.
    pub stale_endpoints_guard: bool,
    /// The longest back-off of slices, in seconds (versions.md#s18). No plan depends on it.
    pub slice_backoff_seconds: u16,
}

/// 1.22: every other profile is a change to the release before.
const V1_22: Profile = Profile {
    tolerate_unready_annotation: true,
    target_resource_version: true,
    external_name: true,
    sidecar_ports_endpoints: false,
    sidecar_ports_slices: false,
    canonical_ips: false,
    managed_by_label: false,
    some_patch_panics: false,
    hash: HashKind::Md5,
    compare_repacked: false,
    missing_node: MissingNode::Abort,
    keep_placeholder: false,
    compare_topology: false,
    hints: false,
    topology_mode: false,
    hint_events: false,
    target_in_identity: false,
    compare_missing_conditions: false,
    traffic_distribution: TrafficDistribution::Ignored,
    nil_ports_are_empty: false,
    mirror_repacks: false,
    mirror_compares_owner: false,
    mirror_notices_edits: false,
    mirror_leading_zeros: false,
    stale_endpoints_guard: false,
    slice_backoff_seconds: 100,
};
const V1_23: Profile = Profile { mirror_leading_zeros: true, ..V1_22 };
const V1_24: Profile = Profile {
    tolerate_unready_annotation: false,
    target_resource_version: false,
    missing_node: MissingNode::Skip,
    keep_placeholder: true,
    compare_topology: true,
    hints: true,
    ..V1_23
};
const V1_25: Profile = V1_24;
const V1_26: Profile = Profile {
    hint_events: true,
    target_in_identity: true,
    compare_missing_conditions: true,
    slice_backoff_seconds: 1000,
    ..V1_25
};
const V1_27: Profile = Profile { external_name: false, topology_mode: true, mirror_repacks: true, ..V1_26 };
const V1_28: Profile = Profile { stale_endpoints_guard: true, ..V1_27 };
// 1.29.6 lacks the guard that 1.28.15 has by back-port; later patches of 1.29 have it.
const V1_29: Profile = Profile { stale_endpoints_guard: false, ..V1_28 };
const V1_30: Profile = Profile { stale_endpoints_guard: true, ..V1_29 };
const V1_31: Profile = Profile {
    traffic_distribution: TrafficDistribution::CloseWithEmptyZone,
    mirror_compares_owner: true,
    mirror_notices_edits: true,
    ..V1_30
};
const V1_32: Profile = Profile { sidecar_ports_endpoints: true, ..V1_31 };
const V1_33: Profile = Profile {
    sidecar_ports_slices: true,
    canonical_ips: true,
    managed_by_label: true,
    some_patch_panics: true,
    traffic_distribution: TrafficDistribution::Close,
    ..V1_32
};
const V1_34: Profile = Profile { traffic_distribution: TrafficDistribution::Same, ..V1_33 };
const V1_35: Profile = Profile { hash: HashKind::Fnv128, compare_repacked: true, ..V1_34 };
const V1_36: Profile = Profile { nil_ports_are_empty: true, ..V1_35 };
const V1_37: Profile = Profile { some_patch_panics: false, ..V1_36 };

static PROFILES: [Profile; 16] =
    [V1_22, V1_23, V1_24, V1_25, V1_26, V1_27, V1_28, V1_29, V1_30, V1_31, V1_32, V1_33, V1_34, V1_35, V1_36, V1_37];

/// A switch that two releases set differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Name of the switch, as in the JSON of a [`Profile`].
    pub switch: String,
    /// What it means.
    pub meaning: &'static str,
    /// Its value in the first release.
    pub from: serde_json::Value,
    /// Its value in the second.
    pub to: serde_json::Value,
}

/// The switches that differ between two releases, in the order of the table.
pub fn differences(from: Minor, to: Minor) -> Vec<Difference> {
    let table = |minor: Minor| match serde_json::to_value(minor.profile()) {
        Ok(serde_json::Value::Object(map)) => map,
        // A struct of plain values always is an object.
        _ => serde_json::Map::new(),
    };
    let (a, b) = (table(from), table(to));
    MEANINGS
        .iter()
        .filter(|(switch, _)| a.get(*switch) != b.get(*switch))
        .map(|&(switch, meaning)| Difference {
            switch: switch.to_owned(),
            meaning,
            from: a.get(switch).cloned().unwrap_or_default(),
            to: b.get(switch).cloned().unwrap_or_default(),
        })
        .collect()
}

/// Every switch by its name in JSON, with its meaning for a user.
pub const MEANINGS: &[(&str, &str)] = &[
    (
        "tolerateUnreadyAnnotation",
        "the annotation tolerate-unready-endpoints replaces publishNotReadyAddresses, for Endpoints",
    ),
    ("targetResourceVersion", "the resource version of the pod is published in targetRef"),
    ("externalName", "ExternalName Services with a selector get endpoints"),
    ("sidecarPortsEndpoints", "Endpoints find named ports of native sidecars"),
    ("sidecarPortsSlices", "slices find named ports of native sidecars"),
    ("canonicalIps", "addresses are printed canonically, not as the pod has them"),
    ("managedByLabel", "Endpoints carry the label endpoints.kubernetes.io/managed-by"),
    ("somePatchPanics", "some patch crashes on a Service without ipFamilies"),
    ("hash", "the hash that orders ports and subsets"),
    ("compareRepacked", "stored Endpoints in another order are left alone"),
    ("missingNode", "what a pod on a missing node does to the slices"),
    ("keepPlaceholder", "a placeholder slice is kept instead of written at every sync"),
    ("compareTopology", "a changed node name or zone of an endpoint is written"),
    ("hints", "zone hints are given where the Service asks for them"),
    ("topologyMode", "the annotation topology-mode is known"),
    ("hintEvents", "hints are announced by events"),
    ("targetInIdentity", "two pods with one address are two endpoints"),
    ("compareMissingConditions", "slices without serving and terminating are completed"),
    ("trafficDistribution", "which values of spec.trafficDistribution give hints"),
    ("nilPortsAreEmpty", "slices without a port list are left alone"),
    ("mirrorRepacks", "subsets are merged before they are mirrored"),
    ("mirrorComparesOwner", "a mirrored slice of a dead owner is rewritten"),
    ("mirrorNoticesEdits", "an outside edit of a mirrored slice is noticed at once"),
    ("mirrorLeadingZeros", "mirroring reads IPv4 addresses with leading zeros"),
    ("staleEndpointsGuard", "stale Endpoints in the cache are not written again"),
    ("sliceBackoffSeconds", "the longest back-off of slice syncs, in seconds"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        for (text, want, nearest) in [
            ("1.22", Some("1.22"), Some("1.22")),
            ("v1.37", Some("1.37"), Some("1.37")),
            ("1.30.14", Some("1.30"), Some("1.30")),
            ("1.21", None, Some("1.22")),
            ("1.38", None, Some("1.37")),
            ("v1.300.1", None, Some("1.37")),
            ("2.30", None, None),
            ("1.+30", None, None),
            ("1.30.", None, None),
            ("1.30.1.2", None, None),
            ("", None, None),
        ] {
            let shown = |minor: Option<Minor>| minor.map(|minor| minor.to_string());
            assert_eq!(shown(text.parse().ok()).as_deref(), want, "{text}");
            assert_eq!(shown(Minor::nearest(text)).as_deref(), nearest, "{text}");
        }
    }

    #[test]
    fn the_pattern_names_all_releases_and_no_other() {
        let schema = serde_json::json!({"type": "string", "pattern": PATTERN});
        for minor in 0..100 {
            for text in [format!("1.{minor}"), format!("v1.{minor}.14")] {
                let matches = jsonschema::is_valid(&schema, &serde_json::json!(text));
                assert_eq!(matches, text.parse::<Minor>().is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn every_switch_has_a_meaning() {
        let table = serde_json::to_value(Minor::NEWEST.profile()).unwrap();
        let mut switches: Vec<_> = table.as_object().unwrap().keys().map(String::as_str).collect();
        let mut meanings: Vec<_> = MEANINGS.iter().map(|(switch, _)| *switch).collect();
        switches.sort_unstable();
        meanings.sort_unstable();
        assert_eq!(switches, meanings);
    }

    #[test]
    fn differences_are_those_of_the_table() {
        let minor = |text: &str| text.parse::<Minor>().unwrap();
        let switches = |a, b| differences(minor(a), minor(b)).into_iter().map(|d| d.switch).collect::<Vec<_>>();
        assert_eq!(switches("1.34", "1.35"), ["hash", "compareRepacked"]);
        assert_eq!(switches("1.22", "1.23"), ["mirrorLeadingZeros"]);
        assert_eq!(switches("1.24", "1.25"), [""; 0]);
    }

    #[test]
    fn every_minor_has_a_profile() {
        assert_eq!(Minor::all().len(), PROFILES.len());
        assert!(Minor::NEWEST.profile().nil_ports_are_empty);
    }
}
