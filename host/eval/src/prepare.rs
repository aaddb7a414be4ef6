//! From a plan to a run that can start: everything that can be found wrong is found here,
//! before anything is spent, and all of it together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use runner_config::plan::{JudgeId, Plan};
use runner_gateway::{
    BudgetLedger, ClientSettings, DEFAULT_TIMEOUT, DiskCache, Exchanges, Gateway, LaneNotice,
    LaneStanding, Masker, Notice, Observer, Origin, QuotaPlace, Secret, Settings,
};
use runner_store::{Cache, NewRun, RunWriter, Store};
use serde_json::Value;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::aside::aside;
use crate::asking::Asking;
use crate::beginning::Beginning;
use crate::call::case;
use crate::called::CalledPlugin;
use crate::context::{self, RunContext};
use crate::data_rows::DataRows;
use crate::erased::{JAVASCRIPT, typed};
use crate::error::RunError;
use crate::event::{Consumer, Event, LogRoom};
use crate::identity::Identities;
use crate::memory::Memory;
use crate::plugins::{
    AllLanes, BindError, Binder, Budgets, CodeAccess, Grader, Noted, PluginSet, Target,
};
use crate::programs::Programs;
use crate::providers::Providers;
use crate::recorder::Recorder;
use crate::resume::{Resumed, reopen};
use crate::run::{Interrupts, Loop, Outlets};
use crate::script::Hooks;
use crate::summary::Summary;
use crate::trust::Agreements;

mod bind;
mod quiet;
mod run_head;
mod settle;
mod unpriced;
mod values;
mod variants;

use bind::{BoundOnce, bind_asked, bind_graders, bind_judges};
use run_head::{head, new_run};
pub use settle::{PreparedRun, SettledRun, UnsettledRun};

/// What is to be run.
pub struct Preparation {
    /// What to run.
    pub plan: Plan,
    /// The components.
    pub plugins: PluginSet,
    /// The environment that credentials are read from.
    pub env: BTreeMap<String, String>,
    /// Whether nothing will be sent, so that credentials need no values and addresses no trust.
    pub offline: bool,
    /// What is agreed to: a component of somebody else's sees its config only then.
    pub agreements: Agreements,
}

/// What a run needs besides.
pub struct RunRequest {
    /// Where results go.
    pub store: Store,
    /// Where answers are remembered; `None`: nowhere, and equal requests are sent each for itself.
    pub cache: Option<Cache>,
    /// Where runs on this machine write down what they use of the same quotas; `None`: nowhere.
    pub quotas: Option<QuotaPlace>,
    /// Where exchanges come from.
    pub exchanges: Exchanges,
    /// Who reads the event stream.
    pub consumers: Vec<Box<dyn Consumer>>,
    /// Who may stop it.
    pub interrupts: Interrupts,
    /// Where the run begins.
    pub beginning: Beginning,
    /// How the run was asked for: kept with it as it is, but for secrets, for who resumes it.
    pub invocation: Value,
    /// Who is told of every call of a component, if somebody is.
    pub calls: Option<UnboundedSender<CalledPlugin>>,
}

/// Binds every provider and assertion type of the plan to its component, under its grants.
///
/// # Errors
/// Everything that was found: missing secrets, and configs that a plugin refuses. A plugin may quote
/// what it refuses.
pub async fn prepare(what: Preparation) -> Result<PreparedRun, Vec<BindError>> {
    let secrets = what.plan.secrets().map(str::to_owned).collect();
    let prepared = match bind(&what).await {
        (Ok(targets), noted) => PreparedRun::new(what, targets, noted)
            .and_then(PreparedRun::unless_unmaskable)
            .map_err(|error| vec![error]),
        (Err(errors), _) => Err(errors),
    };
    prepared.map_err(|errors| {
        let clean = quiet::clean(secrets);
        let safe = errors.into_iter().map(|error| error.masked(&clean));
        safe.collect()
    })
}

/// Everything that a plan calls.
struct Targets {
    columns: Vec<Arc<Target>>,
    /// Those that graders were granted to ask.
    asked: HashMap<String, HashMap<String, Arc<Target>>>,
    judges: BTreeMap<JudgeId, Arc<Target>>,
    graders: HashMap<String, Arc<Grader>>,
    ledger: Arc<BudgetLedger>,
    /// What runs outside the sandbox.
    programs: Arc<Programs>,
    /// What code of each language may send from it.
    access: BTreeMap<String, CodeAccess>,
}

