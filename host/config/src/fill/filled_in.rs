//! What was filled into a config so far.

use std::collections::{BTreeMap, BTreeSet};

use super::hider::Hider;
use crate::model::Position;
use crate::plan::EnvRead;

/// What templates took from the process's environment.
#[derive(Default)]
pub(super) struct FilledIn {
    /// Secrets in provider parts.
    pub(super) secrets: BTreeSet<String>,
    /// Variables in provider parts, by the place of the text.
    pub(super) by_providers: BTreeMap<Position, BTreeSet<String>>,
    /// Those in all other texts.
    pub(super) by_others: BTreeSet<EnvRead>,
    /// What counts for [`MAX_TAKEN`](super::MAX_TAKEN).
    pub(super) taken: usize,
    /// What hides them: a config may have as many secrets as texts that each of them is looked for in.
    pub(super) hider: Option<Hider>,
}

impl FilledIn {
    pub(super) fn provider_takes(&mut self, reads: &[EnvRead]) {
        for EnvRead { name, at } in reads {
            let names = self.by_providers.entry(at.clone()).or_default();
            names.insert(name.clone());
        }
    }
}
