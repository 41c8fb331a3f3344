//! How maps and sets hash names.

/// The hasher of maps and sets whose keys come from requests or files: fast, with a seed of its own for each map.
///
/// With a fixed seed, names could be prepared that share a place in every such map, and each look-up would compare them all.
/// The hashes of two maps cannot be compared. Nothing that is written depends on a seed: a map is looked up, or each of its
/// values is changed by itself.
pub type HashSeed = foldhash::fast::RandomState;
