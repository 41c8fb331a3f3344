//! Whether requests can be answered, check by check.

use std::{net::SocketAddr, sync::Arc};

use crate::{
    runtime::tls::{Clock, Probe, Served},
    servers::rest::App,
};

/// What must hold for `/readyz` to say yes.
pub struct Readiness {
    app: Arc<App>,
    clock: Clock,
    checks: Vec<(&'static str, Check)>,
    tls: Option<Tls>,
}

/// Why something is not ready, if it is not.
type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

struct Tls {
    served: Arc<Served>,
    probe: Arc<Probe>,
    address: SocketAddr,
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) name: &'static str,
    pub(super) result: Result<(), String>,
}

impl std::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|(name, _)| name)).finish()
    }
}

impl Readiness {
    pub(super) fn new(app: Arc<App>, clock: Clock) -> Self {
        Self { app, clock, checks: Vec::new(), tls: None }
    }

    /// Adds a check.
    pub fn add(&mut self, name: &'static str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.checks.push((name, Box::new(check)));
    }

    /// Adds the checks of the TLS listener at `address`.
    pub(super) fn watch_tls(&mut self, served: Arc<Served>, probe: Arc<Probe>, address: SocketAddr) {
        self.tls = Some(Tls { served, probe, address });
    }

    /// All checks, made now.
    pub(super) async fn check(&self) -> Vec<Checked> {
        let running = if self.app.is_ready() { Ok(()) } else { Err("starting or stopping".to_owned()) };
        let mut all = vec![Checked { name: "ping", result: Ok(()) }, Checked { name: "shutdown", result: running }];
        if let Some(Tls { served, probe, address }) = &self.tls {
            let now = self.clock.now();
            let current = served.current().ok_or_else(|| "there is no certificate yet".to_owned());
            let result = current.and_then(|c| c.facts.valid(now).map_err(|e| e.to_string()));
            all.push(Checked { name: "certificate", result });
            all.push(Checked { name: "tls", result: probe.run(*address, served).await });
        }
        all.extend(self.checks.iter().map(|(name, check)| Checked { name, result: check() }));
        all
    }

    /// The metrics, with those that depend on the time set to now.
    pub(super) fn metrics(&self) -> Result<String, std::fmt::Error> {
        if let Some(current) = self.tls.as_ref().and_then(|t| t.served.current()) {
            self.app.metrics.tls.expiry.set(current.facts.seconds_left(self.clock.now()));
        }
        self.app.metrics.encode()
    }
}
