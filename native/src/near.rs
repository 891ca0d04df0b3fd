//! The hint that memory will be read soon.

/// Has the processor bring a place near. Unlike a read, nothing waits for it: the processor goes
/// on with what comes next, so a hundred words can be on their way at a time.
#[inline(always)]
pub fn bring_near<T>(place: &T) {
    // SAFETY: a prefetch changes nothing that a program can see, and faults nowhere; the place is
    // one that may be read. Elsewhere than on x86-64 the standard library has no such call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
