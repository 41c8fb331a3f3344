//! Who sends a request: a token or a certificate, of which only a digest is remembered.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{
    client_certificates::CertificateUser,
    digest::{hex, sha256},
};
use crate::runtime::status_error::StatusError;

/// What the digest of a certificate's user begins with: no header has this byte, so no token has the same digest.
const OF_CERTIFICATE: &[u8] = b"\0certificate\0";

/// A client, by its credentials.
#[derive(Clone)]
pub(crate) enum Caller {
    /// It sends the header `Authorization`, which goes to the API server and nowhere else. The API server decides what it
    /// is worth.
    Header(HeaderValue),
    /// It has shown a certificate, which cannot be passed on.
    Certificate(CertificateUser),
}

/// The SHA-256 of a token, or of the user that a certificate names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallerDigest([u8; 32]);

impl CallerDigest {
    /// The digest in hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// Reads [`CallerDigest::to_hex`].
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(_) => f.write_str("Header"),
            Self::Certificate(user) => f.debug_tuple("Certificate").field(user).finish(),
        }
    }
}

impl Caller {
    /// The client of a request. One without credentials is nobody: the API server is not asked. One with a certificate and a
    /// token could be either: an API server takes the certificate, which this proxy cannot pass on with the rest of
    /// the requests.
    pub(crate) fn of(headers: &HeaderMap, certificate: Option<CertificateUser>) -> Result<Self, StatusError> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        match (certificate, values.next(), values.next()) {
            (None, Some(value), None) if !value.is_empty() => {
                let mut authorization = value.clone();
                authorization.set_sensitive(true);
                Ok(Self::Header(authorization))
            }
            (Some(user), None, None) => Ok(Self::Certificate(user)),
            (Some(_), Some(_), _) => Err(unauthorized(
                "the client has a certificate and sends a token as well: an API server would take the certificate, which \
                 cannot be passed on; use one of them",
            )),
            _ => Err(unauthorized("the request has no credentials, or several")),
        }
    }

    /// The same in memory of its own. The header shares that of the whole head of its request.
    pub(super) fn detached(&self) -> Self {
        match self {
            Self::Header(value) => HeaderValue::from_bytes(value.as_bytes()).map_or_else(
                |_| self.clone(),
                |mut own| {
                    own.set_sensitive(true);
                    Self::Header(own)
                },
            ),
            Self::Certificate(_) => self.clone(),
        }
    }

    /// The digest of the bearer token, or of the certificate's user: other credentials open nothing that is cached. A renewed
    /// certificate of the same user has the same.
    pub(crate) fn digest(&self) -> Result<CallerDigest, StatusError> {
        let value = match self {
            Self::Header(value) => value.as_bytes(),
            Self::Certificate(user) => return Ok(CallerDigest(sha256(&[OF_CERTIFICATE, &user.encoded()].concat()))),
        };
        let token = bearer_token(value).filter(|token| is_whole(value, token)).ok_or_else(|| {
            unauthorized("what is cached is served to clients with a bearer token or a client certificate")
        })?;
        Ok(CallerDigest(sha256(token)))
    }
}

/// The bearer token that an API server reads (`bearertoken.AuthenticateRequest`): the second word of the header.
fn bearer_token(header: &[u8]) -> Option<&[u8]> {
    let mut words = header.trim_ascii().split(|byte| *byte == b' ');
    let is_bearer = words.next()?.eq_ignore_ascii_case(b"bearer");
    words.next().filter(|token| is_bearer && !token.is_empty())
}

/// Whether nothing follows the token, and no part of it is something that an API server trims: one token must not be several
/// callers, of which each has its own limits.
fn is_whole(header: &[u8], token: &[u8]) -> bool {
    header.trim_ascii().ends_with(token)
        && header.trim_ascii().len() == "Bearer ".len() + token.len()
        && token.iter().all(u8::is_ascii_graphic)
}

