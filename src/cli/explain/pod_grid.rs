//! The pods of a Service and its ports as a grid: which pod serves which port.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use anstyle::Style;
use roster_engine::{
    explain::{Explanation, PodState, PodVerdict, PortName},
    model::{HashSeed, TargetPort, Text},
    record::Scope,
};

use crate::cli::{
    style::{DIM, GREEN, RED, YELLOW},
    table::{Cell, write_rows},
};

/// The most ports that have a column.
const MAX_PORTS: usize = 8;
/// The most pods that have a row each; more are grouped.
const MAX_PODS: usize = 24;

/// What a cell says, in the lists of which it is true.
type CellTexts<'a> = Vec<(&'a str, Vec<Scope>)>;

/// A grid: a column for each port, a row for each pod, or for the pods with the same row.
pub(super) struct PodGrid<'a> {
    ports: Vec<String>,
    rows: Vec<GridRow<'a>>,
}

struct GridRow<'a> {
    first: &'a Text,
    pods: usize,
    cells: Vec<CellTexts<'a>>,
}

impl<'a> PodGrid<'a> {
    /// The grid of an explanation; `None` if it has no rows, or too many ports.
    pub(super) fn of(explanation: &'a Explanation) -> Option<Self> {
        let ports = explanation.rows.iter().map(|verdict| verdict.ports.places().end).max()?;
        if ports > MAX_PORTS {
            return None;
        }
        let mut headings = vec![String::new(); ports];
        let mut rows: Vec<GridRow<'_>> = Vec::new();
        for verdicts in explanation.rows.chunk_by(|a, b| a.pod == b.pod) {
            let mut cells: Vec<CellTexts<'_>> = vec![Vec::new(); ports];
            for verdict in verdicts {
                let text = word(verdict);
                for (column, port) in verdict.ports.places().zip(verdict.ports.each()) {
                    headings[column] = port_text(port);
                    match cells[column].iter_mut().find(|(known, _)| *known == text) {
                        Some((_, lists)) => lists.push(verdict.scope),
                        None => cells[column].push((text, vec![verdict.scope])),
                    }
                }
            }
            rows.push(GridRow { first: &verdicts.first()?.pod, pods: 1, cells });
        }
        if rows.len() > MAX_PODS {
            rows = grouped(rows);
        }
        Some(Self { ports: headings, rows })
    }

    /// Writes it for a screen of this width.
    pub(super) fn write(&self, out: &mut dyn Write, indent: usize, width: Option<usize>) -> io::Result<()> {
        let heading: Vec<&str> = ["POD"].into_iter().chain(self.ports.iter().map(String::as_str)).collect();
        let rows: Vec<Vec<Cell>> = self.rows.iter().map(|row| row.cells(self.ports.len())).collect();
        write_rows(out, &heading, rows.iter().map(Vec::as_slice), indent, width)
    }
}

/// The rows that differ, each with the number of its pods.
fn grouped(rows: Vec<GridRow<'_>>) -> Vec<GridRow<'_>> {
    let mut groups: Vec<GridRow<'_>> = Vec::new();
    let mut places: HashMap<Vec<CellTexts<'_>>, usize, HashSeed> = HashMap::default();
    for row in rows {
        if let Some(place) = places.get(&row.cells) {
            groups[*place].pods += 1;
        } else {
            places.insert(row.cells.clone(), groups.len());
            groups.push(row);
        }
    }
    groups
}

impl GridRow<'_> {
    fn cells(&self, ports: usize) -> Vec<Cell> {
        let name = match self.pods {
            1 => self.first.to_string(),
            pods => format!("{} and {} more", self.first, pods - 1),
        };
        let cells = (0..ports).map(|port| self.cells.get(port).map_or_else(Cell::default, |texts| cell(texts)));
        std::iter::once(Cell::from(name)).chain(cells).collect()
    }
}

/// What the lists say of a pod and port; the lists are named if they differ.
fn cell(texts: &CellTexts<'_>) -> Cell {
    match &texts[..] {
        [] => Cell::default(),
        [(text, _)] => Cell::styled(*text, style(text)),
        several => {
            let named: Vec<String> = several
                .iter()
                .map(|(text, lists)| {
                    let lists: Vec<&str> = lists.iter().copied().map(short_name).collect();
                    format!("{text} ({})", lists.join(", "))
                })
                .collect();
            Cell::styled(named.join(", "), YELLOW)
        }
    }
}

/// A list in a cell.
fn short_name(list: Scope) -> &'static str {
    match list {
        Scope::Endpoints => "Endpoints",
        Scope::Slices(family) => family.as_str(),
    }
}

/// How a pod is published, or the reason why it is not.
fn word(verdict: &PodVerdict) -> &'static str {
    match verdict.state {
        PodState::Ready => READY,
        PodState::NotReady => NOT_READY,
        PodState::Terminating if verdict.served => "terminating, served",
        PodState::Terminating => TERMINATING,
        PodState::Absent => verdict.reasons.first().map_or("absent", |cause| cause.code.code()),
    }
}

