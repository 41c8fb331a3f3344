//! Latencies that an API server measured, from its metrics.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use crate::cluster::ControlPlane;

/// The latencies of creating Services.
#[derive(Clone, Debug)]
pub(super) struct CreateLatencies {
    /// Whole requests.
    pub(super) request: Latency,
    /// The mutating webhook.
    pub(super) mutate: Latency,
    /// The validating webhook.
    pub(super) validate: Latency,
}

impl CreateLatencies {
    /// No latencies.
    pub(super) fn new() -> Result<Self> {
        Ok(Self { request: Latency::new()?, mutate: Latency::new()?, validate: Latency::new()? })
    }

    /// All latencies since the API server was started.
    pub(super) fn read(plane: &ControlPlane) -> Result<Self> {
        let text = plane.kubectl_with("get --raw /metrics", "")?;
        let request = ["resource=\"services\"", "verb=\"POST\"", "dry_run=\"\""];
        let webhook = |name| [name, "operation=\"CREATE\"", "rejected=\"false\""];
        let duration = "apiserver_admission_webhook_admission_duration_seconds";
        Ok(Self {
            request: Latency::read(&text, "apiserver_request_duration_seconds", &request)?,
            mutate: Latency::read(&text, duration, &webhook("name=\"services.mutate.roster.dev\""))?,
            validate: Latency::read(&text, duration, &webhook("name=\"services.validate.roster.dev\""))?,
        })
    }

    /// Adds the latencies in `after` that are not in `before`.
    pub(super) fn add(&mut self, before: &Self, after: &Self) -> Result<()> {
        self.request.add(&before.request, &after.request)?;
        self.mutate.add(&before.mutate, &after.mutate)?;
        self.validate.add(&before.validate, &after.validate)
    }
}

/// The upper bound of the histogram: an hour, in microseconds.
const LONGEST: u64 = 3_600_000_000;

/// The latencies of one kind of call.
#[derive(Clone, Debug)]
pub(super) struct Latency {
    /// The sum of all, in seconds. Buckets alone give no exact mean.
    sum: f64,
    /// In microseconds, each latency as the upper bound of its bucket.
    buckets: Histogram<u64>,
}

impl Latency {
    fn new() -> Result<Self> {
        Ok(Self { sum: 0.0, buckets: Histogram::new_with_max(LONGEST, 3).context("the bounds of a histogram")? })
    }

    /// The sum of the series of `name` that have all of `labels`.
    fn read(text: &str, name: &str, labels: &[&str]) -> Result<Self> {
        let mut latency = Self::new()?;
        // Buckets are cumulative: each counts all latencies up to its bound.
        let mut cumulative: BTreeMap<u64, f64> = BTreeMap::new();
        for line in text.lines().filter(|l| labels.iter().all(|label| l.contains(label))) {
            let Some(rest) = line.strip_prefix(name) else { continue };
            let Some(value) = rest.rsplit(' ').next().and_then(|v| v.parse::<f64>().ok()) else { continue };
            let bound = rest.split("le=\"").nth(1).and_then(|r| r.split('"').next()?.parse::<f64>().ok());
            if rest.starts_with("_sum") {
                latency.sum += value;
            } else if let Some(bound) = bound {
                *cumulative.entry(micros(bound)).or_default() += value;
            }
        }
        let mut below = 0.0;
        for (bound, count) in cumulative {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "buckets hold counts")]
            latency.buckets.saturating_record_n(bound, (count - below).round() as u64);
            below = count;
        }
        Ok(latency)
    }

    fn add(&mut self, before: &Self, after: &Self) -> Result<()> {
        self.sum += after.sum - before.sum;
        self.buckets.add(&after.buckets).context("adding a histogram")?;
        self.buckets.subtract(&before.buckets).context("subtracting a histogram")
    }

    /// How many calls there were.
    pub(super) fn calls(&self) -> u64 {
        self.buckets.len()
    }

    /// The mean, in seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        (!self.buckets.is_empty()).then(|| self.sum / self.buckets.len() as f64)
    }

    /// A quantile, in seconds: the upper bound of its bucket, which the latency does not exceed.
    pub(super) fn quantile(&self, quantile: f64) -> Option<f64> {
        let value = self.buckets.lowest_equivalent(self.buckets.value_at_quantile(quantile));
        (!self.buckets.is_empty()).then(|| value as f64 / 1e6)
    }
}

/// The bound of a bucket in microseconds; that of the last bucket is infinite.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounds are seconds")]
fn micros(seconds: f64) -> u64 {
    if seconds.is_finite() { (seconds * 1e6).round() as u64 } else { LONGEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_and_earlier_ones_subtracted() {
        let text = "t_bucket{a=\"1\",le=\"0.005\"} 3\nt_bucket{a=\"1\",le=\"0.01\"} 4\nt_bucket{a=\"1\",le=\"+Inf\"} 4\n\
                    t_sum{a=\"1\"} 0.02\nt_count{a=\"1\"} 4\nt_sum{a=\"2\"} 9\nother_sum{a=\"1\"} 7\n";
        let read = Latency::read(text, "t", &["a=\"1\""]).unwrap();
        let summary = |l: &Latency| (l.calls(), l.mean(), l.quantile(0.5), l.quantile(0.99));
        assert_eq!(summary(&read), (4, Some(0.005), Some(0.005), Some(0.01)));
        let mut difference = Latency::new().unwrap();
        difference.add(&read, &read).unwrap();
        assert_eq!(summary(&difference), (0, None, None, None));
        difference.add(&Latency::new().unwrap(), &read).unwrap();
        assert_eq!(summary(&difference), summary(&read));
    }
}
