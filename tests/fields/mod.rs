//! Cases of single fields, and what `roster lint` reports about many objects at once.

pub(crate) mod cases;
pub(crate) mod linted;
