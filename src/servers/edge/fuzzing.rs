//! What fuzz targets call: the reading of requests, and that of the saved state.

use axum::http::{Method, Uri};

use crate::servers::edge::{
    access::digest::checksum,
    clients::target::RequestTarget,
    disk::{
        saved_state::SavedState,
        state_record::{DIGITS, StateRecord},
    },
};

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The proxy itself, without credentials.
    Health,
    /// The cache, or discovery.
    Proxy,
    /// The API server.
    ApiServer,
    /// Nobody: it is refused.
    Refused,
}

/// Where a request goes.
#[must_use]
pub fn route(method: &Method, uri: &Uri, node: &str) -> Route {
    match RequestTarget::read(method, uri, node) {
        Ok(RequestTarget::Live | RequestTarget::Ready) => Route::Health,
        Ok(RequestTarget::Read(_) | RequestTarget::Discovery(_)) => Route::Proxy,
        Ok(RequestTarget::Upstream) => Route::ApiServer,
        Err(_) => Route::Refused,
    }
}

/// Reads each line as a record, as it is and with the checksum that belongs to it, and builds the state of what can be read.
///
/// # Panics
///
/// If a record that was read is not read again as it is written.
#[expect(clippy::panic, reason = "it is what a fuzz target is for")]
pub fn restore(text: &str, node: &str) {
    let mut state = SavedState::default();
    for content in text.lines() {
        // Without its checksum it is a record as rarely as not at all.
        let _ = StateRecord::read(&format!("{content}\n"), node);
        let line = format!("{} {content}\n", &checksum(content)[..DIGITS]);
        let Ok(Some(record)) = StateRecord::read(&line, node) else { continue };
        let mut written = String::new();
        record.write(&mut written);
        let Ok(Some(again)) = StateRecord::read(&written, node) else { panic!("written, it is not read: {written}") };
        let mut twice = String::new();
        again.write(&mut twice);
        assert!(written == twice, "{written} is written as {twice}");
        state.take(record);
    }
    drop(state.into_lists());
}
