//! Options of the controller.

use std::time::Duration;

use roster_engine::{
    profile::Minor,
    state::{Controller, Options},
};

use super::{leadership::ControllerLease, service_scope::ServiceScope, shadow::ShadowOptions, token_bucket::WriteRate};
use crate::kube_api::ClusterChoice;

/// Options of the controller.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// The cluster.
    pub cluster: ClusterChoice,
    /// The controllers that it stands for.
    pub controllers: Vec<Controller>,
    /// The Services that it serves.
    pub scope: ServiceScope,
    /// The release to act like; `None`: that of the cluster.
    pub compat: Option<Minor>,
    /// The limits. Its release does not count.
    pub limits: Options,
    /// How long changes of pods, nodes and slices are collected.
    pub batch: Duration,
    /// The most requests a second; `None`: as many as the API server accepts.
    pub rate: Option<WriteRate>,
    /// How many Services are synced at the same time.
    pub workers: usize,
    /// The Lease under which it writes; `None`: there is one replica.
    pub lease: Option<ControllerLease>,
    /// Only compare what is stored with what it would write.
    pub shadow: Option<ShadowOptions>,
}

impl ControllerOptions {
    /// The default of the workers. A worker mostly waits for the API server.
    pub const WORKERS: usize = 32;

    /// The most threads that block at once: those of watches, of workers with large plans, and of name look-ups.
    pub const BLOCKING_THREADS: usize = 64;
}
