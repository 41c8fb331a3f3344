//! `--chart DIR`: what Helm makes of a chart.

use std::{
    ffi::OsString,
    fs::File,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, anyhow, ensure};
use roster_engine::profile::Minor;
use roster_manifests::decode::{self, Source};

use super::{
    paths::NamedDirectory,
    process::{Limits, RendererProgram},
    reachable::values,
    rendered_unit::{RenderedUnit, documents},
};

/// The name that Helm gives a release without one.
const RELEASE_NAME: &str = "release-name";
/// How Helm says which template a document comes from.
const SOURCE: &str = "# Source: ";

/// Renders a chart with values, as a release in `namespace`.
pub(super) fn render(written: &Path, values: &[PathBuf], namespace: &str) -> anyhow::Result<RenderedUnit> {
    // Anything else would be the name of a chart in a repository, which Helm fetches.
    let chart = NamedDirectory::of(written).with_context(|| format!("--chart {}", written.display()))?;
    let helm = RendererProgram::find("helm").ok_or_else(|| anyhow!("--chart needs helm, and the PATH has none"))?;
    let mut arguments: Vec<OsString> = vec!["template".into(), release_name(&chart.path).into(), (&chart.path).into()];
    // Tests are not installed, and their pods often have the labels of the pods that they test.
    arguments.extend(["--skip-tests".into(), "--namespace".into(), namespace.into()]);
    // Charts ask for a release; that of Helm itself may be old.
    arguments.extend(["--kube-version".into(), format!("{}.0", Minor::NEWEST).into()]);
    for file in values {
        arguments.extend(["--values".into(), values_file(file)?.into()]);
    }
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let text = helm
        .run(&arguments, folder.path(), Limits::LOCAL)
        .with_context(|| format!("helm template {}", written.display()))?;
    let mut unit = RenderedUnit::new(written);
    for document in documents(&text) {
        let template = document.lines().next().and_then(|line| line.strip_prefix(SOURCE)).and_then(within_chart);
        let file = template.map(|template| chart.path.join(template)).filter(|file| file.is_file());
        unit.push(document, file.map(|file| chart.shown(&file)));
    }
    Ok(unit)
}

/// The absolute path of a file with values: Helm would read a URL or standard input, too.
fn values_file(file: &Path) -> anyhow::Result<PathBuf> {
    let path = file.canonicalize().with_context(|| format!("--values {}", file.display()))?;
    ensure!(path.is_file(), "--values {}: not a file", file.display());
    Ok(path)
}

/// The path of a template in the directory of its chart: the path that Helm prints begins with the name of the chart.
fn within_chart(source: &str) -> Option<PathBuf> {
    let mut parts = Path::new(source.trim_end()).components();
    parts.next()?;
    let rest = parts.as_path();
    rest.components().all(|part| matches!(part, Component::Normal(_))).then(|| rest.to_owned())
}

/// The name of the chart, if it can be that of a release: many charts name their objects after both, and only once if they are
/// the same.
fn release_name(chart: &Path) -> String {
    let source = Source { max_object_bytes: 1 << 20, ..Source::file("") };
    #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
    let file = File::open(chart.join("Chart.yaml"));
    // What is wrong with the file, Helm says.
    let json = file.ok().and_then(|file| decode::text(file, &source).ok()).unwrap_or_default();
    let charts = values(&json, &source).unwrap_or_default();
    let name = charts.first().and_then(|(_, chart)| chart["name"].as_str()).filter(|name| is_release_name(name));
    name.unwrap_or(RELEASE_NAME).to_owned()
}

