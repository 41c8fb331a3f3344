//! `roster serve`: composes the REST API, the webhook and the admin listener into one server.

mod access_args;
mod banner;
mod compose;
mod options;
mod serve_args;
mod webhook_args;

pub use compose::{ComposedServer, run};
pub use options::ServeOptions;
pub(super) use serve_args::Serve;
