//! Certificates that are not stored: for `--dev`, and for tests.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{CertificateLifetimes, IssueError, Material, advance};
use crate::runtime::{
    clock::Clock,
    tls::{DynamicCertificate, KeyPairError},
};

/// How often to check whether a renewal is due. A sleep of weeks would not notice that the clock was set.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Why a certificate cannot be issued and served.
#[derive(Debug, thiserror::Error)]
pub enum InMemoryError {
    /// It cannot be issued.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// It cannot be served.
    #[error(transparent)]
    Serve(#[from] KeyPairError),
}

/// Issues a CA and a certificate for `names`, and serves the certificate. Returns both, and the task that renews them.
pub fn in_memory(
    certificate: Arc<DynamicCertificate>,
    clock: Clock,
    names: Vec<String>,
    lifetimes: CertificateLifetimes,
) -> Result<(Material, impl Future<Output = InMemoryError> + Send), InMemoryError> {
    let (first, _) = advance(clock.now(), Material::default(), true, &names, &lifetimes)?;
    certificate.replace(&first.key_pair())?;
    let mut material = first.clone();
    let renew = async move {
        loop {
            sleep(CHECK_INTERVAL).await;
            let (next, _) = match advance(clock.now(), material.clone(), true, &names, &lifetimes) {
                Ok(next) => next,
                Err(error) => return error.into(),
            };
            if next.key_pair() != material.key_pair()
                && let Err(error) = certificate.replace(&next.key_pair())
            {
                return error.into();
            }
            material = next;
        }
    };
    Ok((first, renew))
}
