//! The controller in shadow: it compares what clients are served with what its plan says, and reports what differs for too long.
//!
//! ```text
//! queue ─► shadow ─► plan ─► drift ─► drift_book ─ due ─► fresh_input ─► report, or heal
//! ```
//!
//! A difference is reported only after the Service and its pods were read from the API server: the watch may be late. What is
//! healed is written by the applier of the controller.

mod drift_book;
mod drift_report;
mod found_drift;
mod fresh_input;
mod grace;
mod shadow_class;
mod shadow_metrics;
mod watcher;

pub(super) use drift_report::drift_routes;
pub use drift_report::{DriftReport, PastReport, ServiceDrift};
pub use shadow_class::ShadowClass;
pub(super) use shadow_metrics::ShadowMetrics;
pub(super) use watcher::Shadow;

use std::time::Duration;

/// What the shadow does besides comparing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowOptions {
    /// After how long it writes what the reference should have written, if it does.
    pub heal_after: Option<Duration>,
    /// Whether it sends Events.
    pub sends_events: bool,
}

impl ShadowOptions {
    /// Whether it writes anything, so that only one replica may work.
    pub(super) fn writes(self) -> bool {
        self.sends_events || self.heal_after.is_some()
    }
}
