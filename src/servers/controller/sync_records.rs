//! What became of the last sync of each Service, and the sums over all of them.
//!
//! There is a record of a Service while it exists or is in the queue. Each change of a record changes the sums by the difference,
//! so that they cost nothing to read.

use std::{collections::HashMap, time::Duration};

use roster_engine::{
    endpointslice::{DISTRIBUTIONS, asks_for_zones},
    model::HashSeed,
    state::{EndpointsAction, Options, Plan, SliceChanges},
};
use tokio::time::Instant;

use super::{
    queue::ServiceKey,
    service_input::ServiceInput,
    sync_counts::{SyncCounts, WantedSlices},
};

/// The longest error that is kept.
const LONGEST_ERROR: usize = 1 << 10;

/// What a sync wanted and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SyncResult {
    pub(super) counts: SyncCounts,
    /// What was to become of the Endpoints.
    pub(super) endpoints: &'static str,
    /// How many slices were to be created, updated and deleted.
    pub(super) slices: [usize; 3],
    /// How many writes the API server accepted.
    pub(super) writes: usize,
    /// The place of the traffic distribution in [`DISTRIBUTIONS`].
    pub(super) distribution: Option<usize>,
    /// Whether hints share the endpoints in proportion to the CPU of zones.
    pub(super) shares_zones: bool,
    /// The controller does not serve the Service, and nothing of it was to be written: that is not a sync.
    pub(super) is_elsewhere: bool,
}

impl SyncResult {
    /// The result of a plan before anything is written, with its counts.
    pub(super) fn of(input: &ServiceInput, plan: &Plan, counts: SyncCounts, options: &Options) -> Self {
        let SliceChanges { create, update, delete, .. } = &plan.endpoint_slices;
        let service = input.service.as_ref();
        let distribution = service.and_then(|service| service.traffic_distribution.as_ref());
        Self {
            counts,
            endpoints: plan.endpoints.verb(),
            slices: [create.len(), update.len(), delete.len()],
            writes: 0,
            distribution: distribution.and_then(|own| DISTRIBUTIONS.iter().position(|name| own == name)),
            shares_zones: service.is_some_and(|service| asks_for_zones(service, options.compat.profile())),
            is_elsewhere: false,
        }
    }

    /// The result for a Service that the controller does not serve: it wants nothing of it. What is its own may have to go.
    pub(super) fn elsewhere(self) -> Self {
        let Self { endpoints, slices, .. } = self;
        let is_elsewhere = slices == [0; 3] && (endpoints.is_empty() || endpoints == EndpointsAction::None.verb());
        Self { endpoints, slices, is_elsewhere, ..Self::default() }
    }
}

/// The last sync of a Service, and when it was last written and last failed.
#[derive(Clone, Debug)]
pub(super) struct SyncRecord {
    pub(super) ended: Instant,
    pub(super) took: Duration,
    /// Of the last sync that had a plan to carry out.
    pub(super) result: Option<SyncResult>,
    pub(super) last_write: Option<Instant>,
    pub(super) last_error: Option<(Instant, Box<str>)>,
}

/// The sums over all Services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SyncSums {
    pub(super) slices: WantedSlices,
    pub(super) mirrored: WantedSlices,
    pub(super) distributions: [usize; DISTRIBUTIONS.len()],
}

/// The records.
#[derive(Debug, Default)]
pub(super) struct SyncRecords {
    services: HashMap<ServiceKey, SyncRecord, HashSeed>,
    sums: SyncSums,
}

impl SyncRecords {
    /// A sync has ended, with the texts of its errors.
    pub(super) fn insert(
        &mut self,
        key: &ServiceKey,
        result: Option<SyncResult>,
        errors: &[String],
        took: Duration,
        now: Instant,
    ) {
        let before = self.services.remove(key);
        let (old, last_write, last_error) =
            before.map_or((None, None, None), |record| (record.result, record.last_write, record.last_error));
        if let Some(new) = &result {
            self.sums.subtract(old.as_ref());
            self.sums.add(new);
        }
        let has_written = result.is_some_and(|result| result.writes > 0);
        let error = (!errors.is_empty()).then(|| (now, shortened(&errors.join("; "))));
        let record = SyncRecord {
            ended: now,
            took,
            result: result.or(old),
            last_write: if has_written { Some(now) } else { last_write },
            last_error: error.or(last_error),
        };
        self.services.insert(key.clone(), record);
    }

