//! How many endpoints each zone should get (`getAllocations`, `getGivingAndReceivingZones`).

use std::{cmp::Reverse, collections::BinaryHeap};

/// 1 / (1 + the overload threshold of 0.2), as Go folds it: a zone may get so much less than its share.
const LEAST: f64 = 0.833_333_333_333_333_4;

/// What one zone gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allocation {
    /// No slice stays as it is if that gave the zone more than this.
    pub maximum: usize,
    /// The goal.
    pub desired: f64,
}

/// The allocation of each zone, given their shares of the CPU; or why there is none.
pub(super) fn allocate(shares: &[f64], endpoints: usize) -> Result<Vec<Allocation>, String> {
    let zones = shares.len();
    if zones > endpoints {
        return Err(format!("Insufficient number of endpoints ({endpoints} endpoints, {zones} zones)"));
    }
    let desired: Vec<f64> = shares.iter().map(|share| share * float(endpoints)).collect();
    let minimum: Vec<f64> = desired.iter().map(|d| (d * LEAST).ceil()).collect();
    let spare = float(endpoints) - minimum.iter().sum::<f64>();
    if spare < 0.0 {
        return Err(format!(
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \
             ({endpoints} endpoints, {zones} zones)"
        ));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and from 0 to `endpoints`")]
    let whole = |x: f64| x as usize;
    let both = desired.into_iter().zip(minimum);
    Ok(both.map(|(d, min)| Allocation { maximum: whole(min + spare), desired: d.max(min) }).collect())
}

/// How many endpoints each zone gives to other zones, and how many it gets from others, if `have` of them
/// are hinted for it now.
pub(super) fn moves(allocations: &[Allocation], have: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (mut giving, mut receiving) = (BinaryHeap::new(), BinaryHeap::new());
    for (zone, (allocation, have)) in allocations.iter().zip(have).enumerate() {
        let over = float(*have) - allocation.desired;
        push(&mut giving, over, zone);
        push(&mut receiving, -over, zone);
    }
    let mut moves = (vec![0; have.len()], vec![0; have.len()]);
    while let (Some((give, from)), Some((receive, to))) = (pop(&mut giving), pop(&mut receiving)) {
        if (give < 1.0 && receive < 1.0) || give < 0.5 || receive < 0.5 {
            break;
        }
        moves.0[from] += 1;
        moves.1[to] += 1;
        push(&mut giving, give - 1.0, from);
        push(&mut receiving, receive - 1.0, to);
    }
    moves
}

/// Zones by how much they have to move, the first of them where several have the same. Positive
/// numbers are in the order of their bits.
type Most = BinaryHeap<(u64, Reverse<usize>)>;

fn push(most: &mut Most, amount: f64, zone: usize) {
    if amount > 0.0 {
        most.push((amount.to_bits(), Reverse(zone)));
    }
}

fn pop(most: &mut Most) -> Option<(f64, usize)> {
    most.pop().map(|(bits, Reverse(zone))| (f64::from_bits(bits), zone))
}

#[expect(clippy::cast_precision_loss, reason = "a number of endpoints")]
fn float(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of endpoints that cannot be allocated, though there is one for each zone.
    #[test]
    fn some_numbers_cannot_be_shared_out() {
        for (shares, want) in [
            (&[0.5, 0.5][..], &[3, 5][..]),
            (&[1.0 / 3.0; 3], &[4, 5, 8, 11]),
            (&[0.25; 4], &[5, 6, 7, 10, 11, 15]),
            (&[0.8, 0.2], &[2, 3, 6]),
        ] {
            let failing: Vec<_> = (shares.len()..60).filter(|n| allocate(shares, *n).is_err()).collect();
            assert_eq!(failing, want, "{shares:?}");
        }
    }

    #[test]
    fn too_few_endpoints_are_told_from_an_overload() {
        let third = [1.0 / 3.0; 3];
        assert_eq!(allocate(&third, 2).unwrap_err(), "Insufficient number of endpoints (2 endpoints, 3 zones)");
        assert_eq!(
            allocate(&third, 4).unwrap_err(),
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \
             (4 endpoints, 3 zones)"
        );
    }

    #[test]
    fn endpoints_move_to_where_they_are_wanted() {
        let third = [1.0 / 3.0; 3];
        for (shares, have, give, receive) in [
            (&third[..], &[3, 3, 3][..], &[0, 0, 0][..], &[0, 0, 0][..]),
            (&third, &[9, 0, 0], &[6, 0, 0], &[0, 3, 3]),
            (&third, &[3, 0, 0], &[2, 0, 0], &[0, 1, 1]),
            (&third, &[5, 4, 3], &[1, 0, 0], &[0, 0, 1]),
            (&[0.8, 0.2], &[5, 5], &[0, 3], &[3, 0]),
        ] {
            let allocations = allocate(shares, have.iter().sum()).unwrap();
            assert_eq!(moves(&allocations, have), (give.to_vec(), receive.to_vec()), "{have:?}");
        }
    }
}
