//! A real listener: stalls, limits and shutdown.
