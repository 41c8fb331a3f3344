//! What this program has written and its watch does not show yet.
//!
//! The program enters what it writes into its copy of the cluster at once. Its next plan would repeat the write otherwise. Events that are on their way
//! are older than the copy then, and must not undo it. The resourceVersions of an API server are numbers that rise with
//! every write (KEP-5504).

use std::collections::HashMap;

use roster_engine::model::{HashSeed, ObjectMeta, Text};
use tokio::time::Instant;

use super::queue::ServiceKey;

/// The writes to one resource that were not seen yet, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct UnseenWrites {
    writes: HashMap<(Text, Text), UnseenWrite, HashSeed>,
    /// How many lists have begun.
    lists: u64,
}

#[derive(Debug)]
struct UnseenWrite {
    written: Written,
    service: ServiceKey,
    since: Instant,
    /// The number of the last list that had begun.
    list: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Written {
    /// This version.
    Version(Text),
    /// The object of this uid was deleted.
    Deleted(Text),
}

impl UnseenWrites {
    /// An object of a Service was written, as it is stored now.
    pub(super) fn wrote(&mut self, meta: &ObjectMeta, service: ServiceKey) {
        self.note(meta, service, Written::Version(meta.resource_version.clone()));
    }

    /// An object of a Service was deleted.
    pub(super) fn deleted(&mut self, meta: &ObjectMeta, service: ServiceKey) {
        self.note(meta, service, Written::Deleted(meta.uid.clone()));
    }

    fn note(&mut self, meta: &ObjectMeta, service: ServiceKey, written: Written) {
        let write = UnseenWrite { written, service, since: Instant::now(), list: self.lists };
        self.writes.insert((meta.namespace.clone(), meta.name.clone()), write);
    }

    /// The Services of writes that were made before `since` and not seen yet. They are forgotten.
    pub(super) fn overdue(&mut self, since: Instant) -> Vec<ServiceKey> {
        let overdue = self.writes.extract_if(|_, write| write.since < since);
        overdue.map(|(_, write)| write.service).collect()
    }

    /// Whether an object that the watch shows is newer than what was written, so that it counts.
    pub(super) fn is_news(&mut self, meta: &ObjectMeta) -> bool {
        let key = (meta.namespace.clone(), meta.name.clone());
        let Some(write) = self.writes.get(&key) else { return true };
        let is_news = match &write.written {
            Written::Version(version) => is_reached(version, &meta.resource_version),
            Written::Deleted(uid) => *uid != meta.uid,
        };
        if is_news {
            self.writes.remove(&key);
        }
        is_news
    }

    /// Whether a deletion that the watch shows counts: it comes after what was written.
    pub(super) fn is_news_of_deletion(&mut self, namespace: &str, name: &str) -> bool {
        let key = (namespace.into(), name.into());
        match self.writes.get(&key).map(|write| &write.written) {
            // The events of an object come in order, and that of the write is still to come.
            Some(Written::Version(_)) => false,
            Some(Written::Deleted(_)) => {
                self.writes.remove(&key);
                true
            }
            None => true,
        }
    }

    /// A list of all objects begins.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
    }

    /// The list is complete: what was written before it began is in it. An API server that was restored from a backup gives
    /// older versions again, which must count then.
    pub(super) fn end_list(&mut self) {
        self.writes.retain(|_, write| write.list >= self.lists);
    }
}

/// Whether a version is the wanted one, or a later one.
pub(super) fn is_reached(wanted: &str, version: &str) -> bool {
    match (wanted.parse::<u64>(), version.parse::<u64>()) {
        (Ok(wanted), Ok(version)) => version >= wanted,
        _ => wanted == version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> ServiceKey {
        ServiceKey { namespace: "shop".into(), name: "web".into() }
    }

    fn meta(uid: &str, version: &str) -> ObjectMeta {
        let (namespace, name) = ("shop".into(), "web".into());
        ObjectMeta { namespace, name, uid: uid.into(), resource_version: version.into(), ..ObjectMeta::default() }
    }

    #[test]
    fn events_that_were_on_their_way_do_not_undo_a_write() {
        let mut unseen = UnseenWrites::default();
        assert!(unseen.is_news(&meta("u", "5")) && unseen.is_news_of_deletion("shop", "web"));
        unseen.wrote(&meta("u", "7"), service());
        assert!(!unseen.is_news(&meta("u", "6")));
        assert!(!unseen.is_news_of_deletion("shop", "web"), "of an object of this name before");
        assert!(unseen.is_news(&meta("u", "7")));
        assert!(unseen.is_news(&meta("u", "8")) && unseen.is_news_of_deletion("shop", "web"));
        unseen.wrote(&meta("u", "9"), service());
        assert!(unseen.is_news(&meta("u", "12")), "someone else was quick");
        assert!(unseen.writes.is_empty());
    }

    #[test]
    fn a_deleted_object_does_not_come_back() {
        let mut unseen = UnseenWrites::default();
        unseen.deleted(&meta("u", "7"), service());
        assert!(!unseen.is_news(&meta("u", "6")));
        assert!(unseen.is_news_of_deletion("shop", "web"));
        unseen.deleted(&meta("u", "7"), service());
        assert!(unseen.is_news(&meta("v", "9")), "another one of its name");
        assert!(unseen.writes.is_empty());
    }

    #[test]
    fn a_list_that_began_after_a_write_has_it() {
        let mut unseen = UnseenWrites::default();
        unseen.wrote(&meta("u", "90"), service());
        unseen.begin_list();
        unseen.end_list();
        assert!(unseen.is_news(&meta("u", "40")), "the API server was restored from a backup");
        unseen.begin_list();
        unseen.wrote(&meta("u", "90"), service());
        assert!(!unseen.is_news(&meta("u", "89")));
        unseen.end_list();
        assert!(!unseen.is_news(&meta("u", "89")) && unseen.is_news(&meta("u", "90")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_seen_for_long_is_doubted() {
        let mut unseen = UnseenWrites::default();
        unseen.wrote(&meta("u", "7"), service());
        let now = Instant::now();
        assert_eq!(unseen.overdue(now), []);
        assert_eq!(unseen.overdue(now + std::time::Duration::from_secs(1)), [service()]);
        assert!(unseen.is_news(&meta("u", "6")));
    }

    #[test]
    fn versions_are_numbers_or_only_equal() {
        for (wanted, version, want) in
            [("9", "10", true), ("10", "9", false), ("9", "9", true), ("a9", "a10", false), ("a9", "a9", true)]
        {
            assert_eq!(is_reached(wanted, version), want, "{wanted} {version}");
        }
    }
}
