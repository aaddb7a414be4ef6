//! What lives on the heap, so that a test can hold a bound to it: the same on every machine.
//!
//! Counted is what an allocator gives, not what is asked of it: a text of one byte takes 32.
//!
//! A program that measures makes [`Counting`] its allocator. The counters are the process's, so
//! nothing else runs while something is measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What glibc's allocator takes for so many bytes: its own eight beside them, in steps of 16, and 32
/// at least; whole pages for what is large.
const fn given(size: usize) -> usize {
    const LARGE: usize = 128 << 10;
    let given = (size + 8).next_multiple_of(if size < LARGE { 16 } else { 4096 });
    if given < 32 { 32 } else { given }
}

/// The system's allocator, with the sum of what lives.
#[derive(Debug)]
pub struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The most that lived at once during `work`, beside what lived before it. Within itself, too.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    let outer = PEAK.swap(before, Ordering::Relaxed);
    let result = work();
    let peak = PEAK.fetch_max(outer, Ordering::Relaxed);
    (result, peak.saturating_sub(before))
}

fn count(size: usize) {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "counts and hands everything on as it is")]
// SAFETY: every call is the system's allocator's, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(given(layout.size()));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(given(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied to the other.
        count(given(size));
        LIVE.fetch_sub(given(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}
