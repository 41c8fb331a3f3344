//! Logs, and the registry of metrics.

pub mod logs;
pub mod registry;
