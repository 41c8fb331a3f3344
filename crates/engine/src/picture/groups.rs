//! The members of a picture, one by one; or, if there are many, folded by owner, state and reason.

use std::collections::HashMap;

use super::{
    graph::{NodeKind, PictureNode, PictureReason, PictureState},
    members::{Member, Members},
};
use crate::{
    model::HashSeed,
    phrase::counted,
    reason::{Reason, Severity},
};

/// The most members that are drawn one by one.
pub(super) const MOST_MEMBERS: usize = 40;
/// The most groups with an owner of their own; all other members are folded by their state alone.
const MOST_GROUPS: usize = 24;
/// How many members of a group are named.
const NAMED: usize = 3;

/// Members that are drawn as one.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// The first member.
    pub(super) first: &'a Member<'a>,
    /// The first slice that has one of them.
    first_slice: usize,
    names: Vec<&'a str>,
    count: usize,
    /// Whether their owners differ.
    is_mixed: bool,
}

/// The groups, from top to bottom, and that of each member.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    pub(super) all: Vec<Group<'a>>,
    pub(super) of_member: Vec<usize>,
    pub(super) is_folded: bool,
}

/// What the members of a group have in common.
type GroupKey<'a> = (NodeKind, Option<&'a str>, PictureState, Option<Reason>);

impl<'a> Groups<'a> {
    pub(super) fn of(members: &'a Members<'a>) -> Self {
        let is_folded = members.all.len() > MOST_MEMBERS;
        let mut first_slices = vec![usize::MAX; members.all.len()];
        for place in &members.places {
            let first = &mut first_slices[place.member];
            *first = place.slice.min(*first);
        }
        let mut groups = Self { all: Vec::new(), of_member: Vec::with_capacity(members.all.len()), is_folded };
        let mut known: HashMap<GroupKey<'_>, usize, HashSeed> = HashMap::default();
        for (member, first_slice) in members.all.iter().zip(&first_slices) {
            let group = if is_folded { groups.folded(member, &mut known) } else { groups.add(member, false) };
            let of = &mut groups.all[group];
            of.count += 1;
            of.first_slice = of.first_slice.min(*first_slice);
            if of.names.len() < NAMED {
                of.names.push(member.name);
            }
            groups.of_member.push(group);
        }
        groups.order();
        groups
    }

    fn add(&mut self, first: &'a Member<'a>, is_mixed: bool) -> usize {
        self.all.push(Group { first, first_slice: usize::MAX, names: Vec::new(), count: 0, is_mixed });
        self.all.len() - 1
    }

    fn folded(&mut self, member: &'a Member<'a>, known: &mut HashMap<GroupKey<'a>, usize, HashSeed>) -> usize {
        let code = member.unused.or(member.cause().map(|cause| cause.code));
        let key = (member.kind, Some(member.owner), member.state(), code);
        if let Some(group) = known.get(&key) {
            return *group;
        }
        let is_mixed = known.len() >= MOST_GROUPS;
        let key = if is_mixed { (member.kind, None, member.state(), None) } else { key };
        *known.entry(key).or_insert_with(|| self.add(member, is_mixed))
    }

    /// Sorts the groups: those of one slice stay together, and in it those of one zone and node.
    fn order(&mut self) {
        let key = |group: &Group<'_>| (group.first_slice, group.first.zone.cloned(), group.first.node.cloned());
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_cached_key(|place| key(&self.all[*place]));
        let mut places = vec![0; order.len()];
        for (to, from) in order.iter().enumerate() {
            places[*from] = to;
        }
        self.of_member.iter_mut().for_each(|group| *group = places[*group]);
        let mut all: Vec<(usize, Group<'a>)> = places.into_iter().zip(self.all.drain(..)).collect();
        all.sort_by_key(|(to, _)| *to);
        self.all = all.into_iter().map(|(_, group)| group).collect();
    }
}

impl Group<'_> {
    /// The node of the group, with its id as it should be.
    pub(super) fn node(&self) -> PictureNode {
        let Self { first, count, .. } = self;
        let is_address = first.kind == NodeKind::Address;
        let (one, things) = if is_address { ("address", "addresses") } else { ("pod", "pods") };
        let reason = self.reason();
        let (id, label, detail) = match (*count, self.is_mixed) {
            (..=1, _) => (format!("{one}/{}", first.name), first.name.to_owned(), first.address.to_owned()),
            (_, true) => {
                let id = format!("{things}//{}", first.state().as_str());
                (id, format!("{} of other owners", counted(*count, one)), self.named())
            }
            (_, false) => {
                let code = reason.as_ref().map(|reason| reason.code).unwrap_or_default();
                let id = format!("{things}/{}/{}/{code}", first.owner, first.state().as_str());
                let of = if first.owner.is_empty() { String::new() } else { format!(" of {}", first.owner) };
                (id, format!("{}{of}", counted(*count, one)), self.named())
            }
        };
        PictureNode {
            id,
            kind: first.kind,
            state: first.state(),
            label,
            detail,
            count: *count,
            zone: first.zone.filter(|_| *count == 1).cloned(),
            reasons: reason.into_iter().collect(),
        }
    }

    fn reason(&self) -> Option<PictureReason> {
        match (self.first.unused, self.first.cause()) {
            (Some(unused), _) => Some(PictureReason::new(unused.code(), Severity::Info, "not used by this node", "")),
            (None, Some(cause)) => Some(cause.into()),
            (None, None) => None,
        }
    }

    /// The first names of its members.
    fn named(&self) -> String {
        match self.count - self.names.len() {
            0 => self.names.join(", "),
            more => format!("{} and {more} more", self.names.join(", ")),
        }
    }
}
