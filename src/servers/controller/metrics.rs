//! Metrics of the controller, with the names and the meaning that kube-controller-manager gives them where it has them.
//!
//! Its counters `changes` and `syncs` do not end in `_total`, which OpenMetrics demands of a counter. So their type is unknown here.

use std::{fmt, sync::Arc, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder},
    metrics::{
        MetricType, TypedMetric,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use roster_engine::{
    endpointslice::DISTRIBUTIONS,
    model::{Resource, installed::CONTROLLER, names},
    state::{Controller, Options},
};

use super::{
    cluster_copy::{ClusterCopy, Pacing},
    leadership::LeaderMetrics,
    queue::{DueService, Origin, QueueReport},
    service_scope::ServiceScope,
    shadow::{Shadow, ShadowMetrics, ShadowOptions},
    sync_counts::{SliceCounts, SyncCounts, WantedSlices},
    sync_records::{SyncResult, SyncSums},
};
use crate::{
    kube_api::{RequestMetrics, WatchMetrics},
    runtime::net::Health,
};

/// What is done to a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceOperation {
    Create,
    Update,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OriginLabel {
    origin: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HintLabels {
    topology: &'static str,
    traffic_distribution: &'static str,
}

/// A counter whose name does not end in `_total`.
#[derive(Clone, Debug, Default)]
struct PlainCounter(Counter);

impl EncodeMetric for PlainCounter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        encoder.encode_gauge(&i64::try_from(self.0.get()).unwrap_or(i64::MAX))
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for PlainCounter {
    const TYPE: MetricType = MetricType::Unknown;
}

/// How the sync of a Service has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncVerdict {
    Success,
    /// Someone else was quicker than a write.
    Stale,
    Error,
}

/// What one controller of slices counts. A clone counts into the same metrics, as with all of them here.
#[derive(Clone, Debug)]
struct SliceMetrics {
    changes: Family<OperationLabel, PlainCounter>,
    added: Histogram,
    removed: Histogram,
}

impl SliceMetrics {
    fn new() -> Self {
        Self { changes: Family::default(), added: per_sync(), removed: per_sync() }
    }

    fn register(&self, registry: &mut Registry, synced: &str) {
        registry.register("changes", "Number of EndpointSlice changes", self.changes.clone());
        let added = format!("Number of endpoints added on each {synced} sync");
        registry.register("endpoints_added_per_sync", added, self.added.clone());
        let removed = format!("Number of endpoints removed on each {synced} sync");
        registry.register("endpoints_removed_per_sync", removed, self.removed.clone());
    }

    fn observe(&self, counts: &SliceCounts) {
        self.added.observe(float(counts.added));
        self.removed.observe(float(counts.removed));
    }
}

/// The metrics that are counted while the controller works.
#[derive(Clone, Debug)]
pub(super) struct ControllerMetrics {
    slices: SliceMetrics,
    slices_changed: Family<HintLabels, Histogram>,
    syncs: Family<ResultLabel, PlainCounter>,
    mirrored: SliceMetrics,
    updated: Histogram,
    skipped: Histogram,
    mirroring_duration: Histogram,
    queue_duration: Histogram,
    work_duration: Histogram,
    programming: Family<OriginLabel, Histogram>,
}

impl ControllerMetrics {
    pub(super) fn new() -> Self {
        Self {
            slices: SliceMetrics::new(),
            // The default buckets of client_golang.
            slices_changed: Family::new_with_constructor(|| {
                Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
            }),
            syncs: Family::default(),
            mirrored: SliceMetrics::new(),
            updated: per_sync(),
            skipped: per_sync(),
            mirroring_duration: from_a_millisecond(),
            queue_duration: Histogram::new(exponential_buckets(10e-9, 10.0, 10)),
            work_duration: Histogram::new(exponential_buckets(10e-9, 10.0, 10)),
            programming: Family::new_with_constructor(from_a_millisecond),
        }
    }

    /// Registers all of them, and those that are read from the copy when they are asked for.
    pub(super) fn register(&self, registry: &mut Registry, copy: Arc<ClusterCopy>) {
        let slices = registry.sub_registry_with_prefix("endpoint_slice_controller");
        self.slices.register(slices, "Service");
        let help = "Number of EndpointSlices changed on each Service sync";
        slices.register("endpointslices_changed_per_sync", help, self.slices_changed.clone());
        let help = "Number of EndpointSlice syncs, by result: success, stale (someone else was quicker than a write), or error";
        slices.register("syncs", help, self.syncs.clone());
        let mirrored = registry.sub_registry_with_prefix("endpoint_slice_mirroring_controller");
        self.mirrored.register(mirrored, "Endpoints");
        let help = "Number of endpoints updated on each Endpoints sync";
        mirrored.register("endpoints_updated_per_sync", help, self.updated.clone());
        let help = "Number of addresses skipped on each Endpoints sync due to being invalid or exceeding MaxEndpointsPerSubset";
        mirrored.register("addresses_skipped_per_sync", help, self.skipped.clone());
        let help = "Duration of syncEndpoints() in seconds";
        mirrored.register("endpoints_sync_duration", help, self.mirroring_duration.clone());
        let queue = registry.sub_registry_with_label(("name".into(), queue_name(copy.controllers()).into()));
        let help = "How long in seconds an item stays in workqueue before being requested";
        queue.register("workqueue_queue_duration_seconds", help, self.queue_duration.clone());
        let help = "How long in seconds processing an item from workqueue takes";
        queue.register("workqueue_work_duration_seconds", help, self.work_duration.clone());
        let help = "Time from when a change was seen to the answer of the last write that it led to, with all retries, by what has changed first";
        registry.register("roster_controller_programming_duration_seconds", help, self.programming.clone());
        registry.register_collector(Box::new(CopyMetrics(copy)));
    }

    fn example(&self) {
        for managed_by in [names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER] {
            self.changed(Some(managed_by), SliceOperation::Create);
        }
        drop(self.slices_changed.get_or_create(&HintLabels::of(&SyncResult::default())));
        drop(self.syncs.get_or_create(&ResultLabel { result: SyncVerdict::Success.name() }));
        drop(self.programming.get_or_create(&OriginLabel { origin: Origin::ALL[0].name() }));
    }

    /// Counts a slice that was written or deleted.
    pub(super) fn changed(&self, managed_by: Option<&str>, operation: SliceOperation) {
        let metrics = if managed_by == Some(names::MIRROR_CONTROLLER) { &self.mirrored } else { &self.slices };
        let operation = match operation {
            SliceOperation::Create => "create",
            SliceOperation::Update => "update",
            SliceOperation::Delete => "delete",
        };
        metrics.changes.get_or_create(&OperationLabel { operation }).0.inc();
    }

    /// Counts a sync that has ended.
    pub(super) fn ended(&self, sync: &EndedSync<'_>, controllers: &[Controller]) {
        let &EndedSync { due, result, verdict, took, since_change } = sync;
        let SyncCounts { slices, mirrored, skipped } = result.counts;
        self.queue_duration.observe(due.late.as_secs_f64());
        self.work_duration.observe(took.as_secs_f64());
        if controllers.contains(&Controller::EndpointSlices) && !result.is_elsewhere {
            self.syncs.get_or_create(&ResultLabel { result: verdict.name() }).0.inc();
        }
        if let Some(counts) = slices {
            self.slices.observe(&counts);
        }
        if let (Some(counts), SyncVerdict::Success) = (slices, verdict) {
            self.slices_changed.get_or_create(&HintLabels::of(&result)).observe(float(counts.changed));
        }
        if let Some(counts) = mirrored {
            self.mirrored.observe(&counts);
            self.updated.observe(float(counts.updated));
            self.skipped.observe(float(skipped));
            self.mirroring_duration.observe(took.as_secs_f64());
        }
        if result.writes > 0 && verdict == SyncVerdict::Success {
            let origin = OriginLabel { origin: due.origin.name() };
            self.programming.get_or_create(&origin).observe(since_change.as_secs_f64());
        }
    }
}

/// A sync that has ended.
pub(super) struct EndedSync<'a> {
    pub(super) due: &'a DueService,
    pub(super) result: SyncResult,
    pub(super) verdict: SyncVerdict,
    pub(super) took: Duration,
    /// The time since the first change that it includes was seen.
    pub(super) since_change: Duration,
}

