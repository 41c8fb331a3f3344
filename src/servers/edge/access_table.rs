//! What the API server said about who may read what.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::{caller::CallerDigest, raw_object::ObjectName};
use crate::model::Resource;

/// How long an answer counts.
const FRESH: Duration = Duration::from_mins(5);
/// How long a refusal counts: a role that was just bound should not have to wait.
const REFUSED: Duration = Duration::from_secs(10);
/// How long a permission counts while the API server is away.
const OFFLINE: Duration = Duration::from_hours(24);
/// The most answers. A client of a node has about ten.
const MOST: usize = 4096;
/// The most that are forgotten together: all answers must be looked at for it.
const FORGOTTEN: usize = 64;

/// What a client wants to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccessQuestion {
    pub(super) caller: CallerDigest,
    pub(super) verb: &'static str,
    pub(super) resource: Resource,
    /// Namespace and name, as far as the request names them.
    pub(super) object: ObjectName,
}

/// What is known of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownAccess {
    Allowed,
    Denied,
    /// The API server must be asked; what to do if it is away.
    Unknown {
        allowed_offline: bool,
    },
}

/// A bounded table of answers. The API server's are the only ones that enter it, so that a client without a valid token
/// cannot fill it.
#[derive(Debug, Default)]
pub(super) struct AccessTable(BTreeMap<AccessQuestion, AccessAnswer>);

#[derive(Clone, Copy, Debug)]
struct AccessAnswer {
    is_allowed: bool,
    at: Instant,
    /// How old it was then: answers of a former run are.
    age: Duration,
}

impl AccessAnswer {
    fn age(self, now: Instant) -> Duration {
        now.duration_since(self.at).saturating_add(self.age)
    }
}

impl AccessTable {
    pub(super) fn look_up(&self, question: &AccessQuestion, now: Instant) -> KnownAccess {
        let Some(answer) = self.0.get(question).copied() else {
            return KnownAccess::Unknown { allowed_offline: false };
        };
        let is_allowed = answer.is_allowed;
        match (is_allowed, answer.age(now)) {
            (true, age) if age < FRESH => KnownAccess::Allowed,
            (false, age) if age < REFUSED => KnownAccess::Denied,
            (_, age) => KnownAccess::Unknown { allowed_offline: is_allowed && age < OFFLINE },
        }
    }

    /// Whether the API server has allowed anything to a caller.
    pub(super) fn knows(&self, caller: CallerDigest) -> bool {
        let object = ObjectName::default();
        // No verb is less than the empty one.
        let first = AccessQuestion { caller, verb: "", resource: Resource::Service, object };
        let mut of_caller = self.0.range(first..).take_while(|(question, _)| question.caller == caller);
        of_caller.any(|(_, answer)| answer.is_allowed)
    }

    /// Remembers an answer. Of too many, the oldest refusals are forgotten; if there are none, the oldest permissions of the
    /// caller that has the most: a client that asks about one name after the other must not take what others need
    /// while the API server is away.
    pub(super) fn insert(&mut self, question: AccessQuestion, is_allowed: bool, now: Instant) {
        if self.0.len() >= MOST && !self.0.contains_key(&question) {
            for forgotten in self.forgettable(now) {
                self.0.remove(&forgotten);
            }
        }
        self.0.insert(question, AccessAnswer { is_allowed, at: now, age: Duration::ZERO });
    }

    /// What is forgotten first, at least one answer.
    fn forgettable(&self, now: Instant) -> Vec<AccessQuestion> {
        let refused = self.oldest(FORGOTTEN, now, |_, answer| !answer.is_allowed);
        if !refused.is_empty() {
            return refused;
        }
        // Questions are in the order of their callers.
        let callers: Vec<CallerDigest> = self.0.keys().map(|question| question.caller).collect();
        let mut of_caller: Vec<&[CallerDigest]> = callers.chunk_by(PartialEq::eq).collect();
        let most = of_caller.iter().map(|one| one.len()).max().unwrap_or_default();
        let next = of_caller.iter().map(|one| one.len()).filter(|count| *count < most).max().unwrap_or_default();
        of_caller.retain(|one| one.len() == most);
        // One caller loses some until another one has as many.
        let count = if of_caller.len() == 1 { (most - next).min(FORGOTTEN) } else { FORGOTTEN };
        let is_of_one =
            |caller: &CallerDigest| of_caller.binary_search_by(|one| one.first().cmp(&Some(caller))).is_ok();
        self.oldest(count, now, |question, _| is_of_one(&question.caller))
    }

