//! The hosts that a request may name: the defence against DNS rebinding.
//!
//! A web page can let its own name resolve to 127.0.0.1, and then read what a server on loopback answers: to a browser,
//! both are one origin. But the browser sends the name of the page in `Host`, and that name is not one of the server.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// The last part of the problem type of a refused host.
pub(crate) const SLUG: &str = "host";
/// The title of that problem.
pub(crate) const TITLE: &str = "The host is not a name of this server";
/// The status of that problem.
pub(crate) const STATUS: StatusCode = StatusCode::FORBIDDEN;

/// The longest DNS name.
const MOST: usize = 253;

/// A name or an address of a server, without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostName {
    /// An IP address.
    Address(IpAddr),
    /// A DNS name in lower case, without the dot at its end.
    Name(String),
}

/// The hosts that a request to one listener may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts {
    bound: IpAddr,
    /// Whether any IP address is allowed: no DNS name has led to it.
    any_address: bool,
    more: Arc<[HostName]>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The request names no host.
    Missing,
    /// The request has the header `Host` more than once.
    Repeated,
    /// It is not a host with an optional port.
    Malformed,
    /// The server has no such name.
    Refused(String),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEADER: &str = "the header Host (:authority in HTTP/2)";
        match self {
            Self::Missing => write!(f, "{HEADER} is missing"),
            Self::Repeated => write!(f, "{HEADER} occurs more than once"),
            Self::Malformed => write!(f, "{HEADER} is not a host with an optional port"),
            Self::Refused(host) => {
                let flag = host.trim_matches(['[', ']']);
                write!(
                    f,
                    "{HEADER} names {host}, which may be the name of a web page; if it is a name of this server, "
                )?;
                write!(f, "start it with --allowed-host {flag}")
            }
        }
    }
}

impl std::error::Error for HostError {}

impl HostName {
    /// The host of an authority: an address in brackets is one of IPv6.
    fn of_authority(host: &str) -> Option<Self> {
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        match bracketed {
            Some(v6) => v6.parse::<Ipv6Addr>().ok().map(|a| Self::Address(IpAddr::from(a).to_canonical())),
            None => Some(host.parse::<Ipv4Addr>().map_or_else(|_| Self::name(host), |a| Self::Address(a.into()))),
        }
    }

    fn name(text: &str) -> Self {
        Self::Name(text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase())
    }
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let is_label = |l: &str| {
            !l.is_empty() && l.len() <= 63 && l.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        if text.len() <= MOST && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label) {
            return Ok(Self::name(text));
        }
        Err(format!("{text:?} is not a DNS name or an IP address; leave out the scheme and the port"))
    }
}

impl AllowedHosts {
    /// The hosts of a listener at `bound`: `localhost`, loopback addresses, its own address, and `more`.
    ///
    /// `None`: any host. That is so where other machines can connect, because the names of the machine are not known,
    /// unless they are given. Any address is fine there.
    pub fn of_listener(bound: SocketAddr, more: &[HostName]) -> Option<Self> {
        let bound = bound.ip().to_canonical();
        let any_address = !bound.is_loopback();
        (!any_address || !more.is_empty()).then(|| Self { bound, any_address, more: more.into() })
    }

    /// Whether a request with this target and these headers names one of them. Each host that it names must be one.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HostError> {
        let mut values = headers.get_all(header::HOST).iter();
        let host = values.next();
        if values.next().is_some() {
            return Err(HostError::Repeated);
        }
        if host.is_none() && uri.authority().is_none() {
            return Err(HostError::Missing);
        }
        if let Some(authority) = uri.authority() {
            self.check_authority(authority)?;
        }
        match host {
            None => Ok(()),
            Some(host) => {
                let authority = Authority::try_from(host.as_bytes()).map_err(|_| HostError::Malformed)?;
                self.check_authority(&authority)
            }
        }
    }

    fn check_authority(&self, authority: &Authority) -> Result<(), HostError> {
        let host = authority.host();
        let named = HostName::of_authority(host)
            .filter(|_| !authority.as_str().contains('@') && (1..=MOST).contains(&host.len()));
        match named {
            None => Err(HostError::Malformed),
            Some(named) if self.is_allowed(&named) => Ok(()),
            Some(_) => Err(HostError::Refused(host.to_owned())),
        }
    }

    fn is_allowed(&self, host: &HostName) -> bool {
        let own = match host {
            HostName::Address(address) => self.any_address || address.is_loopback() || *address == self.bound,
            HostName::Name(name) => name == "localhost",
        };
        own || self.more.contains(host)
    }

    /// Refuses all other requests to `router` with a problem (RFC 9457).
    pub fn guard(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self, refuse))
    }
}

