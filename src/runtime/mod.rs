//! What every server needs and no endpoint: listeners, TLS, certificates, logs and metrics.

pub mod certificates;
pub mod net;
pub mod telemetry;
pub mod tls;
