//! Readiness: whether a server can answer requests, check by check.

use futures::{FutureExt, future::BoxFuture};

use super::{bound_socket::ListenAddress, health::Health, tls_options::TlsOptions};

/// The readiness checks of a server or of a part of it. `/readyz` succeeds while all of them do.
#[derive(Default)]
pub struct Readiness(Vec<(&'static str, Check)>);

/// Why a check fails, if it does.
type Check = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckResult {
    pub(super) name: &'static str,
    pub(super) result: Result<(), String>,
}

impl std::fmt::Debug for Readiness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Readiness {
    /// The checks of every server.
    pub(super) fn of_server(health: Health) -> Self {
        let mut checks = Self::default();
        checks.add("ping", || Ok(()));
        checks
            .add("shutdown", move || if health.is_running() { Ok(()) } else { Err("starting or stopping".to_owned()) });
        checks
    }

    /// Adds a check.
    pub fn add(&mut self, name: &'static str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.add_async(name, move || std::future::ready(check()));
    }

    /// Adds a check that waits.
    pub(super) fn add_async<F: Future<Output = Result<(), String>> + Send + 'static>(
        &mut self,
        name: &'static str,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) {
        self.0.push((name, Box::new(move || check().boxed())));
    }

    /// Adds the checks of the TLS listener at `address`. Handshakes are tried with those that have a port.
    pub(super) fn add_tls(&mut self, tls: TlsOptions, address: &ListenAddress) {
        let TlsOptions { certificate, clock, names, .. } = tls.clone();
        self.add(names.certificate_check, move || {
            let served = certificate.current().ok_or("no certificate is loaded yet")?;
            served.info.valid(clock.now()).map_err(|e| e.to_string())
        });
        let ListenAddress::Tcp(address) = *address else { return };
        let handshake = move || {
            let TlsOptions { certificate, probe, .. } = tls.clone();
            async move { probe.run(address, &certificate).await }
        };
        self.add_async(names.handshake_check, handshake);
    }

    /// Adds the checks of a part.
    pub(super) fn extend(&mut self, checks: Self) {
        self.0.extend(checks.0);
    }

    /// Runs all checks.
    pub(super) async fn check(&self) -> Vec<CheckResult> {
        let mut results = Vec::with_capacity(self.0.len());
        for (name, check) in &self.0 {
            results.push(CheckResult { name, result: check().await });
        }
        results
    }
}
