//! The answer that a test brings, or who else is asked for it.

use serde_json::Value;

use crate::plan::JudgeId;

/// Where a test's answers come from, if not from its columns' providers.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnAnswer {
    /// `provider`: who is asked instead.
    pub(super) provider: Option<JudgeId>,
    /// `provider` as written, for the results.
    pub(super) written: Option<Value>,
    /// `providerOutput`: the answer itself.
    pub(super) output: Option<Value>,
}

impl OwnAnswer {
    /// `over`, and `self` where it says nothing.
    pub(super) fn under(&self, over: Self) -> Self {
        let named = if over.written.is_some() { &over } else { self };
        Self {
            provider: named.provider,
            written: named.written.clone(),
            output: over.output.or_else(|| self.output.clone()),
        }
    }
}
