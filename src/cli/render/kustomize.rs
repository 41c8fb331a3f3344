//! `-k DIR`: what kustomize makes of a directory.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use roster_manifests::{decode, lint::path_within};
use serde_json::json;

use super::{
    origin::{AnnotatedDocument, ObjectOrigin},
    paths::{NamedDirectory, relative_path},
    process::{Limits, RendererProgram, RunFailure},
    reachable::{kustomizations_in, refuse_remote, values},
    remote_references::list_of,
    rendered_unit::{RenderedUnit, documents},
};

/// The member of `buildMetadata` that asks for the annotations.
const ORIGINS: &str = "originAnnotations";

/// Renders a directory.
pub(super) fn render(written: &Path, allow_remote: bool) -> anyhow::Result<RenderedUnit> {
    let root = NamedDirectory::of(written).with_context(|| format!("-k {}", written.display()))?;
    if !allow_remote {
        refuse_remote(&root)?;
    }
    let kustomize = Kustomize::find(if allow_remote { Limits::REMOTE } else { Limits::LOCAL })?;
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let folder = folder.path().canonicalize()?;
    let mut metadata = build_metadata(&root);
    if metadata.iter().any(|option| option == ORIGINS) {
        // The annotations belong to the objects, and name files as they are seen from the directory.
        let text = kustomize.build(&root, &root.path, &folder)?;
        return Ok(unit(&root, &root.path, &text, true));
    }
    metadata.push(ORIGINS.to_owned());
    let wrapper = Wrapper::write(&folder, &root, &metadata)?;
    match kustomize.build(&root, &wrapper.path, &folder) {
        Ok(text) => Ok(unit(&root, &wrapper.path, &text, false)),
        Err(BuildFailure { failure: RunFailure::Failed { .. }, .. }) => {
            // What the wrapper adds is not the user's: without it, the error is that of the directory. And if there is none, as
            // for a component or with an old kustomize, nobody knows where the objects come from.
            let text = kustomize.build(&root, &root.path, &folder)?;
            let mut unit = RenderedUnit::new(root.written);
            documents(&text).for_each(|document| unit.push(document, None));
            Ok(unit)
        }
        Err(other) => Err(other.into()),
    }
}

/// Kustomize, or kubectl, which has it built in.
struct Kustomize {
    program: RendererProgram,
    command: &'static str,
    limits: Limits,
}

/// Why there is no output, after the command that should have printed it.
#[derive(Debug, thiserror::Error)]
#[error("{command}: {failure}")]
struct BuildFailure {
    command: String,
    failure: RunFailure,
}

impl Kustomize {
    /// Kustomize itself comes first: a user who installs it wants its release instead of that of kubectl.
    fn find(limits: Limits) -> anyhow::Result<Self> {
        [("kustomize", "build"), ("kubectl", "kustomize")]
            .into_iter()
            .find_map(|(name, command)| Some(Self { program: RendererProgram::find(name)?, command, limits }))
            .ok_or_else(|| anyhow!("-k needs kustomize or kubectl, and the PATH has neither"))
    }

    /// Builds a directory, on behalf of one that the user named.
    fn build(&self, root: &NamedDirectory<'_>, directory: &Path, home: &Path) -> Result<String, BuildFailure> {
        let arguments: [OsString; 2] = [self.command.into(), directory.into()];
        self.program.run(&arguments, home, self.limits).map_err(|failure| {
            let command = format!("{} {} {}", self.program.name, self.command, root.written.display());
            BuildFailure { command, failure }
        })
    }
}

/// A kustomization that has the user's directory as its only base, and asks where each object comes from. So nothing is written
/// to the user's directory.
struct Wrapper {
    path: PathBuf,
}

