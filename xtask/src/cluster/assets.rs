//! The programs of a control plane, built once from published Go modules.

use std::path::{Path, PathBuf};
use std::{fs, process::Command};

use anyhow::{Context, Result};
use serde_json::Value;

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

/// CRDs of objects in the chart: module, version, folder, files.
const DEFINITIONS: [(&str, &str, &str, &[&str]); 2] = [
    (
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "example/prometheus-operator-crd",
        &[
            "monitoring.coreos.com_podmonitors.yaml",
            "monitoring.coreos.com_prometheusrules.yaml",
            "monitoring.coreos.com_servicemonitors.yaml",
        ],
    ),
    (
        "github.com/cert-manager/cert-manager",
        "v1.19.1",
        "deploy/crds",
        &["cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml"],
    ),
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
    copy_definitions(&folder)?;
    Ok(folder)
}

/// Copies the CRDs of others to `crds/`: the module of each has them as files.
fn copy_definitions(folder: &Path) -> Result<()> {
    let folder = folder.join("crds");
    fs::create_dir_all(&folder)?;
    for (module, version, inside, names) in DEFINITIONS {
        if names.iter().all(|name| folder.join(name).exists()) {
            continue;
        }
        println!("    downloading the CRDs of {module} {version} (once)");
        let mut download = Command::new("go");
        // Outside of the modules of this repository, none of which needs it.
        download.current_dir(std::env::temp_dir()).args(["mod", "download", "-json", &format!("{module}@{version}")]);
        let output = download.output().context("go could not be started")?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{module}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let source = answer["Dir"].as_str().with_context(|| format!("{module}: {}", answer["Error"]))?;
        for name in names {
            let text = fs::read(Path::new(source).join(inside).join(name))?;
            fs::write(folder.join(name), text)?;
        }
    }
    Ok(())
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
