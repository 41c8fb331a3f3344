//! The forms of the names of objects.

use roster_engine::model::dns;

/// The form of the names of a kind.
#[derive(Clone, Copy, Debug)]
pub enum NameForm {
    /// RFC 1123 label.
    Label,
    /// RFC 1123 subdomain: labels with dots between them.
    Subdomain,
    /// A step of a path.
    Segment,
}

impl NameForm {
    fn limit(self) -> usize {
        match self {
            Self::Label => dns::MAX_LABEL,
            Self::Subdomain => dns::MAX_SUBDOMAIN,
            Self::Segment => usize::MAX,
        }
    }

    /// Why a name does not have it.
    pub fn broken(self, name: &str) -> String {
        if name.is_empty() {
            "the object has no name".to_owned()
        } else if name.len() > self.limit() {
            format!("the name has {} characters; {} are allowed", name.len(), self.limit())
        } else {
            let characters = match self {
                Self::Label => "lower case letters, digits and '-'",
                Self::Subdomain => "lower case letters, digits, '-' and '.'",
                Self::Segment => return "a name is neither '.' nor '..', and has neither '/' nor '%'".to_owned(),
            };
            format!("a name consists of {characters}, and begins and ends with a letter or digit")
        }
    }

    /// Whether a name has it.
    pub fn holds(self, name: &str) -> bool {
        match self {
            Self::Label => dns::is_label(name.as_bytes()),
            Self::Subdomain => dns::is_subdomain(name.as_bytes()),
            Self::Segment => !matches!(name, "." | "..") && !name.contains(['/', '%']),
        }
    }
}
