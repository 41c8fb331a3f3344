//! The servers: the REST API, the webhook and the node proxy. None knows another; `cli` puts them together.

pub mod edge;
pub mod rest;
pub mod webhook;
