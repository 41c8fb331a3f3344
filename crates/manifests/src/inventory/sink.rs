//! What a watch feeds: an index, or anything else that follows the objects of a resource.

/// Why nothing new is known of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The watch has failed for so long that the objects count as old.
    Stale,
    /// The API server does not have the resource: its CRD is not installed.
    NotInstalled,
    /// The objects are stored in a version that a conversion webhook must convert, and that webhook does not answer.
    Unconverted,
}

/// Follows the objects of one resource.
pub trait Sink {
    /// What is held of an object.
    type Row;

    /// What is held of an object with this JSON text; an error if it cannot be read. `before` is the object before it in a
    /// list: neighbours are mostly alike.
    fn row(&self, object: &str, before: Option<&Self::Row>) -> serde_json::Result<Self::Row>;

    /// The object exists, as it is now.
    fn apply(&mut self, row: Self::Row);

    /// The object was deleted.
    fn delete(&mut self, row: Self::Row);

    /// No other event has arrived yet: what was applied and deleted must be in force now.
    fn settle(&mut self) {}

    /// All objects of the resource: all others were deleted.
    fn replace(&mut self, rows: Vec<Self::Row>);

    /// The watch fails; the next call that follows a success is `replace`.
    fn lost(&mut self, loss: Loss);
}
