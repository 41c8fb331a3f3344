//! The canonical form of subsets (`RepackSubsets`): addresses that serve the same ports share a subset.
//!
//! Every address is registered once, with the ports it serves. Sorted by address, that turns into one
//! sorted list of addresses per port; ports with equal lists share a subset. Nothing is hashed but to
//! order ports and subsets, and only where there are several.

use std::collections::BTreeMap;

use crate::{
    compat::HashKind,
    hash::{Hash128, hash},
    model::{EndpointAddress, EndpointPort, EndpointSubset},
};

/// The most pairs of an address and a port that [`repack`] spreads out: 32 MiB of work space. An API
/// server stores at most 1.5 MiB of text per object, and one subset of 1000 addresses and as many ports
/// is a quarter of this.
const MAX_PAIRS: usize = 4 << 20;

/// The canonical form of stored subsets; `None` if they name more than [`MAX_PAIRS`] pairs of an address
/// and a port.
///
/// Ports with `appProtocol` never merge: upstream compares them by pointer, and every port that was
/// decoded has its own.
pub(crate) fn repack(kind: HashKind, subsets: &[EndpointSubset]) -> Option<Vec<EndpointSubset>> {
    let pairs = |s: &EndpointSubset| (s.addresses.len() + s.not_ready_addresses.len()) * s.ports.len().max(1);
    let total = subsets.iter().fold(0usize, |sum, s| sum.saturating_add(pairs(s)));
    if total > MAX_PAIRS {
        return None;
    }
    let mut all = Repack::default();
    for subset in subsets {
        let mut ports: Vec<PortId> = subset.ports.iter().map(|p| all.port(p.clone())).collect();
        if ports.is_empty() {
            ports.push(all.no_port());
        }
        for (addresses, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
            for address in addresses {
                all.address(address.clone());
                for port in &ports {
                    all.serve(*port, ready);
                }
            }
        }
    }
    Some(all.pack(kind))
}

/// A port of one [`Repack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortId(u32);

/// Addresses and the ports they serve, in the order in which they are found.
#[derive(Default)]
pub(crate) struct Repack {
    ports: Vec<EndpointPort>,
    by_value: BTreeMap<EndpointPort, PortId>,
    by_origin: BTreeMap<(usize, i32), PortId>,
    addresses: Vec<EndpointAddress>,
    /// Where the pairs of each address begin.
    starts: Vec<u32>,
    pairs: Vec<(PortId, bool)>,
}

impl Repack {
    /// With room for `n` addresses.
    pub(crate) fn with_capacity(n: usize) -> Self {
        Self {
            addresses: Vec::with_capacity(n),
            starts: Vec::with_capacity(n),
            pairs: Vec::with_capacity(n),
            ..Self::default()
        }
    }

    /// The port `number` of the Service port with index `origin`; `make` is asked once for each of them.
    pub(crate) fn port_of(&mut self, origin: usize, number: i32, make: impl FnOnce() -> EndpointPort) -> PortId {
        if let Some(id) = self.by_origin.get(&(origin, number)) {
            return *id;
        }
        let id = self.port(make());
        self.by_origin.insert((origin, number), id);
        id
    }

    /// A port. Equal ones are the same, unless they have an `appProtocol`. A port whose number is not
    /// positive keeps its addresses, and is not published.
    pub(crate) fn port(&mut self, port: EndpointPort) -> PortId {
        if port.app_protocol.is_none()
            && let Some(id) = self.by_value.get(&port)
        {
            return *id;
        }
        // There are fewer ports than bytes of input.
        let id = PortId(u32::try_from(self.ports.len()).unwrap_or(u32::MAX));
        if port.app_protocol.is_none() {
            self.by_value.insert(port.clone(), id);
        }
        self.ports.push(port);
        id
    }

    /// What stands for "no port at all".
    pub(crate) fn no_port(&mut self) -> PortId {
        self.port(EndpointPort { port: -1, ..EndpointPort::default() })
    }

