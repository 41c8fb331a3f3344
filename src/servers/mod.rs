//! The servers: the REST API and the webhook. Neither knows the other; `cli/serve` puts them together.

pub mod edge;
pub mod rest;
pub mod webhook;
