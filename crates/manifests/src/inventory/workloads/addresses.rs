//! Addresses of pods that no cluster has run yet.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, Ipv6Addr},
};

use roster_engine::model::{Family, HashSeed, PodIp, Text, defaults::ClusterFamilies};

/// Networks that no cluster uses, with the number of their hosts: those for documentation (RFC 5737) and, when these are
/// used up, the one for benchmarks (RFC 2544).
const NETWORKS: [(Ipv4Addr, u32); 4] = [
    (Ipv4Addr::new(192, 0, 2, 0), 254),
    (Ipv4Addr::new(198, 51, 100, 0), 254),
    (Ipv4Addr::new(203, 0, 113, 0), 254),
    (Ipv4Addr::new(198, 18, 0, 0), 131_070),
];

/// The network for documentation of IPv6 (RFC 3849).
const NETWORK_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0);

/// Hands out addresses, each once, in the same order at every run.
#[derive(Debug)]
pub(super) struct Addresses {
    families: ClusterFamilies,
    next: u32,
    /// The addresses of nodes, by name.
    nodes: HashMap<Text, u32, HashSeed>,
}

impl Addresses {
    pub(super) fn new(families: ClusterFamilies) -> Self {
        Self { families, next: 0, nodes: HashMap::default() }
    }

    /// The same, where others have the first `used` addresses.
    pub(super) fn after(used: usize, families: ClusterFamilies) -> Self {
        Self { next: u32::try_from(used).unwrap_or(u32::MAX), ..Self::new(families) }
    }

    /// The family of the first address of every pod.
    pub(super) fn first_family(&self) -> Family {
        self.families.first()
    }

    /// The addresses of a new pod: its own, or those of its node.
    pub(super) fn of_pod(&mut self, node: &Text, host_network: bool) -> impl Iterator<Item = PodIp> + use<> {
        let number = if !host_network {
            self.draw()
        } else if let Some(known) = self.nodes.get(node) {
            *known
        } else {
            let number = self.draw();
            self.nodes.insert(node.clone(), number);
            number
        };
        let first = self.families.first();
        let second = match first {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        };
        [Some(first), self.families.is_dual().then_some(second)].into_iter().flatten().map(move |f| address(f, number))
    }

    fn draw(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
}

fn address(family: Family, number: u32) -> PodIp {
    let text = match family {
        Family::V6 => Ipv6Addr::from_bits(NETWORK_V6.to_bits() + u128::from(number) + 1).to_string(),
        Family::V4 => {
            let mut host = number;
            let network = NETWORKS.iter().find(|(_, hosts)| {
                let here = host < *hosts;
                host -= if here { 0 } else { *hosts };
                here
            });
            // There are more addresses than pods are assumed.
            let (network, _) = network.unwrap_or(&NETWORKS[NETWORKS.len() - 1]);
            Ipv4Addr::from_bits(network.to_bits() + host + 1).to_string()
        }
    };
    PodIp::new(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_the_networks_for_documentation() {
        for (number, v4, v6) in [
            (0, "192.0.2.1", "2001:db8::1"),
            (253, "192.0.2.254", "2001:db8::fe"),
            (254, "198.51.100.1", "2001:db8::ff"),
            (762, "198.18.0.1", "2001:db8::2fb"),
            (100_000, "198.19.131.167", "2001:db8::1:86a1"),
        ] {
            assert_eq!(
                [address(Family::V4, number), address(Family::V6, number)],
                [v4, v6].map(|a| PodIp::new(a.into()))
            );
        }
    }

    #[test]
    fn pods_of_the_host_network_share_the_address_of_their_node() {
        let mut addresses = Addresses::new("IPv4,IPv6".parse().unwrap());
        let mut of = |node: &str, host| addresses.of_pod(&node.into(), host).collect::<Vec<_>>();
        let both = |n: u32| vec![address(Family::V4, n), address(Family::V6, n)];
        assert_eq!(
            [of("a", false), of("a", true), of("b", true), of("a", true), of("a", false)],
            [both(0), both(1), both(2), both(1), both(3)]
        );
    }
}
