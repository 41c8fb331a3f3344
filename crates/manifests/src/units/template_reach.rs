//! How far what a template makes may be meant: within its chart, or its folder.

use std::{collections::BTreeSet, ops::Range};

use super::{UnitFile, folder_tree::parts};

/// The charts of an input, and where the documents of its folders are.
#[derive(Debug)]
pub struct TemplateReach<'a> {
    charts: BTreeSet<Vec<&'a str>>,
    /// The folders of the files in order, each with the documents of one file.
    folders: Vec<(Vec<&'a str>, Range<usize>)>,
}

impl<'a> TemplateReach<'a> {
    /// `charts` are the paths of the files `Chart.yaml`; the files are in their order.
    pub fn new(charts: impl Iterator<Item = &'a str>, files: &[UnitFile<'a>]) -> Self {
        let mut end = 0;
        let of_file = |file: &UnitFile<'a>| {
            let start = end;
            end += file.objects.len();
            (parts(file.name), start..end)
        };
        Self { charts: charts.map(parts).collect(), folders: files.iter().map(of_file).collect() }
    }

    /// The documents of the chart of a template, or else those of its folder and of the folders in it.
    pub fn of(&self, template: &str) -> Range<usize> {
        let own = parts(template);
        let upwards = (0..=own.len()).rev().map(|depth| &own[..depth]);
        let chart = upwards.clone().find(|folder| self.charts.contains(*folder));
        let folder = chart.unwrap_or(&own);
        let first = self.folders.partition_point(|(other, _)| other.as_slice() < folder);
        let last = first + self.folders[first..].partition_point(|(other, _)| other.starts_with(folder));
        let inside = &self.folders[first..last];
        inside.first().map_or(0, |(_, first)| first.start)..inside.last().map_or(0, |(_, last)| last.end)
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::model::ObjectKey;

    use super::*;

    #[test]
    fn a_template_reaches_as_far_as_its_chart() {
        let file = |name| UnitFile { name, is_apart: false, objects: vec![ObjectKey::default()] };
        let files = ["top.yaml", "web/crds.yaml", "web/templates/a.yaml", "x/a.yaml"].map(file);
        let reach = TemplateReach::new(["web/Chart.yaml"].into_iter(), &files);
        for (template, want) in [
            ("web/templates/b.yaml", 1..3),
            ("web/templates/tests/b.yaml", 1..3),
            ("x/b.yaml", 3..4),
            ("b.yaml", 0..4),
            ("y/b.yaml", 0..0),
        ] {
            assert_eq!(reach.of(template), want, "{template}");
        }
    }
}
