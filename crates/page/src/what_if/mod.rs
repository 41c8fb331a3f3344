//! What changes if something is different: the same engine, asked about changed objects or another release.

mod both_sides;
mod change;
#[cfg(test)]
mod changed_tests;
mod difference;
mod document_edit;
mod form;
mod refusal;
mod tab;
#[cfg(test)]
mod tests;
mod unserved;
mod writes;

pub(crate) use change::{Change, ReadinessTo};
pub(crate) use form::option;
pub(crate) use tab::{After, Before, write};
