//! The same random changes in two clusters: one has kube-controller-manager, the other one `roster controller`. Both must come
//! to the same.
//!
//! Every hundred changes, the test waits until both controllers are at rest. Then both clusters hold the same Endpoints and
//! slices, as `tests/parity/canon.rs` has it, with four exceptions:
//!
//! * kube-controller-manager overlooks changes. If its own sync would write, its object counts as unsettled. Only a few may be.
//!   Ours never is; that is tested once more after some changes of the kind that may be overlooked.
//! * `topology-mode: Auto` keeps hints while no zone has far too many. Several shares are right then, and chance decides.
//! * Another program empties one of the slices of that moment. If the last endpoint with its ports leaves as well before the next
//!   sync, the slice stays empty for ever; a sync in between fills it again, and it is deleted with that endpoint.
//! * The time of the change that led to a write says which changes one sync took together, which is chance.
//!
//! Events are about every state that a controller has gone through, and which these are is chance, too. Ours has said last what a
//! plan for the present state says. So has the reference, unless it has overlooked a change.
//!
//! `TWIN_SEEDS=1,2,3 TWIN_CHANGES=5000` runs more than CI does.

mod held;
mod said;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Instant,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use self::{
    held::{Held, Part},
    said::Unsaid,
};
use super::{
    super::{SOON, api::ApiServer, assets, control_plane::ControlPlane, start_without_controllers},
    Duration, RosterController,
    changes::{Changes, NAMESPACE},
    sleep, until_at_work, versions,
};

/// A seed with many Events.
const DEFAULT_SEED: &str = "4";
const CHANGES: usize = 300;
const BETWEEN: usize = 100;
/// How many changes stop a controller, each time that both are at rest.
const STOPS: usize = 6;
/// How many changes that the reference may overlook happen before more follow.
const OVERLOOKED: usize = 6;
/// After so long without a write, nothing more comes.
const QUIET: Duration = Duration::from_secs(5);
/// After so long, if nothing is to be written.
const SETTLED: Duration = Duration::from_millis(600);
const DONE: Duration = Duration::from_mins(2);
/// How many objects of the reference may be unsettled, of a hundred.
const UNSETTLED: usize = 5;
/// Both controllers send a kind of Event that one of them sends about so many objects.
const OFTEN: usize = 3;

/// A cluster and its controller.
struct Twin {
    api: Rc<ApiServer>,
    plane: ControlPlane,
    _ours: Option<RosterController>,
    _dir: TempDir,
}

impl Twin {
    fn plane() -> (ControlPlane, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        (start_without_controllers(&assets(), dir.path()), dir)
    }

    fn plan(&self, output: &str) -> String {
        let mut command = crate::roster();
        command.args(["plan", "-n", NAMESPACE, "-o", output, "--kubeconfig"]).arg(self.plane.kubeconfig());
        let ran = command.output().unwrap();
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    fn unsaid(&self) -> Unsaid {
        said::unsaid(&self.api, &serde_json::from_str(&self.plan("json")).unwrap())
    }

    /// What the controllers of the cluster would write at their next sync, of each part of a Service. The reference writes some
    /// objects without a difference, which does not count.
    fn wanted(&self) -> BTreeMap<(String, Part), String> {
        let table = self.plan("table");
        let mut wanted = BTreeMap::new();
        for line in table.lines().skip(1).take_while(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [NAMESPACE, service, kind, _, action, ..] = words[..] else { continue };
            if matches!(action, "create" | "update" | "delete") {
                let part = if kind == "Endpoints" { Part::Endpoints } else { Part::Slices };
                wanted.insert((service.to_owned(), part), line.to_owned());
            }
        }
        wanted
    }
}

/// Both of them: the reference, and ours.
struct Twins([Twin; 2]);

impl Twins {
    fn start(seed: u64) -> (Self, Changes) {
        let [(mut theirs, their_dir), (ours, our_dir)] = std::thread::scope(|scope| {
            [scope.spawn(Twin::plane), scope.spawn(Twin::plane)].map(|plane| plane.join().unwrap())
        });
        let apis = [&theirs, &ours].map(|plane| Rc::new(ApiServer::of(plane)));
        let changes = Changes::begin(apis.to_vec(), seed);
        theirs.start_controllers().unwrap();
        let controller = RosterController::start(&ours, our_dir.path(), &[]);
        let [their_api, our_api] = apis;
        let theirs = Twin { api: their_api, plane: theirs, _ours: None, _dir: their_dir };
        let ours = Twin { api: our_api, plane: ours, _ours: Some(controller), _dir: our_dir };
        for twin in [&theirs, &ours] {
            until_at_work(&twin.api, 0);
        }
        (Self([theirs, ours]), changes)
    }

