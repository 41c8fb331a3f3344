//! Requests as data, and as the bytes of both protocols.

use std::sync::Arc;

use crate::http2::Scheme;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: Method,
    path: String,
    host: &'static str,
    /// Names in lower case.
    fields: Vec<(&'static str, String)>,
    pub(crate) body: Arc<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::Get, path: path.into(), host: "localhost", fields: Vec::new(), body: Arc::default() }
    }

    /// A request with a body of JSON.
    pub(crate) fn post(path: impl Into<String>, body: &[u8]) -> Self {
        Self::post_as(path, "application/json", body)
    }

    /// A request with a body of this type.
    pub(crate) fn post_as(path: impl Into<String>, content_type: &str, body: &[u8]) -> Self {
        let request = Self { method: Method::Post, body: body.into(), ..Self::get(path) };
        request.with("content-type", content_type)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    pub(crate) fn with_token(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    pub(crate) fn with_host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    /// The bytes of HTTP/1.1.
    pub(crate) fn http1(&self) -> Vec<u8> {
        [self.http1_head(self.body.len()).as_bytes(), &self.body].concat()
    }

    /// The head in HTTP/1.1, of a body with so many bytes.
    pub(crate) fn http1_head(&self, length: usize) -> String {
        let method = if self.method == Method::Get { "GET" } else { "POST" };
        let mut head = format!("{method} {} HTTP/1.1\r\nhost: {}\r\n", self.path, self.host);
        for (name, value) in &self.fields {
            head.extend([*name, ": ", value, "\r\n"]);
        }
        if self.method == Method::Post {
            head.extend(["content-length: ", &length.to_string(), "\r\n"]);
        }
        head + "\r\n"
    }

    /// The fields in HPACK: indices of the static table, and literals that no table keeps.
    pub(crate) fn http2_fields(&self, scheme: Scheme) -> Vec<u8> {
        const PATH: u8 = 0x04;
        const AUTHORITY: u8 = 0x01;
        let mut block = vec![if self.method == Method::Get { 0x82 } else { 0x83 }, scheme as u8];
        for (name, value) in [(PATH, self.path.as_str()), (AUTHORITY, self.host)] {
            block.push(name);
            push_text(&mut block, value);
        }
        for (name, value) in &self.fields {
            block.push(0);
            push_text(&mut block, name);
            push_text(&mut block, value);
        }
        block
    }
}

/// Writes a text with its length: 7 bits of it, and if they are all set, what exceeds them in groups of 7.
fn push_text(block: &mut Vec<u8>, text: &str) {
    const MOST: usize = 0x7f;
    let low = |number: usize| u8::try_from(number & MOST).unwrap_or_default();
    if text.len() < MOST {
        block.push(low(text.len()));
    } else {
        block.push(low(MOST));
        let mut rest = text.len() - MOST;
        while rest > MOST {
            block.push(low(rest) | 0x80);
            rest >>= 7;
        }
        block.push(low(rest));
    }
    block.extend(text.as_bytes());
}
