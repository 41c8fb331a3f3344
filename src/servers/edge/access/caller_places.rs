//! The places of callers: those of watches, of upgraded connections, and of work for which callers wait in turn.

use std::time::Duration;

use tokio::time::timeout;

use super::caller::CallerDigest;
use crate::runtime::places::{Place, PlaceShare, Places};
use crate::servers::edge::options::EdgeOptions;

/// The most watches, and those of one caller: all clients of a node may share a token.
const WATCHES: (usize, PlaceShare) = (1024, PlaceShare::AtMost(256));
/// Each may have a connection, which is never taken from it while it waits for events: others must find one as well.
const _: () = assert!(2 * WATCHES.0 <= EdgeOptions::MAX_CONNECTIONS);
/// The most connections that are upgraded at once: `kubectl exec`, `attach` and `port-forward`.
const UPGRADES: (usize, PlaceShare) = (256, PlaceShare::AtMost(64));
/// The longest wait for a turn.
pub(super) const WAIT: Duration = Duration::from_secs(3);

/// The places of watches, by caller.
pub(crate) fn of_watches() -> Places {
    let (total, share) = WATCHES;
    Places::new(total, 0, share)
}

/// The places of upgraded connections, by caller. All callers without a digest are one.
pub(crate) fn of_upgrades() -> Places {
    let (total, share) = UPGRADES;
    Places::new(total, 0, share)
}

/// Places for which callers wait. One that wants many of them delays another by what is in progress, and not by what waits.
pub(crate) fn in_turns(total: usize, capacity: usize) -> Places {
    Places::new(total, capacity, PlaceShare::AsManyAsFree)
}

/// Waits for a place. `None`: too many wait, and this caller for the most; or it took too long.
pub(crate) async fn wait(places: &Places, caller: CallerDigest) -> Option<Place> {
    timeout(WAIT, places.wait(caller, (), 1)).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_leaves_places_to_others() {
        let callers = ["a", "b", "c", "d", "e"].map(|name| CallerDigest::from_hex(&format!("{name}0").repeat(32)));
        for (places, total, of_caller) in [(of_watches(), 1024, 256), (of_upgrades(), 256, 64)] {
            let mut held: Vec<Place> = Vec::new();
            for caller in [None].into_iter().chain(callers) {
                held.extend((0..2 * of_caller).map_while(|_| places.take(caller, ())));
                assert_eq!(held.len() % of_caller, 0, "{caller:?}");
            }
            assert_eq!((held.len(), places.held()), (total, total));
            held.remove(0);
            assert!(places.take(callers[4], ()).is_some());
            drop(held);
            assert_eq!(places.held(), 0);
        }
    }
}
