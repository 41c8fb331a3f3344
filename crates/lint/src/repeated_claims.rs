//! What only one Service of a cluster can have, and several claim: node ports and cluster IPs.

use std::collections::{BTreeMap, HashMap};

use roster_engine::{
    model::HashSeed,
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_validation as validation;
use roster_validation::Claim;

use crate::{
    file_finding::{FileFinding, FileObject},
    finding_room::FindingRoom,
    reviewed_object::ReviewedObject,
};

/// Most claims of a Service that are reported one by one.
const MAX_LISTED: usize = 100;

/// The claim of a Service that another one has made before.
struct RepeatedClaim {
    claim: Claim,
    owner: ClaimOwner,
}

/// The Service that has something, by its place, and the pointer to the field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ClaimOwner {
    place: usize,
    pointer: String,
}

/// The claims of one Service that others have made before.
#[derive(Default)]
struct RepeatedClaims {
    listed: Vec<RepeatedClaim>,
    /// How many more there are.
    more: usize,
}

/// Adds a finding to each Service that claims what another one of the same unit has. `namespace` is that of objects without
/// one.
pub(crate) fn add(objects: &mut [ReviewedObject<'_>], namespace: &str, room: &mut FindingRoom) {
    let repeated = find(objects, namespace);
    let lines = lines_of_owners(objects, repeated.iter().flat_map(|(_, claims)| &claims.listed));
    let line_of = |owner: &ClaimOwner| {
        let place = lines.binary_search_by(|(known, _)| known.cmp(owner));
        place.map_or(0, |place| lines[place].1)
    };
    for (place, RepeatedClaims { listed, more }) in repeated {
        let key = &objects[place].key;
        let invalid = |message| Finding::new(Reason::InvalidValue, key.clone(), message);
        let finding = |RepeatedClaim { claim, owner }: RepeatedClaim| {
            let (other, line) = (&objects[owner.place], line_of(&owner));
            let message = format!("{} at {}:{line} has the {} already", other.key, other.file, claim.what);
            Finding { pointer: Some(claim.pointer), ..invalid(message) }
        };
        let uncounted = (more > 0)
            .then(|| invalid(format!("and {} that other Services have already", counted(more, "more claim"))));
        let found: Vec<Finding> = listed.into_iter().map(finding).chain(uncounted).collect();
        let object = &mut objects[place];
        let at = FileObject::of(object.file, &object.document, &object.key);
        let before = object.count();
        object.input_findings.extend(FileFinding::of_input(at, &found));
        object.keep_within(room, before);
    }
}

/// The repeated claims, and the places of the Services that make them.
fn find(objects: &[ReviewedObject<'_>], namespace: &str) -> Vec<(usize, RepeatedClaims)> {
    let mut owners: BTreeMap<String, HashMap<usize, ClaimOwner, HashSeed>> = BTreeMap::new();
    let mut repeated = Vec::new();
    let key = |object: &ReviewedObject<'_>| object.key.clone().placed(namespace);
    for (place, object) in objects.iter().enumerate() {
        if object.key.kind != "Service" || !object.has_schema || object.is_listed {
            continue;
        }
        let mut claims = RepeatedClaims::default();
        for claim in validation::claims(&object.document.raw) {
            let own = || ClaimOwner { place, pointer: claim.pointer.clone() };
            let by_unit = owners.entry(claim.what.clone()).or_default();
            let owner = by_unit.entry(object.unit).or_insert_with(own).clone();
            // An object that is written twice is one.
            if owner.place == place || key(&objects[owner.place]) == key(object) {
                continue;
            }
            if claims.listed.len() < MAX_LISTED {
                claims.listed.push(RepeatedClaim { claim, owner });
            } else {
                claims.more += 1;
            }
        }
        if !claims.listed.is_empty() {
            repeated.push((place, claims));
        }
    }
    repeated
}

/// What owners have, in order, and the line of each: each of their documents is read once.
fn lines_of_owners<'r>(
    objects: &[ReviewedObject<'_>],
    repeated: impl Iterator<Item = &'r RepeatedClaim>,
) -> Vec<(ClaimOwner, usize)> {
    let mut owners: Vec<ClaimOwner> = repeated.map(|claim| claim.owner.clone()).collect();
    owners.sort_unstable();
    owners.dedup();
    let mut lines = Vec::new();
    for of_one in owners.chunk_by(|a, b| a.place == b.place) {
        let pointers: Vec<&str> = of_one.iter().map(|owner| owner.pointer.as_str()).collect();
        let found = of_one.first().map(|owner| objects[owner.place].document.lines_of(&pointers));
        lines.extend(of_one.iter().cloned().zip(found.unwrap_or_default()));
    }
    lines
}
