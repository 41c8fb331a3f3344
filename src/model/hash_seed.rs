//! How maps and sets hash their keys.

/// The hasher of all maps: fast, and seeded anew in each process.
///
/// Names and labels come from requests. With a fixed seed, a client could choose thousands that share a place in a map, and each
/// look-up would compare them all. Nothing depends on the seed, since no map is iterated over.
pub type HashSeed = foldhash::fast::RandomState;
