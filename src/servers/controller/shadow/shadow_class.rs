//! The classes in which differences are reported.

use roster_engine::compare::DriftClass;
use serde::{Deserialize, Serialize};

/// In what way a Service is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShadowClass {
    /// An address is served that should not be, or not in this state.
    StaleAddress,
    /// A pod is ready, and its address is not served as ready.
    ReadyPodMissing,
    /// The Endpoints hold as many addresses as they may, and do not follow their pods.
    FrozenAtLimit,
    /// An endpoint is in several slices of one controller.
    DuplicateSlices,
    /// An endpoint has other hints than it should.
    WrongHint,
    /// The object serves nothing that exists.
    Orphan,
    /// The controller was woken, and has written nothing.
    Stuck,
    /// The controller took longer than the grace.
    Slow,
    /// The controller is not woken for such a change. Nothing is broken.
    Unsettled,
}

impl ShadowClass {
    pub(super) const ALL: [Self; 9] = [
        Self::StaleAddress,
        Self::ReadyPodMissing,
        Self::FrozenAtLimit,
        Self::DuplicateSlices,
        Self::WrongHint,
        Self::Orphan,
        Self::Stuck,
        Self::Slow,
        Self::Unsettled,
    ];

    /// Whether something is wrong.
    pub fn is_alarm(self) -> bool {
        self != Self::Unsettled
    }

    /// Its name in metrics and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::StaleAddress => "stale-address",
            Self::ReadyPodMissing => "ready-pod-missing",
            Self::FrozenAtLimit => "frozen-at-limit",
            Self::DuplicateSlices => "duplicate-slices",
            Self::WrongHint => "wrong-hint",
            Self::Orphan => "orphan",
            Self::Stuck => "stuck",
            Self::Slow => "slow",
            Self::Unsettled => "unsettled",
        }
    }
}

impl From<DriftClass> for ShadowClass {
    fn from(class: DriftClass) -> Self {
        match class {
            DriftClass::StaleAddress => Self::StaleAddress,
            DriftClass::ReadyPodMissing => Self::ReadyPodMissing,
            DriftClass::FrozenAtLimit => Self::FrozenAtLimit,
            DriftClass::DuplicateSlices => Self::DuplicateSlices,
            DriftClass::WrongHint => Self::WrongHint,
            DriftClass::Orphan => Self::Orphan,
        }
    }
}
