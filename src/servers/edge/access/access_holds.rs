//! What lasts as long as no refusal is seen: reviews on their way, and open watches.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::oneshot;

use super::{access_table::AccessQuestion, caller::CallerDigest};

/// The holds that no refusal has ended. A clone has the same ones. There are as many as open watches and reviews on their way,
/// both of which are limited.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessHolds(Arc<Mutex<HeldQuestions>>);

/// A question and a number.
type HoldKey = (AccessQuestion, u64);

#[derive(Debug, Default)]
struct HeldQuestions {
    next: u64,
    held: BTreeMap<HoldKey, HoldEnd>,
}

/// What ends a hold when it is dropped.
#[derive(Debug)]
struct HoldEnd {
    is_ended: Arc<AtomicBool>,
    #[expect(dead_code, reason = "held, never read")]
    wakes: oneshot::Sender<Infallible>,
}

/// A hold, until it is dropped.
#[derive(Debug)]
pub(crate) struct AccessHold {
    holds: AccessHolds,
    key: HoldKey,
    is_ended: Arc<AtomicBool>,
    ended: oneshot::Receiver<Infallible>,
}

impl AccessHolds {
    /// A hold of a question, from now on.
    pub(crate) fn hold(&self, question: AccessQuestion) -> AccessHold {
        let (wakes, ended) = oneshot::channel();
        let is_ended = Arc::<AtomicBool>::default();
        let end = HoldEnd { is_ended: is_ended.clone(), wakes };
        let key = self.change(|holds| {
            holds.next += 1;
            let key = (question, holds.next);
            holds.held.insert(key.clone(), end);
            key
        });
        AccessHold { holds: self.clone(), key, is_ended, ended }
    }

    /// Ends those of a question.
    pub(crate) fn end(&self, question: &AccessQuestion) {
        self.end_while(question.clone(), |held| held == question);
    }

    /// Ends those of a caller.
    pub(crate) fn end_all(&self, caller: CallerDigest) {
        self.end_while(AccessQuestion::first_of(caller), |held| held.caller == caller);
    }

    fn end_while(&self, first: AccessQuestion, is_ended: impl Fn(&AccessQuestion) -> bool) {
        self.change(|holds| {
            let ended = holds.held.range((first, 0)..).map(|(key, _)| key).take_while(|(held, _)| is_ended(held));
            for key in ended.cloned().collect::<Vec<_>>() {
                holds.held.remove(&key);
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut HeldQuestions) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for HoldEnd {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Release);
    }
}

impl AccessHold {
    pub(crate) fn question(&self) -> &AccessQuestion {
        &self.key.0
    }

    /// Whether it was ended. Each event of a watch asks: it takes no lock.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Waits until it is ended.
    pub(crate) async fn ended(&mut self) {
        if !self.is_ended() {
            let _ = (&mut self.ended).await;
        }
    }

    /// What ends it.
    pub(super) fn ending(&self) -> impl FnOnce() + Send + use<> {
        let (holds, key) = (self.holds.clone(), self.key.clone());
        move || {
            holds.change(|holds| holds.held.remove(&key));
        }
    }
}

impl Drop for AccessHold {
    fn drop(&mut self) {
        self.holds.change(|holds| holds.held.remove(&self.key));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use roster_engine::model::Resource;

    use super::*;
    use crate::servers::edge::cache::raw_object::ObjectName;

    #[test]
    fn a_refusal_ends_what_it_is_about() {
        let question = |caller: char, name: &str| AccessQuestion {
            caller: CallerDigest::from_hex(&caller.to_string().repeat(64)).unwrap(),
            verb: "get",
            resource: Resource::Service,
            object: ObjectName::new("shop", name),
        };
        let holds = AccessHolds::default();
        let [a, b] = ['a', 'b'].map(|caller| question(caller, "web"));
        let mut all: Vec<_> = [&a, &a, &question('a', "api"), &b].map(|of| holds.hold(of.clone())).into();
        let ended = |all: &mut Vec<AccessHold>| -> Vec<(bool, bool)> {
            all.iter_mut().map(|hold| (hold.is_ended(), hold.ended().now_or_never().is_some())).collect()
        };
        let (no, yes) = ((false, false), (true, true));
        assert_eq!(ended(&mut all), [no, no, no, no]);
        holds.end(&a);
        assert_eq!(ended(&mut all), [yes, yes, no, no]);
        holds.end_all(a.caller);
        assert_eq!(ended(&mut all), [yes, yes, yes, no]);
        let end = all[3].ending();
        end();
        assert_eq!(ended(&mut all), [yes, yes, yes, yes]);
        drop((all, holds.hold(b)));
        assert_eq!(holds.change(|holds| holds.held.len()), 0);
    }
}