    /// Begins an address. Of several with one IP and target uid, the first that serves anything is published.
    #[inline]
    pub(crate) fn address(&mut self, address: EndpointAddress) {
        self.addresses.push(address);
        self.starts.push(u32::try_from(self.pairs.len()).unwrap_or(u32::MAX));
    }

    /// The address begun last serves `port`. Not ready wins over ready.
    #[inline]
    pub(crate) fn serve(&mut self, port: PortId, ready: bool) {
        self.pairs.push((port, ready));
    }

    /// The subsets, in canonical order.
    pub(crate) fn pack(mut self, kind: HashKind) -> Vec<EndpointSubset> {
        let lists = self.addresses_by_port();
        let mut order: Vec<usize> = (0..lists.len()).filter(|p| !lists[*p].is_empty()).collect();
        order.sort_by(|a, b| lists[*a].cmp(&lists[*b]));
        let groups: Vec<&[usize]> = order.chunk_by(|a, b| lists[*a] == lists[*b]).collect();
        let mut subsets = Vec::with_capacity(groups.len());
        let shared = groups.len() > 1;
        for group in groups {
            let mut subset = self.subset(&lists[group[0]], shared);
            subset.ports = group.iter().map(|p| &self.ports[*p]).filter(|p| p.port > 0).cloned().collect();
            sort_by_hash(&mut subset.ports, |p| hash(kind, p));
            subsets.push(subset);
        }
        sort_by_hash(&mut subsets, |s| hash(kind, s));
        subsets
    }

    /// For each port its addresses in order, each once.
    fn addresses_by_port(&self) -> Vec<Vec<Member>> {
        let mut lists: Vec<Vec<Member>> = vec![Vec::new(); self.ports.len()];
        // The address that stands for all of its identity.
        let mut first = usize::MAX;
        for at in self.address_order() {
            let pairs = self.pairs_of(at);
            if pairs.is_empty() {
                continue;
            }
            if first == usize::MAX || identity(&self.addresses[first]) != identity(&self.addresses[at]) {
                first = at;
            }
            for (port, ready) in pairs {
                let list = &mut lists[port.0 as usize];
                match list.last_mut() {
                    Some(known) if known.at() == first => known.unite(*ready),
                    _ => list.push(Member::new(first, *ready)),
                }
            }
        }
        lists
    }

    fn pairs_of(&self, at: usize) -> &[(PortId, bool)] {
        let end = self.starts.get(at + 1).map_or(self.pairs.len(), |e| *e as usize);
        self.pairs.get(self.starts[at] as usize..end).unwrap_or_default()
    }

    /// The addresses by text of the IP, then uid, then as they came (`LessEndpointAddress`; an address
    /// without target sorts as one with an empty uid, because the two are never told apart).
    fn address_order(&self) -> impl Iterator<Item = usize> {
        let mut order: Vec<(u128, u32)> = (0..).zip(&self.addresses).map(|(i, a)| (prefix(&a.ip), i)).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                let of = |i: u32| identity(&self.addresses[i as usize]);
                of(a.1).cmp(&of(b.1)).then(a.1.cmp(&b.1))
            })
        });
        order.into_iter().map(|(_, i)| i as usize)
    }

    /// The subset of these addresses. They are moved out unless other subsets may need them.
    fn subset(&mut self, members: &[Member], shared: bool) -> EndpointSubset {
        let ready = members.iter().filter(|m| m.ready()).count();
        let mut subset = EndpointSubset {
            addresses: Vec::with_capacity(ready),
            not_ready_addresses: Vec::with_capacity(members.len() - ready),
            ports: Vec::new(),
        };
        for member in members {
            let address = &mut self.addresses[member.at()];
            let address = if shared { address.clone() } else { std::mem::take(address) };
            let list = if member.ready() { &mut subset.addresses } else { &mut subset.not_ready_addresses };
            list.push(address);
        }
        subset
    }
}

