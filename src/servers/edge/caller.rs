//! Who sends a request: its bearer token, of which only a digest is remembered.

use super::digest::{hex, sha256};
use crate::runtime::status_error::StatusError;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

/// Credentials that a client presents. The API server decides what they are worth.
#[derive(Clone)]
pub(super) struct Caller {
    /// The header, which is sent to the API server and nowhere else.
    pub(super) authorization: HeaderValue,
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest in hexadecimal digits.
    pub(super) fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// Reads [`TokenDigest::to_hex`].
    pub(super) fn from_hex(text: &str) -> Option<Self> {
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
        f.write_str("Caller")
    }
}

impl Caller {
    /// The client of a request. One without credentials is nobody: the API server is not asked.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, StatusError> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (Some(value), None) if !value.is_empty() => {
                let mut authorization = value.clone();
                authorization.set_sensitive(true);
                Ok(Self { authorization })
            }
            _ => Err(unauthorized("the request has no credentials, or several")),
        }
    }

    /// The digest of the bearer token: other credentials open nothing that is cached.
    pub(super) fn bearer(&self) -> Result<TokenDigest, StatusError> {
        let value = self.authorization.as_bytes();
        let (scheme, token) = value.split_at_checked("Bearer ".len()).unwrap_or_default();
        let token = token.trim_ascii();
        if !scheme.eq_ignore_ascii_case(b"Bearer ") || token.is_empty() {
            return Err(unauthorized("what is cached is served to clients with a bearer token"));
        }
        Ok(TokenDigest(sha256(token)))
    }
}

/// As an API server says it, with the reason.
pub(super) fn unauthorized(why: &str) -> StatusError {
    StatusError::new(StatusCode::UNAUTHORIZED, "Unauthorized", format!("Unauthorized: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(values: &[&'static str]) -> Result<TokenDigest, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
        }
        Caller::of(&headers).and_then(|caller| caller.bearer()).map_err(|e| e.code.as_u16())
    }

    #[test]
    fn a_caller_has_one_bearer_token() {
        for values in [&[][..], &[""], &["Bearer"], &["Bearer "], &["Basic YQ=="], &["Bearer a", "Bearer a"], &["a"]] {
            assert_eq!(bearer(values), Err(401), "{values:?}");
        }
        assert_eq!(bearer(&["Bearer a"]), bearer(&["bearer  a "]));
        assert_ne!(bearer(&["Bearer a"]), bearer(&["Bearer b"]));
    }
}
