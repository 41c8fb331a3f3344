//! What a request holds of a ledger: nothing at first, and an amount that changes.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{
    activity::ActivityStage,
    eviction_choice::Victims,
    exchange::Exchange,
    ledger::{Holding, Ledger},
};

/// How long a claim waits for more. What others hold is mostly on its way: a request is being computed, or its response stands
/// still and may be evicted a second or two later.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first and the longest pause until it asks again.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(80)];

/// An amount that a request holds.
#[derive(Debug)]
pub(crate) struct Claim {
    ledger: Ledger,
    exchange: Exchange,
    held: Option<Holding>,
    /// How long it still waits for more.
    patience: Duration,
}

impl Claim {
    /// A claim that holds nothing.
    pub(crate) fn new(ledger: &Ledger, exchange: &Exchange) -> Self {
        Self { ledger: ledger.clone(), exchange: exchange.clone(), held: None, patience: PATIENCE }
    }

    /// Changes the amount as soon as there is so much. One without credit takes nothing from one with credit before it has
    /// waited: a body that arrives is all there is to evict while all other requests are computed. `false`: it has waited
    /// until the deadline, or as long as it may in all, or it was evicted.
    pub(crate) async fn wait_for(&mut self, amount: u64, deadline: Option<Instant>) -> bool {
        if self.resize_from(Victims::WithoutCredit, amount) {
            return true;
        }
        // Meanwhile it may be evicted, even if the whole body is there: many that each hold a part and wait for the rest would
        // wait for each other.
        let activity = self.exchange.activity.clone();
        let stage = activity.progress();
        activity.set(ActivityStage::Receiving);
        let has_enough = self.wait_longer_for(amount, deadline).await;
        activity.set(stage);
        has_enough
    }

    async fn wait_longer_for(&mut self, amount: u64, deadline: Option<Instant>) -> bool {
        let [mut pause, longest] = PAUSES;
        loop {
            let is_late = deadline.is_some_and(|deadline| Instant::now() + pause >= deadline);
            if is_late || self.patience < pause {
                let resized = self.resize_from(Victims::All, amount);
                return self.ledger.counted(resized);
            }
            self.patience -= pause;
            // It is not the client that stands still.
            self.exchange.activity.moved();
            if timeout(pause, self.exchange.activity.evicted()).await.is_ok() {
                return false;
            }
            if self.resize_from(Victims::WithoutCredit, amount) {
                return true;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Changes the amount. `false`: nobody has to give so much back, or it was evicted; it is as before, and this counts as a
    /// refusal.
    pub(crate) fn resize(&mut self, amount: u64) -> bool {
        let resized = self.resize_from(Victims::WithoutCredit, amount);
        self.ledger.counted(resized)
    }

    /// Takes more where there is room for it, from nobody else.
    pub(crate) fn grow_if_free(&mut self, amount: u64) {
        self.resize_from(Victims::Nobody, amount);
    }

    /// Changes the amount at the expense of these. To get nothing does not count as a refusal yet.
    fn resize_from(&mut self, victims: Victims, amount: u64) -> bool {
        let Self { ledger, exchange, held, .. } = self;
        if let Some(held) = held {
            return held.resize_from(victims, amount);
        }
        *held = ledger.take_from(victims, exchange.peer, amount, &exchange.activity);
        held.is_some()
    }

    /// Whether anything was taken.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub(crate) fn into_holding(self) -> Option<Holding> {
        self.held
    }
}
