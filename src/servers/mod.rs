//! The servers: the REST API, the webhook, the controller and the node proxy. None knows another; `cli` puts them together.

pub mod controller;
pub mod edge;
pub mod rest;
pub mod webhook;
