//! The values of one label, in two orders in which a mistyped value is next to the right one.

use crate::model::Text;

/// The values before and after the wanted one, in the order of the alphabet, that may be the wanted one mistyped.
pub const NEIGHBOURS: usize = 32;

/// The values of a label, each with the place of an object that has it. A mistyped value mostly begins or ends like the
/// right one, so that both are neighbours in one of the two orders. Comparing each wanted value with all others would take
/// hours on a large cluster.
#[derive(Debug, Default)]
pub struct LabelValues<'a> {
    /// Sorted by value.
    forwards: Vec<(&'a Text, usize)>,
    /// Sorted by the letters of the value from the last to the first.
    backwards: Vec<(&'a Text, usize)>,
}

impl<'a> LabelValues<'a> {
    /// Adds the value of the object at `place`.
    pub fn push(&mut self, value: &'a Text, place: usize) {
        self.forwards.push((value, place));
    }

    /// Puts the values in order. To be called when all of them are added.
    pub fn sort(&mut self) {
        self.backwards.clone_from(&self.forwards);
        self.forwards.sort_unstable();
        self.backwards.sort_unstable_by(|(a, i), (b, j)| a.bytes().rev().cmp(b.bytes().rev()).then(i.cmp(j)));
    }

    /// Whether all values are among the neighbours of any one.
    pub(crate) fn are_few(&self) -> bool {
        self.forwards.len() <= NEIGHBOURS
    }

    /// The places of the objects that have the value.
    pub fn equal(&self, wanted: &Text) -> impl Iterator<Item = usize> {
        let place = self.forwards.partition_point(|(value, _)| *value < wanted);
        self.forwards[place..].iter().take_while(move |(value, _)| *value == wanted).map(|(_, place)| *place)
    }

    /// The places of the objects whose values are the neighbours of `wanted`.
    pub fn neighbours(&self, wanted: &Text) -> impl Iterator<Item = usize> {
        let around = |values: &[(&Text, usize)], place: usize| {
            let window = place.saturating_sub(NEIGHBOURS)..values.len().min(place + NEIGHBOURS);
            values.get(window).unwrap_or_default().iter().map(|(_, place)| *place).collect::<Vec<_>>()
        };
        let place = self.forwards.partition_point(|(value, _)| *value < wanted);
        let forwards = around(&self.forwards, place);
        let place = self.backwards.partition_point(|(value, _)| value.bytes().rev().lt(wanted.bytes().rev()));
        forwards.into_iter().chain(around(&self.backwards, place))
    }
}
