//! What every server needs: listeners, TLS, certificates, files that change, the clock, logs and metrics.
//!
//! Nothing here knows an endpoint.

pub mod allowed_hosts;
pub(crate) mod aside;
pub(crate) mod async_runtime;
pub(crate) mod back_off;
pub(crate) mod background_thread;
pub mod bearer_tokens;
pub(crate) mod browser_text;
pub(crate) mod build_info;
pub mod certificates;
pub mod clock;
pub(crate) mod file_lock;
pub mod files;
pub(crate) mod known_method;
pub mod net;
pub(crate) mod places;
pub(crate) mod pretty_json;
pub(crate) mod status_error;
pub mod telemetry;
pub mod tls;
pub(crate) mod turns;
pub(crate) mod workers;
