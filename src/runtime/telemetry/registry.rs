//! The registry of a server's metrics, and their text. Each room counts for itself and registers what it counts here.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{encoding::text::encode, metrics::info::Info, registry::Registry};

/// Content type of [`MetricsRegistry::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of one server. There is no global registry: every server has its own.
pub struct MetricsRegistry(Mutex<Registry>);

impl Default for MetricsRegistry {
    fn default() -> Self {
        let mut registry = Registry::default();
        registry.register(
            "roster_build",
            "The version of this build",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        Self(Mutex::new(registry))
    }
}

impl fmt::Debug for MetricsRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsRegistry").finish_non_exhaustive()
    }
}

impl MetricsRegistry {
    /// Registers metrics.
    pub fn register(&self, metrics: impl FnOnce(&mut Registry)) {
        metrics(&mut self.lock());
    }

    /// All metrics in the `OpenMetrics` text format.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.lock())?;
        Ok(text)
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
