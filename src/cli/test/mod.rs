//! `roster test`: users' own test cases.

mod test_junit;
mod test_manifests;
mod test_run;
mod test_table;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{anyhow, ensure};
use clap::{Args, ValueEnum};

use super::{
    help_end::help_end,
    input_paths::expand,
    messages,
    outcome::Outcome,
    output::{Output, OutputFormat},
    render::{RenderArgs, RenderedUnit},
};
use test_run::{FileResults, TestDocument, TestSummary};

/// Check your own expectations: which pods serve a Service, what a policy denies, what an upgrade changes.
///
/// Reads every roster-test.yaml in the directories, and the files on the command line. Each file lists its inputs and
/// expectations (docs/reference/test-files.md). With -k and --chart, the rendered objects are inputs for each file. You
/// need no cluster.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 all tests pass, 1 a test fails, 2 usage error, or a file that cannot be read.",
    "roster test                               # every roster-test.yaml below here",
    "roster test tests/ --filter canary -o junit > results.xml",
))]
pub(super) struct TestArgs {
    /// Test files, and directories in which to look for roster-test.yaml and *.roster-test.yaml.
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    render: RenderArgs,
    /// Run only the tests whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: TestFormat,
}

/// Output format of `roster test`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TestFormat {
    /// Failing tests with their differences, and the counts.
    #[default]
    Table,
    /// The same with the tests that pass.
    Wide,
    /// One JSON document.
    Json,
    /// The same in YAML.
    Yaml,
    /// `JUnit` XML.
    #[value(help = "JUnit XML")]
    Junit,
}

impl TestArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let (mut all, mut complete) = (Vec::new(), true);
        let mut failed = |error| {
            complete = false;
            messages::error(&error);
        };
        // A chart has the namespace of its release, which may differ from file to file.
        let mut rendered: BTreeMap<String, Vec<RenderedUnit>> = BTreeMap::new();
        for path in find_files(&self.paths)? {
            let file = match test_run::read(&path) {
                Ok(file) => file,
                Err(error) => {
                    failed(error);
                    continue;
                }
            };
            let rendered = match rendered.entry(file.options.namespace().to_owned()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let units = self.render.render(new.key())?;
                    new.insert(units)
                }
            };
            match test_run::run(&path, &file, self.filter.as_deref(), rendered) {
                Ok(results) => all.push(results),
                Err(error) => failed(error),
            }
        }
        let summary = TestSummary::of(&all);
        if summary.tests == 0 && complete {
            // A misspelt filter must not look like success.
            complete = false;
            messages::error(&anyhow!("no test to run"));
        }
        self.print(&all, summary)?;
        Ok(Outcome::of(complete, summary.failed > 0))
    }

    fn print(&self, results: &[FileResults], summary: TestSummary) -> anyhow::Result<()> {
        let is_table = matches!(self.output, TestFormat::Table | TestFormat::Wide);
        let mut out = Output::stdout(if is_table { OutputFormat::Table } else { OutputFormat::Json });
        let document = || TestDocument { items: results, summary };
        match self.output {
            TestFormat::Table | TestFormat::Wide => {
                test_table::print(results, summary, self.output == TestFormat::Wide, &mut out)?;
            }
            TestFormat::Json => out.document(OutputFormat::Json, &document())?,
            TestFormat::Yaml => out.document(OutputFormat::Yaml, &document())?,
            TestFormat::Junit => test_junit::print(results, &mut out)?,
        }
        Ok(out.flush()?)
    }
}

/// Files that are given by name, and the test files in directories and below them.
fn find_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found: Vec<PathBuf> =
                expand(std::slice::from_ref(path))?.into_iter().filter(|file| is_test_file(file)).collect();
            ensure!(!found.is_empty(), "{}: contains no roster-test.yaml", path.display());
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or_default();
    stem == "roster-test" || stem.ends_with(".roster-test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_have_a_name_of_their_own() {
        for (name, want) in [
            ("a/roster-test.yaml", true),
            ("shop.roster-test.yml", true),
            ("test.yaml", false),
            ("roster-test.json", false),
        ] {
            assert_eq!(is_test_file(Path::new(name)), want, "{name}");
        }
    }
}
