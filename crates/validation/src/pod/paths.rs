//! Paths in volumes.

use crate::{faults::Faults, field::Field};

/// Checks a path to a file of a volume, where names that begin with `..` belong to the kubelet.
pub(super) fn check_file(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_descending(path, faults);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        path.refuse("the path must not begin with ..", faults);
    }
}

/// Checks a path that must not leave its folder.
pub(super) fn check_descending(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if path.text().starts_with('/') {
        path.refuse("the path must be relative", faults);
    }
    check_backsteps(path, faults);
}

pub(super) fn check_backsteps(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if has_backsteps(path.text()) {
        path.refuse("the path must not contain ..", faults);
    }
}

/// Whether a path stays below its folder.
pub(super) fn is_descending(path: &str) -> bool {
    !path.starts_with('/') && !has_backsteps(path)
}

fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|step| step == "..")
}
