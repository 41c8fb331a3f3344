//! The kernel parameters of a pod.

use std::collections::BTreeSet;

use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, Presence},
};

const MOST_CHARACTERS: usize = 253;

/// Parameters of the IPC namespace, besides those of message queues.
const IPC: [&str; 10] = [
    "kernel.sem",
    "kernel.shm",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.msg",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
];

/// Checks the parameters of a pod with this spec. Namespaces of the host have those of the host.
pub(super) fn check(parameters: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut names = BTreeSet::new();
    for parameter in parameters.items() {
        let name = parameter.key("name");
        let text = name.text();
        FieldRule::Text.check(&name, Presence::Required, faults);
        if !text.is_empty() && !is_name(text) {
            name.refuse(format!("{} is not the name of a kernel parameter", quoted(text)), faults);
        } else if !names.insert(text) {
            name.refuse(format!("the parameter {} is repeated", quoted(text)), faults);
        }
        let dotted = dotted(text);
        let is_ipc = IPC.contains(&dotted.as_str()) || dotted.starts_with("fs.mqueue.");
        for (is_of_it, namespace) in [(dotted.starts_with("net."), "hostNetwork"), (is_ipc, "hostIPC")] {
            if is_of_it && spec.key(namespace).is_true() {
                name.refuse(format!("it cannot be set beside {namespace}: true"), faults);
            }
        }
    }
}

/// The name with dots. With slashes between its parts, a part may have a dot.
fn dotted(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => name.chars().map(swap).collect(),
        _ => name.to_owned(),
    }
}

fn swap(letter: char) -> char {
    match letter {
        '/' => '.',
        '.' => '/',
        other => other,
    }
}

fn is_name(name: &str) -> bool {
    let is_end = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let is_part =
        |part: &str| is_end(part.bytes().next()) && is_end(part.bytes().next_back()) && part.bytes().all(is_inner);
    name.len() <= MOST_CHARACTERS && name.split(['.', '/']).all(is_part)
}
