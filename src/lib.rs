//! Roster answers one question: which pods serve this Service, for whom, and why.
