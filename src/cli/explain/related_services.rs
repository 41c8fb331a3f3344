//! The Services that concern a pod.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    engine::explain::PodRelation,
    inventory::Index,
    model::{Pod, Text},
};

/// The most Services with similar selectors that are shown for a pod that no Service selects.
const NEAR_MISSES: usize = 3;

/// Keeps the Services that select the pod or list it; if there are none, those whose selectors come closest.
pub(super) fn retain(index: &mut Index<'_>, pod: &Pod) {
    let mut related: Vec<(PodRelation, (Text, Text))> = index
        .entries()
        .iter()
        .map(|e| (PodRelation::of(&index.state(e), pod), (e.namespace.clone(), e.name.clone())))
        .filter(|(relation, _)| *relation > PodRelation::None)
        .collect();
    related.sort_by_key(|(relation, _)| Reverse(*relation));
    let closer = |(relation, _): &(PodRelation, _)| *relation >= PodRelation::Listed;
    let shown = Some(related.iter().take_while(|r| closer(r)).count()).filter(|n| *n > 0).unwrap_or(NEAR_MISSES);
    let names: BTreeSet<(Text, Text)> = related.into_iter().take(shown).map(|(_, name)| name).collect();
    index.retain(|e| names.contains(&(e.namespace.clone(), e.name.clone())));
}
