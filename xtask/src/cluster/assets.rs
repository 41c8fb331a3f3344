//! The programs of a control plane, built once from published Go modules.

use std::path::{Path, PathBuf};
use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{command, paths};

/// The release, as in `tests/cluster/assets/go.mod`.
const RELEASE: &str = "1.37.0";

const PROGRAMS: [(&str, &str); 4] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
];

/// The folder of the programs: `KUBEBUILDER_ASSETS` if it is set, else a folder of the cache, where missing programs are
/// built (about eight minutes on two cores).
pub(crate) fn folder() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("KUBEBUILDER_ASSETS") {
        return Ok(folder.into());
    }
    let folder = paths::cache()?.join("assets").join(RELEASE);
    fs::create_dir_all(&folder)?;
    for (name, package) in PROGRAMS {
        if !folder.join(name).exists() {
            println!("    building {name} {RELEASE} (once)");
            build(&folder, name, package)?;
        }
    }
    // Clients of ours: Go knows whether they changed.
    for name in ["reflector", "protobuf"] {
        build(&folder, name, &format!("./{name}"))?;
    }
    Ok(folder)
}

fn build(folder: &Path, name: &str, package: &str) -> Result<()> {
    // Another run may be building the same program: each writes its own file and then renames it.
    let half = folder.join(format!("{name}.{}", std::process::id()));
    let mut build = Command::new("go");
    build.current_dir(paths::root().join("tests/cluster/assets"));
    build.args(["build", "-buildvcs=false", "-ldflags", &link_flags(), "-o"]).arg(&half).arg(package);
    command::run_with(&mut build).with_context(|| format!("building {name} needs a Go toolchain"))?;
    fs::rename(&half, folder.join(name))?;
    Ok(())
}

/// Linker flags that set the version, because kubectl refuses a server without one.
fn link_flags() -> String {
    let package = "k8s.io/component-base/version";
    let (major, rest) = RELEASE.split_once('.').unwrap_or((RELEASE, ""));
    let minor = rest.split('.').next().unwrap_or_default();
    format!("-s -w -X {package}.gitVersion=v{RELEASE} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

/// An error unless `tests/cluster/assets/go.mod` names [`RELEASE`].
pub(crate) fn check_release() -> Result<()> {
    let text = fs::read_to_string(paths::root().join("tests/cluster/assets/go.mod"))?;
    ensure!(
        text.contains(&format!("k8s.io/kubernetes v{RELEASE}")),
        "tests/cluster/assets/go.mod is not for {RELEASE}"
    );
    Ok(())
}
