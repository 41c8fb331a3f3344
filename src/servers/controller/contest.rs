//! Services over which another program disagrees: it changes what this controller has written, again and again.
//!
//! Two writers that each put right what the other one wrote would go on as fast as they can. Here, one of them pauses.

use std::{collections::HashMap, time::Duration};

use roster_engine::model::HashSeed;
use tokio::time::Instant;

use super::queue::ServiceKey;

/// A change so soon after a write is an answer to it.
const ANSWER: Duration = Duration::from_mins(1);
/// This many answers in a row are a contest.
const ANSWERS: u32 = 2;
/// How long the controller leaves the Service alone then.
const PAUSE: Duration = Duration::from_mins(5);

/// The Services that were written lately.
#[derive(Debug, Default)]
pub(super) struct Contest(HashMap<ServiceKey, ContestedService, HashSeed>);

#[derive(Debug)]
struct ContestedService {
    written: Instant,
    /// How many answers there were, and when the first of them was.
    answers: u32,
    first_answer: Instant,
    paused_until: Option<Instant>,
}

impl Contest {
    /// The controller has written an object of the Service.
    pub(super) fn wrote(&mut self, key: &ServiceKey, now: Instant) {
        if let Some(service) = self.0.get_mut(key) {
            service.written = now;
        } else {
            let service = ContestedService { written: now, answers: 0, first_answer: now, paused_until: None };
            self.0.insert(key.clone(), service);
        }
    }

    /// Another program has changed an object that the controller wrote. Until when the Service is to be left alone, if so.
    pub(super) fn overwritten(&mut self, key: &ServiceKey, now: Instant) -> Option<Instant> {
        let service = self.0.get_mut(key).filter(|service| now.duration_since(service.written) < ANSWER)?;
        if now.duration_since(service.first_answer) >= ANSWER {
            service.answers = 0;
        }
        if service.answers == 0 {
            service.first_answer = now;
        }
        service.answers += 1;
        if service.answers < ANSWERS {
            return None;
        }
        service.answers = 0;
        service.paused_until = Some(now + PAUSE);
        service.paused_until
    }

    /// Whether the Service is left alone.
    pub(super) fn is_paused(&self, key: &ServiceKey, now: Instant) -> bool {
        self.0.get(key).is_some_and(|service| service.is_paused(now))
    }

    /// How many Services are left alone.
    pub(super) fn paused(&self, now: Instant) -> usize {
        self.0.values().filter(|service| service.is_paused(now)).count()
    }

    /// Another replica writes from now on.
    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }

    /// Forgets what does not count any more.
    pub(super) fn sweep(&mut self, now: Instant) {
        self.0.retain(|_, service| now.duration_since(service.written) < ANSWER || service.is_paused(now));
    }
}

impl ContestedService {
    fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_answers_in_a_row_are_a_contest() {
        let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
        let (mut contest, start) = (Contest::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(contest.overwritten(&key, at(0)), None, "it has written nothing");
        contest.wrote(&key, at(0));
        assert_eq!(contest.overwritten(&key, at(100)), None, "that is long ago");
        contest.wrote(&key, at(101));
        assert_eq!(contest.overwritten(&key, at(102)), None);
        contest.wrote(&key, at(170));
        assert_eq!(contest.overwritten(&key, at(171)), None, "the one before was long ago");
        contest.wrote(&key, at(173));
        assert_eq!(contest.overwritten(&key, at(174)), Some(at(474)));
        for (seconds, paused) in [(173, true), (473, true), (474, false)] {
            let now = at(seconds);
            assert_eq!((contest.is_paused(&key, now), contest.paused(now)), (paused, usize::from(paused)), "{seconds}");
        }
        contest.sweep(at(300));
        assert_eq!(contest.0.len(), 1);
        contest.wrote(&key, at(474));
        assert_eq!(contest.overwritten(&key, at(475)), None, "it has another try");
        contest.sweep(at(1000));
        assert!(contest.0.is_empty());
    }
}
