//! Random changes of Services, pods, nodes and of what the controllers write, as users, kubelets and other programs make them.
//!
//! Several clusters can get the same changes in the same order. A change never depends on the names, versions and times that a
//! cluster gave to objects: what a controller has written is chosen by its Service and its place among the slices of it.

mod nodes;
mod objects;
mod pods;
mod services;
mod written;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::{Value, json};

use self::objects::named;
pub(super) use self::{
    objects::{create_running, object, pod, probe, ready, with_events},
    written::{delete_slices_of, slices},
};
use crate::{api::ApiServer, parity::rng::Rng};

pub(super) const NAMESPACE: &str = "shop";
/// The Services with a selector, `service-0` and so on, and those without, `by-hand-0` and so on.
const SERVICES: usize = 12;
const BY_HAND: usize = 4;
const PODS: usize = 30;
const NODES: usize = 6;
const ZONES: usize = 3;
const APPS: [&str; 3] = ["web", "api", "db"];

/// A change, and how likely it is among those of its table. It returns the status of the API servers.
type Row = (usize, (&'static str, fn(&mut Changes) -> u16));

/// Changes that both controllers follow, whenever they happen.
const FOLLOWED: &[Row] = &[
    (24, ("create a Service", Changes::create_service)),
    (6, ("delete a Service", Changes::delete_service)),
    (9, ("change a selector", Changes::change_selector)),
    (6, ("label a Service", Changes::label_service)),
    (6, ("change ports", Changes::change_ports)),
    (6, ("change families", Changes::change_families)),
    (6, ("distribute traffic", Changes::distribute_traffic)),
    (36, ("create a pod", Changes::create_pod)),
    (12, ("delete a pod", Changes::delete_pod)),
    (6, ("terminate a pod", Changes::terminate_pod)),
    (36, ("flip a pod", Changes::flip_pod)),
    (9, ("label a pod", Changes::label_pod)),
    (6, ("end a pod", Changes::end_pod)),
    (9, ("write Endpoints by hand", Changes::write_endpoints)),
    (3, ("label Endpoints by hand", Changes::label_endpoints)),
    (9, ("edit a slice", Changes::edit_slice)),
    (6, ("write a slice", Changes::write_slice)),
    (3, ("hand a slice over", Changes::hand_slice)),
];

/// Changes after which a controller leaves what it has written by then as it is. When that was is chance, unless the
/// controller is at rest.
const STOPPING: &[Row] = &[
    (8, ("take a selector away", Changes::take_selector)),
    (8, ("change a type", Changes::change_type)),
    (8, ("create a Service by hand", Changes::create_by_hand)),
    (4, ("delete a Service by hand", Changes::delete_by_hand)),
    (4, ("take a slice", Changes::take_slice)),
];

/// Changes that the reference overlooks at times, or, as zones, that it takes another look at after its start.
const OVERLOOKED: &[Row] = &[
    (12, ("ask for zones", Changes::ask_for_zones)),
    (2, ("change a zone", Changes::change_zone)),
    (2, ("flip a node", Changes::flip_node)),
    (2, ("change a CPU", Changes::change_cpu)),
    (1, ("delete a node", Changes::delete_node)),
    (4, ("create nodes", Changes::create_nodes)),
    (1, ("end a pod unnoticed", Changes::end_pod_unnoticed)),
    (1, ("edit Endpoints", Changes::edit_endpoints)),
];

/// The changes of one cluster, or of several alike.
pub(super) struct Changes {
    clusters: Vec<Rc<ApiServer>>,
    rng: Rng,
    made: BTreeMap<&'static str, usize>,
    /// How many were tried: the clock of kubelets.
    tried: usize,
    /// Services that no change may [stop](STOPPING).
    moving: BTreeSet<String>,
}

impl Changes {
    /// The namespace and its nodes.
    pub(super) fn begin(clusters: Vec<Rc<ApiServer>>, seed: u64) -> Self {
        let (made, moving) = Default::default();
        let mut changes = Self { clusters, rng: Rng::new(seed, 0), made, tried: 0, moving };
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        assert_eq!(changes.everywhere(|cluster| cluster.create(&namespace, "", false).status), 201);
        assert_eq!(changes.create_nodes(), 201);
        changes
    }

    /// How many of each there were.
    pub(super) fn made(&self) -> &BTreeMap<&'static str, usize> {
        &self.made
    }

    /// Makes a change that both controllers follow, whichever of them runs and whichever comes after it.
    pub(super) fn make_one(&mut self) {
        self.make(&[FOLLOWED, STOPPING].concat());
    }

    /// Makes any change after which the controllers of all clusters come to the same.
    pub(super) fn make_one_alike(&mut self) {
        self.make(&[FOLLOWED, OVERLOOKED].concat());
    }

    /// Makes changes that stop a controller, one for a Service at most: after the first one its controllers are at work again.
    /// They are at rest now, and have written the same in all clusters, but for these Services.
    pub(super) fn stop_some(&mut self, count: usize, but: &BTreeSet<String>) {
        self.moving.clone_from(but);
        for _ in 0..count {
            self.make(STOPPING);
        }
    }

    /// Whether the controllers of a Service are at rest. From now on they are not.
    fn was_at_rest(&mut self, service: &str) -> bool {
        self.moving.insert(service.to_owned())
    }

    /// Makes a change that the reference overlooks at times.
    pub(super) fn make_one_overlooked(&mut self) {
        self.make(OVERLOOKED);
    }

    /// What cannot be done because its object is missing, or there already, counts as well.
    fn make(&mut self, among: &[Row]) {
        self.tried += 1;
        let (change, make) = self.rng.weighted(among);
        let done = make(self);
        if done < 300 {
            *self.made.entry(change).or_default() += 1;
        } else {
            assert!(matches!(done, 404 | 409 | 422), "{change}: {done}");
        }
    }

    /// Does the same in all clusters, which must say the same.
    fn everywhere(&self, mut request: impl FnMut(&ApiServer) -> u16) -> u16 {
        let told: Vec<u16> = self.clusters.iter().map(|cluster| request(cluster)).collect();
        assert!(told.iter().all(|status| *status == told[0]), "{told:?}");
        told[0]
    }

    /// Does the same in all clusters. Controllers decide whether the object is there: it may be missing in one of them only.
    fn anywhere(&self, mut request: impl FnMut(&ApiServer) -> u16) -> u16 {
        self.clusters.iter().map(|cluster| request(cluster)).min().unwrap()
    }

    /// An object that the changes alone decide about, so that it is the same in all clusters.
    fn read(&self, object: &Value) -> Option<Value> {
        let told = self.clusters[0].get(&crate::api::path(object));
        (told.status == 200).then_some(told.body)
    }

    fn patch(&self, object: &Value, patch: &Value) -> u16 {
        self.everywhere(|cluster| cluster.patch(object, patch).status)
    }

    fn patch_status(&self, object: &Value, status: &Value) -> u16 {
        let patch = json!({ "status": status });
        self.everywhere(|cluster| cluster.patch_status(object, &patch).status)
    }

    fn create(&self, object: &Value) -> u16 {
        self.everywhere(|cluster| cluster.create(object, "", false).status)
    }
}
