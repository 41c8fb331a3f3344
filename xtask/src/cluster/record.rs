//! Records from a real control plane: examples/shop.yaml, and the reviews that it sends to the webhook.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{
    assets,
    control_plane::{ControlPlane, Setup},
};
use crate::{
    command::{cargo, run_with},
    paths,
};

const HEAD: &str = "\
# A small shop, as `kubectl get services,endpoints,endpointslices,pods,nodes -n shop -o yaml` printed it.
# Recorded from kube-apiserver 1.37.0 and its controllers by `cargo xtask cluster record`.
#
# web        healthy; asks for close endpoints, and gets zone hints
# cart       its selector misses the pods by one label
# catalog    one pod has no port named \"metrics\"
# db         headless; two pods of a StatefulSet
# gateway    dual stack
# payment    one of two pods is not ready
# search     just created: its Endpoints and slices are still to come
# warehouse  no selector; Endpoints written by hand, mirrored into a slice
";

/// The Service that is created after the controllers have stopped.
const LATE: &str = "search";
/// Number of slices of the other Services: two for the dual-stack Service, and two for the ports of the catalog.
const SLICES: usize = 9;

pub(crate) fn shop() -> Result<()> {
    let assets = assets::folder()?;
    let dir = std::env::temp_dir().join(format!("roster-record-{}", std::process::id()));
    let mut plane = ControlPlane::start(&Setup { assets: &assets, dir: &dir, api_server: &[], controllers: true })?;
    let recorded = record(&mut plane);
    drop(plane);
    fs::remove_dir_all(&dir)?;
    fs::write(paths::root().join("examples/shop.yaml"), HEAD.to_owned() + &recorded?)?;
    Ok(())
}

/// Runs the test of every rule in every mode, which records the reviews.
pub(crate) fn reviews() -> Result<()> {
    let mut command = cargo();
    command.args("test --workspace --test cluster matrix::every_rule_in_every_mode -- --ignored".split(' '));
    command.env("KUBEBUILDER_ASSETS", assets::folder()?);
    command.env("ROSTER_RECORD_REVIEWS", paths::root().join("tests/data/reviews/rules.jsonl"));
    run_with(&mut command)
}

fn record(plane: &mut ControlPlane) -> Result<String> {
    let text = fs::read_to_string(paths::root().join("tests/cluster/shop.yaml"))?;
    let is_late = |d: &&str| d.contains("kind: Service\n") && d.contains(&format!("\n  name: {LATE}\n"));
    let (late, first): (Vec<&str>, Vec<&str>) = text.split("\n---\n").partition(is_late);
    ensure!(late.len() == 1, "tests/cluster/shop.yaml has no Service {LATE}");
    // Pods are created before Services, so that the controllers write each list once.
    let (services, others): (Vec<&str>, Vec<&str>) = first.into_iter().partition(|d| d.contains("kind: Service\n"));
    plane.kubectl_with("create -f -", &others.join("\n---\n"))?;
    // An API server ignores the status of an object that is created.
    let with_status: Vec<&str> =
        others.into_iter().filter(|d| d.contains("kind: Pod\n") || d.contains("kind: Node\n")).collect();
    plane.kubectl_with("replace --subresource=status -f -", &with_status.join("\n---\n"))?;
    plane.kubectl_with("create -f -", &services.join("\n---\n"))?;
    wait_for_slices(plane)?;
    plane.stop_controllers();
    plane.kubectl_with("create -f -", late[0])?;
    plane.kubectl_with("get services,endpoints,endpointslices,pods,nodes -n shop -o yaml", "")
}

/// Waits until the controllers have written all slices and write nothing more.
fn wait_for_slices(plane: &ControlPlane) -> Result<()> {
    let until = Instant::now() + Duration::from_mins(1);
    let mut last = String::new();
    loop {
        let now = plane.kubectl_with("get endpoints,endpointslices -n shop -o name --show-kind", "")?
            + &plane.kubectl_with(
                "get endpoints,endpointslices -n shop -o jsonpath={.items[*].metadata.resourceVersion}",
                "",
            )?;
        if now.lines().filter(|l| l.contains("endpointslice")).count() == SLICES && now == last {
            return Ok(());
        }
        ensure!(Instant::now() < until, "the controllers did not write {SLICES} slices:\n{now}");
        last = now;
        sleep(Duration::from_secs(2));
    }
}
