//! The WebAssembly module: built, put into the playground, and compared with the program.

mod hosts;
mod module;
mod playground;
mod std_source;

pub(crate) use hosts::compare_hosts;
pub(crate) use module::check;
pub(crate) use playground::{PlaygroundArguments, write, write_folder as write_playground};
