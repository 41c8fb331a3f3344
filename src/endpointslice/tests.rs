//! Whole syncs.
