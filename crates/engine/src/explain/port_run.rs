//! Ports of a Service that follow one another, of which a verdict says the same.

use std::{ops::Range, sync::Arc};

use serde::Serialize;

use crate::model::{Service, TargetPort, Text};

/// A Service port in an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortName {
    /// Name; may be empty.
    pub name: Text,
    /// Number.
    pub port: i32,
    /// Number or name of the container port.
    pub target_port: TargetPort,
}

/// Ports that follow one another in a Service; or the Service as a whole, if it has no ports.
#[derive(Clone, Debug)]
pub struct PortRun {
    all: Arc<[PortName]>,
    places: Range<usize>,
}

impl PortRun {
    /// These ports; the whole Service if there are none.
    pub fn of(ports: impl IntoIterator<Item = PortName>) -> Self {
        let all: Arc<[PortName]> = ports.into_iter().collect();
        let places = 0..all.len().max(1);
        Self { all, places }
    }

    /// All ports of a Service.
    pub(super) fn of_service(service: &Service) -> Self {
        Self::of(service.ports.iter().map(|port| PortName {
            name: port.name.clone(),
            port: port.port,
            target_port: port.target_port.clone(),
        }))
    }

    /// The ports of the Service that have these places.
    #[must_use]
    pub fn at(&self, places: Range<usize>) -> Self {
        Self { all: Arc::clone(&self.all), places }
    }

    /// How much text the ports before each one have, and all of them.
    pub(super) fn texts(&self) -> Vec<usize> {
        let text = |port: &PortName| match &port.target_port {
            TargetPort::Name(target) => port.name.len() + target.len(),
            TargetPort::Number(_) => port.name.len(),
        };
        let mut sum = 0;
        let of_port = self.each().map(|port| {
            sum += port.map_or(0, text);
            sum
        });
        std::iter::once(0).chain(of_port).collect()
    }

    /// The places of the ports in the Service; one place stands for a Service without ports.
    pub fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    /// The ports; none if the Service has none.
    pub fn names(&self) -> &[PortName] {
        self.all.get(self.places.clone()).unwrap_or_default()
    }

    /// Each port, or once `None` if the Service has none.
    pub fn each(&self) -> impl Iterator<Item = Option<&PortName>> {
        self.places.clone().map(|place| self.all.get(place))
    }
}

impl PartialEq for PortRun {
    fn eq(&self, other: &Self) -> bool {
        // Runs of one explanation share their ports.
        self.places == other.places && (Arc::ptr_eq(&self.all, &other.all) || self.names() == other.names())
    }
}

impl Eq for PortRun {}

/// Cuts the runs of several lists wherever one of them begins or ends, and visits the pieces in order, each with the runs
/// that cover it. The runs of a list are in order and do not overlap.
pub fn each_piece<'a, T>(
    lists: &[&'a [T]],
    places: impl Fn(&T) -> Range<usize>,
    mut visit: impl FnMut(Range<usize>, &[&'a T]),
) {
    let mut cuts: Vec<usize> = lists.iter().flat_map(|list| list.iter()).flat_map(|run| ends(places(run))).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut rest: Vec<&[T]> = lists.to_vec();
    let mut covering: Vec<&T> = Vec::with_capacity(lists.len());
    for (begin, end) in cuts.iter().zip(cuts.iter().skip(1)) {
        covering.clear();
        for list in &mut rest {
            while let Some((first, others)) = list.split_first()
                && places(first).end <= *begin
            {
                *list = others;
            }
            covering.extend(list.first().filter(|run| places(run).start <= *begin));
        }
        if !covering.is_empty() {
            visit(*begin..*end, &covering);
        }
    }
}

fn ends(places: Range<usize>) -> [usize; 2] {
    [places.start, places.end]
}

/// How many of some things each place has, added up run by run.
#[derive(Clone, Debug)]
pub(crate) struct CountByPlace {
    /// By how much the count of a place differs from that of the place before it.
    steps: Vec<isize>,
}

impl CountByPlace {
    pub(crate) fn of(places: usize) -> Self {
        Self { steps: vec![0; places + 1] }
    }

    /// Adds one to each of these places.
    pub(crate) fn add(&mut self, places: &Range<usize>) {
        for (at, step) in [(places.start, 1), (places.end, -1)] {
            if let Some(known) = self.steps.get_mut(at) {
                *known += step;
            }
        }
    }

    /// The count of each place.
    pub(crate) fn counts(&self) -> impl Iterator<Item = usize> {
        let places = self.steps.len() - 1;
        let mut count = 0_isize;
        self.steps.iter().take(places).map(move |step| {
            count += step;
            count.unsigned_abs()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_where_any_of_them_ends() {
        type Run = (Range<usize>, char);
        let pieces = |lists: &[&[Run]]| {
            let mut all = Vec::new();
            each_piece(
                lists,
                |run| run.0.clone(),
                |places, runs| {
                    let runs: String = runs.iter().map(|run| run.1).collect();
                    all.push(format!("{}-{} {runs}", places.start, places.end));
                },
            );
            all.join(", ")
        };
        for (lists, want) in [
            (&[][..], ""),
            (&[&[(0..4, 'a')][..]], "0-4 a"),
            (&[&[(0..4, 'a')], &[(0..4, 'b')]], "0-4 ab"),
            (&[&[(0..2, 'a'), (2..5, 'b')], &[(0..4, 'c')]], "0-2 ac, 2-4 bc, 4-5 b"),
            (&[&[(0..1, 'a'), (3..4, 'b')], &[(3..6, 'c')]], "0-1 a, 3-4 bc, 4-6 c"),
        ] {
            assert_eq!(pieces(lists), want, "{lists:?}");
        }
    }

    #[test]
    fn places_are_counted_by_runs() {
        let mut counts = CountByPlace::of(4);
        for run in [0..4, 1..3, 3..4, 2..2, 3..9] {
            counts.add(&run);
        }
        assert_eq!(counts.counts().collect::<Vec<_>>(), [1, 2, 2, 3]);
    }
}