impl Targets {
    /// The secrets that were granted, and those that the config declares.
    fn secrets(&self, plan: &Plan) -> BTreeSet<Secret> {
        let Self {
            columns,
            asked,
            judges,
            graders,
            programs,
            access,
            ..
        } = self;
        let asked = asked.values().flat_map(HashMap::values);
        let targets = columns.iter().chain(asked).chain(judges.values());
        let graders = graders.values().map(|grader| &grader.grants);
        let grants = targets.filter_map(|it| it.grants()).chain(graders);
        let grants = grants.chain(access.values().map(|it| &it.grants));
        let declared = plan.secrets().map(Secret::new);
        grants
            .flat_map(|grants| grants.secrets())
            .chain(declared)
            .chain(programs.secrets())
            .collect()
    }
}

async fn bind(what: &Preparation) -> (Result<Targets, Vec<BindError>>, Noted) {
    let plan = &what.plan;
    let budgets = Budgets::new(plan.options.budget);
    let typed = typed(&plan.processes, what.plugins.loaded(JAVASCRIPT).as_ref()).await;
    let programs = Arc::new(Programs::new(plan, &what.env, typed));
    let binder = Binder {
        set: &what.plugins,
        env: &what.env,
        config_env: &plan.env,
        env_sources: &plan.env_sources,
        filled_in: plan.filled_in().collect(),
        delay: plan.options.delay,
        lanes: AllLanes::of(&plan.options),
        offline: what.offline,
        budgets: &budgets,
        prices: &plan.prices,
        programs: &programs,
        agreements: &what.agreements,
        noted: Noted::default(),
    };
    let targets = bind_all(plan, &binder, &budgets, &programs).await;
    (targets, binder.noted)
}

async fn bind_all(
    plan: &Plan,
    binder: &Binder<'_>,
    budgets: &Budgets,
    programs: &Arc<Programs>,
) -> Result<Targets, Vec<BindError>> {
    let mut errors = Vec::new();
    let mut bound = BoundOnce::new(binder);
    let mut columns = Vec::new();
    for column in &plan.columns {
        columns.push(bound.target(&column.provider, &mut errors).await);
    }
    let judges = bind_judges(plan, &mut bound, &mut errors).await;
    let graders = bind_graders(plan, binder, &mut errors);
    let access = bind::code_access(plan, binder, &mut errors);
    values::refused(plan, &graders, &mut errors).await;
    unpriced::refused(plan, &columns, &mut errors);
    if !binder.offline {
        let missing = bind::missing_programs(plan, programs, binder.agreements);
        errors.extend(missing);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let targets = bind_asked(plan, &graders, &mut bound, &mut errors).await;
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Targets {
        columns: columns.into_iter().flatten().collect(),
        asked: targets,
        judges,
        graders,
        ledger: budgets.ledger(),
        programs: programs.clone(),
        access,
    })
}

impl SettledRun {
    /// Carries the run out: every case ends, every row is stored.
    ///
    /// # Errors
    /// When the results can't be stored.
    pub async fn run(self, request: RunRequest) -> Result<Arc<Summary>, RunError> {
        let (masker, cache) = self.masking(request.cache);
        let (plan, plugins, targets) = (Arc::new(self.plan), self.plugins, self.targets);
        let RunRequest {
            store,
            quotas,
            exchanges,
            consumers,
            interrupts,
            beginning,
            invocation,
            ..
        } = request;
        let (sender, events) = mpsc::unbounded_channel();
        let head = Arc::new(head(&plan, &beginning, &masker));
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        let new = new_run(&plan, &plugins, &head, seed, &masker, &invocation);
        let identities = Identities::new(&plan, &masker);
        let open = opening(store.clone(), beginning, plan.clone(), identities, new);
        let (writer, resumed, identities) = unless_interrupted(&interrupts, open).await?;
        let seed = resumed.as_ref().map_or(seed, |resumed| resumed.seed);
        let news = EventForwarder::new(&plan, &sender);
        let (asking, kept) = (news.asking.clone(), (exchanges, cache, quotas));
        let providers = Providers::of(&plan.columns, plan.judges.len());
        let memory = Memory::of(context::are_several(&targets.columns, &providers));
        let context = Arc::new(RunContext {
            columns: targets.columns,
            targets: targets.asked,
            judges: targets.judges,
            graders: targets.graders,
            interpreters: plugins.interpreters(&targets.access).collect(),
            programs: targets.programs,
            hooks: Hooks::new(plan.extensions.clone()),
            started_at_ms: head.started_at_ms.try_into().unwrap_or_default(),
            ledger: targets.ledger,
            gateway: Gateway::new(settings(&plan, self.private, seed, kept, &masker, news)),
            masker,
            identities,
            asking,
            assertion_concurrency: plan.options.assertion_concurrency,
            case_timeout: plan.options.case_timeout,
            run_timeout: plan.options.run_timeout,
            stopped_by: OnceLock::new(),
            draining: CancellationToken::new(),
            memory: Arc::new(memory),
            data_rows: DataRows::new(),
            providers,
            log_room: LogRoom::default(),
            calls: request.calls,
            events: sender,
        });
        let outlets = Outlets {
            recorder: Recorder::new(writer),
            store,
            consumers,
        };
        let again = resumed.is_some();
        let run = Loop::new(plan, context, head, outlets, interrupts, events, again);
        run.run(resumed).await
    }

