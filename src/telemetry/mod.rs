//! What the server tells about itself: metrics and logs.

pub mod logs;
pub mod metrics;
