//! From a plan to a run that can start: everything that can be found wrong is found here,
//! before anything is spent, and all of it together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use runner_config::plan::{Assertion, Check, JudgeId, Plan, Provider};
use runner_store::{Cache, NewRun, RunWriter, Store};
use serde_json::Value;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::event::{Consumer, Event};
use crate::gateway::{
    ClientSettings, DEFAULT_TIMEOUT, DiskCache, Exchanges, Gateway, LaneNotice, LaneStanding,
    Masker, Notice, Observer, Secret, Settings, Till,
};
use crate::identity::Identities;
use crate::plugins::{BindError, Binder, Budgets, Grader, PluginSet, Target, place};
use crate::recorder::Recorder;
use crate::resume::{Beginning, Resumed, Resumption, reopen};
use crate::run::{Interrupts, Loop};
use crate::summary::Summary;

mod kept;

use kept::{head, new_run, options};

/// What a run needs.
pub struct RunRequest {
    /// What to run.
    pub plan: Plan,
    /// The components.
    pub plugins: PluginSet,
    /// The environment that credentials are read from.
    pub env: BTreeMap<String, String>,
    /// Where results go.
    pub store: Store,
    /// Where answers are remembered; `None`: nowhere, and equal requests are sent each for itself.
    pub cache: Option<Cache>,
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
}

/// A run that can start.
pub struct Prepared {
    request: RunRequest,
    columns: Vec<Arc<Target>>,
    targets: HashMap<String, Arc<Target>>,
    judges: BTreeMap<JudgeId, Arc<Target>>,
    graders: HashMap<String, Arc<Grader>>,
    till: Arc<Till>,
}

/// Why a run can't start: everything that was found.
#[derive(Debug)]
pub struct PrepareErrors(pub Vec<BindError>);

impl fmt::Display for PrepareErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for PrepareErrors {}

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The database can't be read or written; nothing was spent.
    #[error("the run can't be kept")]
    Store(#[from] runner_store::StoreError),
    /// Results could not be stored. Rows committed before are in the database.
    #[error("the results could not be stored")]
    Unsaved {
        /// How many results are not in the database.
        rows: usize,
        /// The file that has them, one record per line; or why there is none.
        place: std::io::Result<PathBuf>,
        /// What the store said first.
        source: Box<runner_store::StoreError>,
    },
    /// Most rows of the run that was to go on have no case in the plan. Nothing was changed.
    #[error("results of {} that have no case in this config any more would be deleted: {} of {}", .0.run_id, .0.dropped, .0.dropped + .0.kept + .0.moved)]
    WouldDrop(Box<Resumption>),
    /// A stored record is none.
    #[error("a stored record is damaged")]
    Damaged(#[from] serde_json::Error),
}

/// Binds every provider and assertion type of the plan to its component, under its grants.
///
/// # Errors
/// Missing grants and secrets, and configs that a plugin refuses.
pub async fn prepare(request: RunRequest) -> Result<Prepared, PrepareErrors> {
    let RunRequest {
        plan, plugins, env, ..
    } = &request;
    let budgets = Budgets::new(plan.options.budget);
    let binder = Binder {
        set: plugins,
        env,
        config_env: &plan.env,
        delay: plan.options.delay,
        adaptive: plan.options.adaptive,
        offline: request.exchanges.is_offline(),
        budgets: &budgets,
    };
    let mut errors = Vec::new();
    let mut bound = Bound {
        binder: &binder,
        known: Vec::new(),
    };
    let mut columns = Vec::new();
    for column in &plan.columns {
        columns.extend(bound.target(&column.provider, &mut errors).await);
    }
    let judges = bind_judges(plan, &mut bound, &mut errors).await;
    let graders = bind_graders(plan, &binder, &mut errors);
    if !errors.is_empty() {
        return Err(PrepareErrors(errors));
    }
    let targets = bind_asked(plan, &graders, &mut bound, &mut errors).await;
    if !errors.is_empty() {
        return Err(PrepareErrors(errors));
    }
    Ok(Prepared {
        request,
        columns,
        targets,
        judges,
        graders,
        till: budgets.till(),
    })
}

/// Providers that were bound, each once, so that it is checked once.
struct Bound<'a> {
    binder: &'a Binder<'a>,
    known: Vec<(*const Provider, Option<Arc<Target>>)>,
}

