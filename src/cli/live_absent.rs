//! A build that cannot read a live cluster: no arguments for it, and nothing to read.

use super::progress::Progress;
use crate::{compat::Minor, inventory::Inventory};

/// Said where there is nothing to read.
pub(super) const HINT: &str = "";

/// No arguments.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {}

impl ClusterArgs {
    #[expect(clippy::unused_self, reason = "as its namesake")]
    pub(super) fn is_given(&self) -> bool {
        false
    }
}

pub(super) fn read(_: &ClusterArgs, _: Option<&str>, _: &mut Inventory, _: &Progress) -> anyhow::Result<Option<Minor>> {
    anyhow::bail!("this build of roster reads files only (-f)")
}

/// Nobody is asked who could refuse.
pub(super) fn refusal<'a>(_: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    None
}
