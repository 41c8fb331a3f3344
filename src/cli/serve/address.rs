//! The value of an address flag.

use std::net::SocketAddr;

/// An address and a port; without an address, all addresses of the machine.
pub(in crate::cli) fn address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') { format!("[::]{text}") } else { text.to_owned() };
    full.parse()
        .map_err(|_| format!("{text:?} is not an address with a port, such as 127.0.0.1:8080, [::1]:8080 or :8080"))
}
