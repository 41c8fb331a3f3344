//! Logs, the registry of metrics, and traces.

pub mod logs;
#[cfg(test)]
pub(crate) mod memory_log;
mod metrics_format;
#[cfg(target_os = "linux")]
mod process_metrics;
pub mod registry;
pub mod traces;

pub use metrics_format::MetricsFormat;
