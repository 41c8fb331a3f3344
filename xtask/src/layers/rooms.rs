//! The table of rooms: which parts `src/` has, and what each may import.
//!
//! To add a room, add a row below everything that it imports; to allow an import, add a name to a row. A row may
//! import only rows above it, so the table has no circle.

use std::fmt;

use self::Imports::{Everything, Only};

/// A file or folder of `src/`.
pub(super) struct Room {
    /// Its path below `src/`, without `.rs` unless it is the root of a crate. `servers/rest` is a room of its own: only
    /// the `mod.rs` of `servers` remains in the room `servers`, and every file or folder beside it needs a row.
    pub name: &'static str,
    pub may_import: Imports,
}

/// The other rooms that a room may import.
pub(super) enum Imports {
    /// These; the name of a room does not stand for its parts.
    Only(&'static [&'static str]),
    Everything,
}

/// What a server may be made of. No server imports another one.
const BELOW_SERVERS: Imports =
    Only(&["model", "engine", "admission", "convert", "inventory", "deploy", "decode", "runtime", "kube_api"]);

/// From the bottom to the top.
pub(super) const ROOMS: &[Room] = &[
    Room { name: "model", may_import: Only(&[]) },
    Room { name: "engine", may_import: Only(&["model"]) },
    Room { name: "admission", may_import: Only(&["model", "engine"]) },
    // A ConversionReview has the envelope of an AdmissionReview, and policies are among the objects that are converted.
    Room { name: "convert", may_import: Only(&["model", "engine", "admission"]) },
    Room { name: "inventory", may_import: Only(&["model", "engine", "admission"]) },
    Room { name: "lint", may_import: Only(&["model", "engine"]) },
    Room { name: "cases", may_import: Only(&["model", "engine", "admission", "inventory", "lint"]) },
    Room { name: "deploy", may_import: Only(&["model", "engine", "admission"]) },
    Room { name: "decode", may_import: Only(&["model", "engine", "admission", "convert", "inventory", "deploy"]) },
    // Listeners, TLS, telemetry, files and the clock: nothing here knows what an endpoint is.
    Room { name: "runtime", may_import: Only(&["model"]) },
    Room { name: "kube_api", may_import: Only(&["model", "engine", "admission", "inventory", "decode", "runtime"]) },
    Room { name: "servers", may_import: BELOW_SERVERS },
    Room { name: "servers/edge", may_import: BELOW_SERVERS },
    Room { name: "servers/rest", may_import: BELOW_SERVERS },
    Room { name: "servers/webhook", may_import: BELOW_SERVERS },
    Room { name: "cli", may_import: Everything },
    Room { name: "lib.rs", may_import: Everything },
    Room { name: "main.rs", may_import: Everything },
];

impl Room {
    /// Whether it is the root file of a crate.
    pub(super) fn is_root(&self) -> bool {
        matches!(self.name, "lib.rs" | "main.rs")
    }

    /// Whether it is one of the folders that a reader sees in `src/`: neither the root of a crate nor a part of a room.
    pub(super) fn is_folder_of_src(&self) -> bool {
        !self.is_root() && !self.name.contains('/')
    }

    /// The files in which its own module may be.
    pub(super) fn module_files(&self) -> Vec<String> {
        let name = self.name;
        if self.is_root() {
            vec![format!("src/{name}")]
        } else {
            vec![format!("src/{name}/mod.rs"), format!("src/{name}.rs")]
        }
    }

    /// Whether it may import another room.
    pub(super) fn allows(&self, other: &Room) -> bool {
        match self.may_import {
            Only(names) => names.contains(&other.name),
            Everything => true,
        }
    }
}

impl fmt::Display for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Only([]) => f.write_str("no other room"),
            Only(names) => f.write_str(&names.join(", ")),
            Everything => f.write_str("everything"),
        }
    }
}

/// The row of the room to which a file belongs, or the name that the table lacks.
pub(super) fn room_of(rooms: &[Room], file: &str) -> Result<usize, String> {
    let path = file.strip_prefix("src/").unwrap_or(file);
    let within = |name: &str| {
        let rest = path.strip_prefix(name)?;
        (rest.is_empty() || rest == ".rs" || rest.starts_with('/')).then_some(rest)
    };
    let rows = rooms.iter().enumerate().filter_map(|(row, room)| Some((row, room, within(room.name)?)));
    let Some((row, room, rest)) = rows.max_by_key(|(_, room, _)| room.name.len()) else {
        return Err(first_part(path).to_owned());
    };
    let has_parts = rooms.iter().any(|r| r.name.strip_prefix(room.name).is_some_and(|rest| rest.starts_with('/')));
    match rest.strip_prefix('/') {
        Some(below) if has_parts && below != "mod.rs" => Err(format!("{}/{}", room.name, first_part(below))),
        _ => Ok(row),
    }
}

fn first_part(path: &str) -> &str {
    path.split_once('/').map_or_else(|| path.strip_suffix(".rs").unwrap_or(path), |(folder, _)| folder)
}
