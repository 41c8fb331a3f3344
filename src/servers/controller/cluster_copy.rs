//! The controller's copy of the cluster, and the queue that its changes fill.
//!
//! Everything here is short work under one lock: a change is entered, the Services that it concerns are looked up, and they are
//! put into the queue. Plans are made outside, from what [`ClusterCopy::input`] has collected.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use roster_admission::Unknown;
use roster_engine::{
    explain::Explanation,
    model::{Endpoints, HashSeed, Resource},
    profile::{Minor, Profile},
    state::{Controller, Options, Plan},
    unknown_kinds::UnknownKinds,
};
use roster_manifests::inventory::{Change, Live, PlanningRows, Table};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use super::{
    affected::{ObjectChange, Pace, Wake},
    beside,
    contest::Contest,
    permissions::watched,
    queue::{Cause, DueService, Queue, QueueReport, QueuedReport, ServiceKey, SyncEnd},
    service_input::{ServiceInput, is_written_by_controller},
    service_scope::{NotServed, ServiceScope},
    sync_counts::SyncCounts,
    sync_records::{SyncRecord, SyncRecords, SyncResult, SyncSums},
    trigger_times::SeenTimes,
    unseen_writes::UnseenWrites,
    watched_value::Watched,
};

/// The shortest pause before what another program has written is corrected (upstream: `endpointSliceChangeMinSyncDelay`).
const CORRECTION: Duration = Duration::from_secs(1);
/// How long the watch may take to show a write. After that, the Service is read from the API server.
const UNSEEN: Duration = Duration::from_secs(10);

/// The copy. Watches and the applier change it; workers take what is due.
#[derive(Debug)]
pub(super) struct ClusterCopy {
    state: Mutex<CopyState>,
    /// A Service was put into the queue.
    woken: Notify,
    /// Whether the pods have been listed once.
    pods_listed: watch::Sender<bool>,
    /// Whether everything that is needed has been listed once.
    all_listed: watch::Sender<bool>,
    controllers: Vec<Controller>,
    /// The release that is acted like, once it is known. Nothing is watched before.
    release: watch::Sender<Option<Minor>>,
    limits: Options,
    pacing: Pacing,
    scope: ServiceScope,
}

/// How soon a Service is due after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pacing {
    /// Changes are collected for this long.
    Batch(Duration),
    /// At once: nothing is written.
    AtOnce,
}

/// What the lock guards.
#[derive(Debug)]
pub(super) struct CopyState {
    pub(super) cluster: Live<PlanningRows>,
    queue: Queue,
    /// The last sync of each Service, while this replica writes.
    records: SyncRecords,
    /// The times of Services at their last sync.
    seen: HashMap<ServiceKey, SeenTimes, HashSeed>,
    /// Services of which the copy may be wrong: their objects are read from the API server before the next plan.
    pub(super) doubted: HashSet<ServiceKey, HashSeed>,
    pub(super) unseen_endpoints: UnseenWrites,
    pub(super) unseen_slices: UnseenWrites,
    pub(super) contest: Contest,
    /// Whether everything that is needed has been listed once.
    is_synced: bool,
    /// Whether this replica writes. Otherwise nothing is queued: who begins to lead looks at everything.
    leads: bool,
}

/// What is known of the syncs of a Service.
#[derive(Clone, Debug)]
pub(super) struct ServiceReport {
    pub(super) leads: bool,
    pub(super) queued: Option<QueuedReport>,
    /// Whether its objects are read from the API server before its next plan.
    pub(super) is_doubted: bool,
    /// Whether it is left alone because another program disagrees.
    pub(super) is_contested: bool,
    pub(super) record: Option<SyncRecord>,
}

