//! Two releases beside each other: what is another one after an upgrade.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::{
    change::{Change, Object, Verb, changes},
    difference,
};
use crate::engine::state::{Plan, State};

/// An object to which two releases do not do the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deviation {
    /// Kind.
    pub kind: &'static str,
    /// Name, as in [`Change::name`].
    pub name: String,
    /// What the first release does.
    pub compat: Verb,
    /// What the other one does.
    pub against: Verb,
    /// How the object of the other one differs.
    pub detail: String,
}

/// What two releases make of one state, where it is not the same.
pub fn deviations(state: &State<'_>, compat: &Plan, against: &Plan) -> Vec<Deviation> {
    // New slices have no name yet: the first of one beginning is compared with the first, and so on.
    let mut left: BTreeMap<(&str, String), VecDeque<Change<'_>>> = BTreeMap::new();
    for change in changes(state, compat, true) {
        left.entry((change.kind, change.name.clone())).or_default().push_back(change);
    }
    let mut all = Vec::new();
    for right in changes(state, against, true) {
        let left = left.get_mut(&(right.kind, right.name.clone())).and_then(VecDeque::pop_front);
        all.extend(deviation(left, Some(right)));
    }
    all.extend(left.into_values().flatten().filter_map(|l| deviation(Some(l), None)));
    all
}

fn deviation(left: Option<Change<'_>>, right: Option<Change<'_>>) -> Option<Deviation> {
    let verb = |c: &Option<Change<'_>>| c.as_ref().map_or(Verb::None, |c| c.action);
    let (compat, against) = (verb(&left), verb(&right));
    let new = match (left.as_ref().and_then(|l| l.after), right.as_ref().and_then(|r| r.after)) {
        (Some(Object::Endpoints(old)), Some(Object::Endpoints(new))) => difference::endpoints(old, new),
        (Some(Object::Slice(old)), Some(Object::Slice(new))) => difference::slices(old, new),
        (None, None) => None,
        // One of them is gone: the verbs tell.
        _ => Some(String::new()),
    };
    if new.is_none() && compat == against {
        return None;
    }
    let (kind, name) = right.as_ref().or(left.as_ref()).map(|c| (c.kind, c.name.clone()))?;
    let told = |c: Option<Change<'_>>| c.map(|c| c.detail).unwrap_or_default();
    let detail =
        new.filter(|d| !d.is_empty()).unwrap_or_else(|| if right.is_some() { told(right) } else { told(left) });
    Some(Deviation { kind, name, compat, against, detail })
}
