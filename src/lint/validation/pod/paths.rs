//! Paths in volumes.

use crate::lint::validation::{faults::Faults, field::Field};

/// Checks a path that must not leave the volume.
pub(super) fn check_relative(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if path.text().starts_with('/') {
        path.refuse("the path must be relative", faults);
    }
    check_backsteps(path, faults);
}

pub(super) fn check_backsteps(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if path.text().split('/').any(|step| step == "..") {
        path.refuse("the path must not contain ..", faults);
    }
}
