//! JSON pointers (RFC 6901).

use std::fmt;

use crate::model::json::message::shortened;

/// A pointer that is written only when it is asked for: each part knows the one around it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pointer<'p> {
    /// One that is written already; empty for the whole text.
    At(&'p str),
    /// A member of an object.
    Key(&'p Pointer<'p>, &'p str),
    /// An element of a list.
    Index(&'p Pointer<'p>, usize),
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(pointer) => f.write_str(pointer),
            Self::Key(around, key) => {
                // Input may have keys of any length.
                write!(f, "{around}/{}", shortened(key).replace('~', "~0").replace('/', "~1"))
            }
            Self::Index(around, index) => write!(f, "{around}/{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_escaped() {
        let root = Pointer::At("/service");
        let labels = Pointer::Key(&root, "a/b~c");
        assert_eq!(Pointer::Index(&labels, 3).to_string(), "/service/a~1b~0c/3");
        assert_eq!(Pointer::At("").to_string(), "");
    }
}