const READY: &str = "ready";
const NOT_READY: &str = "not ready";
const TERMINATING: &str = "terminating";

fn style(text: &str) -> Style {
    match text {
        READY => GREEN,
        NOT_READY | "terminating, served" => YELLOW,
        TERMINATING => DIM,
        _ => RED,
    }
}

/// A port and its target, as `http 80 -> 8080`.
pub(super) fn port_text(port: Option<&PortName>) -> String {
    let Some(port) = port else { return "-".to_owned() };
    let space = if port.name.is_empty() { "" } else { " " };
    let target = match &port.target_port {
        TargetPort::Number(n) => n.to_string(),
        TargetPort::Name(name) => name.to_string(),
    };
    format!("{}{space}{} -> {target}", port.name, port.port)
}

#[cfg(test)]
mod tests {
    use roster_engine::{
        explain::{Cause, PortRun, Summary},
        model::Family,
        profile::Minor,
        reason::Reason,
    };

    use super::*;

    /// A pod, its state, and the reasons for its ports `http` and `metrics` in slices.
    type PodRow<'a> = (&'a str, [(PodState, Reason); 2]);

    fn grid(pods: &[PodRow<'_>], endpoints: Option<(PodState, Reason)>, width: Option<usize>) -> String {
        let mut rows = Vec::new();
        for (pod, ports) in pods {
            let names = [("http", 80), ("metrics", 9102)];
            let names = names.map(|(name, port)| PortName {
                name: name.into(),
                port,
                target_port: TargetPort::Name(name.into()),
            });
            let all = PortRun::of(names);
            for (place, of_slices) in ports.iter().enumerate() {
                let slices = (Scope::Slices(Family::V4), *of_slices);
                for (scope, (state, reason)) in endpoints.map(|e| (Scope::Endpoints, e)).into_iter().chain([slices]) {
                    rows.push(PodVerdict {
                        pod: Text::new(pod),
                        ports: all.at(place..place + 1),
                        scope,
                        served: state == PodState::Ready,
                        state,
                        reasons: vec![Cause::new(reason, "")],
                        is_last_resort: false,
                    });
                }
            }
        }
        let explanation = Explanation {
            service: None,
            compat: Minor::default(),
            summary: Summary::default(),
            reasons: Vec::new(),
            rows,
        };
        let mut out = Vec::new();
        PodGrid::of(&explanation).unwrap().write(&mut out, 2, width).unwrap();
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    const READY_POD: (PodState, Reason) = (PodState::Ready, Reason::Ready);
    const MISSING: (PodState, Reason) = (PodState::Absent, Reason::NamedPortMissing);

    #[test]
    fn each_pod_has_a_row_and_each_port_a_column() {
        let not_ready = (PodState::NotReady, Reason::NotReady);
        let pods = [
            ("web-lr6nq65xss-7jjqk", [READY_POD, READY_POD]),
            ("web-lr6nq65xss-mg4zj", [not_ready, not_ready]),
            ("web-old-8x9k2", [READY_POD, MISSING]),
        ];
        for (width, want) in [
            (
                None,
                "  POD                   http 80 -> http  metrics 9102 -> metrics
  web-lr6nq65xss-7jjqk  ready            ready
  web-lr6nq65xss-mg4zj  not ready        not ready
  web-old-8x9k2         ready            named-port-missing
",
            ),
            (
                Some(48),
                "  POD                   http   metrics 9102 ->
                        80 ->  metrics
                        http
  web-lr6nq65xss-7jjqk  ready  ready
  web-lr6nq65xss-mg4zj  not    not ready
                        ready
  web-old-8x9k2         ready  named-port-
                               missing
",
            ),
        ] {
            assert_eq!(grid(&pods, None, width), want, "{width:?}");
        }
    }

    #[test]
    fn lists_are_named_where_they_differ() {
        let want = "  POD    http 80 -> http                      metrics 9102 -> metrics
  web-0  truncated (Endpoints), ready (IPv4)  truncated (Endpoints), named-port-missing (IPv4)
";
        let truncated = (PodState::Absent, Reason::Truncated);
        assert_eq!(grid(&[("web-0", [READY_POD, MISSING])], Some(truncated), None), want);
    }

    #[test]
    fn many_pods_are_grouped() {
        let names: Vec<String> = (0..30).map(|i| format!("web-{i}")).collect();
        let pods: Vec<PodRow<'_>> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), [READY_POD, if i % 3 == 1 { MISSING } else { READY_POD }]))
            .collect();
        let want = "  POD                http 80 -> http  metrics 9102 -> metrics
  web-0 and 19 more  ready            ready
  web-1 and 9 more   ready            named-port-missing
";
        assert_eq!(grid(&pods, None, None), want);
    }
}
