//! A case of the plan from its coming to its end.

use runner_config::plan::{Case, CasePlace, Plan};

use crate::context::RunContext;
use crate::memory::VariableMemory;
use crate::providers::ProviderNumber;

/// A case that has come.
#[derive(Debug, Clone)]
pub(crate) enum PlannedCase {
    Made(Case),
    /// Its variables would have taken too much memory while it waits. It is made again when its turn comes.
    Unmade(UnmadeCase),
}

#[derive(Debug, Clone)]
pub(crate) struct UnmadeCase {
    place: CasePlace,
    /// Who holds what it will take of the memory.
    pub(crate) holder: ProviderNumber,
    /// What its variables take.
    pub(crate) bytes: u64,
}

impl PlannedCase {
    /// A case whose variables take so many bytes; without them, if those that have come take too much.
    pub(crate) fn of(
        case: Case,
        bytes: u64,
        all: &mut VariableMemory,
        context: &RunContext,
    ) -> Self {
        if !all.is_full() {
            all.came(case.id, bytes);
            return Self::Made(case);
        }
        Self::Unmade(UnmadeCase {
            place: case.place,
            holder: context.holder(&case),
            bytes,
        })
    }

    /// The case itself.
    pub(crate) fn made(self, plan: &Plan) -> Case {
        match self {
            Self::Made(case) => case,
            Self::Unmade(unmade) => plan.case_at(unmade.place),
        }
    }
}
