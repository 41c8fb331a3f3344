//! What fuzz targets share: reading and planning, and states that could be real.

pub mod inputs;
pub mod reviews;
pub mod state;
