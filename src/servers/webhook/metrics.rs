//! Metrics of admission reviews.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use roster_admission::{AdmissionRequest, Decision, KINDS, Mode, Operation, Rule, Stage};
use roster_engine::model::Resource;

use super::{cluster::CopyMetrics, part::TLS};
use crate::runtime::net::{Health, TlsOptions};

/// Labels of a decision. All values come from small sets, whatever a client sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    stage: &'static str,
    kind: &'static str,
    operation: &'static str,
    allowed: &'static str,
    patched: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    stage: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    stage: &'static str,
    rule: &'static str,
    mode: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    stage: &'static str,
    reason: &'static str,
}

/// Metrics of admission reviews. A clone counts into the same metrics.
#[derive(Clone, Debug)]
pub struct AdmissionMetrics {
    decisions: Family<DecisionLabels, Counter>,
    seconds: Family<StageLabels, Histogram, fn() -> Histogram>,
    findings: Family<FindingLabels, Counter>,
    shed: Family<ShedLabels, Counter>,
    in_flight: Gauge,
}

impl Default for AdmissionMetrics {
    fn default() -> Self {
        Self {
            decisions: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            findings: Family::default(),
            shed: Family::default(),
            in_flight: Gauge::default(),
        }
    }
}

/// Buckets from 50 µs to 1.6 s, each twice the previous one: a Service takes some ten microseconds, 7 MiB some ten milliseconds.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 2.0, 16))
}

/// A review and its decision.
pub(crate) struct DecidedReview<'a> {
    pub(crate) stage: Stage,
    pub(crate) request: &'a AdmissionRequest<'a>,
    pub(crate) decision: &'a Decision,
    pub(crate) took: Duration,
}

/// Counts a review until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightReview(Gauge);

impl Drop for InFlightReview {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl AdmissionMetrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("roster_admission_decisions", "Reviews decided", self.decisions.clone());
        registry.register_with_unit(
            "roster_admission_duration",
            "Time from the head of a review to its decision",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register("roster_admission_findings", "Findings of rules, by rule and mode", self.findings.clone());
        registry.register(
            "roster_admission_shed",
            "Reviews answered unchecked, by reason: late, busy, budget (a rule would have taken too much work), unreadable, or bug",
            self.shed.clone(),
        );
        registry.register("roster_admission_in_flight", "Reviews being answered", self.in_flight.clone());
    }

    pub(crate) fn begin(&self) -> InFlightReview {
        self.in_flight.inc();
        InFlightReview(self.in_flight.clone())
    }

    pub(crate) fn decided(&self, review: &DecidedReview<'_>) {
        let stage = stage_label(review.stage);
        let labels = DecisionLabels {
            stage,
            kind: KINDS
                .iter()
                .find(|k| k.resource.kind() == review.request.kind)
                .map_or("other", |k| k.resource.kind()),
            operation: match review.request.operation {
                Some(Operation::Create) => "CREATE",
                Some(Operation::Update) => "UPDATE",
                None => "other",
            },
            allowed: if review.decision.allowed() { "true" } else { "false" },
            patched: if review.decision.patch.is_empty() { "false" } else { "true" },
        };
        self.decisions.get_or_create(&labels).inc();
        self.seconds.get_or_create(&StageLabels { stage }).observe(review.took.as_secs_f64());
        for finding in &review.decision.findings {
            let labels = FindingLabels { stage, rule: finding.rule.code(), mode: mode_label(finding.mode) };
            self.findings.get_or_create(&labels).inc();
        }
    }

    fn example(&self) {
        let stage = stage_label(Stage::Validate);
        let (kind, operation) = (Resource::Service.kind(), "CREATE");
        let decision = DecisionLabels { stage, kind, operation, allowed: "true", patched: "false" };
        drop(self.decisions.get_or_create(&decision));
        drop(self.seconds.get_or_create(&StageLabels { stage }));
        let finding = FindingLabels { stage, rule: Rule::SelectorMatchesNothing.code(), mode: mode_label(Mode::Warn) };
        drop(self.findings.get_or_create(&finding));
        self.shed(Stage::Validate, "late");
    }

    pub(crate) fn shed(&self, stage: Stage, reason: &'static str) {
        self.shed.get_or_create(&ShedLabels { stage: stage_label(stage), reason }).inc();
    }
}

/// Registers all metrics of a webhook, each with a value: for their documentation.
pub fn example_metrics(health: &Health) {
    let (admission, copy) = (AdmissionMetrics::default(), CopyMetrics::default());
    health.metrics.register(|registry| {
        admission.register(registry);
        copy.register(registry);
    });
    admission.example();
    copy.example();
    TlsOptions::example(&TLS, health);
}

fn stage_label(stage: Stage) -> &'static str {
    match stage {
        Stage::Mutate => "mutate",
        Stage::Validate => "validate",
    }
}

fn mode_label(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::Audit => "audit",
        Mode::Warn => "warn",
        Mode::Enforce => "enforce",
    }
}