    /// A Service is gone, and nothing is left of it.
    pub(super) fn remove(&mut self, key: &ServiceKey) {
        let before = self.services.remove(key);
        self.sums.subtract(before.and_then(|record| record.result).as_ref());
    }

    pub(super) fn get(&self, key: &ServiceKey) -> Option<&SyncRecord> {
        self.services.get(key)
    }

    pub(super) fn sums(&self) -> SyncSums {
        self.sums
    }
}

impl SyncSums {
    fn add(&mut self, result: &SyncResult) {
        self.change(result, |sum, n| *sum += n);
    }

    fn subtract(&mut self, result: Option<&SyncResult>) {
        if let Some(result) = result {
            self.change(result, |sum, n| *sum -= n);
        }
    }

    fn change(&mut self, result: &SyncResult, by: impl Fn(&mut usize, usize)) {
        let SyncCounts { slices, mirrored, .. } = result.counts;
        for (sum, counts) in [(&mut self.slices, slices), (&mut self.mirrored, mirrored)] {
            let WantedSlices { endpoints, slices, fewest } = counts.unwrap_or_default().wanted;
            by(&mut sum.endpoints, endpoints);
            by(&mut sum.slices, slices);
            by(&mut sum.fewest, fewest);
        }
        if let Some(distribution) = result.distribution {
            by(&mut self.distributions[distribution], 1);
        }
    }
}

fn shortened(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(LONGEST_ERROR)].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::controller::sync_counts::SliceCounts;

    fn result(endpoints: usize, writes: usize, distribution: Option<usize>) -> SyncResult {
        let wanted = WantedSlices { endpoints, slices: 2, fewest: 1 };
        let counts =
            SyncCounts { slices: Some(SliceCounts { wanted, ..SliceCounts::default() }), ..SyncCounts::default() };
        SyncResult { counts, writes, distribution, ..SyncResult::default() }
    }

    #[test]
    fn sums_follow_the_records() {
        let (mut records, start) = (SyncRecords::default(), Instant::now());
        let [a, b] = ["a", "b"].map(|name| ServiceKey::new(&"shop".into(), &name.into()));
        let at = |ms| start + Duration::from_millis(ms);
        let sums = |records: &SyncRecords| {
            let WantedSlices { endpoints, slices, fewest } = records.sums().slices;
            (endpoints, slices, fewest, records.sums().distributions)
        };
        records.insert(&a, Some(result(3, 1, Some(1))), &[], Duration::ZERO, at(0));
        records.insert(&b, Some(result(5, 0, Some(1))), &["no".to_owned(), "never".to_owned()], Duration::ZERO, at(1));
        assert_eq!(sums(&records), (8, 4, 2, [0, 2, 0]));
        records.insert(&a, Some(result(1, 0, None)), &["x".repeat(2000)], Duration::ZERO, at(2));
        assert_eq!(sums(&records), (6, 4, 2, [0, 1, 0]));
        let record = records.get(&a).unwrap();
        assert_eq!(
            (record.ended, record.last_write),
            (at(2), Some(at(0))),
            "a sync that writes nothing keeps the last write"
        );
        assert_eq!(record.last_error.as_ref().map(|(_, text)| text.len()), Some(1024));
        assert_eq!(records.get(&b).unwrap().last_error, Some((at(1), "no; never".into())));
        records.insert(&a, None, &["cannot be read".to_owned()], Duration::ZERO, at(3));
        assert_eq!(sums(&records), (6, 4, 2, [0, 1, 0]), "without a plan, the last one is still wanted");
        records.remove(&b);
        records.remove(&b);
        assert_eq!(sums(&records), (1, 2, 1, [0; 3]));
        records.insert(&a, Some(result(3, 1, Some(1)).elsewhere()), &["no".to_owned()], Duration::ZERO, at(4));
        assert_eq!(records.sums(), SyncSums::default(), "nothing is wanted of a Service that is not served");
        records.remove(&a);
        assert_eq!(records.sums(), SyncSums::default());
        assert!(records.services.is_empty());
    }
}
