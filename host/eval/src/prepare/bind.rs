//! Binding: what serves each provider and assertion type of the plan, and what a plugin says of
//! their values.
//!
//! Everything that is wrong is collected; nothing is sent and nothing is spent here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Assertion, HUMAN, JudgeId, MAX_SCORE, Plan, Process, Provider, Test};
use runner_config::{TrustRequest, TrustSubject};
use runner_gateway::Origin;
use serde_json::{Value, json};
use url::Url;

use super::values::has_template;
use crate::plugins::{
    BindError, Binder, ByPlugin, CodeAccess, Grader, LoadedPlugin, ProviderBackend, Target, place,
};
use crate::private_door::JudgeAlias;
use crate::programs::Programs;
use crate::trust::Agreements;

/// Providers that were bound, each once, so that it is checked once.
pub(super) struct BoundOnce<'a> {
    binder: &'a Binder<'a>,
    known: Vec<(*const Provider, Option<Arc<Target>>)>,
}

impl<'a> BoundOnce<'a> {
    pub(super) fn new(binder: &'a Binder<'a>) -> Self {
        let known = Vec::new();
        Self { binder, known }
    }

    /// Binds the target of a provider; `None` if it can't be bound, which is among `errors`.
    pub(super) async fn target(
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
                if let ProviderBackend::Component(served) = &target.answers
                    && served.may_see_config
                {
                    errors.extend(refused(served, provider).await);
                }
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

/// The programs of a plan that are not on this machine, of those that are agreed to: who writes a
/// config learns nothing of the machine by a name.
pub(super) fn missing_programs(
    plan: &Plan,
    programs: &Programs,
    agreements: &Agreements,
) -> Vec<BindError> {
    let fault = |process: &Arc<Process>| {
        let command = process.engine.command();
        let asks = |request: &&TrustRequest| match &request.subject {
            TrustSubject::Program {
                command: named,
                folder,
                ..
            } => named.ends_with(&command) && *folder == process.folder,
            _ => false,
        };
        let mut requests = plan.trust_requests.iter().filter(asks);
        let agreed = requests.find(|request| agreements.cover(request))?;
        let problem = programs.fault(process)?;
        let at = place(&agreed.at);
        Some(BindError::Config { at, problem })
    };
    let mut faults: Vec<BindError> = plan.processes.iter().filter_map(fault).collect();
    // By one command several may be started.
    faults.dedup_by_key(|fault| fault.to_string());
    faults
}

/// Binds the providers that graders were granted to ask, by the plugin and the name by which it asks: those that its
/// entry names, else those of the config by label and by id. Each is bound as a column is, and has no key that it
/// would not have there.
pub(super) async fn bind_asked(
    plan: &Plan,
    graders: &HashMap<String, Arc<Grader>>,
    bound: &mut BoundOnce<'_>,
    errors: &mut Vec<BindError>,
) -> HashMap<String, HashMap<String, Arc<Target>>> {
    let mut targets: HashMap<String, HashMap<String, Arc<Target>>> = HashMap::new();
    let named = graders.values().flat_map(|grader| {
        let aliases = grader.llm.iter();
        aliases.map(move |alias| (alias, &grader.plugin))
    });
    for (alias, plugin) in named {
        let is_meant = |provider: &&Arc<Provider>| {
            provider.label.as_ref() == Some(alias) || provider.id == *alias
        };
        let named = (plugin.alias.clone(), alias.clone());
        let named = plan.plugin_models.get(&named);
        let named = named.map(|id| &plan.judges[id.0 as usize]);
        if named.is_none() && plugin.names_model(alias) {
            continue; // it is no provider, which is told
        }
        let declared = || plan.providers.iter().find(is_meant);
        let Some(provider) = named.or_else(declared) else {
            errors.extend(nobody_named(alias, plugin));
            continue;
        };
        if let Some(target) = bound.target(provider, errors).await {
            let of_plugin = targets.entry(plugin.alias.clone()).or_default();
            of_plugin.insert(alias.clone(), target);
        }
    }
    targets
}

/// A plugin was granted to ask a provider that the config has not. One that goes by the alias of a judge
/// need not be there.
fn nobody_named(alias: &str, plugin: &LoadedPlugin) -> Option<BindError> {
    let entry = plugin.entry()?;
    if JudgeAlias::of(alias).is_some() {
        return None;
    }
    Some(BindError::Config {
        at: place(entry.at_of("/permissions/llm")),
        problem: format!(
            "plugin '{}' may ask '{alias}', and no provider has that label or id\nhelp: say which it is: llm: {{ {alias}: openai:gpt-4.1 }}",
            plugin.alias
        ),
    })
}

/// Binds the models that the plan's assertions ask, and the providers that its tests name; of those that
/// nobody asks none is bound.
pub(super) async fn bind_judges(
    plan: &Plan,
    bound: &mut BoundOnce<'_>,
    errors: &mut Vec<BindError>,
) -> BTreeMap<JudgeId, Arc<Target>> {
    let mut judges = BTreeMap::new();
    let asked = assertions(plan).flat_map(|it| it.judges.all());
    let asked: BTreeSet<JudgeId> = asked.chain(plan.own_providers()).collect();
    for id in asked {
        let provider = &plan.judges[id.0 as usize];
        if let Some(target) = bound.target(provider, errors).await {
            judges.insert(id, target);
        }
    }
    let makes_none = |assertion: &Assertion| {
        let target = judges.get(&assertion.judges.embedding?)?;
        (!target.embeds()).then(|| BindError::Config {
            at: place(&assertion.at),
            problem: format!(
                "'{}' needs vectors, and provider '{}' makes none\nhelp: name one that does: provider: {{ embedding: … }}",
                assertion.kind, target.id
            ),
        })
    };
    errors.extend(assertions(plan).find_map(makes_none));
    judges
}

/// What serves each assertion type of the plan; their values are held against its schema. Types
/// that are languages have no grader: code grades; nor have `max-score`, which the host serves, and `human`.
pub(super) fn bind_graders(
    plan: &Plan,
    binder: &Binder<'_>,
    errors: &mut Vec<BindError>,
) -> HashMap<String, Arc<Grader>> {
    let mut graders = HashMap::new();
    let types: BTreeSet<_> = assertions(plan)
        .filter(|assertion| !grades_outside(assertion))
        .map(|assertion| assertion.kind.as_str())
        .filter(|kind| !binder.set.is_language(kind) && ![HUMAN, MAX_SCORE].contains(kind))
        // Python is not there where none of the config's could be read, which is told.
        .filter(|kind| binder.set.by_type(kind).is_some())
        .collect();
    for assertion_type in types {
        match binder.grader(assertion_type) {
            Ok(grader) => drop(graders.insert(assertion_type.to_owned(), Arc::new(grader))),
            Err(error) => errors.push(error),
        }
    }
    let mut unreachable = None;
    // What `defaultTest` says wrong is wrong in every test, and said once.
    let mut said = HashSet::new();
    for test in plan.tests.with_own_checks() {
        for assertion in test.assertions() {
            let Some(grader) = graders.get(&assertion.kind) else {
                continue;
            };
            let bad = bad_value(assertion, grader);
            errors.extend(bad.filter(|error| said.insert(error.to_string())));
            unreachable = unreachable.or_else(|| not_granted(assertion, grader));
        }
    }
    errors.extend(unreachable);
    graders
}

/// What the config's code may send from the sandbox, by the languages that it is in.
pub(super) fn code_access(
    plan: &Plan,
    binder: &Binder<'_>,
    errors: &mut Vec<BindError>,
) -> BTreeMap<String, CodeAccess> {
    let mut access = BTreeMap::new();
    for language in &plan.languages {
        match binder.code_access(language) {
            Ok(granted) => access.extend(granted.map(|it| (language.clone(), it))),
            Err(error) => errors.push(error),
        }
    }
    access
}

/// Every assertion of the plan, members of sets included; those of tests that are alike, as the
/// first of them has it.
fn assertions(plan: &Plan) -> impl Iterator<Item = &Assertion> {
    plan.tests.models().flat_map(Test::assertions)
}

/// Whether it is code that runs outside the sandbox: whether a plugin runs its language is no matter.
fn grades_outside(assertion: &Assertion) -> bool {
    let script = assertion.script.as_ref();
    let by_file = script.filter(|script| script.language == assertion.kind);
    assertion.process.is_some() || by_file.is_some_and(|script| script.process.is_some())
}

/// A value that its type's schema refuses. Templates are checked when they have values.
fn bad_value(assertion: &Assertion, grader: &Grader) -> Option<BindError> {
    let value = assertion.value.as_ref().unwrap_or(&Value::Null);
    // What code will make is not known yet.
    if assertion.script.is_some() || has_template(value) {
        return None;
    }
    let (pointer, message) = grader
        .plugin
        .component
        .validate_value(&grader.kind, value)
        .into_iter()
        .next()?;
    let kind = &assertion.kind;
    let problem = if assertion.value.is_none() {
        let title = grader.plugin.value_title(&grader.kind);
        let takes = title.map_or_else(String::new, |title| format!(": {title}"));
        format!("'{kind}' needs a `value`{takes}")
    } else {
        format!("value{pointer} of '{kind}' is not what it takes: {message}")
    };
    let at = place(&assertion.value_at);
    Some(BindError::Config { at, problem })
}

/// A webhook that its grants don't let it reach. One whose address a template makes is held
/// against them when it is called.
fn not_granted(assertion: &Assertion, grader: &Grader) -> Option<BindError> {
    let url = assertion.value.as_ref()?.as_str()?;
    if assertion.kind != "webhook" || has_template(assertion.value.as_ref()?) {
        return None;
    }
    let problem = match Url::parse(url) {
        Err(error) => format!("'{url}' is no URL: {error}"),
        Ok(url) => match Origin::of(&url) {
            None => format!("'{url}' is no address of http or https"),
            Some(origin) => grader.grants.check(&origin).err()?.to_string(),
        },
    };
    Some(BindError::Config {
        at: place(&assertion.at),
        problem,
    })
}

/// Returns what the plugin says of a provider: of its id, else by its schema, else by its own check of the
/// config.
async fn refused(target: &ByPlugin, provider: &Provider) -> Vec<BindError> {
    let of_provider = |problem| BindError::Config {
        at: place(&provider.at),
        problem,
    };
    let of_key = |(pointer, message): (String, String)| {
        BindError::of_config(&target.plugin, provider, &pointer, message)
    };
    let component = &target.plugin.component;
    let said = component.check_config(&checked(target)).await;
    // What is said of no key is said of the id: another form has other keys.
    let is_of_id = |(pointer, _): &(String, String)| pointer.is_empty();
    if let Ok(problems) = &said
        && let Some((_, problem)) = problems.iter().find(|it| is_of_id(it))
    {
        return vec![of_provider(problem.clone())];
    }
    let config: Value = serde_json::from_str(&target.abi.config_json).unwrap_or_default();
    if let Some(problem) = component.validate_config(&config).into_iter().next() {
        return vec![of_key(problem)];
    }
    match said {
        Ok(problems) => problems.into_iter().map(of_key).collect(),
        Err(error) => vec![of_provider(error.to_string())],
    }
}

/// The config as the plugin checks it: with the provider's id, where it reads that.
fn checked(target: &ByPlugin) -> String {
    let config = &target.abi.config_json;
    match serde_json::from_str(config) {
        Ok(Value::Object(mut config)) if target.checks_itself => {
            let target = json!({ "id": target.abi.id, "name": target.abi.name });
            config.insert("$target".to_owned(), target);
            Value::Object(config).to_string()
        }
        _ => config.clone(),
    }
}