impl SyncVerdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Stale => "stale",
            Self::Error => "error",
        }
    }
}

impl HintLabels {
    fn of(result: &SyncResult) -> Self {
        if result.shares_zones {
            return Self { topology: "Auto", traffic_distribution: "" };
        }
        let traffic_distribution = result.distribution.map_or("", |place| DISTRIBUTIONS[place]);
        Self { topology: "Disabled", traffic_distribution }
    }
}

/// Registers all metrics of a controller, each with a value: for their documentation.
pub fn example_metrics(health: &Health) {
    let controllers = Controller::ALL.to_vec();
    let copy = ClusterCopy::new(controllers, Options::default(), Pacing::AtOnce, ServiceScope::default());
    let (watches, requests, leader) = (WatchMetrics::default(), RequestMetrics::default(), LeaderMetrics::default());
    let metrics = ControllerMetrics::new();
    health.metrics.register(|registry| {
        watches.register(registry);
        requests.register(registry);
        metrics.register(registry, Arc::new(copy));
        leader.register(registry);
        ShadowMetrics::new(Arc::new(Shadow::new(ShadowOptions::default()))).register(registry);
    });
    watches.stale(Resource::Pod.plural(), false);
    requests.count("200", "GET", "192.0.2.1:6443");
    leader.set(CONTROLLER, false);
    drop(health.evictions("admin", "connections"));
    metrics.example();
}