impl Bound<'_> {
    /// The target of a provider; `None` if it can't be bound, which is among `errors`.
    async fn target(
        &mut self,
        provider: &Arc<Provider>,
        errors: &mut Vec<BindError>,
    ) -> Option<Arc<Target>> {
        let identity = Arc::as_ptr(provider);
        if let Some((_, target)) = self.known.iter().find(|(known, _)| *known == identity) {
            return target.clone();
        }
        let target = match self.binder.target(provider) {
            Ok(target) => {
                errors.extend(refused_by_guest(&target, &place(&provider.at)).await);
                Some(Arc::new(target))
            }
            Err(error) => {
                errors.push(error);
                None
            }
        };
        self.known.push((identity, target.clone()));
        target
    }
}

/// The providers of the config that graders were granted to ask, by label and by id.
async fn bind_asked(
    plan: &Plan,
    graders: &HashMap<String, Arc<Grader>>,
    bound: &mut Bound<'_>,
    errors: &mut Vec<BindError>,
) -> HashMap<String, Arc<Target>> {
    let mut targets = HashMap::new();
    for alias in graders.values().flat_map(|grader| &grader.llm) {
        let is_meant = |provider: &&Arc<Provider>| {
            provider.label.as_ref() == Some(alias) || provider.id == *alias
        };
        if let Some(provider) = plan.providers.iter().find(is_meant)
            && let Some(target) = bound.target(provider, errors).await
        {
            targets.insert(alias.clone(), target);
        }
    }
    targets
}

/// The models that the plan's assertions ask; of those that nobody asks none is bound.
async fn bind_judges(
    plan: &Plan,
    bound: &mut Bound<'_>,
    errors: &mut Vec<BindError>,
) -> BTreeMap<JudgeId, Arc<Target>> {
    let mut judges = BTreeMap::new();
    let asked: BTreeSet<JudgeId> = assertions(plan).flat_map(|it| it.judges.all()).collect();
    for id in asked {
        let provider = &plan.judges[id.0 as usize];
        if let Some(target) = bound.target(provider, errors).await {
            judges.insert(id, target);
        }
    }
    let makes_none = |assertion: &Assertion| {
        let target = judges.get(&assertion.judges.embedding?)?;
        (!target.plugin.component.embeds()).then(|| BindError::Config {
            at: place(&assertion.at),
            problem: format!(
                "'{}' needs vectors, and provider '{}' makes none\nhelp: name one that does: provider: {{ embedding: … }}",
                assertion.kind, target.abi.id
            ),
        })
    };
    errors.extend(assertions(plan).find_map(makes_none));
    judges
}

/// What serves each assertion type of the plan; their values are held against its schema.
fn bind_graders(
    plan: &Plan,
    binder: &Binder<'_>,
    errors: &mut Vec<BindError>,
) -> HashMap<String, Arc<Grader>> {
    let mut graders = HashMap::new();
    let types: BTreeSet<_> = assertions(plan)
        .map(|assertion| assertion.kind.as_str())
        .collect();
    for assertion_type in types {
        match binder.grader(assertion_type) {
            Ok(grader) => drop(graders.insert(assertion_type.to_owned(), Arc::new(grader))),
            Err(error) => errors.push(error),
        }
    }
    let values = assertions(plan)
        .filter_map(|assertion| bad_value(assertion, graders.get(&assertion.kind)?));
    errors.extend(values);
    graders
}

/// Every assertion of the plan, members of sets included.
fn assertions(plan: &Plan) -> impl Iterator<Item = &Assertion> {
    plan.tests
        .iter()
        .flat_map(|test| &test.assertions)
        .flat_map(Check::members)
}

/// A value that its type's schema refuses. Templates are checked when they have values.
fn bad_value(assertion: &Assertion, grader: &Grader) -> Option<BindError> {
    let value = assertion.value.as_ref().unwrap_or(&Value::Null);
    if has_template(value) {
        return None;
    }
    let (pointer, message) = grader
        .plugin
        .component
        .validate_value(&assertion.kind, value)
        .into_iter()
        .next()?;
    Some(BindError::Config {
        at: place(&assertion.at),
        problem: format!(
            "value{pointer} of '{}' is not what it takes: {message}",
            assertion.kind
        ),
    })
}

fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("{%"),
        Value::Array(items) => items.iter().any(has_template),
        _ => false,
    }
}

