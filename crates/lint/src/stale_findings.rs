//! The findings about stored objects that do not hold any more.

use std::collections::BTreeMap;

use roster_engine::{model::ObjectKey, reason::Finding, state::Options};
use roster_manifests::inventory::{Inventory, whole};

use crate::{options::LintOptions, reviewed_object::ReviewedObject, unread_of_unit::UnreadOfUnit};

/// Adds the findings to those of the objects at some places that they are about. `inventory` has all objects, and all that cannot
/// be read but for what is in `unread`.
pub(crate) fn add(
    items: &mut [ReviewedObject<'_>],
    places: impl IntoIterator<Item = usize>,
    options: &LintOptions<'_>,
    inventory: &Inventory,
    unread: Option<&UnreadOfUnit<'_>>,
) {
    if inventory.endpoints.is_empty() && inventory.slices.is_empty() {
        return;
    }
    let mut index = inventory.index_of_part();
    if let Some(unread) = unread {
        unread.drop_unknown(&mut index);
    }
    let findings = whole::stale_findings(&index, &Options::default());
    let mut of_object: BTreeMap<&ObjectKey, Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        of_object.entry(&finding.object).or_default().push(finding);
    }
    for place in places {
        let item = &mut items[place];
        let found = of_object.get(&item.key.clone().placed(options.namespace));
        item.add_stale_findings(found.into_iter().flatten().copied());
    }
}
