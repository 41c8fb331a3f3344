//! Boxes one below the other, each near the place where it should be.

/// The space between two boxes of a column.
pub(super) const GAP: i32 = 12;

/// The top of each of these boxes. They keep their order and do not overlap; `wanted` is where the middle of each should be.
pub(super) fn stack(heights: &[i32], wanted: &[Option<i32>]) -> Vec<i32> {
    let mut tops: Vec<i32> = Vec::with_capacity(heights.len());
    let (mut free, mut moved, mut count) = (i32::MIN, 0_i64, 0_i64);
    for (place, height) in heights.iter().enumerate() {
        let own = wanted.get(place).copied().flatten().map(|middle| middle - height / 2);
        let top = own.unwrap_or(if free == i32::MIN { 0 } else { free }).max(free);
        if let Some(own) = own {
            (moved, count) = (moved + i64::from(top - own), count + 1);
        }
        tops.push(top);
        free = top + height + GAP;
    }
    // Boxes only moved down: all of them move back by the average.
    let back = moved.checked_div(count).and_then(|back| i32::try_from(back).ok()).unwrap_or_default();
    for top in &mut tops {
        *top -= back;
    }
    tops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_near_where_they_should_be_and_do_not_overlap() {
        for (name, heights, wanted, want) in [
            ("no wishes", &[20, 30][..], &[][..], &[0, 32][..]),
            ("free places", &[20, 20], &[Some(100), Some(200)], &[90, 190]),
            ("the same place", &[20, 20], &[Some(100), Some(100)], &[74, 106]),
            ("one without a wish", &[20, 20], &[Some(100), None], &[90, 122]),
            ("nothing", &[], &[], &[]),
        ] {
            assert_eq!(stack(heights, wanted), want, "{name}");
        }
    }
}
