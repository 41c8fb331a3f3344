//! `roster disable` and `roster enable`: the failure policies of Roster's own webhook configurations, set to `Ignore`
//! and back.
//!
//! [`plan()`] decides, [`turn`] does it. What was before is kept in an annotation of the configuration itself, so that
//! anybody can turn it back, from anywhere. Nothing else is written, and nothing where somebody else wrote meanwhile.

mod plan;

use std::time::Duration;

use kube::{
    Api,
    api::{Patch, PatchParams},
    core::DynamicObject,
};
use serde::Serialize;

use crate::{
    kube_api::{self, LiveError, Target},
    model::Resource,
};
pub use plan::{ANNOTATION, Direction, NotOurs, Planned, plan};

/// Who writes, in the managed fields of the configurations.
const MANAGER: &str = "roster-switch";
/// How often a configuration is read again that somebody else wrote meanwhile.
const ATTEMPTS: usize = 5;

/// What to turn, and where.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which cluster; its namespace is no matter.
    pub target: Target,
    /// Name of both configurations.
    pub name: String,
    /// Off, or on again.
    pub direction: Direction,
    /// Ask the API server whether it would do it, and leave it.
    pub dry_run: bool,
}

/// What became of a configuration.
#[derive(Debug)]
pub struct Turned {
    /// Its kind.
    pub kind: Resource,
    /// What was changed in it; empty if it was so already.
    pub result: Result<Vec<Change>, SwitchError>,
}

/// A webhook whose failure policy was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Name of the webhook.
    pub webhook: String,
    /// What it was.
    pub before: String,
    /// What it is now.
    pub after: String,
}

/// Why a configuration could not be turned.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// It is not there.
    #[error("there is no {0} {1}")]
    Missing(Resource, String),
    /// The API server refused, or did not answer.
    #[error("{0} {1}: cannot {2} it")]
    Request(Resource, String, &'static str, #[source] Box<kube::Error>),
    /// The API server took too long.
    #[error("{0} {1}: no answer from the API server within {2} seconds")]
    Timeout(Resource, String, u64),
    /// Others write it all the time.
    #[error("{0} {1}: somebody else wrote it each of {ATTEMPTS} times; try again")]
    Conflict(Resource, String),
    /// The annotation was changed by somebody.
    #[error("{0} {1}: {2}")]
    NotOurs(Resource, String, #[source] NotOurs),
}

/// Turns both configurations, the one even where the other fails. An error means that the cluster cannot be reached.
pub fn turn(order: &Order) -> Result<Vec<Turned>, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    let done = runtime.block_on(async {
        let client = kube_api::connect(&order.target).await?;
        let mut all = Vec::new();
        for kind in [Resource::MutatingWebhookConfiguration, Resource::ValidatingWebhookConfiguration] {
            all.push(Turned {
                kind,
                result: One { kind, order, api: kube_api::api(client.clone(), kind) }.turn().await,
            });
        }
        Ok(all)
    });
    // A name look-up that hangs must not hold the program.
    runtime.shutdown_background();
    done
}

/// One configuration.
struct One<'a> {
    kind: Resource,
    order: &'a Order,
    api: Api<DynamicObject>,
}

impl One<'_> {
    async fn turn(&self) -> Result<Vec<Change>, SwitchError> {
        for _ in 0..ATTEMPTS {
            if let Some(changes) = self.attempt().await? {
                return Ok(changes);
            }
        }
        Err(SwitchError::Conflict(self.kind, self.name()))
    }

    /// `None`: somebody else wrote it after it was read.
    async fn attempt(&self) -> Result<Option<Vec<Change>>, SwitchError> {
        let found = self.answered("read", self.api.get_opt(&self.order.name)).await?;
        let found = found.ok_or_else(|| SwitchError::Missing(self.kind, self.name()))?;
        let found = serde_json::to_value(found).unwrap_or_default();
        let planned = plan(&found, self.order.direction);
        let planned = planned.map_err(|e| SwitchError::NotOurs(self.kind, self.name(), e))?;
        let Some(Planned { patch, changes }) = planned else { return Ok(Some(Vec::new())) };
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            dry_run: self.order.dry_run,
            ..PatchParams::default()
        };
        let patch = Patch::Strategic(patch);
        match self.answered("patch", self.api.patch(&self.order.name, &params, &patch)).await {
            Ok(_) => Ok(Some(changes)),
            Err(SwitchError::Request(.., error)) if is_conflict(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn answered<T>(
        &self,
        verb: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, SwitchError> {
        let limit: Duration = self.order.target.timeout;
        match tokio::time::timeout(limit, request).await {
            Ok(answer) => answer.map_err(|e| SwitchError::Request(self.kind, self.name(), verb, Box::new(e))),
            Err(_) => Err(SwitchError::Timeout(self.kind, self.name(), limit.as_secs())),
        }
    }

    fn name(&self) -> String {
        self.order.name.clone()
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}
