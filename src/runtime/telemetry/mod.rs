//! What the server tells about itself: metrics and logs.

mod admission;
mod cache;
pub mod logs;
pub mod metrics;
mod tls;
