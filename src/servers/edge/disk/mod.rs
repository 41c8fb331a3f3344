//! What outlives the process: the state of the cache, permissions and resourceVersions.

pub(super) mod atomic_file;
pub(super) mod journal;
pub(super) mod persistence;
pub(super) mod saved_permissions;
pub(super) mod saved_state;
pub(super) mod state_access;
pub(super) mod state_files;
#[cfg(test)]
pub(super) mod state_files_tests;
pub(super) mod state_record;
pub(super) mod version_file;
