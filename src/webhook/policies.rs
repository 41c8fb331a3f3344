//! Where settings come from.

use std::sync::Arc;

use crate::admission::{Request, Settings};

/// Gives the settings that hold for an object. It is asked once for every review, so an answer is shared, not made.
pub trait Policies: Send + Sync {
    /// The settings for this request: by its kind, namespace, name, user, and the labels of its object.
    fn settings(&self, request: &Request<'_>) -> Arc<Settings>;
}

impl<F> Policies for F
where
    F: Fn(&Request<'_>) -> Arc<Settings> + Send + Sync,
{
    fn settings(&self, request: &Request<'_>) -> Arc<Settings> {
        self(request)
    }
}

/// Every rule has its default mode.
#[derive(Clone, Debug, Default)]
pub struct Defaults(Arc<Settings>);

impl Policies for Defaults {
    fn settings(&self, _: &Request<'_>) -> Arc<Settings> {
        self.0.clone()
    }
}