/// Whether Helm accepts the name of a release: a DNS label, or several with dots.
fn is_release_name(name: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_label = |l: &str| !l.is_empty() && l.bytes().all(is_inner) && !l.starts_with('-') && !l.ends_with('-');
    name.len() <= 53 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::test_tools::{directory, has_program};

    const CHART: (&str, &str) = ("web/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n");
    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}-{{ .Values.name }}\n  \
                           namespace: {{ .Release.Namespace }}\nspec: {ports: [{port: 80}]}\n";

    /// The names in the output, with their files; or the error.
    fn rendered(files: &[(&str, &str)], values: &[&str]) -> (Vec<(String, String)>, String) {
        let folder = directory(files);
        let root = folder.path().canonicalize().unwrap();
        let values: Vec<PathBuf> = values.iter().map(|file| root.join(file)).collect();
        let within = |text: String| text.replace(&format!("{}/", root.display()), "");
        let unit = match render(&root.join("web"), &values, "prod") {
            Ok(unit) => unit,
            Err(error) => return (Vec::new(), within(format!("{error:#}"))),
        };
        let names = unit.text.lines().enumerate().filter_map(|(index, line)| {
            let file = unit.source_at(index + 1).map(|file| within(file.to_owned())).unwrap_or_default();
            Some((line.strip_prefix("  name: ").or(line.strip_prefix("  namespace: "))?.to_owned(), file))
        });
        (names.collect(), String::new())
    }

    #[test]
    fn objects_come_from_templates() {
        if !has_program("helm") {
            return;
        }
        let test = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n";
        let files = [
            CHART,
            ("web/values.yaml", "name: a\n"),
            ("web/templates/web.yaml", SERVICE),
            ("web/templates/test.yaml", test),
            ("web/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n"),
            ("web/charts/sub/templates/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sub\n"),
            ("more.yaml", "name: b\n"),
            ("last.yaml", "name: c\n"),
        ];
        for (values, name) in [(&[][..], "shop-a"), (&["more.yaml"], "shop-b"), (&["more.yaml", "last.yaml"], "shop-c")]
        {
            let (template, sub) = ("web/templates/web.yaml", "web/charts/sub/templates/web.yaml");
            let want = [("sub", sub), (name, template), ("prod", template)];
            let want = want.map(|(name, file)| (name.to_owned(), file.to_owned()));
            assert_eq!(rendered(&files, values), (want.to_vec(), String::new()), "{values:?}");
        }
    }

    #[test]
    fn errors_are_those_of_helm() {
        if !has_program("helm") {
            return;
        }
        let needs = "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies: [{name: redis, version: '1', repository: \
                     'https://example.com'}]\n";
        for (files, values, part) in [
            (&[CHART, ("web/templates/a.yaml", "{{ fail \"no name\" }}")][..], &[][..], "no name"),
            (&[CHART, ("web/templates/a.yaml", "{{ fail .Capabilities.KubeVersion.Version }}")], &[], "v1.37.0"),
            (&[("web/Chart.yaml", needs)], &[], "missing in charts/ directory: redis"),
            (&[("web/values.yaml", "")], &[], "helm template web: exit status: 1\nError: Chart.yaml file is missing"),
            (&[CHART], &["no.yaml"], "--values no.yaml: No such file"),
            (&[CHART], &["web"], "--values web: not a file"),
            (&[("other/Chart.yaml", "")], &[], "--chart web: No such file"),
        ] {
            let (_, error) = rendered(files, values);
            assert!(error.contains(part), "{files:?}: {error}");
        }
    }

    #[test]
    fn a_release_has_the_name_of_its_chart_if_helm_accepts_that() {
        for (name, want) in [
            ("shop", "shop"),
            ("shop-2.a", "shop-2.a"),
            ("Shop", RELEASE_NAME),
            ("-shop", RELEASE_NAME),
            ("sh_op", RELEASE_NAME),
            ("''", RELEASE_NAME),
            ("[a]", RELEASE_NAME),
        ] {
            let folder = directory(&[("Chart.yaml", &format!("name: {name}\n"))]);
            assert_eq!(release_name(folder.path()), want, "{name}");
        }
    }

    #[test]
    fn a_source_is_within_the_chart() {
        for (source, want) in [
            ("shop/templates/web.yaml", Some("templates/web.yaml")),
            ("shop/charts/sub/templates/web.yaml", Some("charts/sub/templates/web.yaml")),
            ("shop/../../web.yaml", None),
            ("", None),
        ] {
            assert_eq!(within_chart(source).as_deref(), want.map(Path::new), "{source}");
        }
    }
}
