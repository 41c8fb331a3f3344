//! The findings about stored objects that do not hold any more.

use std::collections::BTreeMap;

use super::{
    reviewed_object::{ReviewedObject, placed},
    source_args::SourceArgs,
};
use crate::{
    engine::{reason::Finding, state::Options},
    inventory::{Inventory, whole},
    model::ObjectKey,
};

/// Adds the findings to the objects that they are about. `inventory` has all objects.
pub(super) fn add<'i, 'a: 'i>(
    items: impl IntoIterator<Item = &'i mut ReviewedObject<'a>>,
    sources: &SourceArgs,
    inventory: &Inventory,
) {
    if inventory.endpoints.is_empty() && inventory.slices.is_empty() {
        return;
    }
    let mut of_object: BTreeMap<ObjectKey, Vec<Finding>> = BTreeMap::new();
    for finding in whole::stale_findings(&inventory.index_of_part(), &Options::default()) {
        of_object.entry(finding.object.clone()).or_default().push(finding);
    }
    for item in items {
        let found = of_object.get(&placed(&item.key, &sources.namespace));
        item.add_stale_findings(found.into_iter().flatten());
    }
}
