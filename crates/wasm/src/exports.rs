//! The functions that a host calls, and the two buffers between host and module.
#![expect(
    unsafe_code,
    reason = "`no_mangle` gives an export its name. The attribute is unsafe because a name can clash with another one; \
              these begin with roster_, and the module has nothing else with a name. No code here is in an unsafe block"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::envelope;

/// The most bytes of a request: the longest body, and its head.
const LONGEST: usize = (64 << 20) + (64 << 10);

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The module has one thread, and no panic leaves a lock behind: a panic ends the instance.
fn lock(buffer: &'static Mutex<Vec<u8>>) -> MutexGuard<'static, Vec<u8>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of `length` bytes, and returns its address; 0 if it is too long, or if memory is short.
#[unsafe(no_mangle)]
extern "C" fn roster_allocate(length: u32) -> u32 {
    let length = length as usize;
    let mut request = lock(&REQUEST);
    *request = Vec::new();
    if length > LONGEST || request.try_reserve_exact(length).is_err() {
        return 0;
    }
    request.resize(length, 0);
    address(&mut request)
}

/// Answers the request, and returns the address and the length of the answer: `address << 32 | length`. The answer stays until
/// the next call.
#[unsafe(no_mangle)]
extern "C" fn roster_call() -> u64 {
    let request = std::mem::take(&mut *lock(&REQUEST));
    let mut answer = lock(&ANSWER);
    // The memory of the previous answer is free for the computation.
    *answer = Vec::new();
    *answer = envelope::answer(&request);
    u64::from(address(&mut answer)) << 32 | answer.len() as u64
}

/// Frees the answer.
#[unsafe(no_mangle)]
extern "C" fn roster_free() {
    *lock(&ANSWER) = Vec::new();
}

/// Where the host finds the bytes. Only tests run on machines with longer addresses.
fn address(bytes: &mut Vec<u8>) -> u32 {
    u32::try_from(bytes.as_mut_ptr().expose_provenance()).unwrap_or_default()
}
