//! From a plan to a run that can start: everything that can be found wrong is found here,
//! before anything is spent, and all of it together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use runner_config::plan::{Assertion, Check, Plan, Provider};
use runner_store::{Cache, NewRun, RunWriter, Store};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::event::{ColumnHead, Consumer, Event, RunHead};
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
    #[error("most results of {} have no case in this config any more: {} of {}", .0.run_id, .0.dropped, .0.dropped + .0.kept + .0.moved)]
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
    let columns = bind_columns(plan, &binder, &mut errors).await;
    let graders = bind_graders(plan, &binder, &mut errors);
    if !errors.is_empty() {
        return Err(PrepareErrors(errors));
    }
    let mut targets = HashMap::new();
    for (column, target) in plan.columns.iter().zip(&columns) {
        let Provider { id, label, .. } = &*column.provider;
        for name in label.iter().chain([id]) {
            targets
                .entry(name.clone())
                .or_insert_with(|| target.clone());
        }
    }
    Ok(Prepared {
        request,
        columns,
        targets,
        graders,
        till: budgets.till(),
    })
}

/// What each column calls; fewer than there are columns when some can't be bound.
async fn bind_columns(
    plan: &Plan,
    binder: &Binder<'_>,
    errors: &mut Vec<BindError>,
) -> Vec<Arc<Target>> {
    // Columns of one provider share it, so that it is bound and checked once.
    let mut bound: Vec<(*const Provider, Option<Arc<Target>>)> = Vec::new();
    let mut columns = Vec::new();
    for column in &plan.columns {
        let provider = Arc::as_ptr(&column.provider);
        let known = bound.iter().position(|(other, _)| *other == provider);
        let place = if let Some(place) = known {
            place
        } else {
            let target = match binder.target(&column.provider) {
                Ok(target) => {
                    errors.extend(refused_by_guest(&target, &place(&column.provider.at)).await);
                    Some(Arc::new(target))
                }
                Err(error) => {
                    errors.push(error);
                    None
                }
            };
            bound.push((provider, target));
            bound.len() - 1
        };
        columns.extend(bound[place].1.clone());
    }
    columns
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
        .flat_map(|check| match check {
            Check::One(assertion) => std::slice::from_ref(assertion),
            Check::Set { assertions, .. } => assertions,
        })
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
        let masker = masker(&plan, &columns, &graders);
        let options = options(&plan, &head, &invocation, &masker);
        let new = new_run(&plan, &plugins, &head, seed, &masker, options);
        let identities = Identities::new(&plan, masker.clone());
        let (writer, resumed) = open(&store, &beginning, &plan, &identities, new)?;
        let seed = resumed.as_ref().map_or(seed, |resumed| resumed.seed);
        let context = Arc::new(RunContext {
            columns,
            targets,
            graders,
            till,
            gateway: Gateway::new(Settings {
                client: client(&plan),
                timeout: plan.options.exchange_timeout.unwrap_or(DEFAULT_TIMEOUT),
                seed,
                tape: exchanges.tape(masker.clone()),
                cache: cache.map(|cache| Box::new(DiskCache::new(cache, masker.clone())) as _),
                observer: Box::new(News(sender.clone())),
                ..Settings::default()
            }),
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

/// Connections for every case that may be in flight.
fn client(plan: &Plan) -> ClientSettings {
    ClientSettings {
        max_in_flight: plan.options.max_concurrency,
        ..ClientSettings::default()
    }
}

/// Knows the secrets that were granted, and those that the config declares.
fn masker(plan: &Plan, columns: &[Arc<Target>], graders: &HashMap<String, Arc<Grader>>) -> Masker {
    let grants = columns
        .iter()
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

fn head(plan: &Plan, beginning: &Beginning) -> RunHead {
    let now = jiff::Timestamp::now();
    let run_id = match beginning {
        Beginning::Again(again) => again.run_id.clone(),
        Beginning::New => {
            let day = now.strftime("%Y%m%d-%H%M%S");
            let unique = uuid::Uuid::new_v4().simple().to_string();
            format!("run-{day}-{}", &unique[..6])
        }
    };
    let head = |column: &Arc<runner_config::plan::Column>| ColumnHead {
        provider: column
            .provider
            .label
            .clone()
            .unwrap_or_else(|| column.provider.id.clone()),
        prompt: column.prompt.label.clone(),
    };
    RunHead {
        run_id,
        description: plan.description.clone(),
        total: plan.case_count(),
        columns: plan.columns.iter().map(head).collect(),
        concurrency: plan.options.max_concurrency,
        started_at_ms: now.as_millisecond(),
    }
}

fn new_run(
    plan: &Plan,
    plugins: &PluginSet,
    head: &RunHead,
    seed: u64,
    masker: &Masker,
    options_json: String,
) -> NewRun {
    let column = |column: &Arc<runner_config::plan::Column>| {
        json!({
            "id": column.prompt.id,
            "raw": column.prompt.raw,
            "label": column.prompt.label,
            "provider": column.provider.label.as_ref().unwrap_or(&column.provider.id),
            "config": column.prompt.config,
        })
    };
    NewRun {
        id: head.run_id.clone(),
        created_at_ms: head.started_at_ms,
        description: plan.description.clone(),
        tags_json: Value::Object(plan.tags.clone()).to_string(),
        config_json: masker.mask(&plan.config_json.to_string()).into_owned(),
        columns_json: plan
            .columns
            .iter()
            .map(column)
            .collect::<Value>()
            .to_string(),
        plugins_json: plugins.provenance().to_string(),
        options_json,
        seed,
    }
}

/// How the run is carried out, and how it was asked for.
fn options(plan: &Plan, head: &RunHead, invocation: &Value, masker: &Masker) -> String {
    let options = json!({
        "maxConcurrency": plan.options.max_concurrency,
        "adaptive": plan.options.adaptive,
        "repeat": plan.options.repeat,
        "total": head.total,
        "invocation": invocation,
    });
    masker.mask(&options.to_string()).into_owned()
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
