//! `roster controller` for a long time, behind an API server that refuses some requests, cuts and expires watches, and is restarted.
//! It takes no more and no more of memory, files and threads, its queue is empty whenever it rests, every Service that was put into it
//! was synced, and the cluster is as it should be.

use std::{
    fs,
    rc::Rc,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{RosterController, assets, changes::Changes, faulty_proxy::FaultyProxy, is_right, until_at_work};
use crate::{
    api::ApiServer,
    control_plane::{ControlPlane, Setup},
    get, metric_in,
    network::row,
    resident, wait,
};

/// How long it lasts; `ROSTER_SOAK_SECONDS` says otherwise. `cargo xtask soak controller` takes longer.
const SECONDS: u64 = 16;
/// From so many seconds on, what it uses must be flat.
const LONG: u64 = 600;
/// At least one of each fault.
const ROUNDS: u64 = 4;
/// How long a round lasts, if there is time.
const ROUND: u64 = 30;
const SEED: u64 = 29;
const PAUSE: Duration = Duration::from_millis(20);
/// How many requests of a hundred are refused.
const REFUSED: u32 = 5;

/// What the process uses: KiB of memory, open files and threads.
fn used(controller: &RosterController) -> [u64; 3] {
    let pid = controller.child.id();
    let count = |folder: &str| fs::read_dir(format!("/proc/{pid}/{folder}")).unwrap().count() as u64;
    [resident(pid).unwrap(), count("fd"), count("task")]
}

/// Waits until nothing is left to do: each Service that was put into the queue was synced. Returns how often that was.
fn until_drained(controller: &RosterController) -> u64 {
    wait("the queue is empty, and each that was added was synced", || {
        let metrics = get(&controller.admin, "/metrics").unwrap();
        let of_queue = |name: &str| {
            let name = format!("workqueue_{name}{{name=\"endpoint_slice\"}}");
            metric_in(&metrics, &name).unwrap_or_else(|| panic!("no {name}"))
        };
        let count = |name: &str| of_queue(name).parse::<u64>().unwrap();
        let (added, done) = (count("adds_total"), count("work_duration_seconds_count"));
        let is_running = of_queue("unfinished_work_seconds").parse::<f64>().unwrap() > 0.0;
        (count("depth") == 0 && !is_running && added == done).then_some(added)
    })
}

/// The mean of a quarter of what was measured.
fn quarter(measured: &[[u64; 3]], n: usize) -> [u64; 3] {
    let part = &measured[measured.len() * n / 4..measured.len() * (n + 1) / 4];
    [0, 1, 2].map(|kind| part.iter().map(|used| used[kind]).sum::<u64>() / part.len() as u64)
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_controller_that_runs_for_long_keeps_nothing_and_forgets_nothing() {
    let seconds = std::env::var("ROSTER_SOAK_SECONDS").map_or(SECONDS, |n| n.parse().unwrap());
    let rounds = (seconds / ROUND).max(ROUNDS);
    let dir = tempfile::tempdir().unwrap();
    // Lists in pages: the other tests have streamed ones.
    let api_server = ["--feature-gates=WatchList=false".to_owned()];
    let setup = Setup { assets: &assets(), dir: dir.path(), api_server: &api_server, controllers: false };
    let mut plane = ControlPlane::start(&setup).unwrap();
    let api = Rc::new(ApiServer::of(&plane));
    let mut changes = Changes::begin(vec![api.clone()], SEED);
    let (proxy, config) = FaultyProxy::before(&plane, dir.path());
    let controller = RosterController::start_with(&config, dir.path(), &["--leader-elect=false"]);
    until_at_work(&api, 0);
    let (mut measured, mut restarts, mut syncs) = (Vec::new(), 0, 0);
    for round in 0..rounds {
        proxy.refuse(REFUSED);
        let until = Instant::now() + Duration::from_secs(seconds) / u32::try_from(rounds).unwrap();
        while Instant::now() < until {
            changes.make_one();
            sleep(PAUSE);
        }
        match round % 4 {
            0 => proxy.cut(),
            1 => proxy.expire(),
            2 => {
                plane.stop_api_server();
                plane.start_api_server_again().unwrap();
                restarts += 1;
            }
            _ => {}
        }
        proxy.refuse(0);
        wait("everything is as it should be", || is_right(&plane).then_some(()));
        syncs = until_drained(&controller);
        measured.push(used(&controller));
    }
    let (second, last) = (quarter(&measured, 1), quarter(&measured, 3));
    row("changes", &changes.made().values().sum::<usize>().to_string());
    row("requests refused", &proxy.refused().to_string());
    row("restarts of the API server", &restarts.to_string());
    row("syncs", &syncs.to_string());
    row("KiB, open files, threads, second and last quarter", &format!("{second:?} and {last:?}"));
    if seconds >= LONG {
        let grows = (0..3).any(|kind| last[kind] * 100 > second[kind] * 105 + 100);
        assert!(!grows, "{measured:?}");
    }
}
