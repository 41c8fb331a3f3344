//! `roster controller` behind an API server that refuses a fifth of its requests, cuts and expires its watches and is restarted, and killed
//! in the middle of its work: in the end, everything is written once and right.
//!
//! `FAULT_ROUNDS=50` runs more than CI does.

use std::{
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    RosterController, assets, changes::Changes, faulty_proxy::FaultyProxy, is_right, start_without_controllers,
    until_at_work,
};
use crate::{api::ApiServer, wait};

const SEED: u64 = 20_261_127;
/// Each kind of fault once.
const ROUNDS: usize = 4;
/// How many changes happen while requests are refused, before and after the fault of a round.
const CHANGES: usize = 12;
/// How many requests of a hundred are refused.
const REFUSED: u32 = 20;

/// What happens in a round besides.
const FAULTS: [&str; 4] = ["kill", "cut", "expire", "restart"];

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn faults_lose_nothing() {
    let rounds = std::env::var("FAULT_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut plane = start_without_controllers(&assets(), dir.path());
    let api = Rc::new(ApiServer::of(&plane));
    let mut changes = Changes::begin(vec![api.clone()], SEED);
    let flags = ["--leader-elect=false"];
    let (proxy, config) = FaultyProxy::before(&plane, dir.path());
    let start = || RosterController::start_with(&config, dir.path(), &flags);
    let mut ours = start();
    until_at_work(&api, 0);
    let mut slowest: BTreeMap<&str, Duration> = BTreeMap::new();
    for round in 0..rounds {
        let fault = FAULTS[round % FAULTS.len()];
        proxy.refuse(REFUSED);
        let make = |changes: &mut Changes| (0..CHANGES).for_each(|_| changes.make_one());
        make(&mut changes);
        match fault {
            "kill" => {
                // In the middle of its work. Some changes wait for the controller, so that none is made meanwhile.
                drop(ours);
                proxy.refuse(0);
                ours = start();
                proxy.refuse(REFUSED);
            }
            "cut" => proxy.cut(),
            "expire" => proxy.expire(),
            _ => {
                plane.stop_api_server();
                plane.start_api_server_again().unwrap();
            }
        }
        make(&mut changes);
        proxy.refuse(0);
        let recovered = Instant::now();
        wait(fault, || is_right(&plane).then_some(()));
        let slowest = slowest.entry(fault).or_default();
        *slowest = recovered.elapsed().max(*slowest);
    }
    let refused = proxy.refused();
    assert!(refused > rounds, "{refused} requests were refused");
    println!("{rounds} rounds, {refused} requests refused, right again at the latest after {slowest:?}");
    drop(ours);
}