    /// The oldest of some answers.
    fn oldest(
        &self,
        count: usize,
        now: Instant,
        of: impl Fn(&AccessQuestion, &AccessAnswer) -> bool,
    ) -> Vec<AccessQuestion> {
        let mut all: Vec<_> = self.0.iter().filter(|(question, answer)| of(question, answer)).collect();
        all.sort_unstable_by_key(|(question, answer)| (Reverse(answer.age(now)), *question));
        all.into_iter().take(count).map(|(question, _)| question.clone()).collect()
    }

    /// The permissions that still count while the API server is away, and how old they are.
    pub(super) fn permissions(&self, now: Instant) -> Vec<(AccessQuestion, Duration)> {
        let answers = self.0.iter().map(|(question, answer)| (question, answer, answer.age(now)));
        let counting = answers.filter(|(_, answer, age)| answer.is_allowed && *age < OFFLINE);
        counting.map(|(question, _, age)| (question.clone(), age)).collect()
    }

    /// Takes permissions of a former run. They count only while the API server is away.
    pub(super) fn restore(&mut self, permissions: Vec<(AccessQuestion, Duration)>, now: Instant) {
        for (question, age) in permissions.into_iter().take(MOST) {
            self.0.insert(question, AccessAnswer { is_allowed: true, at: now, age: age.max(FRESH) });
        }
    }

    /// Forgets all about a caller that the API server does not accept any more.
    pub(super) fn forget(&mut self, caller: CallerDigest) {
        self.0.retain(|question, _| question.caller != caller);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::*;
    use crate::servers::edge::caller::Caller;

    fn question(token: &str, verb: &'static str) -> AccessQuestion {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        let caller = Caller::of(&headers, None).unwrap().digest().unwrap();
        AccessQuestion { caller, verb, resource: Resource::Service, object: ObjectName::default() }
    }

    #[test]
    fn answers_count_for_a_while_and_permissions_longer_while_offline() {
        let unknown = |allowed_offline| KnownAccess::Unknown { allowed_offline };
        let start = Instant::now();
        for (is_allowed, seconds, want) in [
            (true, 0, KnownAccess::Allowed),
            (true, 299, KnownAccess::Allowed),
            (true, 300, unknown(true)),
            (true, 86_399, unknown(true)),
            (true, 86_400, unknown(false)),
            (false, 9, KnownAccess::Denied),
            (false, 10, unknown(false)),
        ] {
            let mut table = AccessTable::default();
            table.insert(question("a", "list"), is_allowed, start);
            table.insert(question("a", "watch"), false, start);
            assert_eq!(
                (table.knows(question("a", "get").caller), table.knows(question("b", "get").caller)),
                (is_allowed, false)
            );
            let now = start + Duration::from_secs(seconds);
            assert_eq!(table.look_up(&question("a", "list"), now), want, "{is_allowed} after {seconds} s");
            assert_eq!(table.look_up(&question("a", "get"), now), unknown(false));
            assert_eq!(table.look_up(&question("b", "list"), now), unknown(false));
            table.forget(question("a", "get").caller);
            assert_eq!(table.look_up(&question("a", "list"), now), unknown(false));
        }
    }

    #[test]
    fn a_client_with_many_questions_does_not_take_the_permissions_of_others() {
        for is_allowed in [false, true] {
            let (mut table, start) = (AccessTable::default(), Instant::now());
            table.insert(question("good", "list"), true, start);
            for i in 0..2 * MOST {
                let object = ObjectName::new("shop", format!("web-{i}"));
                let greedy = AccessQuestion { object, ..question("greedy", "get") };
                table.insert(greedy, is_allowed, start + Duration::from_millis(1));
            }
            assert!((MOST - FORGOTTEN..=MOST).contains(&table.0.len()), "{is_allowed}: {}", table.0.len());
            assert_eq!(table.look_up(&question("good", "list"), start), KnownAccess::Allowed, "{is_allowed}");
        }
    }

    #[test]
    fn the_table_is_bounded() {
        let (mut table, start) = (AccessTable::default(), Instant::now());
        // Those of a former run are older than they look.
        let former = |i: usize| (question(&format!("f{i}"), "list"), FRESH + Duration::from_secs(i as u64));
        table.restore((0..FORGOTTEN).map(former).collect(), start);
        for i in 0..=MOST - FORGOTTEN {
            let at = start + Duration::from_millis(i as u64);
            table.insert(question(&format!("t{i}"), "list"), true, at);
        }
        assert_eq!(table.0.len(), MOST - FORGOTTEN + 1);
        let gone = (0..FORGOTTEN).all(|i| !table.0.contains_key(&former(i).0));
        assert!(gone && table.look_up(&question("t0", "list"), start) == KnownAccess::Allowed);
    }
}
