//! The settings of `--scheme`, for views.

use std::collections::BTreeMap;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use roster_engine::{
    model::{Family, Text},
    view::{KeyOrder, Scheme},
};
use roster_manifests::inventory::Inventory;

use crate::cli::scheme_arg::SchemeArg;

/// Arguments that choose whose view is taken.
#[derive(Debug, Args)]
pub(in crate::cli) struct SchemeArgs {
    /// What stands between kube-proxy and the API server, and prunes what kube-proxy sees.
    #[arg(long, value_enum, default_value_t, value_name = "SCHEME")]
    scheme: SchemeArg,
    /// SuperEdge: how several topology keys of a Service are read.
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    topology_mode: TopologyModeArg,
    /// SuperEdge: these nodes are reported as unhealthy, separated by commas.
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    unhealthy: Vec<Text>,
    /// SuperEdge: replace the endpoints of the API server by the address in their annotations, as
    /// application-grid-wrapper does with --wrapper-in-cluster.
    #[arg(long)]
    substitute_local_apiserver: bool,
    /// OpenYurt: traffic may be confined to node pools (--enable-pool-service-topology of yurthub) [default: where the
    /// input has objects of kind `NodePool`]
    #[arg(long)]
    pool_topology: bool,
    /// View only the addresses of this family [default: both, as far as the Services have them]
    #[arg(long, value_enum, value_name = "FAMILY")]
    ip_family: Option<FamilyArg>,
}

/// A [`KeyOrder`], as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TopologyModeArg {
    /// As SuperEdge does: an endpoint stays if its node agrees in any key
    #[default]
    Any,
    /// The first key with a ready endpoint decides, and all endpoints are used where no key has one
    Ordered,
}

impl From<TopologyModeArg> for KeyOrder {
    fn from(mode: TopologyModeArg) -> Self {
        match mode {
            TopologyModeArg::Any => Self::AnyKey,
            TopologyModeArg::Ordered => Self::Ordered,
        }
    }
}

/// A [`Family`], as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FamilyArg {
    #[value(name = "IPv4")]
    V4,
    #[value(name = "IPv6")]
    V6,
}

/// The settings of a scheme that are not in objects.
#[derive(Debug)]
pub(in crate::cli) struct SchemeSettings<'a> {
    args: &'a SchemeArgs,
    health: BTreeMap<Text, bool>,
}

impl SchemeArgs {
    /// The settings. Arguments of another scheme are an error: they would do nothing, without a word.
    pub(in crate::cli) fn settings(&self) -> anyhow::Result<SchemeSettings<'_>> {
        for (argument, is_given, scheme) in [
            ("--topology-mode", self.topology_mode != TopologyModeArg::default(), SchemeArg::Superedge),
            ("--unhealthy", !self.unhealthy.is_empty(), SchemeArg::Superedge),
            ("--substitute-local-apiserver", self.substitute_local_apiserver, SchemeArg::Superedge),
            ("--pool-topology", self.pool_topology, SchemeArg::Openyurt),
        ] {
            ensure!(!is_given || self.scheme == scheme, "{argument} requires --scheme {}", scheme.as_str());
        }
        let health = self.unhealthy.iter().map(|node| (node.clone(), false)).collect();
        Ok(SchemeSettings { args: self, health })
    }

    /// The only family to view.
    pub(in crate::cli) fn family(&self) -> Option<Family> {
        self.ip_family.map(|family| match family {
            FamilyArg::V4 => Family::V4,
            FamilyArg::V6 => Family::V6,
        })
    }

    /// Whether the pools of nodes of a live cluster are wanted.
    pub(in crate::cli) fn wants_node_pools(&self) -> fn(&Inventory) -> bool {
        if self.scheme == SchemeArg::Openyurt { |_| true } else { |_| false }
    }

    pub(in crate::cli) fn name(&self) -> SchemeArg {
        self.scheme
    }
}

impl SchemeSettings<'_> {
    /// The scheme for these objects.
    pub(in crate::cli) fn scheme<'a>(&'a self, inventory: &'a Inventory) -> Scheme<'a> {
        match self.args.scheme {
            SchemeArg::KubeProxy => Scheme::KubeProxy,
            SchemeArg::Superedge => Scheme::SuperEdge {
                substitutes_api_server: self.args.substitute_local_apiserver,
                health: (!self.health.is_empty()).then_some(&self.health),
                order: self.args.topology_mode.into(),
            },
            SchemeArg::Openyurt => Scheme::OpenYurt {
                pools: &inventory.node_pools,
                pool_topology: self.args.pool_topology || !inventory.node_pools.is_empty(),
            },
        }
    }
}
