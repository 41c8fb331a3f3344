//! The sources of the reference program for an older release: its `go.mod`, and the few lines that differ.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Release, go};

/// Writes `go.mod` for another release, and rewrites `shim.go` to its signatures.
pub(super) fn retarget(work: &Path, release: &Release) -> Result<()> {
    let empty = work.join("go.mod");
    fs::write(&empty, "module oracle\n")?;
    let found = go(work, &["mod", "download", "-json", &format!("k8s.io/kubernetes@v{}", release.version)])?;
    let found: serde_json::Value = serde_json::from_str(&found)?;
    let path = |key: &str| found[key].as_str().map(PathBuf::from).with_context(|| format!("go names no {key}"));
    let upstream = fs::read_to_string(path("GoMod")?)?;
    fs::write(empty, go_mod(&upstream, release))?;

    let controllers = path("Dir")?.join("pkg/controller");
    let shim = work.join("shim.go");
    let text = shim_for(&fs::read_to_string(&shim)?, &Declarations::read(&controllers)?)?;
    fs::write(shim, text)?;
    Ok(())
}

/// Kubernetes' own `go.mod` replaces its libraries by folders beside it, which a module that imports
/// it does not see: each has to be named again, in the version that belongs to the release.
fn go_mod(upstream: &str, Release { version, substitutes, .. }: &Release) -> String {
    let libraries: BTreeSet<&str> = upstream
        .lines()
        .filter_map(|l| l.trim().split_once(" => ./staging").map(|(name, _)| name))
        .map(|name| name.trim_start_matches("replace ").split(' ').next().unwrap_or(name))
        .collect();
    let wanted = upstream.lines().find_map(|l| l.strip_prefix("go ")).unwrap_or("1.22").trim();
    // Older language versions change the meaning of loop variables and the default for vendoring.
    let minor: u32 = wanted.split('.').nth(1).and_then(|m| m.parse().ok()).unwrap_or(0);
    let language = if minor < 22 { "1.22" } else { wanted };
    let mut text = format!("module oracle\n\ngo {language}\n\nrequire k8s.io/kubernetes v{version}\n\nreplace (\n");
    let patch = version.trim_start_matches("1.");
    for name in libraries {
        let same = format!("0.{patch}");
        let at = substitutes.iter().find(|(library, _)| *library == name).map_or(same.as_str(), |(_, version)| version);
        text.extend(["\t", name, " => ", name, " v", at, "\n"]);
    }
    text + ")\n"
}

/// The parameter lists that `shim.go` depends on, as a release declares them.
struct Declarations {
    new_endpoints: String,
    sync_endpoints: String,
    new_slices: String,
    sync_slices: String,
    check_nodes: String,
    new_mirroring: String,
    sync_mirroring: String,
}

impl Declarations {
    fn read(controllers: &Path) -> Result<Self> {
        let read = |p: &str| fs::read_to_string(controllers.join(p)).with_context(|| format!("reading {p}"));
        let endpoint = read("endpoint/endpoints_controller.go")?;
        let slice = read("endpointslice/endpointslice_controller.go")?;
        let mirror = read("endpointslicemirroring/endpointslicemirroring_controller.go")?;
        Ok(Self {
            new_endpoints: parameters(&endpoint, "func NewEndpointController(")?,
            sync_endpoints: parameters(&endpoint, "func (e *Controller) syncService(")?,
            new_slices: parameters(&slice, "func NewController(")?,
            sync_slices: parameters(&slice, "func (c *Controller) syncService(")?,
            check_nodes: parameters(&slice, "func (c *Controller) checkNodeTopologyDistribution(")?,
            new_mirroring: parameters(&mirror, "func NewController(")?,
            sync_mirroring: parameters(&mirror, "func (c *Controller) syncEndpoints(")?,
        })
    }
}

/// What stands between the parentheses after `head`.
fn parameters(source: &str, head: &str) -> Result<String> {
    let from = source.find(head).with_context(|| format!("no {head}"))? + head.len();
    let rest = source.get(from..).unwrap_or_default();
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    Ok(rest.get(..end.context("a parameter list has no end")?).unwrap_or_default().trim().to_owned())
}

/// Constructors got a context in 1.28 and later, sync functions a context or a logger at other times.
fn shim_for(shim: &str, d: &Declarations) -> Result<String> {
    let mut text = shim.to_owned();
    let mut change = |from: &str, to: &str| -> Result<()> {
        ensure!(text.contains(from), "shim.go has no {from:?}");
        text = text.replace(from, to);
        Ok(())
    };
    for (parameters, call) in [
        (&d.new_endpoints, "endpoint.NewEndpointController("),
        (&d.new_slices, "endpointslice.NewController("),
        (&d.new_mirroring, "endpointslicemirroring.NewController("),
    ] {
        if !parameters.starts_with("ctx") {
            change(&format!("{call}ctx, "), call)?;
        }
    }
    if !d.sync_endpoints.contains("ctx") {
        change("c *endpoint.Controller, ctx context.Context, key", "c *endpoint.Controller, key")?;
        change("endpointsSync(c, ctx, key)", "endpointsSync(c, key)")?;
    }
    if !d.sync_slices.contains("logger") {
        change("c *endpointslice.Controller, logger klog.Logger, key", "c *endpointslice.Controller, key")?;
        change("slicesSync(c, klog.FromContext(ctx), key)", "slicesSync(c, key)")?;
    }
    if !d.check_nodes.contains("logger") {
        change("c *endpointslice.Controller, logger klog.Logger)", "c *endpointslice.Controller)")?;
        change("slicesNodes(c, klog.FromContext(ctx))", "slicesNodes(c)")?;
    }
    let mirroring = "c *endpointslicemirroring.Controller, ctx context.Context, key";
    if d.sync_mirroring.contains("logger") {
        change(mirroring, "c *endpointslicemirroring.Controller, logger klog.Logger, key")?;
        change("mirroringSync(c, ctx, key)", "mirroringSync(c, klog.FromContext(ctx), key)")?;
    } else if !d.sync_mirroring.contains("ctx") {
        change(mirroring, "c *endpointslicemirroring.Controller, key")?;
        change("mirroringSync(c, ctx, key)", "mirroringSync(c, key)")?;
    }
    if !text.contains("klog.") {
        text = text.replace("\t\"k8s.io/klog/v2\"\n", "");
    }
    Ok(text)
}