/// The name of the queue. There is one for all controllers, and it has the name that kube-controller-manager gives that of the
/// first of them, so that alerts go on.
fn queue_name(controllers: &[Controller]) -> &'static str {
    let names = [
        (Controller::EndpointSlices, "endpoint_slice"),
        (Controller::Endpoints, "endpoint"),
        (Controller::Mirroring, "endpoint_slice_mirroring"),
    ];
    names
        .into_iter()
        .find(|(controller, _)| controllers.contains(controller))
        .map_or("endpoint_slice", |(_, name)| name)
}

/// The metrics that are read from the copy when they are asked for.
#[derive(Debug)]
struct CopyMetrics(Arc<ClusterCopy>);

impl Collector for CopyMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (queue, sums) = self.0.report();
        encode_queue(&mut encoder, &queue, queue_name(self.0.controllers()))?;
        let help = "Services that are left alone because another program changes what the controller writes";
        encode_gauge(&mut encoder, "roster_controller_contested_services", help, self.0.contested())?;
        encode_sums(&mut encoder, &sums)
    }
}

fn encode_queue(encoder: &mut DescriptorEncoder<'_>, queue: &QueueReport, name: &str) -> Result<(), fmt::Error> {
    let labels = [("name", name)];
    let mut depth =
        encoder.encode_descriptor("workqueue_depth", "Current depth of workqueue", None, MetricType::Gauge)?;
    gauge(queue.due).encode(depth.encode_family(&labels)?)?;
    let (unfinished, longest) = (queue.unfinished.as_secs_f64(), queue.longest.as_secs_f64());
    for (metric, help, value) in [
        (
            "workqueue_unfinished_work_seconds",
            "How many seconds of work is in progress and has not been observed by work_duration",
            unfinished,
        ),
        (
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor for workqueue has been running",
            longest,
        ),
    ] {
        let gauge = ConstGauge::new(value);
        let mut encoder = encoder.encode_descriptor(metric, help, None, gauge.metric_type())?;
        gauge.encode(encoder.encode_family(&labels)?)?;
    }
    for (metric, help, value) in [
        ("workqueue_adds", "Total number of adds handled by workqueue", queue.adds),
        ("workqueue_retries", "Total number of retries handled by workqueue", queue.retries),
    ] {
        let counter = ConstCounter::new(value);
        let mut encoder = encoder.encode_descriptor(metric, help, None, counter.metric_type())?;
        counter.encode(encoder.encode_family(&labels)?)?;
    }
    let help = "Services that wait for a sync, by what has changed first: also those that wait for other changes, or after a failure";
    let mut waiting = encoder.encode_descriptor("roster_controller_queue_depth", help, None, MetricType::Gauge)?;
    for origin in Origin::ALL {
        let gauge = gauge(queue.waiting[origin as usize]);
        gauge.encode(waiting.encode_family(&[("origin", origin.name())])?)?;
    }
    let help = "Services of which more than fifteen syncs in a row have failed, after which kube-controller-manager forgets them";
    encode_gauge(encoder, "roster_controller_failing_services", help, queue.failing)
}

