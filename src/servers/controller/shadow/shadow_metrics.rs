//! Metrics of the shadow.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};
use tokio::time::Instant;

use super::{Shadow, shadow_class::ShadowClass};

/// The metrics, read from the book when they are asked for.
#[derive(Debug)]
pub(in super::super) struct ShadowMetrics(Arc<Shadow>);

impl ShadowMetrics {
    pub(in super::super) fn new(shadow: Arc<Shadow>) -> Self {
        Self(shadow)
    }

    pub(in super::super) fn register(self, registry: &mut Registry) {
        registry.register_collector(Box::new(self));
    }
}

/// The values of a class.
struct ClassValues {
    class: ShadowClass,
    oldest: Duration,
    services: usize,
    named: u64,
    healed: u64,
}

impl ShadowMetrics {
    fn values(&self) -> (Vec<ClassValues>, Duration, f64) {
        let (book, now) = (self.0.book(), Instant::now());
        let all = book.named(now);
        let classes = ShadowClass::ALL.map(|class| {
            let of_class = || all.iter().flat_map(|(_, named, _)| named).filter(move |named| named.class == class);
            let slow = || book.past().filter(|past| past.class == class && class == ShadowClass::Slow);
            let drifting =
                all.iter().filter(|(_, named, _)| named.iter().any(|n| n.class == class)).map(|(key, ..)| *key);
            let services = drifting.chain(slow().map(|past| &past.key)).collect::<HashSet<_>>().len();
            let now_there = of_class().map(|named| now.duration_since(named.since)).max();
            let oldest = now_there.or(slow().map(|past| past.lasted).max()).unwrap_or_default();
            let (named, healed) = book.totals(class);
            ClassValues { class, oldest, services, named, healed }
        });
        #[expect(clippy::cast_precision_loss, reason = "a number of Services")]
        let left_alone = book.left_alone(now) as f64;
        (classes.into(), book.grace(), left_alone)
    }
}

impl Collector for ShadowMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (classes, grace, left_alone) = self.values();
        let mut family = |name: &str, help: &str, value: fn(&ClassValues) -> f64| {
            let kind = ConstGauge::new(0.0).metric_type();
            let mut of_class = encoder.encode_descriptor(name, help, None, kind)?;
            for values in &classes {
                let labels = [("class", values.class.name())];
                ConstGauge::new(value(values)).encode(of_class.encode_family(&labels)?)?;
            }
            Ok(())
        };
        family(
            "roster_endpoints_drift_seconds",
            "Age of the oldest difference that is reported, by class; of slow ones, how long the longest one took within ten minutes",
            |values| values.oldest.as_secs_f64(),
        )?;
        family(
            "roster_endpoints_drift_services",
            "Services with differences that are reported, by class; of slow ones, within ten minutes",
            #[expect(clippy::cast_precision_loss, reason = "a number of Services")]
            |values| values.services as f64,
        )?;
        for (name, help, value) in [
            (
                "roster_endpoints_drift",
                "Differences that were reported, by class",
                (|values| values.named) as fn(&ClassValues) -> u64,
            ),
            ("roster_endpoints_drift_healed", "Differences that were healed, by class", |values| values.healed),
        ] {
            let kind = ConstCounter::new(0_u64).metric_type();
            let mut of_class = encoder.encode_descriptor(name, help, None, kind)?;
            for values in &classes {
                let labels = [("class", values.class.name())];
                ConstCounter::new(value(values)).encode(of_class.encode_family(&labels)?)?;
            }
        }
        let failures = ConstCounter::new(self.0.failed_heals());
        let help = "Healings of which the API server has refused a write, or has not answered it";
        let name = "roster_endpoints_drift_heal_failures";
        failures.encode(encoder.encode_descriptor(name, help, None, failures.metric_type())?)?;
        for (name, help, value) in [
            ("grace_seconds", "How long a difference may last before it is reported", grace.as_secs_f64()),
            ("contested_services", "Services that are left alone after they were healed again and again", left_alone),
        ] {
            let (name, gauge) = (format!("roster_endpoints_drift_{name}"), ConstGauge::new(value));
            gauge.encode(encoder.encode_descriptor(&name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
