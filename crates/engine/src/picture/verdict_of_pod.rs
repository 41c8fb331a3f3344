//! What an explanation says of one pod in all lists, for all ports.

use super::graph::PictureState;
use crate::{
    explain::{Cause, PodState, PodVerdict},
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
    /// The ports for which it is in no slice, each with the reason; `None` stands for all ports.
    pub(super) left_out: Vec<(Option<usize>, &'a Cause)>,
    /// The ports that it serves.
    pub(super) served: Vec<usize>,
}

/// The verdict on a pod for one port.
#[derive(Clone, Copy, Default)]
struct OfPort<'a> {
    is_served: bool,
    is_published: bool,
    cause: Option<&'a Cause>,
}

impl<'a> VerdictOfPod<'a> {
    /// Takes the rows of one pod together. They come list by list, and in each port by port.
    pub(super) fn of(rows: &'a [PodVerdict]) -> Self {
        let has_slices = rows.iter().any(|row| row.scope != Scope::Endpoints);
        // kube-proxy reads slices only.
        let read = rows.iter().filter(|row| !has_slices || row.scope != Scope::Endpoints);
        let mut ports: Vec<OfPort<'_>> = Vec::new();
        let (mut scope, mut place) = (None, 0);
        for row in read {
            place = if scope == Some(row.scope) { place + 1 } else { 0 };
            scope = Some(row.scope);
            if place == ports.len() {
                ports.push(OfPort::default());
            }
            let Some(port) = ports.get_mut(place) else { continue };
            port.is_served |= row.served;
            port.is_published |= row.state != PodState::Absent;
            let worse = |known: &Cause, cause: &Cause| cause.severity > known.severity;
            if let Some(cause) = row.reasons.first().filter(|_| !row.served)
                && port.cause.is_none_or(|known| worse(known, cause))
            {
                port.cause = Some(cause);
            }
        }
        Self::of_ports(&ports)
    }

    fn of_ports(ports: &[OfPort<'a>]) -> Self {
        let served: Vec<usize> = (0..ports.len()).filter(|place| ports[*place].is_served).collect();
        let unserved = ports.iter().filter(|port| !port.is_served);
        // The first of the worst.
        let cause = unserved.filter_map(|port| port.cause).rev().max_by_key(|cause| cause.severity);
        let state = match (PictureState::of_parts(served.len(), ports.len()), cause) {
            (PictureState::NotServed, Some(cause)) if is_misfit(cause) => PictureState::Broken,
            (state, _) => state,
        };
        let is_left_out = |port: &OfPort<'_>| !port.is_published && !port.is_served;
        let of_port = |(place, port): (usize, &OfPort<'a>)| Some((Some(place), port.cause?));
        let places = ports.iter().enumerate().filter(|(_, port)| is_left_out(port));
        let mut left_out: Vec<(Option<usize>, &Cause)> = places.filter_map(of_port).collect();
        if let Some((_, first)) = left_out.first().copied()
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
    let is_of_objects = matches!(
        cause.code,
        Reason::SidecarPortIgnored | Reason::FamilyMismatch | Reason::LabelDiffers | Reason::OtherNamespace
    );
    cause.severity == Severity::Error || is_of_objects
}

/// Whether a reason is about one port of the Service.
fn is_of_port(code: Reason) -> bool {
    matches!(code, Reason::NamedPortMissing | Reason::ProtocolMismatch | Reason::SidecarPortIgnored | Reason::NoPorts)
}