impl ClusterCopy {
    /// An empty copy. It waits for its [release](Self::act_like).
    pub(super) fn new(controllers: Vec<Controller>, limits: Options, pacing: Pacing, scope: ServiceScope) -> Self {
        let state = CopyState {
            cluster: Live::empty(Unknown("the copy of the cluster is not complete yet")),
            queue: Queue::default(),
            records: SyncRecords::default(),
            seen: HashMap::default(),
            doubted: HashSet::default(),
            unseen_endpoints: UnseenWrites::default(),
            unseen_slices: UnseenWrites::default(),
            contest: Contest::default(),
            is_synced: false,
            leads: false,
        };
        Self {
            state: Mutex::new(state),
            woken: Notify::new(),
            pods_listed: watch::Sender::new(false),
            all_listed: watch::Sender::new(false),
            controllers,
            release: watch::Sender::new(None),
            limits,
            pacing,
            scope,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CopyState> {
        // A panic elsewhere leaves the copy whole: every change is one insertion or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controllers that it is planned for.
    pub(super) fn controllers(&self) -> &[Controller] {
        &self.controllers
    }

    /// The release to act like is known.
    pub(super) fn act_like(&self, release: Minor) {
        self.release.send_replace(Some(release));
    }

    /// Resolves when it is known.
    pub(super) async fn release_is_known(&self) {
        // The sender is part of this copy.
        let _ = self.release.subscribe().wait_for(Option::is_some).await;
    }

    /// The release that is acted like, if it is known.
    pub(super) fn release(&self) -> Option<Minor> {
        *self.release.borrow()
    }

    /// The same, or the newest one before it is known.
    pub(super) fn compat(&self) -> Minor {
        self.release().unwrap_or(self.limits.compat)
    }

    fn options(&self) -> Options {
        Options { compat: self.compat(), ..self.limits }
    }

    /// What is held of an object.
    pub(super) fn held<T: Watched>(&self, object: T) -> T {
        object.held(&self.options(), &self.scope)
    }

    /// Whether the controllers serve the Service of an input.
    pub(super) fn is_in_scope(&self, input: &ServiceInput) -> bool {
        input.is_in(&self.scope)
    }

    /// What a plan comes to, before anything is written.
    pub(super) fn result_of(&self, input: &ServiceInput, plan: &Plan) -> SyncResult {
        let options = self.options();
        let counts = SyncCounts::of(input, plan, &self.controllers, self.scope.slice_manager(), &options);
        let result = SyncResult::of(input, plan, counts, &options);
        if input.not_served(&self.scope).is_some() { result.elsewhere() } else { result }
    }

    /// Why the controllers do not serve a Service; `None` if they do.
    pub(super) fn not_served(&self, key: &ServiceKey, input: &ServiceInput) -> Option<NotServed> {
        self.scope.excludes_namespace(&key.namespace).or_else(|| input.not_served(&self.scope))
    }

    /// Whether the controllers leave a Service to others.
    pub(super) fn is_elsewhere(&self, key: &ServiceKey) -> bool {
        self.scope.is_part() && self.not_served(key, &self.input(key)).is_some()
    }

    /// Which pods serve a Service, and why the others do not. `namespace_pods` is the number of pods of its namespace.
    pub(super) fn explain(&self, input: &ServiceInput, unknown: UnknownKinds, namespace_pods: usize) -> Explanation {
        input.explain(&self.options(), &self.scope, unknown, namespace_pods)
    }

    /// Whether another controller may take the same Services for its own.
    pub(super) fn serves_a_part(&self) -> bool {
        self.scope.is_part()
    }

    /// What the controllers do with a Service, and the times that this sync has seen.
    pub(super) fn plan_of(&self, input: &ServiceInput, cause: Cause) -> (Plan, Option<SeenTimes>) {
        input.plan(&self.controllers, self.options(), &self.scope, cause)
    }

    /// The release that is acted like.
    pub(super) fn profile(&self) -> &'static Profile {
        self.compat().profile()
    }

    /// Whether everything that is needed has been listed once.
    pub(super) fn synced(&self) -> Result<(), String> {
        if self.lock().is_synced { Ok(()) } else { Err("the copy of the cluster is not complete yet".to_owned()) }
    }

    /// What has not been listed yet, of what is needed.
    pub(super) fn unlisted(&self) -> Vec<Resource> {
        let state = self.lock();
        let missing = |resource: &Resource| !state.is_synced && !is_listed(&state.cluster, *resource);
        watched(&self.controllers).filter(missing).collect()
    }

    /// Resolves when the pods have been listed once.
    pub(super) async fn pods_are_listed(&self) {
        let mut pods = self.pods_listed.subscribe();
        // The sender is part of this copy.
        let _ = pods.wait_for(|listed| *listed).await;
    }

    /// How many Services there are.
    pub(super) fn services(&self) -> usize {
        self.lock().cluster.services.last_known().rows().len()
    }

    /// Whether there is such a Service.
    pub(super) fn has_service(&self, ServiceKey { namespace, name }: &ServiceKey) -> bool {
        self.lock().cluster.services.last_known().get(namespace, name).is_some()
    }

    /// Whether this replica works.
    pub(super) fn leads(&self) -> bool {
        self.lock().leads
    }

    /// How many Services are left alone because another program disagrees.
    pub(super) fn contested(&self) -> usize {
        self.lock().contest.paused(Instant::now())
    }

    /// The state of the queue, and the sums over all Services.
    pub(super) fn report(&self) -> (QueueReport, SyncSums) {
        let state = self.lock();
        (state.queue.report(Instant::now()), state.records.sums())
    }

    /// What is known of the syncs of a Service.
    pub(super) fn report_of(&self, key: &ServiceKey) -> ServiceReport {
        let state = self.lock();
        ServiceReport {
            leads: state.leads,
            queued: state.queue.report_of(key),
            is_doubted: state.doubted.contains(key),
            is_contested: state.contest.is_paused(key, Instant::now()),
            record: state.records.get(key).cloned(),
        }
    }

    /// The watch shows an object.
    pub(super) fn apply<T: Watched>(&self, mut object: Arc<T>) {
        let mut state = self.lock();
        share_targets(&state.cluster, &mut object);
        if is_known(&mut state, &object) {
            return;
        }
        if let Some(change) = inserted(&mut state, object) {
            self.wake(&mut state, &change);
            self.contest(&mut state, &change);
        }
    }

    /// The watch shows that an object was deleted.
    pub(super) fn delete<T: Watched>(&self, namespace: &str, name: &str) {
        let mut state = self.lock();
        let is_news = T::unseen(&mut state).is_none_or(|unseen| unseen.is_news_of_deletion(namespace, name));
        if is_news && let Some(change) = removed::<T>(&mut state, namespace, name) {
            self.wake(&mut state, &change);
            self.contest(&mut state, &change);
        }
    }

    /// A list of all objects of a resource begins. The API server may have made it before a write.
    pub(super) fn begin_list<T: Watched>(&self) {
        let mut state = self.lock();
        let written = T::unseen(&mut state).map(|unseen| unseen.written()).unwrap_or_default();
        let table = T::table(&mut state.cluster);
        table.begin_list();
        for (namespace, name) in written {
            table.keep(&namespace, &name);
        }
    }

    /// The list has an object. Returns it if it is new, for the end of the list.
    pub(super) fn list<T: Watched>(&self, mut object: Arc<T>) -> Option<Arc<T>> {
        let mut state = self.lock();
        share_targets(&state.cluster, &mut object);
        if is_known(&mut state, &object) {
            T::table(&mut state.cluster).keep(object.namespace(), object.name());
            return None;
        }
        match T::table(&mut state.cluster).list(object) {
            Ok(change) => {
                if let Some(change) = change.map(owned) {
                    self.wake(&mut state, &change);
                }
                None
            }
            Err(new) => Some(new),
        }
    }

    /// The list is complete.
    pub(super) fn end_list<T: Watched>(&self, new: Table<Arc<T>, T::Lookup>) {
        let mut changes = Vec::new();
        let mut state = self.lock();
        T::table(&mut state.cluster).end_list(new, |change| changes.push(owned(change)));
        for change in &changes {
            self.wake(&mut state, change);
        }
        self.pods_listed.send_if_modified(|listed| {
            let is_new = !*listed && state.cluster.pods.is_listed();
            *listed |= is_new;
            is_new
        });
        if !state.is_synced && self.is_complete(&state.cluster) {
            state.is_synced = true;
            self.all_listed.send_replace(true);
        }
    }

    /// Resolves when everything that is needed has been listed once.
    pub(super) async fn is_listed(&self) {
        let mut listed = self.all_listed.subscribe();
        // The sender is part of this copy.
        let _ = listed.wait_for(|listed| *listed).await;
    }

    /// This replica begins to write: every Service is due.
    pub(super) fn begin_to_lead(&self) {
        let mut state = self.lock();
        state.leads = true;
        self.wake_all(&mut state);
    }

    /// Another replica may write from now on.
    pub(super) fn stop_leading(&self) {
        let mut state = self.lock();
        state.leads = false;
        state.queue.clear();
        state.records = SyncRecords::default();
        state.contest.forget_all();
    }

    /// Whether what the controllers need has been listed.
    fn is_complete(&self, cluster: &Live<PlanningRows>) -> bool {
        watched(&self.controllers).all(|resource| is_listed(cluster, resource))
    }

    /// Every Service, and everything that may be left of one. Of Endpoints without a Service, only those go that a controller
    /// has written. The reference removes others too, at its start.
    fn wake_all(&self, state: &mut CopyState) {
        let now = Instant::now();
        let CopyState { cluster, queue, .. } = state;
        for service in cluster.services.last_known().rows() {
            queue.wake(&ServiceKey::new(&service.meta.namespace, &service.meta.name), now, Cause::Change);
        }
        for endpoints in cluster.endpoints.last_known().rows() {
            let Endpoints { meta, .. } = &**endpoints;
            let is_left = is_written_by_controller(endpoints) || beside::is_own(endpoints);
            let cause = if is_left { Cause::Leftover } else { Cause::Change };
            queue.wake(&ServiceKey::new(&meta.namespace, &meta.name), now, cause);
        }
        for (namespace, name) in cluster.slices.last_known().lookup().services() {
            queue.wake(&ServiceKey::new(namespace, name), now, Cause::Change);
        }
        self.woken.notify_waiters();
        self.woken.notify_one();
    }

    fn wake<T: Watched>(&self, state: &mut CopyState, change: &ObjectChange<T>) {
        if !state.leads {
            return;
        }
        let now = Instant::now();
        let options = self.options();
        // Only the shadow asks what the reference makes of it.
        let notice = (self.pacing == Pacing::AtOnce).then(|| T::notice(change, &state.cluster));
        for Wake { key, cause, pace, origin } in T::affected(change, &state.cluster, &options) {
            let delay = match (&self.pacing, pace) {
                (Pacing::AtOnce, _) | (_, Pace::Now) => Duration::ZERO,
                (Pacing::Batch(batch), Pace::Batch) => *batch,
                (Pacing::Batch(batch), Pace::Correction) => CORRECTION.max(*batch),
            };
            state.queue.wake_for(&key, now + delay, cause, (origin, now));
            if let Some(notice) = notice {
                state.queue.note(&key, notice);
            }
            self.woken.notify_one();
        }
    }

    /// Another program has changed an object. If it does so with what this one writes, again and again, the Service is left alone.
    fn contest<T: Watched>(&self, state: &mut CopyState, change: &ObjectChange<T>) {
        // Deletions do not count: the garbage collector deletes, too.
        let (Some(before), Some(_)) = (&change.before, &change.after) else { return };
        let Some((_, key)) = before.written() else { return };
        // The event of a write may be quicker than its answer.
        if !self.scope.is_part() || !state.leads || state.queue.is_running(&key) {
            return;
        }
        if !before.is_own(&self.scope, &state.cluster) {
            return;
        }
        if let Some(until) = state.contest.overwritten(&key, Instant::now()) {
            state.queue.hold(&key, until);
            let (namespace, service) = (&key.namespace, &key.name);
            tracing::warn!(%namespace, %service, "another program changes the endpoints of a Service again and again: it is left alone for five minutes");
        }
    }

    /// The next Service that is due.
    pub(super) async fn next(&self) -> DueService {
        loop {
            let woken = self.woken.notified();
            let next = {
                let mut state = self.lock();
                if let Some(due) = state.queue.take(Instant::now()) {
                    return due;
                }
                state.queue.next_due()
            };
            match next {
                Some(due) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
                None => woken.await,
            }
        }
    }

    /// Whether the objects of a Service must be [read](Self::read) before it is planned.
    pub(super) fn is_doubted(&self, key: &ServiceKey) -> bool {
        self.lock().doubted.contains(key)
    }

    /// What a plan for a Service needs.
    pub(super) fn input(&self, key: &ServiceKey) -> ServiceInput {
        input_of(&self.lock(), key)
    }

    /// What an explanation of a Service needs: the same, and how many pods its namespace has.
    pub(super) fn input_to_explain(&self, key: &ServiceKey) -> (ServiceInput, usize) {
        let state = self.lock();
        (input_of(&state, key), state.cluster.pods.last_known().of_namespace(&key.namespace).len())
    }

    /// The copy may be wrong about a Service: a write came too late, or nobody knows what became of it.
    pub(super) fn doubt(&self, key: &ServiceKey) {
        self.lock().doubted.insert(key.clone());
    }

    /// The Service is due at this time, if it is not before.
    pub(super) fn wake_at(&self, key: &ServiceKey, due: Instant) {
        self.lock().queue.wake(key, due, Cause::Change);
        self.woken.notify_one();
    }

    /// What a sync wanted and did. There is a record of a Service while it exists and the controllers serve it, or something of it is
    /// not as it should be.
    pub(super) fn record(&self, due: &DueService, result: Option<SyncResult>, errors: &[String], took: Duration) {
        let ServiceKey { namespace, name } = &due.key;
        let mut state = self.lock();
        let is_gone = state.cluster.services.last_known().get(namespace, name).is_none();
        if errors.is_empty() && (is_gone || result.is_some_and(|result| result.is_elsewhere)) {
            state.records.remove(&due.key);
        } else if state.leads {
            state.records.insert(&due.key, result, errors, took, Instant::now());
        }
    }

    /// The sync of a Service has ended. `seen` are the times of its input, if it is settled.
    pub(super) fn end(&self, due: &DueService, end: SyncEnd, seen: Option<SeenTimes>) {
        let mut state = self.lock();
        let now = Instant::now();
        if end == SyncEnd::Settled {
            match seen {
                Some(seen) => {
                    state.seen.insert(due.key.clone(), seen);
                }
                None => {
                    state.seen.remove(&due.key);
                }
            }
        }
        state.queue.end(due, end, now);
        if end == SyncEnd::Interrupted {
            self.woken.notify_one();
        }
    }

    /// Doubts the Services whose writes the watch does not show.
    pub(super) fn doubt_overdue(&self) {
        let mut state = self.lock();
        state.contest.sweep(Instant::now());
        let Some(since) = Instant::now().checked_sub(UNSEEN) else { return };
        let mut keys = state.unseen_endpoints.overdue(since);
        keys.extend(state.unseen_slices.overdue(since));
        for key in keys {
            state.queue.wake(&key, Instant::now(), Cause::Change);
            state.doubted.insert(key);
            self.woken.notify_one();
        }
    }
}

fn input_of(state: &CopyState, key: &ServiceKey) -> ServiceInput {
    let Live { services, pods, nodes, endpoints, slices, .. } = &state.cluster;
    let service = services.last_known().get(&key.namespace, &key.name).cloned();
    let pods = match service.as_ref().and_then(|service| service.selector.as_ref()) {
        Some(selector) => {
            let table = pods.last_known();
            let selected = table.lookup().selected(&key.namespace, selector);
            selected.unwrap_or_else(|| table.of_namespace(&key.namespace).to_vec())
        }
        None => Vec::new(),
    };
    ServiceInput {
        seen: state.seen.get(key).cloned(),
        service,
        pods,
        nodes: nodes.last_known().lookup().now(),
        endpoints: endpoints.last_known().get(&key.namespace, &key.name).cloned(),
        slices: slices.last_known().lookup().of(&key.namespace, &key.name).to_vec(),
    }
}

fn is_listed(cluster: &Live<PlanningRows>, resource: Resource) -> bool {
    match resource {
        Resource::Pod => cluster.pods.is_listed(),
        Resource::Service => cluster.services.is_listed(),
        Resource::Node => cluster.nodes.is_listed(),
        Resource::Endpoints => cluster.endpoints.is_listed(),
        Resource::EndpointSlice => cluster.slices.is_listed(),
        _ => true,
    }
}

/// Whether an object that the watch shows says nothing new: it is older than what was written, or the version that the copy has.
/// A write would wake its own Service otherwise. Where a webhook changes what is written, that would go on for ever.
fn is_known<T: Watched>(state: &mut CopyState, object: &Arc<T>) -> bool {
    let Some((meta, _)) = object.written() else { return false };
    if T::unseen(state).is_some_and(|unseen| !unseen.is_news(meta)) {
        return true;
    }
    let held = T::table(&mut state.cluster).last_known().get(&meta.namespace, &meta.name);
    held.and_then(|held| held.written())
        .is_some_and(|(held, _)| held.uid == meta.uid && held.resource_version == meta.resource_version)
}

fn owned<T>(change: Change<'_, Arc<T>>) -> ObjectChange<T> {
    ObjectChange { before: change.before, after: change.after.cloned() }
}

pub(super) fn inserted<T: Watched>(state: &mut CopyState, object: Arc<T>) -> Option<ObjectChange<T>> {
    T::table(&mut state.cluster).insert(object).map(owned)
}

pub(super) fn removed<T: Watched>(state: &mut CopyState, namespace: &str, name: &str) -> Option<ObjectChange<T>> {
    T::table(&mut state.cluster).remove(namespace, name).map(owned)
}

/// Shares the references to pods with the pods: a copy of each would take as much as the rest of an endpoint.
pub(super) fn share_targets<T: Watched>(cluster: &Live<PlanningRows>, object: &mut Arc<T>) {
    let (pods, Some(object)) = (cluster.pods.last_known(), Arc::get_mut(object)) else { return };
    for target in object.targets() {
        let pod = pods.get(&target.namespace, &target.name);
        if let Some(pod) = pod.filter(|pod| pod.reference == *target) {
            *target = pod.reference.clone();
        }
    }
}
