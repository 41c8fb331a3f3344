//! Writes the failure policies of both webhook configurations.

use std::time::Duration;

use kube::{
    Api,
    api::{Patch, PatchParams},
    core::DynamicObject,
};
use roster_engine::model::Resource;

use super::switch_plan::{AnnotationError, Direction, FailurePolicyChange, SwitchPlan, plan_switch};
use crate::kube_api::{self, LiveError, Target};

/// The field manager of the switch.
const MANAGER: &str = "roster-switch";
/// The limit of attempts: after a concurrent write a configuration is read again.
const ATTEMPTS: usize = 5;

/// What to switch, and in which cluster.
#[derive(Clone, Debug)]
pub struct SwitchOrder {
    /// The cluster; its namespace is ignored.
    pub target: Target,
    /// The name of both configurations.
    pub name: String,
    /// Disable, or enable again.
    pub direction: Direction,
    /// Send the patches as a dry run.
    pub dry_run: bool,
}

/// The outcome for one configuration.
#[derive(Debug)]
pub struct ConfigurationOutcome {
    /// Its resource.
    pub kind: Resource,
    /// What was changed; empty if nothing was to be done.
    pub result: Result<Vec<FailurePolicyChange>, SwitchError>,
}

/// Why a configuration could not be switched.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// It does not exist.
    #[error("{0} {1} does not exist")]
    Missing(Resource, String),
    /// The API server refused, or did not answer.
    #[error("{0} {1}: cannot {2} it")]
    Request(Resource, String, &'static str, #[source] Box<kube::Error>),
    /// The API server took too long.
    #[error("{0} {1}: no response from the API server within {2} seconds")]
    Timeout(Resource, String, u64),
    /// Every attempt met a concurrent write.
    #[error("{0} {1}: concurrent writes in all of {ATTEMPTS} attempts; try again")]
    Conflict(Resource, String),
    /// The annotation is invalid.
    #[error("{0} {1}: {2}")]
    Annotation(Resource, String, #[source] AnnotationError),
}

/// Switches both configurations, one even where the other fails. An error means that the cluster cannot be reached.
pub fn switch(order: &SwitchOrder) -> Result<Vec<ConfigurationOutcome>, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    let outcomes = runtime.block_on(async {
        let client = kube_api::connect(&order.target).await?;
        let mut all = Vec::new();
        for kind in [Resource::MutatingWebhookConfiguration, Resource::ValidatingWebhookConfiguration] {
            all.push(ConfigurationOutcome {
                kind,
                result: ConfigurationSwitch { kind, order, api: kube_api::api(client.clone(), kind) }.run().await,
            });
        }
        Ok(all)
    });
    // A DNS lookup that hangs must not keep the program from ending.
    runtime.shutdown_background();
    outcomes
}

/// The switch of one configuration.
struct ConfigurationSwitch<'a> {
    kind: Resource,
    order: &'a SwitchOrder,
    api: Api<DynamicObject>,
}

impl ConfigurationSwitch<'_> {
    async fn run(&self) -> Result<Vec<FailurePolicyChange>, SwitchError> {
        for _ in 0..ATTEMPTS {
            if let Some(changes) = self.attempt().await? {
                return Ok(changes);
            }
        }
        Err(SwitchError::Conflict(self.kind, self.name()))
    }

    /// `None`: a concurrent write.
    async fn attempt(&self) -> Result<Option<Vec<FailurePolicyChange>>, SwitchError> {
        let found = self.answered("read", self.api.get_opt(&self.order.name)).await?;
        let found = found.ok_or_else(|| SwitchError::Missing(self.kind, self.name()))?;
        let found = serde_json::to_value(found).unwrap_or_default();
        let planned = plan_switch(&found, self.order.direction);
        let planned = planned.map_err(|e| SwitchError::Annotation(self.kind, self.name(), e))?;
        let Some(SwitchPlan { patch, changes }) = planned else { return Ok(Some(Vec::new())) };
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
