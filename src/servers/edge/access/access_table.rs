//! What the API server said about who may read what.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use roster_engine::model::Resource;
use tokio::time::Instant;

use super::caller::{Caller, CallerDigest};
use crate::runtime::status_error::StatusError;
use crate::servers::edge::{cache::raw_object::ObjectName, clients::target::CachedRead};

/// How long an answer counts.
pub(super) const FRESH: Duration = Duration::from_mins(5);
/// How long a refusal counts: a role that was just bound should not have to wait.
pub(super) const REFUSED: Duration = Duration::from_secs(10);
/// How long a permission counts while the API server is away.
pub(super) const OFFLINE: Duration = Duration::from_hours(24);
/// The most answers. A client of a node has about ten.
const MOST: usize = 4096;
/// The most that are forgotten together: all answers must be looked at for it.
const FORGOTTEN: usize = 64;

/// What a client wants to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AccessQuestion {
    pub(crate) caller: CallerDigest,
    pub(crate) verb: &'static str,
    pub(crate) resource: Resource,
    /// Namespace and name, as far as the request names them.
    pub(crate) object: ObjectName,
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

impl AccessQuestion {
    /// What a caller wants to read.
    pub(crate) fn of(caller: &Caller, read: &CachedRead) -> Result<Self, StatusError> {
        let caller = caller.digest()?;
        Ok(Self { caller, verb: read.verb(), resource: read.resource, object: read.object() })
    }

    /// What is not greater than any question of a caller: no verb is less than the empty one.
    pub(crate) fn first_of(caller: CallerDigest) -> Self {
        Self { caller, verb: "", resource: Resource::Service, object: ObjectName::default() }
    }
}

/// A bounded table of answers. The API server's are the only ones that enter it, so that a client without a valid token
/// cannot fill it.
#[derive(Debug, Default)]
pub(super) struct AccessTable {
    answers: BTreeMap<AccessQuestion, AccessAnswer>,
    /// How many permissions a caller has, if it has some.
    permissions: BTreeMap<CallerDigest, usize>,
}

#[derive(Clone, Copy, Debug)]
struct AccessAnswer {
    is_allowed: bool,
    at: Instant,
    /// How old it was then: answers of a former run are.
    age: Duration,
}

/// An answer in the table.
type AnswerEntry<'a> = (&'a AccessQuestion, &'a AccessAnswer);

impl AccessAnswer {
    fn age(self, now: Instant) -> Duration {
        now.duration_since(self.at).saturating_add(self.age)
    }
}

impl AccessTable {
    pub(super) fn look_up(&self, question: &AccessQuestion, now: Instant) -> KnownAccess {
        let Some(answer) = self.answers.get(question).copied() else {
            return KnownAccess::Unknown { allowed_offline: false };
        };
        let is_allowed = answer.is_allowed;
        match (is_allowed, answer.age(now)) {
            (true, age) if age < FRESH => KnownAccess::Allowed,
            (false, age) if age < REFUSED => KnownAccess::Denied,
            (_, age) => KnownAccess::Unknown { allowed_offline: is_allowed && age < OFFLINE },
        }
    }

    /// For how long what was allowed counts before the API server must be asked again.
    pub(super) fn fresh_for(&self, question: &AccessQuestion, now: Instant) -> Duration {
        let allowed = self.answers.get(question).filter(|answer| answer.is_allowed);
        allowed.map_or(Duration::ZERO, |answer| FRESH.saturating_sub(answer.age(now)))
    }

    /// Whether the API server has allowed anything to a caller.
    pub(crate) fn knows(&self, caller: CallerDigest) -> bool {
        self.permissions.contains_key(&caller)
    }

    /// Remembers an answer. Of too many, the oldest refusals are forgotten; if there are none, the oldest permissions of the
    /// callers that have the most: a client that asks about one name after the other must not take what others need
    /// while the API server is away.
    pub(crate) fn insert(&mut self, question: AccessQuestion, is_allowed: bool, now: Instant) {
        if self.answers.len() >= MOST && !self.answers.contains_key(&question) {
            for forgotten in self.forgettable(now) {
                self.remove(&forgotten);
            }
        }
        self.set(question, AccessAnswer { is_allowed, at: now, age: Duration::ZERO });
    }

    fn set(&mut self, question: AccessQuestion, answer: AccessAnswer) {
        let caller = question.caller;
        let before = self.answers.insert(question, answer);
        self.count(caller, before, Some(answer));
    }

    fn remove(&mut self, question: &AccessQuestion) {
        let before = self.answers.remove(question);
        self.count(question.caller, before, None);
    }

    fn count(&mut self, caller: CallerDigest, before: Option<AccessAnswer>, after: Option<AccessAnswer>) {
        let [before, after] = [before, after].map(|answer| usize::from(answer.is_some_and(|answer| answer.is_allowed)));
        let count = self.permissions.entry(caller).or_default();
        *count = (*count + after).saturating_sub(before);
        if *count == 0 {
            self.permissions.remove(&caller);
        }
    }