/// What the plugin's own check of a provider's config says.
async fn refused_by_guest(target: &Target, at: &str) -> Vec<BindError> {
    let plugin = target.plugin.named();
    let refused = |pointer: String, message: String| BindError::ProviderConfig {
        plugin: plugin.clone(),
        at: at.to_owned(),
        pointer,
        message,
        help: format!(
            "the keys of `config` are in the README of plugin '{}'",
            target.plugin.alias
        ),
    };
    match target
        .plugin
        .component
        .check_config(&target.abi.config_json)
        .await
    {
        Ok(problems) => problems
            .into_iter()
            .map(|(pointer, message)| refused(pointer, message))
            .collect(),
        Err(error) => vec![BindError::Config {
            at: at.to_owned(),
            problem: error.to_string(),
        }],
    }
}

impl Prepared {
    /// Carries the run out: every case ends, every row is stored.
    ///
    /// # Errors
    /// When the results can't be stored.
    pub async fn run(self) -> Result<Arc<Summary>, RunError> {
        let Self {
            request,
            columns,
            targets,
            judges,
            graders,
            till,
        } = self;
        let RunRequest {
            plan,
            plugins,
            store,
            cache,
            exchanges,
            consumers,
            interrupts,
            beginning,
            invocation,
            ..
        } = request;
        let (sender, events) = mpsc::unbounded_channel();
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        let head = Arc::new(head(&plan, &beginning));
        let masker = masker(
            &plan,
            columns
                .iter()
                .chain(targets.values())
                .chain(judges.values()),
            &graders,
        );
        let options = options(&plan, &head, &invocation, &masker);
        let new = new_run(&plan, &plugins, &head, seed, &masker, options);
        let identities = Identities::new(&plan, masker.clone());
        let (writer, resumed) = open(&store, &beginning, &plan, &identities, new)?;
        let seed = resumed.as_ref().map_or(seed, |resumed| resumed.seed);
        let context = Arc::new(RunContext {
            columns,
            targets,
            judges,
            graders,
            till,
            gateway: gateway(&plan, seed, exchanges, cache, &masker, &sender),
            masker,
            assertion_concurrency: plan.options.assertion_concurrency,
            case_timeout: plan.options.case_timeout,
            draining: CancellationToken::new(),
            events: sender,
        });
        let run = Loop {
            context,
            head,
            recorder: Recorder::new(writer),
            identities,
            resumed,
            database: store.path().to_owned(),
            consumers,
            interrupts,
            events,
        };
        run.run(&plan).await
    }
}

/// The way out, with what this run puts into it.
fn gateway(
    plan: &Plan,
    seed: u64,
    exchanges: Exchanges,
    cache: Option<Cache>,
    masker: &Masker,
    events: &UnboundedSender<Event>,
) -> Gateway {
    let cache = cache.map(|cache| DiskCache::new(cache, masker.clone()));
    Gateway::new(Settings {
        client: client(plan),
        timeout: plan.options.exchange_timeout.unwrap_or(DEFAULT_TIMEOUT),
        seed,
        tape: exchanges.tape(masker.clone()),
        cache: cache.map(|cache| Box::new(cache) as _),
        observer: Box::new(News(events.clone())),
    })
}

/// Connections for every case that may be in flight.
fn client(plan: &Plan) -> ClientSettings {
    ClientSettings {
        max_in_flight: plan.options.max_concurrency,
        ..ClientSettings::default()
    }
}

/// Knows the secrets that were granted, and those that the config declares.
fn masker<'a>(
    plan: &Plan,
    targets: impl Iterator<Item = &'a Arc<Target>>,
    graders: &'a HashMap<String, Arc<Grader>>,
) -> Masker {
    let grants = targets
        .map(|t| &t.grants)
        .chain(graders.values().map(|g| &g.grants));
    let declared: Vec<Secret> = plan.secrets().map(Secret::new).collect();
    let declared = Masker::new(&declared);
    Masker::union(grants.map(|grants| grants.masker()).chain([&declared]))
}

/// A new run in the store, or the kept one in its new shape.
fn open(
    store: &Store,
    beginning: &Beginning,
    plan: &Plan,
    identities: &Identities,
    new: NewRun,
) -> Result<(RunWriter, Option<Resumed>), RunError> {
    match beginning {
        Beginning::New => Ok((store.begin_run(new)?, None)),
        Beginning::Again(again) => {
            let (writer, resumed) = reopen(store, again, plan, identities, new)?;
            Ok((writer, Some(resumed)))
        }
    }
}

/// Passes the lanes' news on to the event stream.
struct News(UnboundedSender<Event>);

impl Observer for News {
    fn observe(&self, _notice: &Notice<'_>) {}

    fn lane(&self, notice: LaneNotice) {
        drop(self.0.send(Event::Lane(notice)));
    }

    fn standing(&self, standing: LaneStanding) {
        drop(self.0.send(Event::LaneWaits(standing)));
    }
}
