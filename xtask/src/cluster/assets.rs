//! The programs of a control plane, built once from published Go modules.

use std::path::{Path, PathBuf};
use std::{fs, process::Command};

use anyhow::{Context, Result};

use crate::{
    command,
    oracle::{NEWEST, NEWEST_PATCH},
    paths,
};

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
    let folder = paths::cache()?.join("assets").join(NEWEST_PATCH);
    fs::create_dir_all(&folder)?;
    for (name, package) in PROGRAMS {
        if !folder.join(name).exists() {
            println!("    building {name} {NEWEST_PATCH} (once)");
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
    let (major, minor) = NEWEST.split_once('.').unwrap_or((NEWEST, ""));
    format!("-s -w -X {package}.gitVersion=v{NEWEST_PATCH} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}
