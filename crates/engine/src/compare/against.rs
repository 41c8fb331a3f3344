//! The comparison of two releases: the objects that an upgrade changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use super::{
    aspect::{Aspect, ObjectDifference},
    change::{ChangedObject, ObjectChange, Verb, changes},
    difference,
};
use crate::state::{Plan, State};

/// An object that two releases treat differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deviation {
    /// Kind.
    pub kind: &'static str,
    /// Name, as in [`ObjectChange::name`].
    pub name: String,
    /// What the first release does.
    pub compat: Verb,
    /// What the other one does.
    pub against: Verb,
    /// How the object of the other release differs.
    pub detail: String,
    /// What it differs in, if both releases have the object.
    #[serde(skip)]
    pub aspects: BTreeSet<Aspect>,
}

/// The objects of one state that two releases treat differently.
pub fn deviations(state: &State<'_>, compat: &Plan, against: &Plan) -> Vec<Deviation> {
    // New slices have no name yet: the first with a prefix is compared with the first, and so on.
    let mut left: BTreeMap<(&str, String), VecDeque<ObjectChange<'_>>> = BTreeMap::new();
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

fn deviation(left: Option<ObjectChange<'_>>, right: Option<ObjectChange<'_>>) -> Option<Deviation> {
    let verb = |c: &Option<ObjectChange<'_>>| c.as_ref().map_or(Verb::None, |c| c.action);
    let (compat, against) = (verb(&left), verb(&right));
    let new = match (left.as_ref().and_then(|l| l.after), right.as_ref().and_then(|r| r.after)) {
        (Some(ChangedObject::Endpoints(old)), Some(ChangedObject::Endpoints(new))) => difference::endpoints(old, new),
        (Some(ChangedObject::Slice(old)), Some(ChangedObject::Slice(new))) => difference::slices(old, new),
        (None, None) => None,
        // One of them is missing: the verbs say it.
        _ => Some(ObjectDifference::default()),
    };
    if new.is_none() && compat == against {
        return None;
    }
    let (kind, name) = right.as_ref().or(left.as_ref()).map(|c| (c.kind, c.name.clone()))?;
    let new = new.unwrap_or_default();
    let detail = if new.is_empty() { right.or(left).map(|c| c.detail).unwrap_or_default() } else { new.text() };
    Some(Deviation { kind, name, compat, against, detail, aspects: new.aspects })
}
