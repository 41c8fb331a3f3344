//! Long work on a thread of the runtime that cannot leave it: a watch changes what it feeds in order.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Does long work on a thread of the runtime: the tasks that wait for the thread go on with another one.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let can_move = Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread);
    if can_move { block_in_place(work) } else { work() }
}

/// Locks what another thread may hold for long: meanwhile, the tasks that wait for this thread go on with another one. What a
/// panic left is taken as it is.
pub(crate) fn lock_aside<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => aside(|| mutex.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn work_is_done_on_any_thread() {
        for (name, builder) in [("one thread", Builder::new_current_thread()), ("several", Builder::new_multi_thread())]
        {
            let (mut builder, mutex) = (builder, Mutex::new(1));
            let done = builder.build().unwrap().block_on(async { aside(|| aside(|| *lock_aside(&mutex))) });
            assert_eq!(done, 1, "{name}");
        }
        assert_eq!(aside(|| 2), 2, "without a runtime");
    }

    #[test]
    fn others_go_on_while_a_task_waits_for_a_lock() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (mutex, (began, begins)) = (std::sync::Arc::new(Mutex::new(1)), mpsc::channel());
        let guard = mutex.lock().unwrap();
        let waiting = runtime.spawn({
            let mutex = mutex.clone();
            async move {
                began.send(()).unwrap();
                *lock_aside(&mutex)
            }
        });
        begins.recv().unwrap();
        let other = runtime.spawn(async { 2 });
        assert_eq!(runtime.block_on(other).unwrap(), 2);
        drop(guard);
        assert_eq!(runtime.block_on(waiting).unwrap(), 1);
    }
}