/// What tells two addresses apart: IP and uid of the target.
fn identity(a: &EndpointAddress) -> (&str, &str) {
    (&a.ip, a.target_ref.as_ref().map_or("", |t| t.uid.as_str()))
}

/// The first sixteen bytes of a text, as a number of the same order. IPv4 addresses are never longer.
#[inline]
fn prefix(text: &str) -> u128 {
    let mut bytes = [0; 16];
    let len = text.len().min(16);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    u128::from_be_bytes(bytes)
}

/// An address of a port: its index, and whether it is ready there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member(u64);

impl Member {
    fn new(at: usize, ready: bool) -> Self {
        Self((at as u64) << 1 | u64::from(ready))
    }

    fn at(self) -> usize {
        usize::try_from(self.0 >> 1).unwrap_or(usize::MAX)
    }

    fn ready(self) -> bool {
        self.0 & 1 == 1
    }

    fn unite(&mut self, ready: bool) {
        if !ready {
            self.0 &= !1;
        }
    }
}

/// Sorts by hash, which is only computed where there is an order to find.
fn sort_by_hash<T>(items: &mut [T], of: impl Fn(&T) -> Hash128) {
    if items.len() > 1 {
        items.sort_by_cached_key(of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads and writes subsets in short: `ready addresses ! not ready ones @ ports`, an address as
    /// `ip#uid/hostname`, a port as `name:number+appProtocol`, subsets separated by `|`.
    fn read(text: &str) -> Vec<EndpointSubset> {
        let address = |text: &str| {
            let (id, host) = text.split_once('/').unwrap_or((text, ""));
            let (ip, uid) = id.split_once('#').map_or((id, None), |(ip, uid)| (ip, Some(uid)));
            EndpointAddress {
                ip: ip.into(),
                hostname: host.into(),
                node_name: None,
                target_ref: uid.map(|uid| {
                    crate::model::ObjectRef { uid: uid.into(), ..crate::model::ObjectRef::default() }.into()
                }),
            }
        };
        let port = |text: &str| {
            let (name, number) = text.split_once(':').unwrap();
            let (number, app) = number.split_once('+').map_or((number, None), |(n, a)| (n, Some(a)));
            EndpointPort {
                name: name.into(),
                port: number.parse().unwrap(),
                protocol: "TCP".into(),
                app_protocol: app.map(Into::into),
            }
        };
        let subset = |text: &str| {
            let (addresses, ports) = text.split_once('@').unwrap();
            let (ready, not_ready) = addresses.split_once('!').unwrap_or((addresses, ""));
            EndpointSubset {
                addresses: ready.split_whitespace().map(address).collect(),
                not_ready_addresses: not_ready.split_whitespace().map(address).collect(),
                ports: ports.split_whitespace().map(port).collect(),
            }
        };
        text.split('|').filter(|t| !t.trim().is_empty()).map(subset).collect()
    }

    /// The expected texts were printed by Kubernetes' own `RepackSubsets`.
    #[test]
    fn subsets_are_packed_as_kubernetes_packs_them() {
        use HashKind::{Fnv128, Md5};
        let three_ports = "10.0.0.1#u1 10.0.0.2#u2 @ http:80 https:443 metrics:9090";
        let three_subsets = "10.0.0.1 @ a:8080 | 10.0.0.2 @ a:8081 | 10.0.0.3 @ a:8082";
        let cases: &[(&str, HashKind, &str, &str)] = &[
            ("nothing", Fnv128, "", ""),
            ("only ports", Fnv128, "@ a:80", ""),
            ("ports by MD5", Md5, three_ports, "10.0.0.1#u1 10.0.0.2#u2 @ metrics:9090 https:443 http:80"),
            ("ports by FNV", Fnv128, three_ports, "10.0.0.1#u1 10.0.0.2#u2 @ http:80 https:443 metrics:9090"),
            ("subsets by MD5", Md5, three_subsets, "10.0.0.1 @ a:8080 | 10.0.0.2 @ a:8081 | 10.0.0.3 @ a:8082"),
            ("subsets by FNV", Fnv128, three_subsets, "10.0.0.2 @ a:8081 | 10.0.0.1 @ a:8080 | 10.0.0.3 @ a:8082"),
            (
                "not ready wins, addresses sort as text",
                Md5,
                "10.0.0.1#u1 @ http:80 | ! 10.0.0.1#u1 @ http:80 | 10.0.0.9 10.0.0.10 @ http:80",
                "10.0.0.10 10.0.0.9 ! 10.0.0.1#u1 @ http:80",
            ),
            ("not ready wins whatever the order", Fnv128, "! a @ p:1 | a @ p:1", "! a @ p:1"),
            ("no port joins a port", Fnv128, "10.0.0.1 @ | 10.0.0.1 @ x:1", "10.0.0.1 @ x:1"),
            ("no port", Fnv128, "b a @", "a b @"),
            (
                "a port that is no number publishes none; the first address object wins",
                Fnv128,
                "1.1.1.1/first @ z:0 | ! 1.1.1.1/second @ :5",
                "! 1.1.1.1/first @ :5 | 1.1.1.1/first @",
            ),
            ("no target before targets by uid", Fnv128, "a#v a#u a @ p:1", "a a#u a#v @ p:1"),
            ("no target is the empty uid", Fnv128, "a/x a#/y @ p:1", "a/x @ p:1"),
            ("decoded appProtocol never merges", Fnv128, "a @ p:1+h | a @ p:1+h", "a @ p:1+h p:1+h"),
            (
                "nor for different addresses",
                Fnv128,
                "1.1.1.1 @ a:80+http | 1.1.1.2 @ a:80+http",
                "1.1.1.2 @ a:80+http | 1.1.1.1 @ a:80+http",
            ),
            ("equal ports merge", Fnv128, "a @ p:1 q:2 | b @ p:1 | b @ q:2", "a b @ p:1 q:2"),
            (
                "long texts differ at the end",
                Fnv128,
                "fd00:10:244:1::b fd00:10:244:1::a fd00:10:244:1 @ p:1",
                "fd00:10:244:1 fd00:10:244:1::a fd00:10:244:1::b @ p:1",
            ),
        ];
        for (name, kind, given, want) in cases {
            let got = repack(*kind, &read(given)).unwrap();
            assert_eq!(got, read(want), "{name}");
            assert_eq!(repack(*kind, &got), Some(got), "{name}, again");
        }
    }

    #[test]
    fn ports_of_one_origin_merge_even_with_app_protocol() {
        let mut all = Repack::default();
        let port = read("@ p:1+h").remove(0).ports.remove(0);
        for (ip, origin) in [("a", 0), ("b", 0), ("c", 1)] {
            let id = all.port_of(origin, 1, || port.clone());
            all.address(EndpointAddress { ip: ip.into(), ..EndpointAddress::default() });
            all.serve(id, true);
        }
        all.address(EndpointAddress { ip: "serves nothing".into(), ..EndpointAddress::default() });
        let got = all.pack(HashKind::Fnv128);
        assert_eq!(got.iter().map(|s| s.addresses.len()).sum::<usize>(), 3);
        assert_eq!(got.len(), 2);
    }

    #[test]
    fn what_would_need_too_much_room_is_refused() {
        let ports = (0..3000).map(|n| EndpointPort { port: n, ..EndpointPort::default() }).collect();
        let addresses = (0..3000).map(|_| EndpointAddress::default()).collect();
        assert_eq!(repack(HashKind::Md5, &[EndpointSubset { addresses, ports, ..EndpointSubset::default() }]), None);
    }
}
