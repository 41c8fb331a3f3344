//! Shared code of the fuzz targets.

pub mod inputs;
pub mod reviews;
pub mod state;
