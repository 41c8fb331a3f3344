//! The path of a request as an API server reads it: its segments, the version of an API group, and the tricks that are refused.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use roster_engine::model::Resource;

/// The segments of a path, decoded. Two paths that an API server takes for the same have equal segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestPath<'a> {
    segments: Vec<Cow<'a, str>>,
    pub(super) ends_with_slash: bool,
}

impl<'a> RequestPath<'a> {
    /// Reads a path. The error says what is refused: what a server behind this one might read in another way.
    pub(crate) fn read(path: &'a str) -> Result<Self, &'static str> {
        let rest = path.strip_prefix('/').ok_or("the path does not begin with a slash")?;
        let (rest, ends_with_slash) = match rest.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let mut segments: Vec<Cow<'a, str>> = Vec::new();
        if rest.is_empty() && !ends_with_slash {
            return Ok(Self { segments, ends_with_slash });
        }
        for segment in rest.split('/') {
            let decoded = percent_decode_str(segment).decode_utf8().map_err(|_| "the path is not UTF-8")?;
            if [".", ".."].contains(&decoded.as_ref()) {
                return Err("the path has a segment that is a dot or two");
            }
            if decoded.chars().any(char::is_control) {
                return Err("the path has a control character");
            }
            // The rest is for the pod or the Service, and the API server does not read it.
            if !is_proxied(&segments) {
                if decoded.is_empty() {
                    return Err("the path has an empty segment");
                }
                if decoded.contains(['/', '\\', '%']) {
                    return Err("the path has an encoded slash or percent sign");
                }
            } else if decoded.split(['/', '\\']).any(|part| part == "..") {
                return Err("the path has a segment that is a dot or two");
            }
            segments.push(decoded);
        }
        Ok(Self { segments, ends_with_slash })
    }

    /// The segments.
    pub(super) fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(AsRef::as_ref).collect()
    }
}

/// Whether what follows these segments is a path of a pod, a Service or a node.
fn is_proxied(segments: &[Cow<'_, str>]) -> bool {
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    matches!(
        segments[..],
        ["api", "v1", "namespaces", _, "pods" | "services", _, "proxy", ..] | ["api", "v1", "nodes", _, "proxy", ..]
    )
}

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
