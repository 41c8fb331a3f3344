//! The requests of clients: what they ask for, and the responses from the cache.

pub(super) mod accept;
pub(super) mod app;
pub(super) mod discovery;
pub(super) mod list_options;
pub(super) mod read_response;
pub(super) mod request_path;
pub(super) mod target;
pub(super) mod watch_stream;
