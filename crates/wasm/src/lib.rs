//! Roster's engine as a WebAssembly module: the calls of [`roster_calls`] behind three exports, without an import.
//!
//! ```text
//! roster_allocate(length) ─► address: write the request there
//! roster_call()           ─► address << 32 | length of the answer: read it
//! roster_free()
//! ```
//! A request is a line of JSON, and then its body: `{"call":"plan","query":"compat=1.37","contentType":"application/yaml"}`.
//! So is an answer: `{"status":200,"contentType":"application/json"}`. Nothing has to be escaped, however long it is.
//!
//! The module owns both buffers, and no function takes an address. So a wrong length or a wrong order of calls gives an answer
//! that says so, and never a read beyond a buffer.

mod envelope;
mod exports;