    /// What is forgotten first, at least one answer. All answers are looked at, so that of permissions it is always several.
    fn forgettable(&self, now: Instant) -> Vec<AccessQuestion> {
        let refused = self.answers.iter().filter(|(_, answer)| !answer.is_allowed);
        let refused = oldest(refused.collect(), FORGOTTEN, now);
        if !refused.is_empty() {
            return refused.into_iter().map(|(question, _)| question.clone()).collect();
        }
        let level = self.level();
        // Questions are in the order of their callers.
        let all: Vec<_> = self.answers.iter().collect();
        let of_callers = all.chunk_by(|(one, _), (other, _)| one.caller == other.caller);
        let above = of_callers.flat_map(|one| oldest(one.to_vec(), one.len().saturating_sub(level), now));
        oldest(above.collect(), FORGOTTEN, now).into_iter().map(|(question, _)| question.clone()).collect()
    }

    /// How many permissions a caller may keep, so that enough can be forgotten of those that have more.
    fn level(&self) -> usize {
        let above = |level: usize| self.permissions.values().map(|count| count.saturating_sub(level)).sum::<usize>();
        let (mut enough, mut too_high) = (0, MOST);
        while enough + 1 < too_high {
            let level = enough.midpoint(too_high);
            if above(level) >= FORGOTTEN { enough = level } else { too_high = level }
        }
        enough
    }

    /// The permissions that still count while the API server is away, and how old they are.
    pub(crate) fn permissions(&self, now: Instant) -> Vec<(AccessQuestion, Duration)> {
        let answers = self.answers.iter().map(|(question, answer)| (question, answer, answer.age(now)));
        let counting = answers.filter(|(_, answer, age)| answer.is_allowed && *age < OFFLINE);
        counting.map(|(question, _, age)| (question.clone(), age)).collect()
    }

    /// Takes permissions of a former run. They count only while the API server is away.
    pub(crate) fn restore(&mut self, permissions: Vec<(AccessQuestion, Duration)>, now: Instant) {
        for (question, age) in permissions.into_iter().take(MOST) {
            self.set(question, AccessAnswer { is_allowed: true, at: now, age: age.max(FRESH) });
        }
    }

    /// Forgets all about a caller that the API server does not accept any more.
    pub(crate) fn forget(&mut self, caller: CallerDigest) {
        let of_caller = self.answers.range(AccessQuestion::first_of(caller)..).map(|(question, _)| question);
        for question in of_caller.take_while(|question| question.caller == caller).cloned().collect::<Vec<_>>() {
            self.remove(&question);
        }
    }
}

/// The oldest of some answers.
fn oldest(mut answers: Vec<AnswerEntry<'_>>, count: usize, now: Instant) -> Vec<AnswerEntry<'_>> {
    answers.sort_unstable_by_key(|(question, answer)| (Reverse(answer.age(now)), *question));
    answers.truncate(count);
    answers
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::*;

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
            assert!((MOST - FORGOTTEN..=MOST).contains(&table.answers.len()), "{is_allowed}: {}", table.answers.len());
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
        assert_eq!(table.answers.len(), MOST - FORGOTTEN + 1);
        let gone = (0..FORGOTTEN).all(|i| !table.answers.contains_key(&former(i).0));
        assert!(gone && table.look_up(&question("t0", "list"), start) == KnownAccess::Allowed);
    }

    #[test]
    fn of_callers_with_many_permissions_several_are_forgotten_at_once() {
        let (mut table, start) = (AccessTable::default(), Instant::now());
        let named =
            |token, i: usize| AccessQuestion { object: ObjectName::new("n", i.to_string()), ..question(token, "get") };
        table.insert(question("good", "list"), true, start);
        for i in 0..MOST - 1 {
            table.insert(named(["a", "b"][usize::from(i % 1000 == 0 || i % 2 == 0)], i), true, start);
        }
        assert_eq!(table.answers.len(), MOST);
        // One of them has a few more than the other.
        let forgotten = table.forgettable(start);
        assert_eq!(forgotten.len(), FORGOTTEN);
        assert!(!forgotten.contains(&question("good", "list")));
        table.insert(named("a", MOST), true, start);
        assert_eq!(table.answers.len(), MOST - FORGOTTEN + 1);
        let counted = table.answers.keys().fold(BTreeMap::<_, usize>::new(), |mut counts, question| {
            *counts.entry(question.caller).or_default() += 1;
            counts
        });
        assert_eq!(table.permissions, counted);
        for caller in counted.keys() {
            table.forget(*caller);
        }
        assert!(table.answers.is_empty() && table.permissions.is_empty());
    }
}