    /// Waits until both controllers are at rest, and what the garbage collector would delete is gone.
    fn settle(&self) {
        let until = Instant::now() + DONE;
        let all = || self.0.each_ref().map(|twin| versions(&twin.api));
        let (mut before, mut since) = (all(), Instant::now());
        loop {
            assert!(Instant::now() < until, "the controllers go on writing");
            sleep(Duration::from_millis(200));
            let now = all();
            if now != before || self.0.each_ref().map(|twin| held::collect_garbage(&twin.api)).contains(&true) {
                (before, since) = (now, Instant::now());
            }
            let is_done = || self.0.iter().all(|twin| twin.wanted().is_empty());
            if since.elapsed() > QUIET || (since.elapsed() > SETTLED && is_done()) {
                return;
            }
        }
    }
}

/// What the comparisons of a run have found.
#[derive(Default)]
struct Found {
    compared: usize,
    unsettled: usize,
    /// What the reference held last of each unsettled object.
    left: BTreeMap<(String, Part), Value>,
    /// Those of which the same number of endpoints have hints, but for other zones.
    shared_otherwise: usize,
    /// Those that have an emptied slice more or less.
    emptied: usize,
    differences: Vec<String>,
    /// Events of plans, and those of which the reference has not said the last one yet.
    planned: usize,
    unsaid: usize,
}

impl Found {
    /// Compares what both clusters hold. Returns the Services that differ.
    fn compare(&mut self, twins: &Twins, when: usize) -> BTreeSet<String> {
        let [theirs, ours] = &twins.0;
        let wanted = ours.wanted();
        assert!(wanted.is_empty(), "after {when} changes, roster plan would write {wanted:#?}");
        let unsettled = theirs.wanted();
        let held = twins.0.each_ref().map(|twin| Held::of(&twin.api));
        let keys: BTreeSet<_> = held.iter().flat_map(Held::keys).collect();
        let mut differing = BTreeSet::new();
        for key in keys {
            self.compared += 1;
            let [want, got] = held.each_ref().map(|held| held.get(&key));
            // Hints are compared by their number. Which endpoint has which one shows if another program takes a slice.
            if want != got || held::has_hints(got) {
                differing.insert(key.0.clone());
            }
            if want == got {
                continue;
            }
            if unsettled.contains_key(&key) {
                // The reference leaves it as it is until something else happens to it: it counts once.
                self.unsettled += usize::from(self.left.insert(key, want.clone()).as_ref() != Some(want));
            } else if held::without_zones(want) == held::without_zones(got) {
                self.shared_otherwise += 1;
            } else if held::without_emptied(want) == held::without_emptied(got) {
                self.emptied += 1;
            } else {
                self.differences.push(format!("after {when} changes, {key:?}:\n  reference {want}\n  ours      {got}"));
            }
        }
        differing
    }

    /// Compares what both have said about the states in which they rest.
    fn listen(&mut self, twins: &Twins) {
        let [theirs, ours] = &twins.0;
        // Events are sent beside the writes.
        none_is_left("ours has not said", || ours.unsaid().services);
        let unsaid = theirs.unsaid();
        self.planned += unsaid.planned;
        self.unsaid += unsaid.services.len();
    }

    fn judge(&self, twins: &Twins) {
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n"));
        let Self { compared, unsettled, shared_otherwise, emptied, planned, unsaid, .. } = self;
        assert!(*unsettled <= 2 + compared * UNSETTLED / 100, "{unsettled} of {compared}");
        assert!(*shared_otherwise <= 2 + compared / 50, "{shared_otherwise} of {compared}");
        assert!(*emptied <= 2 + compared / 200, "{emptied} of {compared}");
        assert!(*unsaid <= 2 + planned / 3, "{unsaid} of {planned}");
        let kinds = |at_least| twins.0.each_ref().map(|twin| said::kinds(&twin.api, at_least));
        let ([theirs, ours], [often_theirs, often_ours]) = (kinds(1), kinds(OFTEN));
        assert!(often_theirs.is_subset(&ours) && often_ours.is_subset(&theirs), "{theirs:#?} {ours:#?}");
        assert!(!often_theirs.is_empty());
    }
}

/// Waits until nothing is left.
fn none_is_left(what: &str, left: impl Fn() -> Vec<String>) {
    let until = Instant::now() + SOON;
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "{what}: {left:#?}");
        sleep(Duration::from_millis(100));
    }
}

fn run(seed: u64, count: usize) {
    let start = Instant::now();
    let (twins, mut changes) = Twins::start(seed);
    let mut found = Found::default();
    for n in (0..count).step_by(BETWEEN) {
        for _ in 0..BETWEEN {
            changes.make_one_alike();
        }
        twins.settle();
        let differing = found.compare(&twins, n + BETWEEN);
        found.listen(&twins);
        changes.stop_some(STOPS, &differing);
        for _ in 0..OVERLOOKED {
            changes.make_one_overlooked();
        }
        let ours = &twins.0[1];
        none_is_left("ours has overlooked", || ours.wanted().into_values().collect());
        none_is_left("ours has not said", || ours.unsaid().services);
    }
    let Found { compared, unsettled, shared_otherwise, emptied, differences, planned, unsaid, .. } = &found;
    let (seconds, differ) = (start.elapsed().as_secs(), differences.len());
    println!(
        "seed {seed}, {count} changes, {seconds} s: {compared} objects compared, {unsettled} of the reference unsettled, \
         {shared_otherwise} with hints for other zones, {emptied} with an emptied slice more or less, {differ} differ; {planned} Events planned, {unsaid} not said by the reference; {} {:?}",
        json!(changes.made()),
        said::kinds(&twins.0[1].api, 1)
    );
    found.judge(&twins);
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn both_controllers_come_to_the_same() {
    let seeds = std::env::var("TWIN_SEEDS").unwrap_or_else(|_| DEFAULT_SEED.to_owned());
    let count = std::env::var("TWIN_CHANGES").map_or(CHANGES, |count| count.parse().unwrap());
    for seed in seeds.split(',') {
        run(seed.parse().unwrap(), count);
    }
}
