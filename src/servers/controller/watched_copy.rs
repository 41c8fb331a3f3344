//! What the watches of the controller feed, without an API server: for a program that measures it.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use roster_engine::{
    compare::drift,
    model::{EndpointSlice, Endpoints, Node, Pod, Service},
    state::{Controller, EndpointsAction, Options},
};
use roster_manifests::inventory::Sink;

use super::{
    cluster_copy::{ClusterCopy, Pacing},
    queue::SyncEnd,
    service_scope::ServiceScope,
    sink::CopySink,
    watched_value::Watched,
};

/// The copy of a cluster, of a replica that leads.
#[derive(Debug)]
pub struct WatchedCopy(Arc<ClusterCopy>);

impl Default for WatchedCopy {
    fn default() -> Self {
        let (plan, scope) = (Options::default(), ServiceScope::default());
        let copy = Arc::new(ClusterCopy::new(Controller::ALL.into(), plan, Pacing::AtOnce, scope));
        copy.begin_to_lead();
        Self(copy)
    }
}

impl WatchedCopy {
    /// Takes a list of every resource: each text is an object, with its kind.
    pub fn list(&self, objects: &[(&str, &str)]) -> serde_json::Result<()> {
        self.list_of::<Pod>(objects, "Pod")?;
        self.list_of::<Service>(objects, "Service")?;
        self.list_of::<Node>(objects, "Node")?;
        self.list_of::<EndpointSlice>(objects, "EndpointSlice")?;
        self.list_of::<Endpoints>(objects, "Endpoints")
    }

    fn list_of<T: Watched>(&self, objects: &[(&str, &str)], kind: &str) -> serde_json::Result<()> {
        let mut sink = CopySink::<T>::new(self.0.clone());
        sink.begin_list();
        for (_, text) in objects.iter().filter(|(of, _)| *of == kind) {
            let row = sink.row(text)?;
            sink.list(row);
        }
        sink.end_list();
        Ok(())
    }

    /// Takes an event: the object is there.
    pub fn take(&self, kind: &str, object: &str) -> serde_json::Result<()> {
        match kind {
            "Pod" => self.take_one::<Pod>(object),
            "Service" => self.take_one::<Service>(object),
            "Node" => self.take_one::<Node>(object),
            "EndpointSlice" => self.take_one::<EndpointSlice>(object),
            "Endpoints" => self.take_one::<Endpoints>(object),
            _ => Ok(()),
        }
    }

    fn take_one<T: Watched>(&self, object: &str) -> serde_json::Result<()> {
        let mut sink = CopySink::<T>::new(self.0.clone());
        let row = sink.row(object)?;
        sink.apply(row);
        Ok(())
    }

    /// Plans every Service that is due, and enters what would be written. Returns how many differences there were.
    pub fn settle(&self) -> usize {
        let mut differences = 0;
        while let Some(due) = self.0.next().now_or_never() {
            let input = self.0.input(&due.key);
            let (plan, seen) = self.0.plan_of(&input, due.cause);
            differences += input.with_state(|state| drift(state, &plan, self.0.controllers())).len();
            let result = self.0.result_of(&input, &plan);
            let slices = plan.endpoint_slices;
            for (n, mut slice) in slices.create.into_iter().chain(slices.update).enumerate() {
                slice.meta.namespace = due.key.namespace.clone();
                if slice.meta.name.is_empty() {
                    slice.meta.name = format!("{}-{n}", due.key.name).into();
                }
                self.0.wrote(slice);
            }
            if let EndpointsAction::Create(mut endpoints) | EndpointsAction::Update(mut endpoints) = plan.endpoints {
                endpoints.meta.namespace = due.key.namespace.clone();
                self.0.wrote(*endpoints);
            }
            self.0.record(&due, Some(result), &[], Duration::ZERO);
            self.0.end(&due, SyncEnd::Settled, seen);
        }
        self.0.doubt_overdue();
        differences
    }
}
