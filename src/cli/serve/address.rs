//! The value of an address flag.

use std::net::SocketAddr;

use crate::runtime::net::ListenAddress;

/// An address and a port; without an address, all addresses of the machine.
pub(in crate::cli) fn address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') { format!("[::]{text}") } else { text.to_owned() };
    full.parse()
        .map_err(|_| format!("{text:?} is not an address with a port, such as 127.0.0.1:8080, [::1]:8080 or :8080"))
}

/// The same, or the path of a Unix socket.
pub(in crate::cli) fn listen_address(text: &str) -> Result<ListenAddress, String> {
    match ListenAddress::unix_path(text) {
        Some(path) if path.as_os_str().is_empty() => Err("the path of the socket is missing".to_owned()),
        Some(path) => Ok(ListenAddress::Unix(path.to_owned())),
        None => {
            address(text).map(ListenAddress::Tcp).map_err(|error| format!("{error}, or unix:/run/roster/edge.sock"))
        }
    }
}

/// The mode of a file, in octal digits.
pub(in crate::cli) fn file_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("{text:?} is not the mode of a file in octal digits, such as 0600 or 0660"))
}
