//! Builds the reference programs: `tests/parity/oracle` against one Kubernetes release or another.
//!
//! The binaries are kept in the cache folder, under a hash of their sources and the release, so that a
//! release is built once. The committed sources are for the newest release; for an older one the few
//! lines that differ (`shim.go`) are rewritten by reading that release's own declarations.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::paths;

/// The patch that stands for each minor, and the version of the endpointslice library that goes with it.
/// The minors of the committed reference answers have the patches that gave them; among them, 1.34.4 and
/// 1.35.4 still panic on a Service without `ipFamilies`. Up to 1.27 the library is not used. Where the
/// module proxy has no library of the same patch, a near one stands in.
const RELEASES: [(&str, &str, &str); 16] = [
    ("1.22", "1.22.17", "0.22.17"),
    ("1.23", "1.23.17", "0.23.17"),
    ("1.24", "1.24.17", "0.24.17"),
    ("1.25", "1.25.16", "0.25.16"),
    ("1.26", "1.26.15", "0.26.15"),
    ("1.27", "1.27.16", "0.27.16"),
    ("1.28", "1.28.15", "0.28.15"),
    ("1.29", "1.29.15", "0.29.15"),
    ("1.30", "1.30.14", "0.30.14"),
    ("1.31", "1.31.14", "0.31.0"),
    ("1.32", "1.32.13", "0.32.5"),
    ("1.33", "1.33.13", "0.33.13"),
    ("1.34", "1.34.4", "0.34.4"),
    ("1.35", "1.35.4", "0.35.4"),
    ("1.36", "1.36.3", "0.36.3"),
    ("1.37", "1.37.0", "0.37.0"),
];

/// The release that the committed Go module is written for.
pub(crate) const NEWEST: &str = "1.37";

const SOURCES: [&str; 5] = ["bench.go", "empty.s", "harness.go", "main.go", "shim.go"];

/// Every minor that there is a reference for.
pub(crate) fn minors() -> Vec<String> {
    RELEASES.iter().map(|(minor, ..)| (*minor).to_owned()).collect()
}

/// The program for one minor, built if it is not in the cache yet.
pub(crate) fn build(minor: &str) -> Result<PathBuf> {
    let Some((_, version, library)) = RELEASES.iter().find(|(m, ..)| *m == minor) else {
        bail!("Kubernetes {minor} is not known here; known are {}", RELEASES.map(|(m, ..)| m).join(", "));
    };
    let source = paths::root().join("tests/parity/oracle");
    let mut text = String::new();
    for name in SOURCES.iter().chain(["go.mod", "go.sum"].iter()) {
        text += &fs::read_to_string(source.join(name)).with_context(|| format!("reading {name}"))?;
    }
    let store = paths::cache()?.join("oracle");
    let tag = format!("{version}-{:016x}", fnv(text.as_bytes()));
    let binary = store.join(format!("oracle-{tag}"));
    if binary.exists() {
        return Ok(binary);
    }
    let work = store.join(format!("src-{tag}"));
    fs::create_dir_all(&work).with_context(|| format!("creating {}", work.display()))?;
    for name in SOURCES {
        fs::copy(source.join(name), work.join(name))?;
    }
    println!("building the reference controllers of Kubernetes {version} (once; a few minutes)");
    if minor == NEWEST {
        for name in ["go.mod", "go.sum"] {
            fs::copy(source.join(name), work.join(name))?;
        }
    } else {
        retarget(&work, version, library).with_context(|| format!("preparing the sources for {version}"))?;
        go(&work, &["mod", "tidy"])?;
    }
    // Another run may be building the same: each writes its own file and then moves it into place.
    let half = store.join(format!("oracle-{tag}.{}", std::process::id()));
    let out = half.to_str().context("the cache folder's name is not UTF-8")?;
    go(&work, &["build", "-o", out, "."])?;
    fs::rename(&half, &binary)?;
    Ok(binary)
}

fn go(dir: &Path, args: &[&str]) -> Result<String> {
    let run = Command::new("go").args(args).current_dir(dir).env("GOFLAGS", "-buildvcs=false").output();
    let out = run.context("running go; the live comparison needs a Go toolchain")?;
    let errors = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "go {} failed:\n{errors}", args.join(" "));
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Writes `go.mod` for another release, and rewrites `shim.go` to its signatures.
fn retarget(work: &Path, version: &str, library: &str) -> Result<()> {
    let empty = work.join("go.mod");
    fs::write(&empty, "module oracle\n")?;
    let found = go(work, &["mod", "download", "-json", &format!("k8s.io/kubernetes@v{version}")])?;
    let found: serde_json::Value = serde_json::from_str(&found)?;
    let path = |key: &str| found[key].as_str().map(PathBuf::from).with_context(|| format!("go names no {key}"));
    let upstream = fs::read_to_string(path("GoMod")?)?;
    fs::write(empty, go_mod(&upstream, version, library))?;

    let controllers = path("Dir")?.join("pkg/controller");
    let shim = work.join("shim.go");
    let text = shim_for(&fs::read_to_string(&shim)?, &Declarations::read(&controllers)?)?;
    fs::write(shim, text)?;
    Ok(())
}

/// Kubernetes' own `go.mod` replaces its libraries by folders beside it, which a module that imports
/// it does not see: each has to be named again, in the version that belongs to the release.
fn go_mod(upstream: &str, version: &str, library: &str) -> String {
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
        let at = if name == "k8s.io/endpointslice" { library } else { &format!("0.{patch}") };
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

/// FNV-1a, 64 bits: a name for the content, no more.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
