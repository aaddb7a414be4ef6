//! Texts that were compiled once and are filled in for many cases.
//!
//! The texts of a config are the same in every case, those of data may be others in each. So a text
//! is compiled when a case needs it and kept while there is room: what the config says is met first,
//! and data can't make it grow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of texts that are kept; as templates they take up to 80 times that.
const MAX_KEPT: usize = 256 << 10;

/// What texts were compiled to.
#[derive(Debug)]
pub(crate) struct CompiledCache<T>(Mutex<Compiled<T>>);

#[derive(Debug)]
struct Compiled<T> {
    by_text: HashMap<Box<str>, Arc<T>>,
    bytes: usize,
}

impl<T> Default for CompiledCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Compiled {
            by_text: HashMap::new(),
            bytes: 0,
        }))
    }
}

impl<T> CompiledCache<T> {
    /// What `text` was compiled to, or is now.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        compile: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().by_text.get(text) {
            return Ok(known.clone());
        }
        // Without the lock: others need not wait for a large text.
        let made = Arc::new(compile()?);
        let mut held = lock();
        if held.bytes + text.len() <= MAX_KEPT {
            held.bytes += text.len();
            held.by_text.insert(text.into(), made.clone());
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of these texts is compiled, in this order.
    fn compiled(texts: &[&str]) -> usize {
        let (kept, mut count) = (CompiledCache::default(), 0);
        let of = |text: &str| (!text.is_empty()).then_some(text.len()).ok_or(());
        for text in texts {
            let got = kept.get(text, || {
                count += 1;
                of(text)
            });
            assert_eq!(got.map(|it| *it), of(text));
        }
        count
    }

    #[test]
    fn a_text_is_compiled_once_unless_it_is_none_or_there_is_no_room() {
        assert_eq!(compiled(&["a", "b", "a", "b", "a"]), 2);
        assert_eq!(compiled(&["", "", "a"]), 3);
        let large = "x".repeat(MAX_KEPT);
        assert_eq!(compiled(&["a", &large, &large, "a"]), 3);
        assert_eq!(compiled(&[&large, "a", "a", &large]), 3);
    }
}
