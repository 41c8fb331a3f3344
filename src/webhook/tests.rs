//! The webhook as a table: requests in, answers out, no socket.
