//! The number of writes in a plan, for summaries of thousands of Services.

use serde::Serialize;

use super::difference;
use crate::{
    model::{EndpointSlice, StoredSlices},
    state::{EndpointsAction, Plan, State},
};

/// The writes of a plan, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Writes of Endpoints.
    pub endpoints: Writes,
    /// Writes of slices.
    pub endpoint_slices: Writes,
    /// Writes without a difference, which upstream repeats at every sync.
    pub endless: u64,
}

/// Writes with a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the writes")]
pub struct Writes {
    pub create: u64,
    pub update: u64,
    pub delete: u64,
}

impl Writes {
    fn any(self) -> bool {
        self != Self::default()
    }

    /// Adds other writes.
    pub fn add(&mut self, other: Self) {
        self.create += other.create;
        self.update += other.update;
        self.delete += other.delete;
    }
}

impl Tally {
    /// Counts the writes of `plan` for `state`.
    pub fn of(state: &State<'_>, plan: &Plan) -> Self {
        let mut tally = Self::default();
        match (&plan.endpoints, state.endpoints) {
            (EndpointsAction::None, _) => {}
            (EndpointsAction::Create(_), _) => tally.endpoints.create = 1,
            (EndpointsAction::Delete, _) => tally.endpoints.delete = 1,
            (EndpointsAction::Update(new), Some(old)) if !difference::endpoints_differ(old, new) => tally.endless = 1,
            (EndpointsAction::Update(_), _) => tally.endpoints.update = 1,
        }
        let slices = &plan.endpoint_slices;
        tally.endpoint_slices.create = count(slices.create.len());
        tally.endpoint_slices.delete = count(slices.delete.len());
        if !slices.update.is_empty() {
            let stored = StoredSlices::of(state.slices);
            let same = |new: &&EndpointSlice| {
                stored.get(&new.meta.name).is_some_and(|old| !difference::slices_differ(old, new))
            };
            let endless = count(slices.update.iter().filter(same).count());
            tally.endless += endless;
            tally.endpoint_slices.update = count(slices.update.len()) - endless;
        }
        tally
    }

    /// Whether the cluster changes.
    pub fn is_change(&self) -> bool {
        self.endpoints.any() || self.endpoint_slices.any()
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
