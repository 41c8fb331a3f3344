//! Certificates that nobody keeps: for `--dev`, and for tests.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{Life, MakeError, Material, advance};
use crate::runtime::tls::{Clock, PairError, Served};

/// So often it is looked whether something is due. A sleep of weeks would not notice that the clock was set.
const LOOK: Duration = Duration::from_mins(1);

/// Why a certificate cannot be made and served.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// It cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// It cannot be served.
    #[error(transparent)]
    Serve(#[from] PairError),
}

/// Makes a CA and a certificate for `names`, and serves it. Gives both, and the task that renews them.
pub fn in_memory(
    served: Arc<Served>,
    clock: Clock,
    names: Vec<String>,
    life: Life,
) -> Result<(Material, impl Future<Output = MemoryError> + Send), MemoryError> {
    let (first, _) = advance(clock.now(), Material::default(), true, &names, &life)?;
    served.replace(&first.pair())?;
    let mut material = first.clone();
    let renew = async move {
        loop {
            sleep(LOOK).await;
            let (next, _) = match advance(clock.now(), material.clone(), true, &names, &life) {
                Ok(next) => next,
                Err(error) => return error.into(),
            };
            if next.pair() != material.pair()
                && let Err(error) = served.replace(&next.pair())
            {
                return error.into();
            }
            material = next;
        }
    };
    Ok((first, renew))
}
