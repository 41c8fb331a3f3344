//! `--defaults` and `--ip-families`: what is filled in where a manifest leaves it out.

use clap::{Args, ValueEnum};
use roster_engine::model::defaults::{ClusterFamilies, Defaults, DefaultsMode};

/// Arguments for what an API server would fill in.
#[derive(Debug, Args)]
pub(super) struct DefaultsArgs {
    /// Which objects get an API server's defaults (targetPort, protocol, IP families, namespace, …). The finding
    /// `assumed` reports them.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    defaults: DefaultsArg,
    /// The address families of the cluster, separated by commas: IPv4, IPv6, or both with the first one first [default:
    /// IPv4, or IPv4,IPv6 if a Service needs IPv6 or both]
    #[arg(long, value_name = "FAMILIES")]
    ip_families: Option<ClusterFamilies>,
}

/// A [`DefaultsMode`], as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DefaultsArg {
    /// Objects with neither uid nor resourceVersion: they were never in a cluster
    #[default]
    Auto,
    /// All objects
    Always,
    /// None: objects are read as they are written
    Never,
}

impl From<DefaultsArg> for DefaultsMode {
    fn from(arg: DefaultsArg) -> Self {
        match arg {
            DefaultsArg::Auto => Self::Auto,
            DefaultsArg::Always => Self::Always,
            DefaultsArg::Never => Self::Never,
        }
    }
}

impl DefaultsArgs {
    /// What is filled in. `namespace` is that of objects without one; empty for `default`.
    pub(super) fn with_namespace<'a>(&self, namespace: &'a str) -> Defaults<'a> {
        Defaults { mode: Some(self.defaults.into()), families: self.ip_families, namespace }
    }
}