    /// What takes all secrets of the run out, and the cache that keeps answers without them.
    fn masking(&self, cache: Option<Cache>) -> (Masker, Option<DiskCache>) {
        let secrets = self.targets.secrets(&self.plan);
        let masker = Masker::new(&secrets);
        let cache = cache.map(|cache| DiskCache::new(cache, &masker));
        (masker, cache)
    }
}

/// The way out, with what this run puts into it.
fn settings(
    plan: &Plan,
    private: BTreeSet<Origin>,
    seed: u64,
    (exchanges, cache, quotas): (Exchanges, Option<DiskCache>, Option<QuotaPlace>),
    masker: &Masker,
    news: EventForwarder,
) -> Settings {
    Settings {
        client: client(plan),
        private,
        timeout: plan.options.exchange_timeout.unwrap_or(DEFAULT_TIMEOUT),
        seed,
        cassette: exchanges.cassette(masker),
        quotas,
        cache: cache.map(|cache| Box::new(cache) as _),
        masker: masker.clone(),
        observer: Box::new(news),
    }
}

/// Connections for every case that may be in flight.
fn client(plan: &Plan) -> ClientSettings {
    ClientSettings {
        max_in_flight: plan.options.max_concurrency,
        ..ClientSettings::default()
    }
}

/// A run that was opened: where its rows go, what a kept one has already, and the identities that it
/// was opened with.
type Opened = (RunWriter, Option<Resumed>, Identities);

/// What begins a new run in the store, or gives the kept one its new shape.
fn opening(
    store: Store,
    beginning: Beginning,
    plan: Arc<Plan>,
    identities: Identities,
    new: NewRun,
) -> impl FnOnce() -> Result<Opened, RunError> + Send {
    move || match beginning {
        Beginning::New => Ok((store.begin_run(new)?, None, identities)),
        Beginning::Again(again) => {
            let (writer, resumed) = reopen(&store, &again, &plan, &identities, new)?;
            Ok((writer, Some(resumed), identities))
        }
    }
}

/// Opens a run. Whoever interrupts that is not kept waiting: nothing has begun.
async fn unless_interrupted(
    interrupts: &Interrupts,
    open: impl FnOnce() -> Result<Opened, RunError> + Send + 'static,
) -> Result<Opened, RunError> {
    tokio::select! {
        biased;
        () = interrupts.next() => Err(RunError::Stopped),
        opened = aside(open) => opened,
    }
}

/// Passes the lanes' news on to the event stream.
struct EventForwarder {
    events: UnboundedSender<Event>,
    asking: Arc<Asking>,
}

impl EventForwarder {
    fn new(plan: &Plan, events: &UnboundedSender<Event>) -> Self {
        let asks = plan.tests.models().any(|test| test.question.is_some());
        Self {
            events: events.clone(),
            asking: Arc::new(Asking::new(events.clone(), asks)),
        }
    }
}

impl Observer for EventForwarder {
    fn observe(&self, notice: &Notice<'_>) {
        self.asking.observe(case(notice.tag), &notice.event);
    }

    fn lane(&self, notice: LaneNotice) {
        drop(self.events.send(Event::Lane(notice)));
    }

    fn standing(&self, standing: LaneStanding) {
        drop(self.events.send(Event::LaneWaits(standing)));
    }
}
