//! `EndpointPolicy`: which rules hold for which objects, in which mode.

pub mod version;
