//! What an explanation says of one pod in all lists, for all ports.

use std::ops::Range;

use super::graph::PictureState;
use crate::{
    explain::{Cause, PodState, PodVerdict, each_piece},
    reason::{Reason, Severity},
    record::Scope,
};

/// The verdicts on one pod, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VerdictOfPod<'a> {
    /// How it serves.
    pub(super) state: PictureState,
    /// Why it does not serve all ports, if it does not.
    pub(super) cause: Option<&'a Cause>,
    /// The ports for which it is in no slice, each run with the reason; `None` stands for all ports.
    pub(super) left_out: Vec<(Option<Range<usize>>, &'a Cause)>,
    /// The ports that it serves.
    pub(super) served: Vec<Range<usize>>,
}

/// The verdict on a pod for ports that follow one another.
struct OfPorts<'a> {
    places: Range<usize>,
    is_served: bool,
    is_published: bool,
    cause: Option<&'a Cause>,
}

impl<'a> OfPorts<'a> {
    /// What the lists say of these ports.
    fn of(places: Range<usize>, rows: &[&'a PodVerdict]) -> Self {
        let worse = |known: &'a Cause, cause: &'a Cause| if cause.severity > known.severity { cause } else { known };
        let causes = rows.iter().filter(|row| !row.served).filter_map(|row| row.reasons.first());
        Self {
            places,
            is_served: rows.iter().any(|row| row.served),
            is_published: rows.iter().any(|row| row.state != PodState::Absent),
            cause: causes.reduce(worse),
        }
    }
}

impl<'a> VerdictOfPod<'a> {
    /// Takes the rows of one pod together. They come list by list, and in each port by port.
    pub(super) fn of(rows: &'a [PodVerdict]) -> Self {
        let has_slices = rows.iter().any(|row| row.scope != Scope::Endpoints);
        // kube-proxy reads slices only.
        let is_read = |rows: &&[PodVerdict]| !has_slices || rows.iter().all(|row| row.scope != Scope::Endpoints);
        let lists: Vec<&[PodVerdict]> = rows.chunk_by(|a, b| a.scope == b.scope).filter(is_read).collect();
        let mut ports = Vec::new();
        each_piece(&lists, |row| row.ports.places(), |places, rows| ports.push(OfPorts::of(places, rows)));
        Self::of_ports(&ports)
    }

    fn of_ports(ports: &[OfPorts<'a>]) -> Self {
        let served: Vec<Range<usize>> = ports.iter().filter(|of| of.is_served).map(|of| of.places.clone()).collect();
        let unserved = ports.iter().filter(|of| !of.is_served);
        // The first of the worst.
        let cause = unserved.filter_map(|of| of.cause).rev().max_by_key(|cause| cause.severity);
        let all = ports.iter().map(|of| of.places.len()).sum();
        let state = match (PictureState::of_parts(served.iter().map(ExactSizeIterator::len).sum(), all), cause) {
            (PictureState::NotServed, Some(cause)) if is_misfit(cause) => PictureState::Broken,
            (state, _) => state,
        };
        let is_left_out = |of: &&OfPorts<'_>| !of.is_published && !of.is_served;
        let causes = ports.iter().filter(is_left_out).filter_map(|of| Some((Some(of.places.clone()), of.cause?)));
        let mut left_out: Vec<(Option<Range<usize>>, &Cause)> = causes.collect();
        if let Some((_, first)) = left_out.first().cloned()
            && left_out.len() == ports.len()
            && left_out.iter().all(|(_, cause)| cause.code == first.code && !is_of_port(cause.code))
        {
            left_out = vec![(None, first)];
        }
        Self { state, cause, left_out, served }
    }
}

/// Whether a cause is that two objects do not fit together, rather than the state of a pod.
pub(super) fn is_misfit(cause: &Cause) -> bool {
    let is_of_objects = matches!(cause.code, Reason::FamilyMismatch | Reason::LabelDiffers | Reason::OtherNamespace);
    cause.severity == Severity::Error || cause.code.lacks_port() || is_of_objects
}

/// Whether a reason is about one port of the Service.
fn is_of_port(code: Reason) -> bool {
    code.lacks_port() || code == Reason::NoPorts
}
