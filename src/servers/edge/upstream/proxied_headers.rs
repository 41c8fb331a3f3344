//! The headers of a request on its way to the API server, and of the response on its way back.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of one connection (RFC 9110, 7.6.1), besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    // Trailers are not passed on.
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers by which a proxy that an API server trusts names a user or an address. A client must not set them, even where
/// the API server does not believe them.
const SPOOFED: [&str; 4] = ["x-remote-", "x-forwarded-", "x-real-ip", "forwarded"];

/// Removes what belongs to the connection of the client, and what only a trusted proxy may send. Returns the protocol to
/// which the client wants to upgrade.
pub(super) fn prepare_request(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let upgrade = upgrade(headers);
    remove_hop_by_hop(headers);
    let spoofed = |name: &HeaderName| SPOOFED.iter().any(|prefix| name.as_str().starts_with(prefix));
    let names: Vec<HeaderName> = headers.keys().filter(|name| spoofed(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    // The client of the API server sets its own.
    headers.remove(header::HOST);
    if let Some(protocol) = &upgrade {
        set_upgrade(headers, protocol.clone());
    }
    upgrade
}

/// Removes what belongs to the connection to the API server.
pub(super) fn prepare_response(headers: &mut HeaderMap) {
    remove_hop_by_hop(headers);
}

/// Sets the headers of an upgrade.
pub(super) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}

/// The protocol of an upgrade.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_upgrade = connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| is_upgrade).cloned()
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = connection_options(headers).filter_map(|name| name.parse().ok()).collect();
    for name in HOP_BY_HOP.into_iter().chain(named).filter(is_removable) {
        headers.remove(name);
    }
}

/// A client must not remove the credentials by naming their header in `Connection`.
fn is_removable(name: &HeaderName) -> bool {
    *name != header::AUTHORIZATION && !name.as_str().starts_with("impersonate-")
}

fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|option| !option.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a15_s3_s5_headers_of_a_connection_and_of_trusted_proxies_stay_here() {
        let mut request = headers(&[
            ("host", "127.0.0.1:51006"),
            ("authorization", "Bearer x"),
            ("connection", "close, X-Mine, Authorization"),
            ("x-mine", "1"),
            ("keep-alive", "1"),
            ("te", "trailers"),
            ("trailer", "x-remote-user"),
            ("upgrade", "h2c"),
            ("x-remote-user", "system:admin"),
            ("x-remote-extra-scope", "all"),
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
            ("accept", "*/*"),
            ("impersonate-user", "a"),
        ]);
        assert_eq!(prepare_request(&mut request), None);
        let want = [("authorization", "Bearer x"), ("accept", "*/*"), ("impersonate-user", "a")];
        assert_eq!(request, headers(&want));
    }

    #[test]
    fn an_upgrade_is_passed_on() {
        let mut request = headers(&[("connection", "Upgrade"), ("upgrade", "SPDY/3.1"), ("x", "1")]);
        assert_eq!(prepare_request(&mut request), Some(HeaderValue::from_static("SPDY/3.1")));
        assert_eq!(request, headers(&[("x", "1"), ("connection", "upgrade"), ("upgrade", "SPDY/3.1")]));
    }
}
