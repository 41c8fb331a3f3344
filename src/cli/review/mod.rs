//! `roster review` and `roster validate`: objects in files, as the webhook would see them.
//!
//! One judgement, two questions. `review` tells what would come of each object: answer, patch, warnings. `validate`
//! tells what is wrong with the files: objects that cannot be read, policies that an API server would refuse, objects
//! that rules refuse; and where.

mod judge;
mod remark;
mod sarif;
mod table;

use std::{io::Write, path::PathBuf};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Outcome, Output, output, output::Format, raw, texts::Texts};
use crate::{
    admission::offline::Answer,
    engine::reason::{Severity, counted},
    model::ObjectKey,
};
use judge::{Item, Judged};
use remark::Remark;

/// Tell what the admission webhook would say of objects, without a cluster.
///
/// Services, Endpoints and EndpointSlices of either version are reviewed: mended, then judged, as at admission. All
/// other objects of the input are what is known of the cluster: Pods, Nodes, Namespaces, Services, slices. Of a kind of
/// which there is none, nothing is known, and the rules that need it do nothing. `EndpointPolicies` of the input hold.
/// A recorded `AdmissionReview` is answered as each webhook would. Objects of every namespace are judged; which of them a
/// cluster asks about is up to its webhook configurations.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all are allowed, 1 one is denied (or warned of, with --warnings-as-errors), 2 wrong use or \
                  unreadable input."
)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    sources: Sources,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ReviewForm,
}

/// Form of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReviewForm {
    /// A table for people.
    #[default]
    Table,
    /// A table with everything in it: places, fields, what is only noted for audit.
    Wide,
    /// One JSON document: decision, patch, findings and mended object of each.
    Json,
    /// The same in YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// All objects of the input but those that are denied, as YAML; those that are mended as they would be stored.
    Objects,
}

/// Check files before they are applied: policies, objects, and what rules refuse.
///
/// Every `EndpointPolicy` is held against the schema and the rules of its version, as an API server would do it.
/// Services, Pods, Nodes, Endpoints and EndpointSlices must be readable. What `roster review` denies or warns of is
/// told, too. Only what is wrong is printed, with its place.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 there is no error, 1 there is one (or a warning, with --warnings-as-errors), 2 wrong use, or \
                  a file that is neither JSON nor YAML."
)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    sources: Sources,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ValidateForm,
}

/// Form of a validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ValidateForm {
    /// A table for people.
    #[default]
    Table,
    /// A table with everything in it, what is only noted for audit too.
    Wide,
    /// One JSON document.
    Json,
    /// The same in YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// What is looked at, and what holds for it.
#[derive(Debug, Args)]
struct Sources {
    /// Read objects from this file, from all *.yaml, *.yml and *.json (also .gz) of this directory and of those
    /// below it, or from standard input (-). Several may be given.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-", required = true)]
    files: Vec<PathBuf>,
    /// `EndpointPolicies` that hold, as for `roster serve`; one of the same name among the objects wins.
    #[arg(long, value_name = "FILE|DIR|-")]
    policy: Vec<PathBuf>,
    /// Objects as they are stored: one of the same kind, namespace and name is updated, and not refused for what it has
    /// already; the others are known as part of the cluster. `EndpointPolicies` among them hold, unless one of the same
    /// name is given elsewhere.
    #[arg(long, value_name = "FILE|DIR|-")]
    old: Vec<PathBuf>,
    /// Namespace of objects that do not say.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// Who writes, as `system:serviceaccount:shop:operator`: policies may exempt users, and controllers are left alone.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// A group of the user. Several may be given.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Take a warning for an error.
    #[arg(long)]
    warnings_as_errors: bool,
}

/// The texts of all sources.
struct Given {
    files: Texts,
    policies: Texts,
    old: Texts,
}

impl Sources {
    fn read(&self) -> anyhow::Result<Given> {
        let stdin = [&self.files, &self.policy, &self.old].into_iter().flatten().filter(|p| p.as_os_str() == "-");
        ensure!(stdin.count() <= 1, "standard input (-) can be read once only");
        let read = |paths: &[PathBuf]| if paths.is_empty() { Ok(Texts::all_of_none()) } else { Texts::read(paths) };
        Ok(Given { files: Texts::read_any(&self.files)?, policies: read(&self.policy)?, old: read(&self.old)? })
    }

    fn outcome(&self, complete: bool, worst: Option<Severity>) -> Outcome {
        match worst {
            _ if !complete => Outcome::BadInput,
            Some(Severity::Error) => Outcome::Findings,
            Some(Severity::Warning) if self.warnings_as_errors => Outcome::Findings,
            _ => Outcome::Fine,
        }
    }
}

