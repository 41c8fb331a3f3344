//! The registry of a server's metrics, and their text. Each room counts for itself and registers what it counts here.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use prometheus_client::{encoding::text::encode, metrics::info::Info, registry::Registry};

use super::metrics_format::{MetricsFormat, prometheus_text};
use crate::runtime::build_info;

/// The metrics of one server. There is no global registry: every server has its own.
pub struct MetricsRegistry(Mutex<Registry>);

impl Default for MetricsRegistry {
    fn default() -> Self {
        let mut registry = Registry::default();
        register_build(&mut registry);
        #[cfg(target_os = "linux")]
        registry.register_collector(Box::<super::process_metrics::ProcessMetrics>::default());
        Self(Mutex::new(registry))
    }
}

/// Registers `roster_build_info`, with the labels that Kubernetes' programs have in `kubernetes_build_info`.
fn register_build(registry: &mut Registry) {
    let commit = build_info::COMMIT.unwrap_or_default().to_owned();
    let labels =
        [("version", build_info::VERSION.to_owned()), ("git_commit", commit), ("platform", build_info::platform())];
    registry.register("roster_build", "The version, the commit and the platform of this build", Info::new(labels));
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

    /// All metrics as `OpenMetrics`.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.lock())?;
        Ok(text)
    }

    /// All metrics in a format.
    pub fn encode_as(&self, format: MetricsFormat) -> Result<String, fmt::Error> {
        let text = self.encode()?;
        Ok(match format {
            MetricsFormat::Prometheus => prometheus_text(&text),
            MetricsFormat::OpenMetrics => text,
        })
    }

    /// The headers and the text for a scraper, in the format that it asks for.
    pub(crate) fn scrape(&self, request: &HeaderMap) -> Result<([(HeaderName, HeaderValue); 2], String), fmt::Error> {
        let format = MetricsFormat::accepted(request);
        Ok((format.headers(), self.encode_as(format)?))
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
