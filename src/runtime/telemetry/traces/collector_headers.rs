//! The headers of requests to a collector, which may be credentials.

use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The longest text of headers, in bytes. A server accepts no longer heads.
const MAX_TEXT: usize = 8 << 10;

/// The headers that belong to the connection or to the body, which the exporter makes.
const OF_EXPORTER: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers of requests to a collector, which may be credentials: no value is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectorHeaders(pub(super) HeaderMap);

/// Why a text is not a list of headers. It shows nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CollectorHeadersError {
    #[error("the text is longer than {MAX_TEXT} bytes")]
    TooLong,
    #[error("header {0} is not like name=value")]
    NoValue(usize),
    #[error("header {0} has no valid name")]
    Name(usize),
    #[error("header {0} belongs to the connection or to the body, and cannot be set")]
    OfExporter(usize),
    #[error("header {0} is there twice")]
    Twice(usize),
    #[error("header {0} has a value that is not percent-encoded")]
    Encoding(usize),
    #[error("header {0} has a value with characters that a header cannot have")]
    Value(usize),
}

/// Reads `name=value,name2=value2`. Values are percent-encoded.
impl FromStr for CollectorHeaders {
    type Err = CollectorHeadersError;

    fn from_str(text: &str) -> Result<Self, CollectorHeadersError> {
        if text.len() > MAX_TEXT {
            return Err(CollectorHeadersError::TooLong);
        }
        let mut headers = HeaderMap::new();
        for (number, header) in (1..).zip(text.split(',')) {
            let (name, value) = header.split_once('=').ok_or(CollectorHeadersError::NoValue(number))?;
            let name: HeaderName = name.trim().parse().map_err(|_| CollectorHeadersError::Name(number))?;
            if OF_EXPORTER.contains(&name) {
                return Err(CollectorHeadersError::OfExporter(number));
            }
            if headers.insert(name, value_of(value.trim(), number)?).is_some() {
                return Err(CollectorHeadersError::Twice(number));
            }
        }
        Ok(Self(headers))
    }
}

fn value_of(text: &str, number: usize) -> Result<HeaderValue, CollectorHeadersError> {
    let is_encoded =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(is_encoded) {
        return Err(CollectorHeadersError::Encoding(number));
    }
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    let mut value = HeaderValue::from_bytes(&bytes).map_err(|_| CollectorHeadersError::Value(number))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::{
        CollectorHeadersError::{Encoding, Name, NoValue, OfExporter, TooLong, Twice, Value},
        *,
    };

    #[test]
    fn headers_are_read_as_the_specification_says() {
        for (text, want) in [
            ("x-key=hunter2", Ok(&[("x-key", "hunter2")] as &[_])),
            ("Authorization=Basic%20aHVudGVyMg==", Ok(&[("authorization", "Basic aHVudGVyMg==")])),
            ("authorization=Bearer hunter2", Ok(&[("authorization", "Bearer hunter2")])),
            (" a = hunter2 , b = %2C%3D+;x ", Ok(&[("a", "hunter2"), ("b", ",=+;x")])),
            ("a=", Ok(&[("a", "")])),
            ("hunter2", Err(NoValue(1))),
            ("a=hunter2,", Err(NoValue(2))),
            ("=hunter2", Err(Name(1))),
            ("a=1,hunter 2=1", Err(Name(2))),
            ("Content-Type=hunter2", Err(OfExporter(1))),
            ("a=hunter2,A=1", Err(Twice(2))),
            ("a=hunter2%", Err(Encoding(1))),
            ("a=hunter2%0", Err(Encoding(1))),
            ("a=%é0hunter2", Err(Encoding(1))),
            ("a=hunter2%0d%0ab: 1", Err(Value(1))),
            ("a=hunter2\n", Ok(&[("a", "hunter2")])),
        ] {
            let got = text.parse::<CollectorHeaders>();
            assert!(!format!("{got:?}").contains("hunter"), "{got:?}");
            if let Err(error) = &got {
                assert!(!error.to_string().contains("hunter"), "{error}");
            }
            let want = want.map(|all| {
                let header = |(name, value): &(&'static str, &'static str)| {
                    (HeaderName::from_static(name), HeaderValue::from_static(value))
                };
                CollectorHeaders(all.iter().map(header).collect())
            });
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn headers_have_a_limit() {
        let of_length = |length: usize| format!("a={}", "x".repeat(length - 2));
        assert!(of_length(MAX_TEXT).parse::<CollectorHeaders>().is_ok());
        assert_eq!(of_length(MAX_TEXT + 1).parse::<CollectorHeaders>(), Err(TooLong));
    }
}
