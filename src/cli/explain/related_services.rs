//! The Services that concern a pod.

use std::{cmp::Reverse, collections::BTreeSet};

use roster_engine::{
    explain::PodRelation,
    model::{Pod, Text},
};
use roster_manifests::inventory::Index;

/// The most Services with similar selectors that are shown for a pod that no Service selects.
const NEAR_MISSES: usize = 3;

/// Keeps the Services that select the pod or list it; if there are none, those that it has most labels for.
pub(super) fn retain(index: &mut Index<'_>, pod: &Pod) {
    let mut related: Vec<(PodRelation, (Text, Text))> = index
        .entries()
        .iter()
        .map(|e| (PodRelation::of(&index.state(e), pod), (e.namespace.clone(), e.name.clone())))
        .filter(|(relation, _)| *relation > PodRelation::None)
        .collect();
    related.sort_by_key(|(relation, _)| Reverse(*relation));
    let close = related.iter().take_while(|(relation, _)| *relation >= PodRelation::Listed).count();
    if close > 0 {
        related.truncate(close);
    } else if let Some((PodRelation::NearMiss { equal: most, .. }, _)) = related.first() {
        let most = *most;
        related.retain(|(relation, _)| matches!(relation, PodRelation::NearMiss { equal, .. } if *equal == most));
        related.truncate(NEAR_MISSES);
    }
    let names: BTreeSet<(Text, Text)> = related.into_iter().map(|(_, name)| name).collect();
    index.retain(|e| names.contains(&(e.namespace.clone(), e.name.clone())));
}
