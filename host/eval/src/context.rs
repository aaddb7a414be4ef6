//! What every case of a run shares. Immutable but for what counts atomically.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use runner_config::plan::{Case, JudgeId};
use runner_gateway::{BudgetLedger, Gateway, Masker};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::asking::Asking;
use crate::called::CalledPlugin;
use crate::data_rows::DataRows;
use crate::event::{Event, LogRoom};
use crate::identity::Identities;
use crate::memory::Memory;
use crate::plugins::{Grader, Interpreter, Target, Trust};
use crate::programs::Programs;
use crate::providers::{ProviderNumber, Providers};
use crate::script::Hooks;
use crate::summary::End;

/// What every case of a run shares.
pub(crate) struct RunContext {
    /// What each column calls, by `prompt_idx`.
    pub(crate) columns: Vec<Arc<Target>>,
    /// Numbers for the providers of the plan.
    pub(crate) providers: Providers,
    /// Providers that graders were granted to ask, by the name in the grant.
    pub(crate) targets: HashMap<String, HashMap<String, Arc<Target>>>,
    /// The models that assertions of the plan ask, and the providers that its tests name.
    pub(crate) judges: BTreeMap<JudgeId, Arc<Target>>,
    /// What serves each assertion type of the plan.
    pub(crate) graders: HashMap<String, Arc<Grader>>,
    /// What runs the code of each language.
    pub(crate) interpreters: BTreeMap<String, Arc<Interpreter>>,
    /// What runs code outside the sandbox.
    pub(crate) programs: Arc<Programs>,
    /// Code that is called around each case.
    pub(crate) hooks: Hooks,
    /// When the run began, in milliseconds since 1970: what clocks of code show at first.
    pub(crate) started_at_ms: u64,
    /// What is spent of the budgets.
    pub(crate) ledger: Arc<BudgetLedger>,
    /// The way out.
    pub(crate) gateway: Gateway,
    /// Takes every secret of the run out of texts.
    pub(crate) masker: Masker,
    /// Says which case a case is.
    pub(crate) identities: Identities,
    /// The questions that are being asked.
    pub(crate) asking: Arc<Asking>,
    /// Assertions in flight at once per case.
    pub(crate) assertion_concurrency: usize,
    /// Time a case may work whose test doesn't say.
    pub(crate) case_timeout: Option<Duration>,
    /// Time the whole run may take.
    pub(crate) run_timeout: Option<Duration>,
    /// Why cases in flight are cut off; set before they are.
    pub(crate) stopped_by: OnceLock<End>,
    /// Cancelled when the run lets nothing new begin: pauses that the user asked for end. (Requests are the
    /// gateway's, which refuses them from then on.)
    pub(crate) draining: CancellationToken,
    /// What all cases in flight hold.
    pub(crate) memory: Arc<Memory>,
    /// What is kept of the rows of data files.
    pub(crate) data_rows: DataRows,
    /// Room for guests' log lines until they are read.
    pub(crate) log_room: LogRoom,
    /// Who is told of every call of a component, if somebody is.
    pub(crate) calls: Option<UnboundedSender<CalledPlugin>>,
    /// Where guests' log lines and the gateway's news go. Unbounded, but lines need room, and the
    /// loop reads this channel before the ends of cases.
    pub(crate) events: UnboundedSender<Event>,
}

impl RunContext {
    /// Who answers a case: its column's provider, or the one that its test names.
    pub(crate) fn target(&self, case: &Case) -> &Arc<Target> {
        let own = case.test.provider.and_then(|own| self.judges.get(&own));
        own.unwrap_or(&self.columns[case.id.prompt_idx as usize])
    }

    /// Who holds the memory that a case takes.
    pub(crate) fn holder(&self, case: &Case) -> ProviderNumber {
        holder(self.target(case).trust(), self.providers.number(case))
    }

    /// How long a case may work.
    pub(crate) fn timeout(&self, case: &Case) -> Option<Duration> {
        case.test.timeout.or(self.case_timeout)
    }

    /// Takes in that an event has been read by everybody.
    pub(crate) fn heard(&self, event: &Event) {
        if let Event::Log(line) = event {
            self.log_room.give_back(&line.message);
        }
    }

    /// Sends an event; after the end of the run nobody listens, and that is fine.
    pub(crate) fn emit(&self, event: Event) {
        drop(self.events.send(event));
    }
}

/// Whether the answers of these columns are held by more than one.
pub(crate) fn are_several(columns: &[Arc<Target>], providers: &Providers) -> bool {
    let columns = columns.iter().zip(providers.of_columns());
    differ(columns.map(|(target, number)| holder(target.trust(), *number)))
}

fn differ(mut holders: impl Iterator<Item = ProviderNumber>) -> bool {
    let first = holders.next();
    holders.any(|other| Some(other) != first)
}

/// The components of others hold memory together: one of them may serve several providers.
fn holder(trust: Option<&Trust>, provider: ProviderNumber) -> ProviderNumber {
    match trust {
        Some(Trust::Foreign(_)) => ProviderNumber::MAX,
        Some(Trust::Bundled) | None => provider,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_others_hold_memory_together() {
        let others = Trust::Foreign(None);
        assert_eq!(holder(Some(&others), 1), holder(Some(&others), 2));
        assert_ne!(holder(Some(&Trust::Bundled), 1), holder(None, 2));
        assert_ne!(holder(Some(&others), 1), holder(None, 1));
        // So two providers of one are no several, of which each would have less.
        assert!(!differ(
            [1, 2].map(|it| holder(Some(&others), it)).into_iter()
        ));
        assert!(differ([1, 2].map(|it| holder(None, it)).into_iter()));
    }
}
