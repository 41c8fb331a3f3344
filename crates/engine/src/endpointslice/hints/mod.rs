//! Hints: the zones or nodes that an endpoint should serve.

mod allocation;
mod hinter;
mod settings;
mod topology;
mod traffic;

pub(super) use hinter::{HintMode, Hinter};
pub(super) use settings::without_effect;
pub use settings::{DISTRIBUTIONS, asks_for_zones, knows_distribution};
pub(super) use traffic::is_ready;
