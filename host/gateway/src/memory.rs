//! What was answered before, or is just being answered: recordings, the cache, and equal requests
//! at once. Knows neither lanes nor budgets: what is remembered costs nothing.

pub(crate) mod cache;
pub(crate) mod cassette;
pub(crate) mod remembered;
pub(crate) mod shared;