async fn refuse(State(hosts): State<AllowedHosts>, request: Request, next: Next) -> Response {
    let Err(error) = hosts.check(request.uri(), request.headers()) else { return next.run(request).await };
    let problem = json!({
        "type": format!("urn:roster:problem:{SLUG}"),
        "title": TITLE,
        "status": STATUS.as_u16(),
        "detail": error.to_string(),
    });
    let mut response = (STATUS, Json(problem)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn hosts(bound: &str, more: &[&str]) -> Option<AllowedHosts> {
        let more: Vec<HostName> = more.iter().map(|name| name.parse().unwrap()).collect();
        AllowedHosts::of_listener(bound.parse().unwrap(), &more)
    }

    fn request(target: &str, host: &[&[u8]]) -> Request<()> {
        let mut request = Request::get(target).body(()).unwrap();
        for value in host {
            request.headers_mut().append(header::HOST, HeaderValue::from_bytes(value).unwrap());
        }
        request
    }

    fn ask(hosts: &AllowedHosts, target: &str, host: &[&[u8]]) -> Result<(), HostError> {
        let request = request(target, host);
        hosts.check(request.uri(), request.headers())
    }

    #[test]
    fn on_loopback_only_own_names_are_allowed() {
        let refused = |host: &str| Err(HostError::Refused(host.to_owned()));
        let on_loopback = hosts("127.0.0.2:8080", &["Roster.Test.", "192.0.2.7", "fd00::7"]).unwrap();
        for (host, want) in [
            ("localhost", Ok(())),
            ("LocalHost:8080", Ok(())),
            ("localhost.:1", Ok(())),
            ("127.0.0.1", Ok(())),
            ("127.0.0.2:8080", Ok(())),
            ("127.255.255.254:65535", Ok(())),
            ("[::1]", Ok(())),
            ("[::1]:8080", Ok(())),
            ("[0:0:0:0:0:0:0:1]:8080", Ok(())),
            ("[::ffff:127.0.0.1]:8080", Ok(())),
            ("roster.test:8080", Ok(())),
            ("ROSTER.test.", Ok(())),
            ("192.0.2.7:8080", Ok(())),
            ("[fd00::7]:8080", Ok(())),
            ("evil.example", refused("evil.example")),
            ("evil.example:8080", refused("evil.example")),
            ("localhost.evil.example", refused("localhost.evil.example")),
            ("evillocalhost", refused("evillocalhost")),
            ("127.0.0.1.nip.io:8080", refused("127.0.0.1.nip.io")),
            ("0.0.0.0:8080", refused("0.0.0.0")),
            ("10.0.0.1", refused("10.0.0.1")),
            ("127.1", refused("127.1")),
            ("2130706433", refused("2130706433")),
            ("0x7f.0.0.1", refused("0x7f.0.0.1")),
            ("[::]:8080", refused("[::]")),
            ("[fe80::1]", refused("[fe80::1]")),
            ("roster.test.evil.example", refused("roster.test.evil.example")),
            ("localhost@evil.example", Err(HostError::Malformed)),
            ("evil.example@localhost", Err(HostError::Malformed)),
            ("[localhost]", Err(HostError::Malformed)),
            ("localhost evil.example", Err(HostError::Malformed)),
            ("localhost,evil.example", refused("localhost,evil.example")),
            ("", Err(HostError::Malformed)),
            (":8080", Err(HostError::Malformed)),
            ("localhost/", Err(HostError::Malformed)),
        ] {
            assert_eq!(ask(&on_loopback, "/", &[host.as_bytes()]), want, "{host:?}");
        }
        let evil = || refused("evil.example");
        for (name, target, host, want) in [
            ("no host", "/", &[][..], Err(HostError::Missing)),
            ("two", "/", &[&b"localhost"[..], b"localhost"][..], Err(HostError::Repeated)),
            ("HTTP/2", "http://localhost:8080/", &[], Ok(())),
            ("HTTP/2 with both", "http://localhost:8080/", &[b"localhost:8080"], Ok(())),
            ("HTTP/2 from elsewhere", "http://evil.example/", &[], evil()),
            ("another authority", "http://evil.example/", &[b"localhost"], evil()),
            ("another header", "http://localhost/", &[b"evil.example"], evil()),
            ("bytes", "/", &[b"localhost\xff"], Err(HostError::Malformed)),
        ] {
            assert_eq!(ask(&on_loopback, target, host), want, "{name}");
        }
    }

    #[test]
    fn elsewhere_names_are_checked_only_if_they_are_given() {
        for bound in ["0.0.0.0:8080", "[::]:8080", "192.0.2.1:80"] {
            assert_eq!(hosts(bound, &[]), None, "{bound}");
            let some = hosts(bound, &["roster.test"]).unwrap();
            for (host, want) in [
                ("roster.test", true),
                ("localhost:8080", true),
                ("198.51.100.9:8080", true),
                ("[fd00::1]", true),
                ("evil.example", false),
            ] {
                assert_eq!(ask(&some, "/", &[host.as_bytes()]).is_ok(), want, "{bound} {host}");
            }
        }
        for bound in ["127.0.0.1:0", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert!(hosts(bound, &[]).is_some(), "{bound}");
        }
    }

    #[test]
    fn a_name_has_no_scheme_and_no_port() {
        for (text, want) in [
            ("roster.test", Some(HostName::Name("roster.test".to_owned()))),
            ("Roster.Test.", Some(HostName::Name("roster.test".to_owned()))),
            ("my_host-1", Some(HostName::Name("my_host-1".to_owned()))),
            ("::1", Some(HostName::Address(Ipv6Addr::LOCALHOST.into()))),
            ("10.0.0.1", Some(HostName::Address([10, 0, 0, 1].into()))),
            ("http://roster.test", None),
            ("roster.test:8080", None),
            ("[::1]", None),
            ("*.test", None),
            ("a..b", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(text.parse::<HostName>().ok(), want, "{text:?}");
        }
    }

    #[test]
    fn the_message_names_the_header_and_the_flag() {
        for (host, flag) in [("evil.example", "evil.example"), ("[fd00::1]", "fd00::1")] {
            assert_eq!(
                HostError::Refused(host.to_owned()).to_string(),
                format!(
                    "the header Host (:authority in HTTP/2) names {host}, which may be the name of a web page; if it is a \
                     name of this server, start it with --allowed-host {flag}"
                ),
            );
        }
    }
}
