//! What this program has written and its watch does not show yet.
//!
//! The program enters what it writes into its copy of the cluster at once: its next plan would repeat the write otherwise.
//! Events and lists that are on their way are older than the copy then, and must not undo it. The resourceVersions of an API
//! server are numbers that rise with every write (KEP-5504). They fall where it was restored from a backup: what is not seen
//! for long is read again.

use std::collections::{BTreeSet, HashMap};

use roster_engine::model::{HashSeed, ObjectMeta, Text};
use tokio::time::Instant;

use super::queue::ServiceKey;

/// The writes to one resource that were not seen yet, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct UnseenWrites {
    writes: HashMap<(Text, Text), UnseenWrite, HashSeed>,
    /// The names of the objects that belong to a Service.
    of_service: HashMap<ServiceKey, BTreeSet<Text>, HashSeed>,
}

#[derive(Debug)]
struct UnseenWrite {
    written: Written,
    service: ServiceKey,
    since: Instant,
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
        let key = (meta.namespace.clone(), meta.name.clone());
        self.remove(&key);
        self.of_service.entry(service.clone()).or_default().insert(meta.name.clone());
        self.writes.insert(key, UnseenWrite { written, service, since: Instant::now() });
    }

    fn remove(&mut self, key: &(Text, Text)) {
        let Some(UnseenWrite { service, .. }) = self.writes.remove(key) else { return };
        let Some(names) = self.of_service.get_mut(&service) else { return };
        names.remove(&key.1);
        if names.is_empty() {
            self.of_service.remove(&service);
        }
    }

    /// The Services of writes that were made before `since` and not seen yet.
    pub(super) fn overdue(&self, since: Instant) -> Vec<ServiceKey> {
        let mut overdue: Vec<ServiceKey> =
            self.writes.values().filter(|write| write.since < since).map(|write| write.service.clone()).collect();
        overdue.sort_unstable();
        overdue
    }

    /// Namespaces and names of the objects that were written, and not deleted.
    pub(super) fn written(&self) -> Vec<(Text, Text)> {
        let written = self.writes.iter().filter(|(_, write)| matches!(write.written, Written::Version(_)));
        let mut written: Vec<(Text, Text)> = written.map(|(key, _)| key.clone()).collect();
        written.sort_unstable();
        written
    }

    /// The objects of a Service were read from the API server: nothing of it is unseen any more. Returns the names of those
    /// that were.
    pub(super) fn read(&mut self, service: &ServiceKey) -> BTreeSet<Text> {
        let names = self.of_service.remove(service).unwrap_or_default();
        for name in &names {
            self.writes.remove(&(service.namespace.clone(), name.clone()));
        }
        names
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
            self.remove(&key);
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
                self.remove(&key);
                true
            }
            None => true,
        }
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
        assert!(unseen.writes.is_empty() && unseen.of_service.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_seen_for_long_is_doubted() {
        let mut unseen = UnseenWrites::default();
        unseen.wrote(&meta("u", "7"), service());
        let now = Instant::now();
        assert_eq!(unseen.overdue(now), []);
        assert_eq!(unseen.overdue(now + std::time::Duration::from_secs(1)), [service()]);
        assert!(!unseen.is_news(&meta("u", "6")));
        assert_eq!(unseen.written(), [("shop".into(), "web".into())]);
        assert_eq!(unseen.read(&service()), BTreeSet::from(["web".into()]));
        assert!(unseen.read(&service()).is_empty() && unseen.of_service.is_empty());
        assert!(unseen.is_news(&meta("u", "6")), "the API server was restored from a backup");
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
