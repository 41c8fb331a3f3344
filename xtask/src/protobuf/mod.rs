//! `cargo xtask protobuf`: the table by which the node proxy writes protobuf, from the published modules of Kubernetes.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::has;
use crate::paths;
use crate::steps::Outcome;
use table::Package;

/// The file that is written.
const PATH: &str = "src/servers/edge/encoding/protobuf/messages.rs";

/// Random objects as JSON and as protobuf, made by Go.
const OBJECTS: &str = "tests/data/protobuf/random.jsonl.gz";
/// How many.
const COUNT: &str = "120";

/// The prefix of the constants, the module, and the folder of each package.
const PACKAGES: [(&str, &str, &str); 3] = [
    ("META", "k8s.io/apimachinery", "pkg/apis/meta/v1"),
    ("CORE", "k8s.io/api", "core/v1"),
    ("DISCOVERY", "k8s.io/api", "discovery/v1"),
];

/// What the node proxy sends.
const ROOTS: [&str; 7] = [
    "k8s.io.api.core.v1.Endpoints",
    "k8s.io.api.core.v1.Namespace",
    "k8s.io.api.core.v1.Node",
    "k8s.io.api.core.v1.Service",
    "k8s.io.api.discovery.v1.EndpointSlice",
    "k8s.io.apimachinery.pkg.apis.meta.v1.ListMeta",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Status",
];

/// Writes the table, and the random objects.
pub(crate) fn write() -> Result<Outcome> {
    fs::write(paths::root().join(PATH), generate()?)?;
    let objects = go(&["run", "./protobuf", "random", COUNT])?;
    let path = paths::root().join(OBJECTS);
    fs::create_dir_all(path.parent().context("no folder")?)?;
    fs::write(path, objects)?;
    Ok(Outcome::Passed)
}

/// An error unless the committed table is that of the modules.
pub(crate) fn check() -> Result<Outcome> {
    if !has("go") {
        return Outcome::missing("go is not installed, so the modules of Kubernetes cannot be read");
    }
    let committed = fs::read_to_string(paths::root().join(PATH))?;
    ensure!(committed == generate()?, "stale; to write it anew: cargo xtask protobuf");
    Ok(Outcome::Passed)
}

fn generate() -> Result<String> {
    let modules = modules()?;
    let packages = PACKAGES.map(|(prefix, module, folder)| -> Result<Package> {
        let (_, home) = modules.iter().find(|(path, _)| path == module).with_context(|| format!("no {module}"))?;
        let read = |file: &str| {
            let path = home.join(folder).join(file);
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
        };
        Ok(Package { prefix, proto: read("generated.proto")?, go: read("types.go")? })
    });
    let packages = packages.into_iter().collect::<Result<Vec<_>>>()?;
    let table = table::table(&packages, &ROOTS)?;
    Ok(format!(
        "//! The messages of what is cached, with their fields: when it is written, number, name in JSON, type.\n\
         //!\n\
         //! Written by `cargo xtask protobuf` from k8s.io/api and k8s.io/apimachinery, in the versions of \
         `tests/cluster/assets/go.mod`.\n\
         \n\
         use super::message::{{\n    \
             FieldType::{{Boolean, Int32, Int64, IntOrString, Quantity, Text, Time}},\n    \
             Message, always, fields, many, map, message, optional,\n\
         }};\n\
         \n\
         {table}"
    ))
}

/// The folders of the modules, which are downloaded if they are missing.
fn modules() -> Result<Vec<(String, PathBuf)>> {
    let output = go(&["mod", "download", "-json", "k8s.io/api", "k8s.io/apimachinery"])?;
    let read = |module: Value| match (module["Path"].as_str(), module["Dir"].as_str()) {
        (Some(path), Some(dir)) => Ok((path.to_owned(), Path::new(dir).to_owned())),
        _ => bail!("go mod download prints {module}"),
    };
    serde_json::Deserializer::from_slice(&output).into_iter::<Value>().map(|module| read(module?)).collect()
}

/// Runs `go` among the programs of the cluster tests, and returns what it printed.
fn go(arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("go");
    command.current_dir(paths::root().join("tests/cluster/assets")).args(arguments);
    let output = command.output().context("reading the modules of Kubernetes needs a Go toolchain")?;
    ensure!(output.status.success(), "go {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
