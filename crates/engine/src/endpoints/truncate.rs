//! Truncation: Endpoints hold at most 1000 addresses, shared out over their subsets (`truncateEndpoints`).

use crate::model::EndpointSubset;

/// `maxCapacity` of the Endpoints controller.
pub const CAPACITY: usize = 1000;
/// The value of the annotation on truncated Endpoints.
pub const TRUNCATED: &str = "truncated";

/// Truncates `subsets` to 1000 addresses. If there was anything to remove, returns how many addresses each subset
/// kept, ready and not.
///
/// Upstream keeps subsets without addresses, which the API server then refuses; they are dropped here.
pub(crate) fn truncate(subsets: &mut Vec<EndpointSubset>) -> Option<Vec<[usize; 2]>> {
    let counts: Vec<_> = subsets.iter().map(|s| [s.addresses.len(), s.not_ready_addresses.len()]).collect();
    let kept = kept(&counts)?;
    for (subset, [ready, not_ready]) in subsets.iter_mut().zip(&kept) {
        subset.addresses.truncate(*ready);
        subset.not_ready_addresses.truncate(*not_ready);
    }
    subsets.retain(|s| !s.addresses.is_empty() || !s.not_ready_addresses.is_empty());
    Some(kept)
}

/// How many of its addresses, ready and not, each subset keeps; `None` if all of them fit.
///
/// Ready addresses come first: the others get places only if all ready ones fit. Every subset keeps its share, rounded
/// up, so that the last subsets may get less.
pub fn kept(counts: &[[usize; 2]]) -> Option<Vec<[usize; 2]>> {
    let total = |which: usize| counts.iter().map(|c| c[which]).sum::<usize>();
    let (ready, not_ready) = (total(0), total(1));
    if ready + not_ready <= CAPACITY {
        return None;
    }
    if ready > CAPACITY {
        let mut shares = Shares::new(CAPACITY, ready);
        return Some(counts.iter().map(|c| [shares.next(c[0]), 0]).collect());
    }
    let mut shares = Shares::new(CAPACITY - ready, not_ready);
    Some(counts.iter().map(|c| [c[0], shares.next(c[1])]).collect())
}

/// Shares `max` places out among `total` addresses.
struct Shares {
    max: usize,
    total: usize,
    left: usize,
}

impl Shares {
    fn new(max: usize, total: usize) -> Self {
        Self { max, total, left: max }
    }

    /// How many of `count` addresses stay.
    fn next(&mut self, count: usize) -> usize {
        // The order of operations is that of upstream: rounding up makes it visible.
        #[expect(clippy::cast_precision_loss, reason = "counts of addresses are far below 2^52")]
        let share = (count as f64 / self.total as f64) * self.max as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ share ≤ 1000, total > 0")]
        let kept = (share.ceil() as usize).min(self.left).min(count);
        self.left -= kept;
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EndpointAddress;

    #[test]
    fn shares_are_upstreams() {
        type Counts = &'static [usize];
        let cases: &[(Counts, Counts, Counts, Counts)] = &[
            (&[90, 110, 50, 10, 20], &[101, 200, 200, 201, 298], &[90, 110, 50, 10, 20], &[73, 144, 144, 145, 214]),
            (&[205, 400, 402, 400, 693], &[100, 200, 200, 200, 300], &[98, 191, 192, 191, 328], &[0; 5]),
            (&[600, 600, 600], &[0; 3], &[334, 334, 332], &[0; 3]),
            (&[1, 1, 1000, 2], &[5; 4], &[1, 1, 997, 1], &[0; 4]),
            // Upstream leaves two subsets with nothing in them here, and one below.
            (&[999, 999, 2, 1], &[0; 4], &[500, 500], &[0; 2]),
            (&[1000, 0], &[0, 3], &[1000], &[0]),
            (&[500, 500], &[0, 0], &[500, 500], &[0, 0]),
        ];
        for &(ready, not_ready, want_ready, want_not_ready) in cases {
            let mut subsets: Vec<EndpointSubset> = ready
                .iter()
                .zip(not_ready)
                .map(|(&r, &n)| EndpointSubset {
                    addresses: vec![EndpointAddress::default(); r],
                    not_ready_addresses: vec![EndpointAddress::default(); n],
                    ports: vec![],
                })
                .collect();
            let over = ready.iter().chain(not_ready).sum::<usize>() > CAPACITY;
            assert_eq!(truncate(&mut subsets).is_some(), over);
            let counts = |f: fn(&EndpointSubset) -> usize| subsets.iter().map(f).collect::<Vec<_>>();
            assert_eq!(counts(|s| s.addresses.len()), want_ready, "ready of {ready:?} {not_ready:?}");
            assert_eq!(counts(|s| s.not_ready_addresses.len()), want_not_ready, "not ready of {ready:?} {not_ready:?}");
        }
    }
}
