//! What a request holds of a ledger: nothing at first, and an amount that changes.

use super::{
    activity::Activity,
    eviction_choice::Victims,
    exchange::Exchange,
    ledger::{Holding, Ledger},
};

/// An amount that a request holds.
#[derive(Debug)]
pub(crate) struct Claim {
    ledger: Ledger,
    exchange: Exchange,
    held: Option<Holding>,
}

impl Claim {
    pub(crate) fn new(ledger: &Ledger, exchange: &Exchange, held: Option<Holding>) -> Self {
        Self { ledger: ledger.clone(), exchange: exchange.clone(), held }
    }

    /// Changes the amount. `false`: nobody has to give so much back, or it was evicted; it is as before, and this counts as a
    /// refusal.
    pub(crate) fn resize(&mut self, amount: u64) -> bool {
        let resized = self.resize_from(Victims::WithoutCredit, amount);
        self.ledger.counted(resized)
    }

    /// The same at the expense of all.
    pub(super) fn insist(&mut self, amount: u64) -> bool {
        let resized = self.resize_from(Victims::All, amount);
        self.ledger.counted(resized)
    }

    /// The same at the expense of these. To get nothing does not count as a refusal yet.
    pub(super) fn resize_from(&mut self, victims: Victims, amount: u64) -> bool {
        let Self { ledger, exchange, held } = self;
        if let Some(held) = held {
            return held.resize_from(victims, amount);
        }
        *held = ledger.take_from(victims, exchange.peer, amount, &exchange.activity);
        held.is_some()
    }

    /// The activity of the request.
    pub(super) fn activity(&self) -> &Activity {
        &self.exchange.activity
    }

    /// Whether anything was taken.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub(crate) fn into_holding(self) -> Option<Holding> {
        self.held
    }
}
