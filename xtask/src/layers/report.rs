//! The violations: rooms that the table lacks, imports that it forbids, and circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::arrows::{Arrow, arrows};
use super::circles::{Graph, circles};
use super::rooms::{Room, room_of};
use super::tree::{Sources, Tree};
use super::violation::Violation;

/// The file of the table.
const TABLE: &str = "xtask/src/layers/rooms.rs";

/// What the check finds.
pub(super) struct Report {
    /// Sorted by file and line.
    pub violations: Vec<Violation>,
    rooms: usize,
    files: usize,
    arrows: usize,
}

/// Checks the files against the table.
pub(super) fn report(rooms: &[Room], sources: &Sources, tree: &Tree) -> Report {
    let map = Map { rooms, tree, arrows: arrows(tree) };
    let mut violations = unlisted(rooms, sources);
    violations.extend(absent(rooms, sources));
    violations.extend(map.forbidden());
    violations.extend(map.circles_of_rooms());
    violations.extend(map.circles_of_files());
    violations.sort();
    let used: BTreeSet<usize> = tree.files.iter().filter_map(|f| room_of(rooms, &f.path).ok()).collect();
    Report {
        violations,
        rooms: used.iter().filter(|row| rooms[**row].is_folder_of_src()).count(),
        files: tree.files.len(),
        arrows: map.between_rooms().keys().filter(|(from, _)| !rooms[*from].is_root()).count(),
    }
}

/// Files and folders of `src/` that are not in the table.
fn unlisted(rooms: &[Room], sources: &Sources) -> Vec<Violation> {
    let mut first: BTreeMap<String, &String> = BTreeMap::new();
    for file in sources.keys() {
        if let Err(name) = room_of(rooms, file) {
            let known = first.entry(name).or_insert(file);
            if file.ends_with("/mod.rs") && file.len() < known.len() {
                *known = file;
            }
        }
    }
    let text = |name| format!("{name} is not in the table of rooms ({TABLE}), so it may import nothing");
    first.into_iter().map(|(name, file)| Violation::new(file, 1, text(name))).collect()
}

/// Rooms of the table that `src/` does not have.
fn absent(rooms: &[Room], sources: &Sources) -> Vec<Violation> {
    let has = |room: &Room| room.module_files().iter().any(|file| sources.contains_key(file));
    let text = |room: &Room| {
        format!("the table of rooms lists {}, and there is no {}", room.name, room.module_files().join(" or "))
    };
    let absent = rooms.iter().filter(|room| !has(room));
    absent.map(|room| Violation::new(TABLE, 1, text(room))).collect()
}

/// The arrows, on the map of rooms.
struct Map<'a> {
    rooms: &'a [Room],
    tree: &'a Tree,
    arrows: Vec<Arrow>,
}

impl Map<'_> {
    fn path(&self, file: usize) -> &str {
        &self.tree.files[file].path
    }

    fn room(&self, file: usize) -> Option<usize> {
        room_of(self.rooms, self.path(file)).ok()
    }

    /// The other rooms from which an arrow takes something, with the file there: the one that defines it, and those
    /// that hand it on.
    fn imports<'b>(&'b self, arrow: &'b Arrow) -> impl Iterator<Item = (usize, usize, usize)> + 'b {
        let files = std::iter::once(&arrow.to).chain(&arrow.through);
        let to = files.filter_map(|file| Some((self.room(arrow.from)?, self.room(*file)?, *file)));
        to.filter(|(from, to, _)| from != to)
    }

    /// The first arrow from each room to each other.
    fn between_rooms(&self) -> BTreeMap<(usize, usize), &Arrow> {
        let mut first = BTreeMap::new();
        for arrow in &self.arrows {
            for (from, to, _) in self.imports(arrow) {
                first.entry((from, to)).or_insert(arrow);
            }
        }
        first
    }

    /// What a file takes from a room that it may not import, at the first line that names it.
    fn forbidden(&self) -> Vec<Violation> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        // A path that begins with an imported name repeats the fault of that import, which is reported first.
        let (direct, shortened): (Vec<_>, Vec<_>) = self.arrows.iter().partition(|arrow| !arrow.shortened);
        let mut imported = BTreeSet::new();
        for arrow in direct.into_iter().chain(shortened) {
            for (from, to, file) in self.imports(arrow) {
                let (room, other) = (&self.rooms[from], &self.rooms[to]);
                let known = arrow.shortened && imported.contains(&(arrow.from, to));
                if room.allows(other) || known || !seen.insert((arrow.from, &arrow.name, to)) {
                    continue;
                }
                imported.insert((arrow.from, to));
                let (room, limits, name, path) = (room.name, &room.may_import, &arrow.name, self.path(file));
                let text = format!("{room} imports {name} from {} ({path}); {room} may import {limits}", other.name);
                found.push(Violation::new(self.path(arrow.from), arrow.line, text));
            }
        }
        found
    }

    fn circles_of_rooms(&self) -> Vec<Violation> {
        let first = self.between_rooms();
        self.circles("rooms", &first, |room| self.rooms[room].name)
    }

    fn circles_of_files(&self) -> Vec<Violation> {
        let mut first = BTreeMap::new();
        for arrow in self.arrows.iter().filter(|arrow| arrow.needs && arrow.from != arrow.to) {
            first.entry((arrow.from, arrow.to)).or_insert(arrow);
        }
        self.circles("files", &first, |file| self.path(file))
    }

    /// Circles of rooms or files, with the first arrow of each step.
    fn circles<'b>(
        &self,
        of: &str,
        first: &BTreeMap<(usize, usize), &Arrow>,
        name: impl Fn(usize) -> &'b str,
    ) -> Vec<Violation> {
        let mut graph = Graph::new();
        for (from, to) in first.keys() {
            graph.entry(*from).or_default().insert(*to);
        }
        let describe = |circle: Vec<usize>| {
            let next = circle.iter().cycle().skip(1);
            let steps = circle.iter().zip(next).filter_map(|(from, to)| Some((first.get(&(*from, *to))?, *to)));
            let steps: Vec<_> = steps.collect();
            let line = |(arrow, to): &(&&Arrow, usize)| {
                format!("{}:{}: {} in {}", self.path(arrow.from), arrow.line, arrow.name, name(*to))
            };
            let (arrow, _) = steps.first()?;
            let text = format!("circle of {} {of}", circle.len());
            let arrows = steps.iter().map(line).collect();
            Some(Violation { arrows, ..Violation::new(self.path(arrow.from), arrow.line, text) })
        };
        circles(graph).into_iter().filter_map(describe).collect()
    }
}

/// The line for a tree without violations.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rooms, files, arrows, .. } = self;
        write!(f, "layers: {rooms} rooms, {files} files, {arrows} arrows between rooms, no circle")
    }
}
