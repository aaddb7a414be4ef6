//! When a request may go: budgets, which refuse, and lanes, which make wait. Knows neither the
//! wire nor what was answered before.

pub(crate) mod budget;
pub(crate) mod lanes;
pub(crate) mod scheduling;
pub(crate) mod tokens;
