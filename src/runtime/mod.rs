//! What every server needs, and nothing that knows an endpoint: listeners, TLS, certificates, files that change, the
//! clock, logs and the registry of metrics.

pub mod certificates;
pub mod clock;
pub mod files;
pub mod net;
pub mod telemetry;
pub mod tls;