fn encode_sums(encoder: &mut DescriptorEncoder<'_>, sums: &SyncSums) -> Result<(), fmt::Error> {
    for (prefix, wanted) in
        [("endpoint_slice_controller", sums.slices), ("endpoint_slice_mirroring_controller", sums.mirrored)]
    {
        let WantedSlices { endpoints, slices, fewest } = wanted;
        for (name, help, value) in [
            ("endpoints_desired", "Number of endpoints desired", endpoints),
            ("num_endpoint_slices", "Number of EndpointSlices", slices),
            (
                "desired_endpoint_slices",
                "Number of EndpointSlices that would exist with perfect endpoint allocation",
                fewest,
            ),
        ] {
            encode_gauge(encoder, &format!("{prefix}_{name}"), help, value)?;
        }
    }
    let name = "endpoint_slice_controller_services_count_by_traffic_distribution";
    let help = "Number of Services using some specific trafficDistribution";
    let mut services = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (distribution, count) in DISTRIBUTIONS.into_iter().zip(sums.distributions) {
        gauge(count).encode(services.encode_family(&[("traffic_distribution", distribution)])?)?;
    }
    Ok(())
}

fn encode_gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: usize) -> Result<(), fmt::Error> {
    gauge(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn gauge(value: usize) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The buckets of kube-controller-manager for numbers of a sync.
fn per_sync() -> Histogram {
    Histogram::new(exponential_buckets(2.0, 2.0, 15))
}

/// Its buckets for the duration of a sync: from a millisecond to 16 seconds.
fn from_a_millisecond() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

fn float(number: usize) -> f64 {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;
    use crate::servers::controller::cluster_copy_tests::synced;

    /// The names, types and labels that kube-controller-manager 1.37 has for these controllers. OpenMetrics writes the names of counters
    /// without `_total` in their types.
    const SAME: &[&str] = &[
        "# TYPE endpoint_slice_controller_changes unknown",
        "endpoint_slice_controller_changes{operation=\"create\"} 1",
        "# TYPE endpoint_slice_controller_desired_endpoint_slices gauge",
        "endpoint_slice_controller_desired_endpoint_slices 1",
        "# TYPE endpoint_slice_controller_endpoints_added_per_sync histogram",
        "endpoint_slice_controller_endpoints_added_per_sync_bucket{le=\"2.0\"} 0",
        "endpoint_slice_controller_endpoints_added_per_sync_bucket{le=\"32768.0\"} 1",
        "# TYPE endpoint_slice_controller_endpoints_desired gauge",
        "endpoint_slice_controller_endpoints_desired 3",
        "# TYPE endpoint_slice_controller_endpoints_removed_per_sync histogram",
        "# TYPE endpoint_slice_controller_endpointslices_changed_per_sync histogram",
        "endpoint_slice_controller_endpointslices_changed_per_sync_count{topology=\"Disabled\",traffic_distribution=\"PreferSameZone\"} 1",
        "# TYPE endpoint_slice_controller_num_endpoint_slices gauge",
        "endpoint_slice_controller_num_endpoint_slices 2",
        "# TYPE endpoint_slice_controller_services_count_by_traffic_distribution gauge",
        "endpoint_slice_controller_services_count_by_traffic_distribution{traffic_distribution=\"PreferSameZone\"} 1",
        "# TYPE endpoint_slice_controller_syncs unknown",
        "endpoint_slice_controller_syncs{result=\"success\"} 1",
        "# TYPE endpoint_slice_mirroring_controller_addresses_skipped_per_sync histogram",
        "# TYPE endpoint_slice_mirroring_controller_changes unknown",
        "endpoint_slice_mirroring_controller_changes{operation=\"delete\"} 1",
        "# TYPE endpoint_slice_mirroring_controller_desired_endpoint_slices gauge",
        "# TYPE endpoint_slice_mirroring_controller_endpoints_added_per_sync histogram",
        "# TYPE endpoint_slice_mirroring_controller_endpoints_desired gauge",
        "# TYPE endpoint_slice_mirroring_controller_endpoints_removed_per_sync histogram",
        "# TYPE endpoint_slice_mirroring_controller_endpoints_sync_duration histogram",
        "# TYPE endpoint_slice_mirroring_controller_endpoints_updated_per_sync histogram",
        "# TYPE endpoint_slice_mirroring_controller_num_endpoint_slices gauge",
        "# TYPE workqueue_adds counter",
        "workqueue_adds_total{name=\"endpoint_slice\"} 1",
        "# TYPE workqueue_depth gauge",
        "workqueue_depth{name=\"endpoint_slice\"} 0",
        "# TYPE workqueue_longest_running_processor_seconds gauge",
        "# TYPE workqueue_queue_duration_seconds histogram",
        "workqueue_queue_duration_seconds_bucket{name=\"endpoint_slice\",le=\"0.0001\"} 0",
        "workqueue_queue_duration_seconds_count{name=\"endpoint_slice\"} 1",
        "# TYPE workqueue_retries counter",
        "workqueue_retries_total{name=\"endpoint_slice\"} 0",
        "# TYPE workqueue_unfinished_work_seconds gauge",
        "# TYPE workqueue_work_duration_seconds histogram",
        "workqueue_work_duration_seconds_count{name=\"endpoint_slice\"} 1",
    ];

    const OWN: &[&str] = &[
        "roster_controller_queue_depth{origin=\"pods\"} 0",
        "roster_controller_failing_services 0",
        "roster_controller_programming_duration_seconds_count{origin=\"other\"} 1",
    ];

    #[tokio::test(start_paused = true)]
    async fn metrics_are_those_of_kube_controller_manager() {
        let (copy, metrics) = (Arc::new(synced()), ControllerMetrics::new());
        let due = DueService { late: Duration::from_millis(1), ..copy.next().await };
        let wanted = WantedSlices { endpoints: 3, slices: 2, fewest: 1 };
        let slices = Some(SliceCounts { wanted, changed: 1, added: 3, ..SliceCounts::default() });
        let counts = SyncCounts { slices, ..SyncCounts::default() };
        let result = SyncResult { counts, writes: 1, distribution: Some(1), ..SyncResult::default() };
        metrics.changed(Some(names::SLICE_CONTROLLER), SliceOperation::Create);
        metrics.changed(Some(names::MIRROR_CONTROLLER), SliceOperation::Delete);
        let (took, since_change) = (Duration::from_millis(2), Duration::from_millis(3));
        let ended = EndedSync { due: &due, result, verdict: SyncVerdict::Success, took, since_change };
        metrics.ended(&ended, copy.controllers());
        copy.record(&due, Some(result), &[], took);
        let mut registry = Registry::default();
        metrics.register(&mut registry, copy);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in SAME.iter().chain(OWN) {
            assert!(text.lines().any(|own| own == *line), "{line}\n{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_sync_that_has_written_all_has_programmed_something() {
        let (copy, metrics) = (Arc::new(synced()), ControllerMetrics::new());
        let due = copy.next().await;
        for (writes, verdict) in [(0, SyncVerdict::Success), (1, SyncVerdict::Stale), (1, SyncVerdict::Error)] {
            let result = SyncResult { writes, ..SyncResult::default() };
            let (took, since_change) = (Duration::ZERO, Duration::ZERO);
            metrics.ended(&EndedSync { due: &due, result, verdict, took, since_change }, &[]);
        }
        let mut registry = Registry::default();
        metrics.register(&mut registry, copy);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert!(!text.contains("programming_duration_seconds_count"), "{text}");
        assert!(!text.contains("endpoint_slice_controller_syncs{"), "the controller of slices does not run");
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_not_served_does_not_count_as_a_sync() {
        let (copy, metrics) = (Arc::new(synced()), ControllerMetrics::new());
        let due = copy.next().await;
        let (served, leftover) = (SyncResult::default(), SyncResult { endpoints: "delete", ..SyncResult::default() });
        for (result, verdict) in [
            (served, SyncVerdict::Success),
            (served.elsewhere(), SyncVerdict::Success),
            (served.elsewhere(), SyncVerdict::Error),
            (leftover.elsewhere(), SyncVerdict::Stale),
        ] {
            let (took, since_change) = (Duration::ZERO, Duration::ZERO);
            metrics.ended(&EndedSync { due: &due, result, verdict, took, since_change }, &Controller::ALL);
        }
        let mut registry = Registry::default();
        metrics.register(&mut registry, copy);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let syncs = text.lines().filter(|line| line.starts_with("endpoint_slice_controller_syncs{"));
        let mut syncs: Vec<&str> = syncs.collect();
        syncs.sort_unstable();
        let want =
            ["stale", "success"].map(|result| format!("endpoint_slice_controller_syncs{{result=\"{result}\"}} 1"));
        assert_eq!(syncs, want, "what is left of a Service is removed in a sync");
    }
}
