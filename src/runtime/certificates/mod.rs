//! Certificates that Roster makes for itself: a CA, and a certificate of it for the webhook.
//!
//! ```text
//! Material (PEM) ─ inspect ─► Stored ─ plan(now) ─► Action ─ make ─► Material ─► Secret, caBundle, listener
//! ```
//!
//! [`plan()`] is pure: time and state come in, what is to be done comes out. A new CA is in every `caBundle` before
//! the first certificate of it is served, and the old one stays in it until the last certificate of it is gone: at no
//! moment does an API server meet a certificate that it does not know.

mod inspect;
mod make;
mod material;
mod memory;
mod own;
mod plan;
#[cfg(test)]
mod tests;
mod trust;

pub use inspect::inspect;
pub use make::{MakeError, advance, step};
pub use material::Material;
pub use memory::{MemoryError, in_memory};
pub use own::Own;
pub use plan::{Action, Ca, Leaf, Life, Stored, plan};
pub use trust::{Distrust, trusts};
