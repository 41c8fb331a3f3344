//! Manifests as kustomize and Helm render them: `-k DIR` and `--chart DIR`.
//!
//! ```text
//! -k DIR ──── remote references? ─► kustomize build, or kubectl kustomize ─► origin annotations ┐
//! --chart DIR ────────────────────► helm template ─────────────────────────► # Source: comments ┴─► RenderedUnit
//! RenderedUnit ─ the files of its objects ─► WrittenObjects ─ the same object, without doubt ─► SourcePlace
//! ```
//!
//! The real programs run, but only for directories that the user names on a command line: see [`process`] for what they may do.

mod helm;
mod kustomize;
mod origin;
mod paths;
mod process;
mod reachable;
mod remote_references;
mod rendered_unit;
mod source_places;
mod template_objects;
#[cfg(test)]
mod test_tools;
mod written_object;

use std::path::PathBuf;

use clap::Args;

pub(super) use rendered_unit::{RenderedUnit, is_rendered};
pub(super) use source_places::RenderedField;

/// The kustomizations and charts to render.
#[derive(Debug, Default, Args)]
pub(super) struct RenderArgs {
    /// Read the objects that `kubectl apply -k` would apply, with `kustomize build` or `kubectl kustomize`. May be
    /// given several times.
    #[arg(short, long, value_name = "DIR")]
    kustomize: Vec<PathBuf>,
    /// Read the objects of this Helm chart, with `helm template` and the chart's name as the release. May be given
    /// several times.
    #[arg(long, value_name = "DIR")]
    chart: Vec<PathBuf>,
    /// Values for the charts, as `helm template --values`. May be given several times.
    #[arg(long, value_name = "FILE", requires = "chart")]
    values: Vec<PathBuf>,
    /// Let kustomize fetch remote bases and files.
    #[arg(long, requires = "kustomize")]
    allow_remote: bool,
}

impl RenderArgs {
    /// Whether there is anything to render.
    pub(super) fn is_given(&self) -> bool {
        !self.kustomize.is_empty() || !self.chart.is_empty()
    }

    /// Renders the kustomizations, then the charts, into `namespace`. The first one that cannot be rendered is an error.
    pub(super) fn render(&self, namespace: &str) -> anyhow::Result<Vec<RenderedUnit>> {
        let kustomized = self.kustomize.iter().map(|directory| kustomize::render(directory, self.allow_remote));
        let charts = self.chart.iter().map(|directory| helm::render(directory, &self.values, namespace));
        kustomized.chain(charts).collect()
    }
}
