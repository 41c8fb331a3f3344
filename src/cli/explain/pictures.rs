//! The pictures of `roster explain`: a drawing of one Service, a report of all, or trees.

use std::io::Write;

use anstyle::Style;
use anyhow::{bail, ensure};
use roster_engine::{
    explain::Explanation,
    phrase::counted,
    picture::{NodeSight, OverviewRow, Picture, PictureState, SvgOptions, report_html},
    reason::Severity,
    state::Controller,
};
use roster_lint::RoutesByService;
use roster_manifests::inventory::{Entry, whole};

use super::explainer::Explainer;
use crate::cli::{
    column_layout::wrap,
    output::Output,
    printable::printable,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
};

/// The most pictures of a report: browsers are slow with more.
const MOST_PICTURES: usize = 200;

/// Draws the Services of an input.
pub(super) struct Pictures<'a> {
    pub(super) explainer: &'a Explainer<'a>,
    pub(super) routes: RoutesByService<'a>,
}

impl Pictures<'_> {
    fn picture(&self, entry: &Entry<'_>, explanation: &Explanation) -> Picture {
        let Explainer { index, options, .. } = self.explainer;
        let state = index.state(entry);
        let plan = whole::plan_of(index, entry, &Controller::ALL, options);
        let routes = self.routes.to(entry.namespace, entry.name, entry.service);
        let draw = |from: Option<NodeSight<'_>>| Picture::of_plan(&state, &plan, explanation, options, &routes, from);
        let from = self.explainer.from.as_ref();
        let seen = from.and_then(|from| Some((from, from.cluster.service(entry.namespace, entry.name)?)));
        let Some((from, of)) = seen else { return draw(None) };
        let node = from.at.name;
        from.cluster.view(of, from.at, |view, removed| draw(Some(NodeSight { node, view, removed })))
    }

    /// Draws all Services, and passes each picture to `sink`. Returns whether there is a warning or an error.
    fn each(&self, mut sink: impl FnMut(Picture) -> anyhow::Result<()> + Send) -> anyhow::Result<bool> {
        ensure!(self.explainer.pod.is_none(), "a picture shows all pods of a Service: leave out --pod");
        let mut attention = false;
        self.explainer.each(
            |entry, explanation| self.picture(entry, &explanation),
            |picture| {
                let finding = picture.severity > Severity::Info;
                attention |= finding;
                if finding || !self.explainer.problems_only { sink(picture) } else { Ok(()) }
            },
        )?;
        Ok(attention)
    }

    /// Writes the drawing of the only Service.
    pub(super) fn svg(&self, out: &mut Output) -> anyhow::Result<bool> {
        match self.explainer.index.entries().len() {
            1 => {}
            0 => bail!("the input has no Service to draw"),
            n => bail!("the input has {n} Services, and -o svg draws one: name it, or use -o html for all"),
        }
        self.each(|picture| Ok(out.write_all(picture.svg(&SvgOptions::default()).as_bytes())?))
    }

    /// Writes a report: all Services, and a picture of each that has a problem.
    pub(super) fn html(&self, out: &mut Output) -> anyhow::Result<bool> {
        let is_only = self.explainer.index.entries().len() == 1;
        let (mut rows, mut pictures) = (Vec::new(), Vec::new());
        let (mut problems, mut not_drawn) = (0, 0);
        let attention = self.each(|picture| {
            rows.extend(OverviewRow::of(&picture));
            let has_problem = picture.severity > Severity::Info;
            problems += usize::from(has_problem);
            match has_problem || is_only {
                true if pictures.len() < MOST_PICTURES => pictures.push(picture),
                true => not_drawn += 1,
                false => {}
            }
            Ok(())
        })?;
        OverviewRow::sort(&mut rows);
        // Stable: Services stay in order.
        pictures.sort_by_key(|picture| std::cmp::Reverse(picture.severity));
        let more = match not_drawn {
            0 => String::new(),
            n => format!(" Not drawn: {n} more, after the first {MOST_PICTURES}."),
        };
        let summary = format!("{}, {problems} with problems.{more}", counted(rows.len(), "Service"));
        let report = report_html("Which pods serve these Services, and why not the others", &summary, &rows, &pictures);
        out.write_all(report.as_bytes())?;
        Ok(attention)
    }

    /// Writes a tree for each Service.
    pub(super) fn trees(&self, out: &mut Output) -> anyhow::Result<bool> {
        let width = out.width();
        self.each(|picture| {
            for part in wrap(&printable(&picture.name()), width.unwrap_or(usize::MAX)) {
                writeln!(out, "{BOLD}{part}{BOLD:#}")?;
            }
            for line in picture.lines(width) {
                let (branch, style, label) = (&line.branch, style_of(line.state), &line.label);
                write!(out, "{DIM}{branch}{DIM:#}{style}{} {label}{style:#}", line.state.sign())?;
                let gap = if line.detail.is_empty() { "" } else { "  " };
                writeln!(out, "{gap}{}", line.detail)?;
            }
            Ok(writeln!(out)?)
        })
    }
}

fn style_of(state: PictureState) -> Style {
    match state {
        PictureState::Plain | PictureState::Unknown => Style::new(),
        PictureState::Served => GREEN,
        PictureState::PartlyServed | PictureState::NotServed => YELLOW,
        PictureState::Broken => RED,
    }
}
