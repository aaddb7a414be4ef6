//! The clock of the code: it shows what the call says and moves a microsecond a reading.
//!
//! Moving at all lets a loop that waits for time end some day; moving by readings keeps equal
//! calls equal. In native tests the engine reads the machine's clock instead.

use std::sync::atomic::{AtomicU64, Ordering};

/// 2025-01-01T00:00:00Z in milliseconds, where a call says nothing.
const DEFAULT_MS: u64 = 1_735_689_600_000;

/// Microseconds since 1970.
static NOW: AtomicU64 = AtomicU64::new(DEFAULT_MS * 1_000);

/// Sets the clock at the beginning of a call.
pub(crate) fn set(clock_ms: Option<u64>) {
    let us = clock_ms.unwrap_or(DEFAULT_MS).saturating_mul(1_000);
    NOW.store(us, Ordering::Relaxed);
}

/// The clock in milliseconds, without moving it.
pub(crate) fn now_ms() -> f64 {
    NOW.load(Ordering::Relaxed) as f64 / 1_000.0
}

/// Moves the clock to a time in milliseconds, when nothing is left to do before it.
pub(crate) fn advance(to_ms: f64) {
    NOW.fetch_max((to_ms * 1_000.0) as u64, Ordering::Relaxed);
}

/// What the engine's C code asks for: microseconds since 1970. Defined here, since the linker
/// would make an import of it otherwise.
#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "the engine's shim looks for this symbol")]
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    NOW.fetch_add(1, Ordering::Relaxed) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_shows_what_the_call_says() {
        set(Some(5));
        assert_eq!(NOW.load(Ordering::Relaxed), 5_000);
        set(None);
        assert_eq!(NOW.load(Ordering::Relaxed), DEFAULT_MS * 1_000);
        advance(1.0);
        assert!((now_ms() - DEFAULT_MS as f64).abs() < 1.0, "never back");
        advance(DEFAULT_MS as f64 + 20.0);
        assert_eq!(NOW.load(Ordering::Relaxed), (DEFAULT_MS + 20) * 1_000);
        set(Some(u64::MAX));
        assert_eq!(NOW.load(Ordering::Relaxed), u64::MAX);
    }
}