impl Wrapper {
    fn write(folder: &Path, root: &NamedDirectory<'_>, metadata: &[String]) -> anyhow::Result<Self> {
        let path = folder.join("wrapper");
        fs::create_dir(&path)?;
        let base = relative_path(&path, &root.path);
        let base = base.to_str().with_context(|| format!("-k {}: the path is not UTF-8", root.written.display()))?;
        let wrapper = json!({ "resources": [base], "buildMetadata": metadata });
        #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it writes files")]
        fs::write(path.join("kustomization.yaml"), wrapper.to_string())?;
        Ok(Self { path })
    }
}

/// What a kustomization asks for in its `buildMetadata`. Kustomize ignores that of bases.
fn build_metadata(root: &NamedDirectory<'_>) -> Vec<String> {
    let mut options = Vec::new();
    for file in kustomizations_in(&root.path) {
        let source = decode::Source::file("");
        #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
        let json = fs::File::open(file).ok().and_then(|input| decode::text(input, &source).ok()).unwrap_or_default();
        // If it cannot be read, kustomize says so.
        for (_, kustomization) in values(&json, &source).unwrap_or_default() {
            options.extend(list_of(&kustomization, "buildMetadata").into_iter().map(str::to_owned));
        }
    }
    options
}

/// The output of a build of the directory `from`.
fn unit(root: &NamedDirectory<'_>, from: &Path, text: &str, keep_annotations: bool) -> RenderedUnit {
    let mut unit = RenderedUnit::new(root.written);
    for document in documents(text) {
        let AnnotatedDocument { text, origin } = AnnotatedDocument::of(document);
        let file =
            origin.and_then(ObjectOrigin::into_local_file).map(|file| path_within(Path::new(""), &from.join(file)));
        let file = file.filter(|file| file.is_file()).map(|file| root.shown(&file));
        unit.push(if keep_annotations { document } else { &text }, file);
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::test_tools::{directory, has_program};

    const WEB: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";

    fn is_missing() -> bool {
        RendererProgram::find("kustomize").is_none() && !has_program("kubectl")
    }

    /// What a directory renders to: its text, and the objects' names with the files they come from; or the error.
    #[derive(Debug, Default)]
    struct Rendered {
        text: String,
        found: Vec<(String, Option<String>)>,
        error: String,
    }

    fn rendered(files: &[(&str, &str)], app: &str) -> Rendered {
        let folder = directory(files);
        let root = folder.path().canonicalize().unwrap();
        let within = |text: String| text.replace(&format!("{}/", root.display()), "");
        let unit = match render(&root.join(app), false) {
            Ok(unit) => unit,
            Err(error) => return Rendered { error: within(format!("{error:#}")), ..Rendered::default() },
        };
        let mut found = Vec::new();
        for (index, line) in unit.text.lines().enumerate() {
            if let Some(name) = line.strip_prefix("  name: ") {
                let file = unit.source_at(index + 1).map(|file| within(file.to_owned()));
                found.push((name.to_owned(), file));
            }
        }
        found.sort();
        // The files of the user are as they were.
        for (file, text) in files {
            #[expect(clippy::disallowed_methods, reason = "a test")]
            let now = fs::read_to_string(root.join(file)).unwrap();
            assert_eq!(now, *text);
        }
        Rendered { text: unit.text, found, error: String::new() }
    }

    #[test]
    fn objects_come_from_files_and_have_no_trace_of_the_wrapper() {
        if is_missing() {
            return;
        }
        let overlay = "namePrefix: a-\nresources: [../base, more.yaml]\nbuildMetadata: [managedByLabel]\n";
        let more = WEB.replace("web", "more");
        let base = "resources: [web.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\ngeneratorOptions: \
                    {disableNameSuffixHash: true}\n";
        let files = [
            ("overlay/kustomization.yaml", overlay),
            ("overlay/more.yaml", &more),
            ("base/kustomization.yaml", base),
            ("base/web.yaml", WEB),
        ];
        let Rendered { text, found, error } = rendered(&files, "overlay");
        let want =
            [("a-more", "overlay/more.yaml"), ("a-settings", "base/kustomization.yaml"), ("a-web", "base/web.yaml")];
        assert_eq!(found, want.map(|(name, file)| (name.to_owned(), Some(file.to_owned()))), "{text}{error}");
        assert!(!text.contains("annotations") && text.contains("managed-by: kustomize-"), "{text}");
        // A user who asks for the annotations gets them, as of the directory.
        let asks = overlay.replace("managedByLabel", ORIGINS);
        let Rendered { text, found, error } =
            rendered(&[("overlay/kustomization.yaml", &asks), files[1], files[2], files[3]], "overlay");
        assert_eq!(found, want.map(|(name, file)| (name.to_owned(), Some(file.to_owned()))), "{text}{error}");
        assert!(text.contains("path: ../base/web.yaml\n"), "{text}");
    }

    #[test]
    fn a_component_is_rendered_without_sources() {
        if is_missing() {
            return;
        }
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [web.yaml]\n";
        let Rendered { found, .. } = rendered(&[("c/kustomization.yaml", component), ("c/web.yaml", WEB)], "c");
        assert_eq!(found, [("web".to_owned(), None)]);
    }

    /// What kustomize refuses, and what is refused before it runs, each with parts of the message.
    #[test]
    fn errors_are_those_of_kustomize() {
        if is_missing() {
            return;
        }
        for (files, parts) in [
            (&[("app/kustomization.yaml", "resources: [web.yaml]")][..], &[" app: exit status: 1\n", "web.yaml"][..]),
            (&[("app/web.yaml", WEB)], &[" app: exit status: 1\n", "unable to find one of 'kustomization.yaml'"]),
            (
                &[("app/kustomization.yaml", "helmCharts: [{name: x, repo: 'https://example.com', version: '1'}]")],
                &["must specify --enable-helm"],
            ),
            // The files that it may read are those below its own directory.
            (&[("app/kustomization.yaml", "resources: [../web.yaml]"), ("web.yaml", WEB)], &["is not in or below"]),
            (
                &[("app/kustomization.yaml", "resources: ['https://example.com/x.yaml']")],
                &["app/kustomization.yaml:1: /resources/0 is remote: https://example.com/x.yaml", "nothing was run"],
            ),
            (
                &[
                    ("app/kustomization.yaml", "transformers: [t.yaml]"),
                    (
                        "app/t.yaml",
                        "apiVersion: x/v1\nkind: T\nmetadata:\n  name: t\n  annotations:\n    config.kubernetes.io/function: \
                         'exec: {path: ./run}'\n",
                    ),
                ],
                &["plugin"],
            ),
            (&[("app/x/web.yaml", WEB), ("no/web.yaml", WEB)], &["app: exit status: 1"]),
        ] {
            let error = rendered(files, "app").error;
            for part in parts {
                assert!(error.contains(part), "{files:?}: {error}");
            }
            assert!(!error.contains("wrapper"), "{error}");
        }
        let error = rendered(&[("app/web.yaml", WEB)], "other").error;
        assert!(error.starts_with("-k other: ") || error.contains("No such file"), "{error}");
        let error = rendered(&[("app/web.yaml", WEB)], "app/web.yaml").error;
        assert!(error.contains("not a directory"), "{error}");
    }

    /// If a reference were overlooked, it would still not be fetched.
    #[test]
    fn the_network_is_out_of_reach() {
        if is_missing() {
            return;
        }
        let kustomize = Kustomize::find(Limits::LOCAL).unwrap();
        for (reference, want) in [
            ("https://example.com/x.yaml", "127.0.0.1:0"),
            ("https://example.com/org/repo", "127.0.0.1:0"),
            ("git@example.com:org/repo", "not allowed"),
        ] {
            let folder = directory(&[("kustomization.yaml", &format!("resources: ['{reference}']"))]);
            let home = tempfile::tempdir().unwrap();
            let root = NamedDirectory::of(folder.path()).unwrap();
            let error = kustomize.build(&root, &root.path, home.path()).unwrap_err().to_string();
            assert!(error.contains(want), "{reference}: {error}");
        }
    }
}
