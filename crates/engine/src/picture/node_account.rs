//! How much of a Service the proxy of one node uses, counted like the Service itself: in pods, or in pod ports.

use std::{collections::BTreeSet, fmt};

use crate::{explain::ServedTotals, phrase::counted, view::ServiceView};

/// How much of a Service the proxy of a node uses, or why it uses nothing: `uses 5 of 6 pod ports`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAccount {
    /// The program before kube-proxy hides the Service.
    Hidden,
    /// kube-proxy serves no such Service.
    NotProxied,
    /// It uses a part of what there is.
    Uses {
        /// How many.
        used: usize,
        /// How many there are, whether they are published or not.
        of: usize,
        /// What is counted.
        unit: &'static str,
    },
}

impl NodeAccount {
    /// Counts what a node uses of a Service that has these totals and as many ports.
    pub fn of(view: &ServiceView<'_>, totals: ServedTotals, ports: usize) -> Self {
        if view.worst_use().is_none() {
            return if view.is_hidden { Self::Hidden } else { Self::NotProxied };
        }
        // A pod with two families counts once, and so does an address for each port.
        let (mut used, mut known) = (BTreeSet::new(), BTreeSet::new());
        for (_, port) in view.ports() {
            for viewed in port.endpoints.iter().filter(|e| e.uses.any() || e.endpoint.ready()) {
                let endpoint = viewed.endpoint.endpoint;
                let pod = endpoint.target_ref.as_ref().filter(|target| target.kind == "Pod").map(|target| &target.name);
                let key = (pod.or(endpoint.addresses.first()), &port.port.name);
                known.insert(key);
                if viewed.uses.any() {
                    used.insert(key);
                }
            }
        }
        let (of, unit) = match totals.pod_ports {
            0 => (known.len() + view.unseen() * ports.max(1), "endpoint"),
            // Others may have written endpoints of other pods.
            all => (all.max(known.len()), if ports > 1 { "pod port" } else { "pod" }),
        };
        Self::Uses { used: used.len(), of, unit }
    }
}

/// `5 of 6 pod ports`, or why there is nothing to count.
impl fmt::Display for NodeAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hidden => f.write_str("hidden from its kube-proxy"),
            Self::NotProxied => f.write_str("not served by kube-proxy"),
            Self::Uses { used, of, unit } => write!(f, "{used} of {}", counted(of, unit)),
        }
    }
}
