//! Between what was prepared and the run stands the person's agreement.
//!
//! A run is carried out by [`SettledRun`] alone, and the one way to that is [`PreparedRun::settle`]:
//! there is no run whose needs were not covered, and nothing to remember for who writes another
//! command. What is asked and how is the command's business; it may take more than one round,
//! since a name that holds the value of a variable is looked up only when that may be sent.

use std::collections::BTreeSet;

use runner_config::plan::Plan;
use runner_gateway::{Lookup, Origin, Secret, SystemLookup};

use super::{Preparation, Targets};
use crate::plugins::{BindError, Noted, PluginSet, ReachableOrigins, interpreters};
use crate::trust::{Agreements, Need, each_once};

/// A run that can start once its needs are agreed to.
pub struct PreparedRun {
    what: Preparation,
    targets: Targets,
    /// What is needed whatever names lead to.
    needs: Vec<Need>,
    ways: ReachableOrigins,
}

/// A run that may start.
pub struct SettledRun {
    pub(super) plan: Plan,
    pub(super) plugins: PluginSet,
    pub(super) targets: Targets,
    needs: Vec<Need>,
    /// Origins that may be private addresses.
    pub(super) private: BTreeSet<Origin>,
}

/// A run that may not start.
pub struct UnsettledRun {
    /// The run.
    pub prepared: Box<PreparedRun>,
    /// What is not agreed to, as far as it is known; never empty.
    pub open: Vec<Need>,
}

impl PreparedRun {
    pub(super) fn new(
        what: Preparation,
        targets: Targets,
        noted: Noted,
    ) -> Result<Self, BindError> {
        let Preparation {
            plan,
            plugins,
            offline,
            ..
        } = &what;
        let (components, ways) = noted.take(&plan.env_reads, !plan.processes.is_empty())?;
        let of_texts = plan.trust_requests.iter().cloned().map(Need::of);
        let needs = of_texts.chain(interpreters(plan, plugins));
        let kept = ways.kept(&plan.provider_reads, *offline);
        Ok(Self {
            needs: needs.chain(components).chain(kept).collect(),
            ways: if *offline {
                ReachableOrigins::none()
            } else {
                ways
            },
            what,
            targets,
        })
    }

    /// Whether everything that is known to be needed is agreed to.
    pub(super) fn is_agreed(&self) -> bool {
        let agreements = &self.what.agreements;
        let needs = self.needs();
        needs.iter().all(|need| need.is_covered(agreements))
    }

    /// The secrets of the run.
    pub(super) fn secrets(&self) -> BTreeSet<Secret> {
        self.targets.secrets(&self.what.plan)
    }

    /// What it was prepared from, to be prepared again when more is agreed to: a component of
    /// somebody else's has not seen its config before that.
    pub fn again(self, agreements: Agreements) -> Preparation {
        Preparation {
            agreements,
            ..self.what
        }
    }

    /// All that has to be agreed to, as far as it is known.
    pub fn needs(&self) -> Vec<Need> {
        let known = self.needs.iter().cloned();
        each_once(known.chain(self.ways.needs()).collect())
    }

    /// Returns the run, if everything that it needs is agreed to under which it was prepared.
    ///
    /// # Errors
    /// What is not.
    pub async fn settle(self) -> Result<SettledRun, UnsettledRun> {
        self.settle_by(&SystemLookup).await
    }

    async fn settle_by(mut self, lookup: &dyn Lookup) -> Result<SettledRun, UnsettledRun> {
        let agreements = &self.what.agreements;
        self.ways.look_up(lookup, agreements).await;
        let needs = self.needs();
        let open = needs.iter().filter(|need| !need.is_covered(agreements));
        let open: Vec<Need> = open.cloned().collect();
        if !open.is_empty() {
            let prepared = Box::new(self);
            return Err(UnsettledRun { prepared, open });
        }
        Ok(SettledRun {
            needs,
            private: self.ways.private(),
            plan: self.what.plan,
            plugins: self.what.plugins,
            targets: self.targets,
        })
    }
}

impl SettledRun {
    /// All that was agreed to.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// What will be run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The components.
    pub fn plugins(&self) -> &PluginSet {
        &self.plugins
    }
}
