//! The page at `/`: its static files, and the call that its script makes.

mod call;
mod files;

pub(super) use call::page;
pub(super) use files::files;
