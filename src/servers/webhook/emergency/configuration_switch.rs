//! Writes the failure policies of both webhook configurations.

use kube::core::DynamicObject;
use roster_engine::model::Resource;

use super::switch_plan::{AnnotationError, Direction, FailurePolicyChange, SwitchPlan, plan_switch};
use crate::kube_api::{self, LiveError, Target, WriteError, WriteOutcome, Writer};

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
            // A person waits, and says for how long.
            let writer =
                Writer::new(client.clone(), kind, None, MANAGER).within(order.target.timeout).dry_run(order.dry_run);
            all.push(ConfigurationOutcome { kind, result: ConfigurationSwitch { kind, order, writer }.run().await });
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
    writer: Writer<DynamicObject>,
}

impl ConfigurationSwitch<'_> {
    async fn run(&self) -> Result<Vec<FailurePolicyChange>, SwitchError> {
        for _ in 0..ATTEMPTS {
            if let Some(changes) = self.attempt().await? {
                return Ok(changes);
            }
        }
        Err(SwitchError::Conflict(self.kind, self.order.name.clone()))
    }

    /// `None`: a concurrent write.
    async fn attempt(&self) -> Result<Option<Vec<FailurePolicyChange>>, SwitchError> {
        let name = &self.order.name;
        let found = self.writer.read(name).await.map_err(|e| self.failed("read", e))?;
        let found = found.ok_or_else(|| SwitchError::Missing(self.kind, name.clone()))?;
        let found = serde_json::to_value(found).unwrap_or_default();
        let planned = plan_switch(&found, self.order.direction);
        let planned = planned.map_err(|e| SwitchError::Annotation(self.kind, name.clone(), e))?;
        let Some(SwitchPlan { patch, changes }) = planned else { return Ok(Some(Vec::new())) };
        match self.writer.merge(name, &patch).await.map_err(|e| self.failed("patch", e))? {
            WriteOutcome::Done(_) => Ok(Some(changes)),
            WriteOutcome::Conflict | WriteOutcome::Gone => Ok(None),
        }
    }

    fn failed(&self, verb: &'static str, error: WriteError) -> SwitchError {
        let (kind, name) = (self.kind, self.order.name.clone());
        match error {
            WriteError::Failed(error) => SwitchError::Request(kind, name, verb, Box::new(error)),
            WriteError::Slow(limit) => SwitchError::Timeout(kind, name, limit.as_secs()),
        }
    }
}
