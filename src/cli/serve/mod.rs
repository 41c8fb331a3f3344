//! `roster serve`: composes the REST API, the webhook and the admin listener into one server.

mod access_args;
mod address;
mod banner;
mod compose;
mod exposure;
mod options;
mod serve_args;
mod webhook_args;

pub(super) use address::{address, file_mode, listen_address};
pub use compose::{ComposedServer, run};
pub use options::ServeOptions;
pub(super) use serve_args::Serve;
