//! What identifies a finding from one run to the next.

use roster_engine::model::ObjectKey;

/// What waivers and baselines compare: the file, the object, the code and the field, and not the line or the message.
#[derive(Clone, Copy, Debug)]
pub struct FindingKey<'a> {
    /// The file, as it was named.
    pub file: &'a str,
    /// The object.
    pub object: &'a ObjectKey,
    /// The code of the rule or reason.
    pub code: &'a str,
    /// The path of the field; empty if the finding is about the whole object.
    pub field: &'a str,
}

/// A file without what does not matter: `./a.yaml` is `a.yaml`.
pub(crate) fn plain(file: &str) -> &str {
    let mut file = file;
    while let Some(rest) = file.strip_prefix("./") {
        file = rest.trim_start_matches('/');
    }
    file
}
