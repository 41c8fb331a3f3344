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

    /// What is held of an object with this JSON text; an error if it cannot be read.
    fn row(&self, object: &str) -> serde_json::Result<Self::Row>;

    /// The object exists, as it is now.
    fn apply(&mut self, row: Self::Row);

    /// The object was deleted.
    fn delete(&mut self, namespace: &str, name: &str);

    /// No other event has arrived yet: what was applied and deleted must be in force now.
    fn settle(&mut self) {}

    /// A list of all objects begins. A list that was not complete does not count.
    fn begin_list(&mut self);

    /// The list has this object.
    fn list(&mut self, row: Self::Row);

    /// The list is complete: every object that it does not have was deleted.
    fn end_list(&mut self);

    /// The watch fails; after a success, a list begins.
    fn lost(&mut self, loss: Loss);
}
