//! Whether the containers of a pod ask for CPU and memory: an autoscaler compares what they use with that.

use roster_engine::model::{Text, wire::lenient};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A container or sidecar, and whether it asks for an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequests {
    /// Its name.
    pub name: Text,
    /// Whether it asks for CPU.
    pub cpu: bool,
    /// Whether it asks for memory.
    pub memory: bool,
}

impl ContainerRequests {
    /// Whether it asks for this resource; `None` for others than CPU and memory.
    pub fn has(&self, resource: &str) -> Option<bool> {
        match resource {
            "cpu" => Some(self.cpu),
            "memory" => Some(self.memory),
            _ => None,
        }
    }
}

/// `resources` of a container or a pod.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct RawResources {
    #[serde(deserialize_with = "lenient")]
    requests: Map<String, Value>,
    #[serde(deserialize_with = "lenient")]
    limits: Map<String, Value>,
}

impl RawResources {
    /// Whether there is a request. An API server fills in the limit where it is missing.
    pub(super) fn has(&self, resource: &str) -> bool {
        [&self.requests, &self.limits].iter().any(|amounts| amounts.get(resource).is_some_and(|a| !a.is_null()))
    }

    /// Whether there is no request for anything.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.limits.is_empty()
    }
}
