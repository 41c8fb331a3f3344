//! The API server's own histograms.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::cluster::ControlPlane;

/// What creating Services took.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    /// Whole requests.
    pub(super) request: Histogram,
    /// The mutating webhook.
    pub(super) mutate: Histogram,
    /// The validating one.
    pub(super) validate: Histogram,
}

impl Metrics {
    /// What it was so far.
    pub(super) fn read(plane: &ControlPlane) -> Result<Self> {
        let text = plane.kubectl_with("get --raw /metrics", "")?;
        let request = ["resource=\"services\"", "verb=\"POST\"", "dry_run=\"\""];
        let webhook = |name| [name, "operation=\"CREATE\"", "rejected=\"false\""];
        let duration = "apiserver_admission_webhook_admission_duration_seconds";
        Ok(Self {
            request: Histogram::read(&text, "apiserver_request_duration_seconds", &request),
            mutate: Histogram::read(&text, duration, &webhook("name=\"services.mutate.roster.dev\"")),
            validate: Histogram::read(&text, duration, &webhook("name=\"services.validate.roster.dev\"")),
        })
    }

    /// What came after `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            request: self.request.and(&before.request, -1.0),
            mutate: self.mutate.and(&before.mutate, -1.0),
            validate: self.validate.and(&before.validate, -1.0),
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.request = self.request.and(&more.request, 1.0);
        self.mutate = self.mutate.and(&more.mutate, 1.0);
        self.validate = self.validate.and(&more.validate, 1.0);
    }
}

/// A histogram: seconds, by upper bound in microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    sum: f64,
    count: f64,
    below: BTreeMap<u64, f64>,
}

impl Histogram {
    /// The sum of the series of `name` that have all of `labels`.
    fn read(text: &str, name: &str, labels: &[&str]) -> Self {
        let mut all = Self::default();
        for line in text.lines().filter(|l| labels.iter().all(|label| l.contains(label))) {
            let Some(rest) = line.strip_prefix(name) else { continue };
            let Some(value) = rest.rsplit(' ').next().and_then(|v| v.parse::<f64>().ok()) else { continue };
            if rest.starts_with("_sum") {
                all.sum += value;
            } else if rest.starts_with("_count") {
                all.count += value;
            } else if let Some(bound) =
                rest.split("le=\"").nth(1).and_then(|r| r.split('"').next()?.parse::<f64>().ok())
                && bound.is_finite()
            {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounds are seconds")]
                let micros = (bound * 1e6).round() as u64;
                *all.below.entry(micros).or_default() += value;
            }
        }
        all
    }

    fn and(&self, other: &Self, sign: f64) -> Self {
        let mut below = self.below.clone();
        for (bound, count) in &other.below {
            *below.entry(*bound).or_default() += sign * count;
        }
        Self { sum: self.sum + sign * other.sum, count: self.count + sign * other.count, below }
    }

    /// How many there were.
    pub(super) fn calls(&self) -> f64 {
        self.count
    }

    /// Seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// Seconds: the bound of the bucket in which it falls, which is at most too much.
    pub(super) fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = self.count * part;
        let found = self.below.iter().find(|(_, count)| self.count > 0.0 && **count >= wanted);
        found.map(|(bound, _)| *bound as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_up_and_taken_apart() {
        let text = "t_bucket{a=\"1\",le=\"0.005\"} 3\nt_bucket{a=\"1\",le=\"0.01\"} 4\nt_bucket{a=\"1\",le=\"+Inf\"} 4\n\
                    t_sum{a=\"1\"} 0.02\nt_count{a=\"1\"} 4\nt_sum{a=\"2\"} 9\nother_sum{a=\"1\"} 7\n";
        let read = Histogram::read(text, "t", &["a=\"1\""]);
        assert_eq!((read.mean(), read.quantile(0.5), read.quantile(0.99)), (Some(0.005), Some(0.005), Some(0.01)));
        assert_eq!(read.and(&read, -1.0).mean(), None);
        assert_eq!(read.and(&read, 1.0).mean(), Some(0.005));
    }
}