impl ReviewArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let given = self.sources.read()?;
        let mut judged = judge::all(&self.sources, &given)?;
        // What is wrong with the input is no answer to any object: it is told beside them.
        let input: Vec<Remark<'_>> = judged.items.iter_mut().flat_map(|i| std::mem::take(&mut i.of_input)).collect();
        for remark in input.iter().filter(|r| r.severity == Severity::Error || r.is_of_policy()) {
            judged.complete &= remark.severity < Severity::Error;
            remark.complain();
        }
        if self.output == ReviewForm::Objects {
            objects(&judged)?;
        } else {
            self.print(&judged)?;
        }
        let worst = judged.remarks().map(|r| r.severity).max();
        Ok(self.sources.outcome(judged.complete, worst))
    }

    fn print(&self, judged: &Judged<'_>) -> anyhow::Result<()> {
        let mut out = Output::stdout(if self.is_table() { Format::Table } else { Format::Json });
        match self.output {
            ReviewForm::Table | ReviewForm::Wide | ReviewForm::Objects => {
                table::reviews(judged, self.output == ReviewForm::Wide, &mut out)?;
            }
            ReviewForm::Json => out.document(Format::Json, &Reviews::of(judged))?,
            ReviewForm::Yaml => out.document(Format::Yaml, &Reviews::of(judged))?,
            ReviewForm::Sarif => out.document(Format::Json, &sarif::log(judged.remarks(), judged.complete))?,
        }
        Ok(out.flush()?)
    }

    fn is_table(&self) -> bool {
        matches!(self.output, ReviewForm::Table | ReviewForm::Wide)
    }
}

/// All objects but those that are denied, the mended ones as they would be stored: what follows in a pipeline may apply
/// them. What was said of them goes to standard error.
fn objects(judged: &Judged<'_>) -> anyhow::Result<()> {
    let mended: Vec<Option<Box<RawValue>>> = judged
        .items
        .iter()
        .map(|item| item.answer.as_ref().and_then(|a| a.object.as_ref()).map(to_raw_value).transpose())
        .collect::<Result<_, _>>()?;
    let allowed = |item: &Item<'_>| item.answer.as_ref().is_none_or(|a| a.allowed);
    let all = judged.items.iter().zip(&mended).filter(|(item, _)| allowed(item));
    let all = all.map(|(item, mended)| mended.as_deref().unwrap_or(&item.document.raw));
    raw::print(&all.collect::<Vec<_>>(), Format::Yaml)?;
    judged.remarks().filter(|r| r.severity > Severity::Info).for_each(Remark::complain);
    Ok(())
}

impl ValidateArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let given = self.sources.read()?;
        let mut judged = judge::all(&self.sources, &given)?;
        judged.items.iter_mut().flat_map(|i| &mut i.remarks).for_each(Remark::not_mended);
        let all = || judged.items.iter().flat_map(|i| i.of_input.iter().chain(&i.remarks));
        let told = || all().filter(|r| r.severity > Severity::Info);
        let is_table = matches!(self.output, ValidateForm::Table | ValidateForm::Wide);
        let mut out = Output::stdout(if is_table { Format::Table } else { Format::Json });
        let count = |severity| all().filter(|r| r.severity == severity).count();
        let counts = Counts {
            documents: judged.items.len(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
        };
        match self.output {
            ValidateForm::Table => table::remarks(told(), &counts, &mut out)?,
            ValidateForm::Wide => table::remarks(all(), &counts, &mut out)?,
            ValidateForm::Json => out.document(Format::Json, &Remarks { items: all().collect(), summary: counts })?,
            ValidateForm::Yaml => out.document(Format::Yaml, &Remarks { items: all().collect(), summary: counts })?,
            ValidateForm::Sarif => out.document(Format::Json, &sarif::log(all(), judged.complete))?,
        }
        out.flush()?;
        let worst = all().map(|r| r.severity).max();
        Ok(self.sources.outcome(judged.complete, worst))
    }
}

/// How much was looked at, and found.
#[derive(Clone, Copy, Serialize)]
struct Counts {
    documents: usize,
    errors: usize,
    warnings: usize,
}

/// A validation, as a document.
#[derive(Serialize)]
struct Remarks<'a> {
    items: Vec<&'a Remark<'a>>,
    summary: Counts,
}

/// Reviews, as a document.
#[derive(Serialize)]
struct Reviews<'a> {
    items: Vec<Reviewed<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct Reviewed<'a> {
    file: &'a str,
    line: usize,
    #[serde(flatten)]
    key: &'a ObjectKey,
    #[serde(flatten)]
    answer: &'a Answer,
}

impl<'a> Reviews<'a> {
    fn of(judged: &'a Judged<'a>) -> Self {
        let reviewed = |item: &'a Item<'a>| {
            let answer = item.answer.as_ref()?;
            Some(Reviewed { file: item.file, line: item.document.line, key: &item.key, answer })
        };
        Self { items: judged.items.iter().filter_map(reviewed).collect(), summary: Summary::of(judged) }
    }
}

/// How many objects were reviewed, and how many of them are denied, mended, warned of.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Summary {
    objects: usize,
    denied: usize,
    mended: usize,
    warned: usize,
}

impl Summary {
    fn of(judged: &Judged<'_>) -> Self {
        let mut all = Self::default();
        for (item, answer) in judged.items.iter().filter_map(|i| Some((i, i.answer.as_ref()?))) {
            all.objects += 1;
            all.denied += usize::from(!answer.allowed);
            all.mended += usize::from(answer.object.is_some());
            all.warned += usize::from(item.remarks.iter().any(|r| r.severity == Severity::Warning));
        }
        all
    }

    /// Says on standard error that there was nothing to do, which a person may not have meant.
    fn warn_of_nothing(self) {
        if self.objects == 0 {
            output::warning("there is no Service, no Endpoints and no EndpointSlice to review");
        }
    }

    fn in_words(self) -> String {
        let Self { objects, denied, mended, warned } = self;
        format!("{}: {denied} denied, {mended} mended, {warned} with warnings", counted(objects, "object"))
    }
}
