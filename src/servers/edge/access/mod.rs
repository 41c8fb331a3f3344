//! Who may read what is cached: what the API server said about it, and for how long that counts.

pub(super) mod access_holds;
#[cfg(test)]
pub(super) mod access_model;
#[cfg(test)]
pub(super) mod access_model_tests;
pub(super) mod access_reviews;
#[cfg(test)]
pub(super) mod access_reviews_tests;
pub(super) mod access_table;
pub(super) mod caller;
pub(super) mod caller_places;
pub(super) mod client_certificates;
pub(super) mod digest;
pub(super) mod review_places;
pub(super) mod watch_permission;
