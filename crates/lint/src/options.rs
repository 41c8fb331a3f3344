//! How objects are read and reviewed.

use roster_manifests::decode::Source;

use crate::input_file::InputFile;

/// How objects are read, what is in force, and what the cluster has.
#[derive(Clone, Copy, Debug)]
pub struct LintOptions<'o> {
    /// How files are read: their limits, and what is filled in. Its name is that of no file.
    pub source: Source<'o>,
    /// The namespace of objects without one.
    pub namespace: &'o str,
    /// The user who writes; empty for the one that the labels of an object name, or an anonymous one.
    pub user: &'o str,
    /// The groups of the user.
    pub groups: &'o [String],
    /// Files of `EndpointPolicies` in force. One of the same name among the objects takes precedence.
    pub policies: &'o [InputFile<'o>],
    /// Files of objects as the cluster stores them.
    pub stored: &'o [InputFile<'o>],
    /// Most findings that each step lists. Half a million objects could have a hundred million, which would take gigabytes.
    pub max_findings: usize,
}

impl<'o> LintOptions<'o> {
    /// Files that nothing else is known about: no user, no policies, and no stored objects.
    pub fn of(source: Source<'o>, namespace: &'o str, max_findings: usize) -> Self {
        Self { source, namespace, user: "", groups: &[], policies: &[], stored: &[], max_findings }
    }

    /// How to read the file `name`.
    pub(crate) fn source_of<'s>(&'s self, name: &'s str) -> Source<'s> {
        Source { name, ..self.source }
    }
}
