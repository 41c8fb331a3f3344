//! The versions of the Model Context Protocol that are spoken.

use serde_json::{Value, json};

/// A version of the protocol, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProtocolVersion {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    /// The first one without a handshake: each request names its version.
    V2026_07_28,
}

impl ProtocolVersion {
    /// All versions, the newest first.
    const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];
    /// The newest version with a handshake.
    pub(super) const NEWEST_NEGOTIATED: Self = Self::V2025_11_25;

    /// The version of this name.
    pub(super) fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == name)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether a session begins with a handshake.
    pub(super) fn is_negotiated(self) -> bool {
        self <= Self::NEWEST_NEGOTIATED
    }

    /// Whether a line may have several messages: version 2025-03-26 only.
    pub(super) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// The names of all versions, the newest first.
    pub(super) fn names() -> Value {
        json!(Self::ALL.map(Self::as_str))
    }
}