/// Whether an API server reads a bearer token here, which it refuses unless it is valid. With other credentials a client is anonymous, and may read a version or an index.
pub(crate) fn has_token(headers: &HeaderMap) -> bool {
    headers.get(header::AUTHORIZATION).is_some_and(|value| bearer_token(value.as_bytes()).is_some())
}

/// As an API server says it, with the reason.
pub(super) fn unauthorized(why: &str) -> StatusError {
    StatusError::new(StatusCode::UNAUTHORIZED, "Unauthorized", format!("Unauthorized: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorization(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap())).collect()
    }

    fn caller(values: &[&str], certificate: Option<CertificateUser>) -> Result<Caller, u16> {
        Caller::of(&authorization(values), certificate).map_err(|e| e.code.as_u16())
    }

    fn digest(values: &[&str], certificate: Option<CertificateUser>) -> Result<CallerDigest, u16> {
        caller(values, certificate).and_then(|caller| caller.digest().map_err(|e| e.code.as_u16()))
    }

    fn user(name: &str, groups: &[&str]) -> CertificateUser {
        CertificateUser { user: name.to_owned(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
    }

    #[test]
    fn a_caller_has_one_bearer_token() {
        for values in [&[][..], &[""], &["Bearer"], &["Bearer "], &["Basic YQ=="], &["Bearer a", "Bearer a"], &["a"]] {
            assert_eq!(digest(values, None), Err(401), "{values:?}");
        }
        // To an API server, most of these are the token `a`: it must not be several callers.
        for value in
            ["Bearer a b", "Bearer a  ", "Bearer a\u{a0}", "Bearer a\tb", "Bearer  a", "bearer a", " BEARER a "]
        {
            let (found, same) = (digest(&[value], None), digest(&["Bearer a"], None));
            assert!(found == same || found == Err(401), "{value:?}");
        }
        assert_eq!(digest(&["Bearer a"], None), digest(&["bearer a "], None));
        assert_ne!(digest(&["Bearer a"], None), digest(&["Bearer b"], None));
    }

    #[test]
    fn an_api_server_reads_a_token_after_one_space() {
        for (value, want) in [
            ("Bearer a", true),
            ("bearer a ", true),
            ("Bearer a b", true),
            ("Bearer  a", false),
            ("Bearer", false),
            ("Bearer ", false),
            ("Basic YQ==", false),
            ("Bearer\ta", false),
            ("a", false),
        ] {
            assert_eq!(has_token(&authorization(&[value])), want, "{value:?}");
        }
        assert!(!has_token(&authorization(&[])));
    }

    #[test]
    fn or_it_has_a_certificate() {
        let a = user("a", &["g"]);
        for values in [&["Bearer a"][..], &[""], &["Basic YQ=="], &["Bearer a", "Bearer a"]] {
            assert_eq!(caller(values, Some(a.clone())).err(), Some(401), "{values:?}");
        }
        assert_eq!(digest(&[], Some(a.clone())), digest(&[], Some(a.clone())));
        for other in [user("b", &["g"]), user("a", &[]), user("a", &["g", "h"]), user("a\",[\"g", &[])] {
            assert_ne!(digest(&[], Some(a.clone())), digest(&[], Some(other)));
        }
    }

    #[test]
    fn no_token_has_the_digest_of_a_certificate() {
        let a = user("a", &["g"]);
        let want = digest(&[], Some(a.clone())).unwrap();
        let encoded = String::from_utf8(a.encoded()).unwrap();
        for token in [encoded.clone(), format!("certificate{encoded}")] {
            assert_ne!(digest(&[&format!("Bearer {token}")], None).unwrap(), want, "{token}");
        }
        // The byte that makes the difference cannot be sent.
        assert!(HeaderValue::from_bytes(&[b"Bearer ", OF_CERTIFICATE, encoded.as_bytes()].concat()).is_err());
    }
}
