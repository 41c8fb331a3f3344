//! The methods that HTTP defines: labels have a small set of values, whatever a client sends.

use axum::http::Method;

/// The name of a method that HTTP defines.
pub(crate) fn known_method(method: &Method) -> Option<&'static str> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str())
}
