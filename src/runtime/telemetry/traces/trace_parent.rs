//! The header `traceparent` of W3C's Trace Context: the trace of which a request is a part.

use std::{
    fmt,
    num::{NonZeroU64, NonZeroU128},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What the vendors of tracers add to it. It has no meaning without it.
pub(super) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(pub(super) NonZeroU128);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) NonZeroU64);

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The span of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    /// Whether the caller records its span.
    pub(super) is_sampled: bool,
}

impl TraceParent {
    /// The parent that a request names. One that cannot be read is ignored, and so are several.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        Self::parse(value.to_str().ok()?)
    }

    /// Reads `00-TRACE-SPAN-FLAGS`. A later version may have more after that.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let version = u8::try_from(hex(parts.next()?, 2)?).ok()?;
        let trace = NonZeroU128::new(hex(parts.next()?, 32)?)?;
        let span = NonZeroU64::new(u64::try_from(hex(parts.next()?, 16)?).ok()?)?;
        let flags = hex(parts.next()?, 2)?;
        let is_known = version == 0 && parts.next().is_none() || (1..0xff).contains(&version);
        is_known.then_some(Self { trace: TraceId(trace), span: SpanId(span), is_sampled: flags & 1 == 1 })
    }

    /// The header for a request that is a part of the span.
    pub(super) fn header(self) -> Option<HeaderValue> {
        let Self { trace, span, is_sampled } = self;
        HeaderValue::try_from(format!("00-{trace}-{span}-{:02x}", u8::from(is_sampled))).ok()
    }
}

/// A number of so many digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_lower = text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_lower.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn headers_are_read_as_the_recommendation_says() {
        for (text, want) in [
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-03"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01-what-comes-later"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{TRACE}-{SPAN}-1"), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!("00-{}-{SPAN}-01", &TRACE[1..]), None),
            (format!("00-+{}-{SPAN}-01", &TRACE[1..]), None),
            (format!("00-{TRACE}a-{SPAN}-01"), None),
            (String::new(), None),
        ] {
            let parent = TraceParent::parse(&text);
            assert_eq!(parent.map(|parent| parent.is_sampled), want, "{text}");
            if let Some(TraceParent { trace, span, .. }) = parent {
                assert_eq!((trace.to_string().as_str(), span.to_string().as_str()), (TRACE, SPAN));
            }
        }
    }

    #[test]
    fn one_header_counts_and_two_do_not() {
        let value = format!("00-{TRACE}-{SPAN}-01");
        let mut headers = HeaderMap::new();
        assert_eq!(TraceParent::of(&headers), None);
        headers.append(TRACEPARENT, HeaderValue::from_str(&value).unwrap());
        let parent = TraceParent::of(&headers).unwrap();
        assert_eq!(parent.header().unwrap(), value.as_str());
        headers.append(TRACEPARENT, HeaderValue::from_str(&value).unwrap());
        assert_eq!(TraceParent::of(&headers), None);
    }
}
