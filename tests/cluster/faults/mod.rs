//! What goes wrong around a webhook, tried under a steady load: who rolls, dies, or sends rubbish, and certificates
//! that change and end.
//!
//! Two replicas are behind the Service of the manifests, and the API server calls them at their addresses.

mod certificates;
mod clients;
pub(crate) mod replicas;
mod tls;

use super::{
    assets,
    load::Load,
    network::{self, Folder, row},
    site::Site,
};

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn faults_lose_no_write() {
    let assets = assets();
    if !network::is_own() {
        return network::run_inside("faults::faults_lose_no_write");
    }
    let dir = Folder::new();
    row("", &format!("{:>6} | {:>6} | {:>8} | {:>8}", "writes", "failed", "admitted", "p99"));
    let mut site = Site::start(&assets, dir.path(), 2);
    without_loss(&mut site, nothing);
    without_loss(&mut site, certificates::rotated);
    without_loss(&mut site, certificates::ca_rotated);
    certificates::bundle_is_wrong(&site);
    without_loss(&mut site, certificates::bundle_is_right);
    without_loss(&mut site, clients::garbage);
    without_loss(&mut site, clients::more_than_there_is_room_for);
    without_loss(&mut site, clients::slow_bodies);
    without_loss(&mut site, clients::large_reviews);
    without_loss(&mut site, replicas::rolled);
    replicas::killed(&mut site);
    certificates::end_all(&mut site);
    without_loss(&mut site, certificates::begun_after_the_end);
    without_loss(&mut site, certificates::past_expiry);
}

/// A fault: it happens while the load runs, and tells its name.
type Fault = fn(&mut Site, &Load) -> String;

/// Tries a fault, which must lose no write. It is tried again where the machine had no time for it.
fn without_loss(site: &mut Site, fault: Fault) {
    for last in [false, false, true] {
        let load = site.load();
        let name = fault(site, &load);
        load.go_on(100);
        let tally = load.stop();
        row(&name, &tally.to_string());
        if last || tally.is_clean() || !tally.is_in_doubt() {
            return tally.assert_clean();
        }
        row("  even writes without a webhook were slow", "tried again");
    }
}

/// What there is to compare with.
fn nothing(_: &mut Site, load: &Load) -> String {
    load.go_on(500);
    "none".to_owned()
}
