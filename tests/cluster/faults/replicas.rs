//! Replicas that come and go, and one that is killed.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    load::Load,
    network::row,
    site::{Site, Source},
    wait,
};

/// How often every replica is replaced.
const ROLLS: usize = 2;

/// As a Deployment with one more at most and none less: a new one is ready before an old one is stopped, and
/// nobody waits until it has ended.
pub(crate) fn rolled(site: &mut Site, load: &Load) -> String {
    let mut leaving = Vec::new();
    for _ in 0..ROLLS * site.replicas.len() {
        site.add(Source::Files);
        leaving.push(site.retire(0));
    }
    for replica in leaving {
        site.bury(replica);
    }
    load.go_on(100);
    format!("both replicas replaced {ROLLS} times")
}

/// One of two is killed. Under Ignore nothing fails; under Fail what was on its connections, one review on each, and
/// what the API server still brings to its address until the Service names it no more: it asks once, and nobody can
/// answer there. It is tried again where the machine had no time for it.
pub(super) fn killed(site: &mut Site) {
    for last in [false, false, true] {
        if is_killed(site, last) {
            return;
        }
        row("  even writes without a webhook were slow", "tried again");
    }
}

/// Kills one. `false`: writes failed that must not, but the machine had no time for it.
fn is_killed(site: &mut Site, last: bool) -> bool {
    let load = site.load();
    let mut victim = site.replicas.remove(0);
    // One may come between.
    let connections = usize::try_from(victim.metric("roster_webhook_connections")).unwrap() + load.open();
    victim.kill();
    wait("it is out of the Service", || (!site.published().contains(&victim.address)).then_some(()));
    // The API server hears of it from the same watch as this test does.
    let withdrawn = Instant::now() + Duration::from_millis(500);
    load.go_on(200);
    let tally = load.stop();
    row(&format!("one of two killed; {} came to its address", tally.refused), &tally.to_string());
    site.forget(&victim);
    drop(victim);
    site.add(Source::Files);
    assert_eq!((tally.failed.open, tally.admitted.closed), (0, 0), "{:#?}", tally.complaints);
    let few = tally.failed.closed - tally.refused <= connections;
    let next_is_served = tally.last_wrong.is_none_or(|at| at < withdrawn);
    if !last && tally.is_in_doubt() && !(few && next_is_served) {
        return false;
    }
    assert!(few, "{connections} {:#?}", tally.complaints);
    assert!(next_is_served, "the next request is served");
    true
}
