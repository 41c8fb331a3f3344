//! Which part of an explanation a caller needs, and what it knows besides the state.

use super::selector_misses::LabelGroups;
use crate::{
    model::{Interrupt, Pod},
    stale::KnownTargets,
    unknown_kinds::UnknownKinds,
};

/// Which part of an explanation a caller needs, and what it knows besides the state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Focus<'a> {
    /// The [`selected_pods`](crate::plan::selected_pods) of the state, if the caller has asked for them.
    pub selected: Option<&'a [&'a Pod]>,
    /// Only this one of the selected pods, by its index.
    pub pod: Option<usize>,
    /// The pods that a selector without matches is compared with, if more than the pods of the state are known.
    pub pods: Option<&'a LabelGroups<'a>>,
    /// The kinds about which nothing is known in the namespace of the Service.
    pub unknown: UnknownKinds,
    /// What stored objects are compared with; without it, nothing is reported as stale.
    pub targets: Option<KnownTargets<'a>>,
    /// Whether to end early. The explanation is then incomplete, and the caller discards it.
    pub interrupt: Interrupt<'a>,
}
