//! The values that the watches of the controller feed: their tables, and the Services that a change of them concerns.

use std::sync::Arc;

use roster_engine::{
    model::{EndpointSlice, Endpoints, Node, ObjectMeta, ObjectRef, Pod, Service, Text, installed::MANAGER, names},
    state::Options,
};
use roster_manifests::inventory::{Live, LiveRows, LiveTable, Lookup, PlanningRows, Row};
use serde::de::DeserializeOwned;

use super::{
    affected::{self, ObjectChange, Wake},
    beside,
    cluster_copy::CopyState,
    noticed,
    queue::{Notice, ServiceKey},
    service_scope::ServiceScope,
    unseen_writes::UnseenWrites,
};

/// A value that a watch of the controller feeds.
pub(super) trait Watched: Row + DeserializeOwned + Send + Sync + 'static {
    /// The look-up of its table.
    type Lookup: Lookup<Arc<Self>> + Send;

    /// What is held of it.
    fn held(self, _plan: &Options, _scope: &ServiceScope) -> Self {
        self
    }

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>, Self::Lookup>;

    /// The references to pods in it, which may be shared with the pods.
    fn targets(&mut self) -> impl Iterator<Item = &mut Arc<ObjectRef>> {
        std::iter::empty()
    }

    /// The Services that a change concerns.
    fn affected(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>, plan: &Options) -> Vec<Wake>;

    /// What the reference learns of a change.
    fn notice(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>) -> Notice;

    /// The writes of the controller to objects of this resource, if it writes any.
    fn unseen(_state: &mut CopyState) -> Option<&mut UnseenWrites> {
        None
    }

    /// Whether the controllers of this scope have written it.
    fn is_own(&self, _scope: &ServiceScope, _cluster: &Live<PlanningRows>) -> bool {
        false
    }

    /// The metadata of an object that the controller may write, and the Service that it belongs to.
    fn written(&self) -> Option<(&ObjectMeta, ServiceKey)> {
        None
    }
}

type Pods = <PlanningRows as LiveRows>::Pods;
type Services = <PlanningRows as LiveRows>::Services;
type Nodes = <PlanningRows as LiveRows>::Nodes;
type Slices = <PlanningRows as LiveRows>::Slices;

impl Watched for Pod {
    type Lookup = Pods;

    /// A status that says nothing new has a new version, too.
    fn held(mut self, plan: &Options, _: &ServiceScope) -> Self {
        if !plan.compat.profile().target_resource_version {
            self.resource_version = Text::default();
        }
        self
    }

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>, Pods> {
        &mut cluster.pods
    }

    fn affected(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>, _: &Options) -> Vec<Wake> {
        affected::by_pod(change, cluster)
    }

    fn notice(change: &ObjectChange<Self>, _: &Live<PlanningRows>) -> Notice {
        noticed::by_pod(change)
    }
}

impl Watched for Service {
    type Lookup = Services;

    fn held(self, _: &Options, scope: &ServiceScope) -> Self {
        if scope.is_beside { beside::held(self) } else { self }
    }

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>, Services> {
        &mut cluster.services
    }

    fn affected(change: &ObjectChange<Self>, _: &Live<PlanningRows>, _: &Options) -> Vec<Wake> {
        affected::by_service(change)
    }

    fn notice(change: &ObjectChange<Self>, _: &Live<PlanningRows>) -> Notice {
        noticed::by_service(change)
    }
}

impl Watched for Node {
    type Lookup = Nodes;

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>, Nodes> {
        &mut cluster.nodes
    }

    fn affected(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>, plan: &Options) -> Vec<Wake> {
        affected::by_node(change, cluster, plan.compat.profile())
    }

    fn notice(change: &ObjectChange<Self>, _: &Live<PlanningRows>) -> Notice {
        noticed::by_node(change)
    }
}

impl Watched for Endpoints {
    type Lookup = ();

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>> {
        &mut cluster.endpoints
    }

    fn targets(&mut self) -> impl Iterator<Item = &mut Arc<ObjectRef>> {
        let lists = self.subsets.iter_mut().map(|subset| (&mut subset.addresses, &mut subset.not_ready_addresses));
        let addresses = lists.flat_map(|(ready, not_ready)| ready.iter_mut().chain(not_ready));
        addresses.filter_map(|address| address.target_ref.as_mut())
    }

    fn affected(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>, _: &Options) -> Vec<Wake> {
        affected::by_endpoints(change, cluster)
    }

    fn notice(change: &ObjectChange<Self>, cluster: &Live<PlanningRows>) -> Notice {
        noticed::by_endpoints(change, cluster)
    }

    fn is_own(&self, scope: &ServiceScope, cluster: &Live<PlanningRows>) -> bool {
        let service = cluster.services.last_known().get(&self.meta.namespace, &self.meta.name);
        service.is_some_and(|service| service.selector.is_some()) && (!scope.is_beside || beside::is_own(self))
    }

    fn unseen(state: &mut CopyState) -> Option<&mut UnseenWrites> {
        Some(&mut state.unseen_endpoints)
    }

    fn written(&self) -> Option<(&ObjectMeta, ServiceKey)> {
        Some((&self.meta, ServiceKey::new(&self.meta.namespace, &self.meta.name)))
    }
}

impl Watched for EndpointSlice {
    type Lookup = Slices;

    fn table(cluster: &mut Live<PlanningRows>) -> &mut LiveTable<Arc<Self>, Slices> {
        &mut cluster.slices
    }

    fn targets(&mut self) -> impl Iterator<Item = &mut Arc<ObjectRef>> {
        self.endpoints.iter_mut().filter_map(|endpoint| endpoint.target_ref.as_mut())
    }

    fn affected(change: &ObjectChange<Self>, _: &Live<PlanningRows>, _: &Options) -> Vec<Wake> {
        affected::by_slice(change)
    }

    fn notice(change: &ObjectChange<Self>, _: &Live<PlanningRows>) -> Notice {
        noticed::by_slice(change)
    }

    fn is_own(&self, scope: &ServiceScope, _: &Live<PlanningRows>) -> bool {
        let names: &[&str] =
            if scope.is_beside { &[MANAGER] } else { &[names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER] };
        self.managed_by().is_some_and(|by| names.contains(&by.as_str()))
    }

    fn unseen(state: &mut CopyState) -> Option<&mut UnseenWrites> {
        Some(&mut state.unseen_slices)
    }

    fn written(&self) -> Option<(&ObjectMeta, ServiceKey)> {
        Some((&self.meta, ServiceKey::new(&self.meta.namespace, self.service_name()?)))
    }
}
