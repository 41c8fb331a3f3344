//! The arguments that `roster review` and `roster lint` share: files, policies, stored objects, the user.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use roster_engine::reason::Severity;
use roster_lint::{InputFile, LintOptions};
use roster_manifests::decode::Source;

use crate::cli::{
    defaults_args::DefaultsArgs,
    input_paths::is_stdin,
    input_texts::InputTexts,
    manifest_files::ManifestFiles,
    outcome::Outcome,
    render::{RenderArgs, RenderedUnit},
};

/// The objects to review, and the policies, stored objects and user for the review.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Read objects from this file, from every *.yaml, *.yml and *.json (also .gz) below this directory, or from
    /// standard input (-). May be given several times. In a directory, templates, charts, kustomizations, patches and
    /// other files are skipped and counted.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    /// The same as -f.
    #[arg(value_name = "FILE|DIR|-", required_unless_present_any = ["files", "kustomize", "chart"])]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    render: RenderArgs,
    /// `EndpointPolicies` in force, as for `roster serve`. Among the objects, a policy of the same name wins.
    #[arg(long, value_name = "FILE|DIR|-")]
    policy: Vec<PathBuf>,
    /// The stored objects of a cluster. A reviewed object with the same name is then an update, and is not denied for
    /// old faults. The other stored objects describe the cluster. Stored `EndpointPolicies` are in force unless you
    /// give one of the same name elsewhere.
    #[arg(long, value_name = "FILE|DIR|-")]
    old: Vec<PathBuf>,
    /// The namespace of objects without one.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub(super) namespace: String,
    #[command(flatten)]
    defaults: DefaultsArgs,
    /// The user who writes, such as `system:serviceaccount:shop:operator`. Policies may exempt users, and Kubernetes'
    /// controllers are not reviewed. Default: for an object from a cluster, the built-in controller in its labels; else
    /// an anonymous user.
    #[arg(long, value_name = "USER")]
    pub(super) user: Option<String>,
    /// A group of the user. May be given several times.
    #[arg(long, value_name = "GROUP")]
    pub(super) group: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    warnings_as_errors: bool,
}

/// The texts of the sources beside the objects.
pub(super) struct SourceTexts {
    pub(super) policies: InputTexts,
    pub(super) stored: InputTexts,
}

/// What objects are reviewed with: policies, stored objects, the user.
pub(super) struct SourceContext<'a> {
    args: &'a SourceArgs,
    policies: Vec<InputFile<'a>>,
    stored: Vec<InputFile<'a>>,
    /// Whether all of it was read.
    pub(super) complete: bool,
}

impl SourceContext<'_> {
    pub(super) fn options(&self) -> LintOptions<'_> {
        let Self { args, policies, stored, .. } = self;
        LintOptions {
            source: Source { defaults: args.defaults.with_namespace(&args.namespace), ..Source::file("") },
            namespace: &args.namespace,
            user: args.user.as_deref().unwrap_or_default(),
            groups: &args.group,
            policies,
            stored,
            max_findings: 100_000,
        }
    }
}

impl SourceArgs {
    /// Renders what the arguments name.
    pub(super) fn render(&self) -> anyhow::Result<Vec<RenderedUnit>> {
        self.render.render(&self.namespace)
    }

    /// Reads the files and directories, and adds what was rendered.
    pub(super) fn manifests(&self, rendered: &[RenderedUnit]) -> anyhow::Result<ManifestFiles> {
        let mut files = ManifestFiles::read(&self.paths())?;
        files.add_rendered(rendered);
        Ok(files)
    }

    /// Reads the other sources.
    pub(super) fn read_context(&self) -> anyhow::Result<SourceTexts> {
        let files = self.paths();
        let stdin = [&files, &self.policy, &self.old].into_iter().flatten().filter(|p| is_stdin(p));
        ensure!(stdin.count() <= 1, "standard input (-) can be read only once");
        let read = |paths: &[PathBuf]| if paths.is_empty() { Ok(InputTexts::none()) } else { InputTexts::read(paths) };
        Ok(SourceTexts { policies: read(&self.policy)?, stored: read(&self.old)? })
    }

    /// The files to read, with and without `-f`.
    fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.paths).cloned().collect()
    }

    /// What the objects are reviewed with.
    pub(super) fn context<'a>(&'a self, texts: &'a SourceTexts) -> anyhow::Result<SourceContext<'a>> {
        let (policies, complete_policies) = texts.policies.files();
        let all = policies.iter().flat_map(|file| file.documents.iter().map(move |document| (file.name, document)));
        for (name, document) in all {
            let key = &document.identity().key;
            let is_policy = roster_lint::is_policy(key, &document.raw);
            ensure!(is_policy, "{name}:{}: {:?} is not an EndpointPolicy", document.line, key.kind.as_str());
        }
        let (stored, complete_stored) = texts.stored.files();
        Ok(SourceContext { args: self, policies, stored, complete: complete_policies && complete_stored })
    }

    pub(super) fn outcome(&self, complete: bool, worst: Option<Severity>) -> Outcome {
        Outcome::of(complete, worst >= Some(self.least()))
    }

    /// The least severity that counts as an error.
    pub(super) fn least(&self) -> Severity {
        if self.warnings_as_errors { Severity::Warning } else { Severity::Error }
    }
}
