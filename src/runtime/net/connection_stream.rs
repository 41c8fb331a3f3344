//! The stream of a connection, of any transport, with or without TLS.

use tokio::io::{AsyncRead, AsyncWrite};

/// What a connection reads and writes. It is one type, so that the HTTP server is compiled once and not for each transport.
pub(super) type ConnectionStream = Box<dyn ByteStream>;

/// A stream of bytes in both directions.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}
