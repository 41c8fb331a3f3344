//! Records: every decision about a pod, recorded where it falls.

use std::{fmt, ops::Range};

use serde::{Serialize, Serializer};

use crate::{
    model::{Family, Interrupt},
    reason::Reason,
};

/// The list that a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The v1 Endpoints object.
    Endpoints,
    /// The slices of one address type.
    Slices(Family),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoints => f.write_str("Endpoints"),
            Self::Slices(family) => write!(f, "EndpointSlice {}", family.as_str()),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// A decision about a pod, or about a pod and some Service ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The list.
    pub scope: Scope,
    /// Index among the selected pods.
    pub pod: usize,
    /// Indices among the ports of the Service; `None` if the decision holds for all of them.
    pub ports: Option<Range<usize>>,
    /// The decision.
    pub reason: Reason,
    /// What the reason means for this pod; may be empty.
    pub detail: String,
}

impl Record {
    /// A decision about a pod, whatever the port.
    pub fn of_pod(scope: Scope, pod: usize, reason: Reason, detail: String) -> Self {
        Self { scope, pod, ports: None, reason, detail }
    }
}

/// Collects records while the engine plans. Generic, so that a plan without reasons costs nothing more.
pub trait Recorder {
    /// Whether it takes more records. Loops over pods × ports end when it does not.
    fn open(&self) -> bool;
    /// Takes a record, which is only made if the recorder is open.
    fn record(&mut self, record: impl FnOnce() -> Record);

    /// Whether to end early. What is planned then is incomplete, and the caller discards it.
    #[inline]
    fn interrupt(&self) -> Interrupt<'_> {
        Interrupt::NEVER
    }
}

/// A recorder that takes no records, for a plan that may end early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscardUntil<'a>(pub(crate) Interrupt<'a>);

impl Recorder for DiscardUntil<'_> {
    #[inline]
    fn open(&self) -> bool {
        false
    }

    #[inline]
    fn record(&mut self, _: impl FnOnce() -> Record) {}

    #[inline]
    fn interrupt(&self) -> Interrupt<'_> {
        self.0
    }
}

/// A recorder that takes no records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Recorder for Discard {
    #[inline]
    fn open(&self) -> bool {
        false
    }

    #[inline]
    fn record(&mut self, _: impl FnOnce() -> Record) {}
}
