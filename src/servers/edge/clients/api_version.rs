//! The version of an API group, as the path of a request names it.

use roster_engine::model::Resource;

/// The version of an API group in a path; the group is empty for the core group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ApiVersion<'a> {
    group: &'a str,
    version: &'a str,
}

impl<'a> ApiVersion<'a> {
    /// Reads what a path begins with, `/api/VERSION` or `/apis/GROUP/VERSION`, and returns the segments that follow.
    pub(super) fn split<'s>(segments: &'s [&'a str]) -> Option<(Self, &'s [&'a str])> {
        match segments {
            ["api", version, rest @ ..] => Some((Self { group: "", version }, rest)),
            ["apis", group, version, rest @ ..] => Some((Self { group, version }, rest)),
            _ => None,
        }
    }

    /// Whether the resource is read in this version.
    pub(super) fn has(self, resource: Resource) -> bool {
        (resource.group(), resource.version()) == (self.group, self.version)
    }
}
