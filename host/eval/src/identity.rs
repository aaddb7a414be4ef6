//! What makes a case the same case on another machine or another day.
//!
//! Two questions, two answers. A plugin gets a `call_id`, which says that two calls are about
//! the same thing. The store gets an [`Identities::of`], by which a resumed run finds the rows
//! that are still good. Both leave positions out: moving a test in its file changes nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use runner_config::plan::{
    Assertion, Case, Check, EnvRead, Extension, Hook, JudgeId, Places, Plan, Provider,
    ProviderProgram, Script,
};
use runner_gateway::Masker;
use runner_store::{Digest as CaseDigest, PlannedCase};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::request::json;

/// sha256 (hex) of the test as written, the variables, the prompt, the provider with its
/// config, and the repeat. Positions are left out: moving a test in its file changes nothing.
/// So is what `masker` knows, and what the environment filled into the provider's config, which may be
/// too short to be known there: plugins get to see this, and could try out passwords on it.
pub(crate) fn call_id(case: &Case, masker: &Masker) -> String {
    let (prompt, provider) = (&case.column.prompt, &case.column.provider);
    let content = json(&(
        &*case.test.json,
        &*case.vars,
        &prompt.id,
        &prompt.raw,
        &provider.id,
        &unfilled(provider),
        case.repeat_index,
    ));
    HEXLOWER.encode(&Sha256::digest(masker.mask(&content).as_bytes()))
}

/// The id of a call for a component of somebody else's, by what it is given anyway: with more in it, it could try
/// out what the test expects.
pub(crate) fn call_id_of_given(given: &str, repeat: u32) -> String {
    let digest = Sha256::new_with_prefix(given).chain_update(repeat.to_be_bytes());
    HEXLOWER.encode(&digest.finalize())
}

/// The keys of a provider's config that have nothing of the environment.
fn unfilled(provider: &Provider) -> Cow<'_, Map<String, Value>> {
    let reads = &provider.env_reads;
    if reads.is_empty() {
        return Cow::Borrowed(&provider.config);
    }
    let is_filled = |key: &str| {
        let pointer = Places::pointer("", key);
        let is_inside = |read: &EnvRead| provider.places.may_hold(&pointer, &read.at);
        reads.iter().any(is_inside)
    };
    let written = provider.config.iter().filter(|(key, _)| !is_filled(key));
    let written = written.map(|(key, value)| (key.clone(), value.clone()));
    Cow::Owned(written.collect())
}

/// The digest of one repeat.
fn repeated(content: [u8; 32], repeat: u32) -> CaseDigest {
    let digest = Sha256::new_with_prefix(content).chain_update(repeat.to_be_bytes());
    CaseDigest::new(digest.finalize().into())
}

/// Says of each case of a plan what it is, whatever its place.
///
/// In it is all that decides how the case ends: prompt, provider with its config, variables,
/// the test's options and assertions with the files they name and the models they ask, all code with what it imports, the threshold, the repeat, and
/// the environment where the prompt reads it. Not in it is what only names or describes, and no
/// secret: a key that was exchanged between two sessions makes no other case. Nor are plugins
/// in it; their versions stand in each row.
#[derive(Debug)]
pub(crate) struct Identities {
    masker: Masker,
    /// Code that is called around every case.
    extensions: Vec<Value>,
    /// Filters of templates, by name.
    filters: Vec<(String, Value)>,
    /// Digests of the models that assertions may ask, by [`JudgeId`].
    judges: Vec<String>,
}

impl Identities {
    /// For the cases of `plan`, without what `masker` knows.
    pub(crate) fn new(plan: &Plan, masker: &Masker) -> Self {
        // A case is the same whatever tokens a run was given.
        let masker = masker.declared();
        let around = |one: &&Extension| one.is_for(Hook::BeforeEach) || one.is_for(Hook::AfterEach);
        let extensions = plan.extensions.iter().filter(around);
        let filters = plan.filters.iter();
        let judge = |judge: &Arc<Provider>| {
            let asked = json(&(asked(judge), exchange(judge)));
            HEXLOWER.encode(&Sha256::digest(masker.mask(&asked).as_bytes()))
        };
        Self {
            judges: plan.judges.iter().map(judge).collect(),
            masker,
            extensions: extensions.map(|one| one.script.content()).collect(),
            filters: filters
                .map(|(name, script)| (name.clone(), script.content()))
                .collect(),
        }
    }

    /// The case by its content.
    pub(crate) fn of(&self, case: &Case) -> CaseDigest {
        repeated(self.content(case), case.repeat_index)
    }

    /// The case by its content, and what the repeats of a case have in common and no other cases
    /// have; `None` where there is one only.
    pub(crate) fn with_group(&self, case: &Case) -> (CaseDigest, Option<String>) {
        let content = self.content(case);
        let group = (case.test.repeat > 1).then(|| HEXLOWER.encode(&content[..8]));
        (repeated(content, case.repeat_index), group)
    }

    /// The digest of everything but the repeat.
    fn content(&self, case: &Case) -> [u8; 32] {
        let (prompt, provider) = (&case.column.prompt, &case.column.provider);
        let test = &*case.test;
        let compared = test.comparisons.iter().map(|it| &it.assertion);
        let checks = test.assertions.iter().flat_map(Check::members);
        let judges: BTreeSet<JudgeId> = checks
            .chain(compared)
            .flat_map(|it| it.judges.all())
            .collect();
        let judges = judges.iter().map(|id| &*self.judges[id.0 as usize]);
        // A template that doesn't have the word doesn't read the environment.
        let env = prompt.raw.contains("env").then_some(prompt.env());
        let content = Content {
            prompt: (&prompt.raw, prompt.config.as_ref(), env),
            provider: asked(provider),
            vars: &case.vars,
            options: &test.options,
            metadata: &test.metadata,
            checks: test.assertions.iter().map(Checked::of).collect(),
            threshold: test.threshold,
            comparisons: test
                .comparisons
                .iter()
                .map(|it| loaded(&it.assertion))
                .collect(),
            output: test.output.as_ref(),
            code: code(case),
            exchange: exchange(provider),
            judges: judges.collect(),
            budget: test.question.as_ref().map(|question| {
                let budget = question.budget;
                (budget.tokens, budget.time.map(|it| it.as_secs()))
            }),
            extensions: &self.extensions,
            of_data: of_data(case),
        };
        let mut content = json(&content);
        // What nowhere says the name of a filter doesn't call it.
        let named = |(name, _): &&(String, Value)| content.contains(name.as_str());
        let called: Vec<&(String, Value)> = self.filters.iter().filter(named).collect();
        if !called.is_empty() {
            content += &json(&called);
        }
        Sha256::digest(self.masker.mask(&content).as_bytes()).into()
    }

    /// The case with its place, as the store matches it; `afresh`: so that no row matches.
    pub(crate) fn planned(&self, case: &Case, afresh: bool) -> PlannedCase {
        let mut identity = self.of(case);
        if afresh {
            identity = CaseDigest::new(Sha256::digest(format!("afresh {identity:?}")).into());
        }
        PlannedCase {
            test_idx: case.id.test_idx,
            prompt_idx: case.id.prompt_idx,
            identity,
        }
    }
}

/// What an [`Identities::of`] is the digest of: written as it stands, without a copy.
#[derive(Serialize)]
struct Content<'a> {
    prompt: (&'a str, Option<&'a Fields>, Option<&'a Fields>),
    provider: AskedWith<'a>,
    vars: &'a Fields,
    options: &'a Fields,
    metadata: &'a Fields,
    checks: Vec<Checked<'a>>,
    threshold: Option<f64>,
    // Left out where there are none, so that rows of before are known again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<Loaded<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Vec<Option<Value>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<Vec<Option<Value>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judges: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<(Option<u64>, Option<u64>)>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    of_data: Option<&'a Path>,
}

type Fields = Map<String, Value>;

/// The data file of a case that others of its file give something, or that gives them something: an equal row of
/// another file is given something else.
fn of_data(case: &Case) -> Option<&Path> {
    let needs = case.needs.as_deref()?;
    let is_tied = !needs.reads.is_empty() || !needs.writes.is_empty();
    let data = case.test.data.as_ref().filter(|_| is_tied)?;
    Some(&data.shown)
}

/// The code of a case, if it has any: its files change without the config that names them.
fn code(case: &Case) -> Option<Vec<Option<Value>>> {
    let test = &case.test;
    let code = [
        &case.column.prompt.code,
        &case.column.provider.transform,
        &test.transform,
        &test.transform_vars,
        &test.scoring,
    ];
    let checks = test.assertions.iter().flat_map(Check::members);
    let of_checks = checks.flat_map(|it| [&it.script, &it.transform, &it.context_transform]);
    let scripts = code.into_iter().chain(of_checks);
    if case.code_vars.is_empty() && scripts.clone().all(Option::is_none) {
        return None;
    }
    let of_vars = case.code_vars.iter();
    let of_vars = of_vars.map(|(_, script)| Some(script.content()));
    let scripts = scripts.map(|script| script.as_deref().map(Script::content));
    Some(scripts.chain(of_vars).collect())
}

/// What a provider is asked with: its id, its config and its `env`; and the variables that were filled into it, if
/// there are any, since two that differ in nothing else are two.
#[derive(Serialize)]
#[serde(untagged)]
enum AskedWith<'a> {
    AsWritten(&'a str, &'a Fields, &'a Fields),
    Filled(&'a str, &'a Fields, &'a Fields, Vec<&'a str>),
}

fn asked(provider: &Provider) -> AskedWith<'_> {
    let Provider {
        id, config, env, ..
    } = provider;
    let reads: Vec<&str> = provider.env_reads.iter().map(|it| &*it.name).collect();
    if reads.is_empty() {
        AskedWith::AsWritten(id, config, env)
    } else {
        AskedWith::Filled(id, config, env, reads)
    }
}

/// The code that makes a provider's requests and reads its answers, and what answers in place of a
/// plugin; `None` where there is neither.
fn exchange(provider: &Provider) -> Option<Vec<Option<Value>>> {
    let script = |it: &Option<Arc<Script>>| it.as_deref().map(Script::content);
    let exchange = provider.code.scripts();
    let program = provider.program.as_ref().map(|program| match program {
        ProviderProgram::Code(script) => script.content(),
        ProviderProgram::Command(process) => Value::from(process.digest.as_str()),
    });
    let has_code = program.is_some() || exchange.iter().any(|script| script.is_some());
    let exchange = exchange.map(script).into_iter();
    has_code.then(|| exchange.chain(program.map(Some)).collect())
}

/// As written, and what the files that it names hold.
type Loaded<'a> = (&'a Value, Option<&'a Value>, &'a Fields);

fn loaded(assertion: &Assertion) -> Loaded<'_> {
    (&assertion.json, assertion.value.as_ref(), &assertion.knobs)
}

/// A check and its members as written, with what the files that they name hold.
#[derive(Serialize)]
#[serde(untagged)]
enum Checked<'a> {
    One(Loaded<'a>),
    Set(&'a Value, Vec<Loaded<'a>>),
}

impl<'a> Checked<'a> {
    fn of(check: &'a Check) -> Self {
        match check {
            Check::One(assertion) => Self::One(loaded(assertion)),
            Check::Set {
                assertions, json, ..
            } => Self::Set(json, assertions.iter().map(loaded).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use runner_gateway::Secret;

    use super::*;
    use crate::fixture;

    fn id(provider: &str, secrets: &[&str]) -> String {
        let case = fixture::case(&format!(
            "prompts: [p]\nproviders: [{{ id: echo, config: {provider} }}]"
        ));
        let secrets: Vec<Secret> = secrets.iter().map(|it| Secret::new(*it)).collect();
        call_id(&case, &Masker::new(&secrets))
    }

    #[test]
    fn a_case_with_another_judge_is_another() {
        let judged_by = |config: &str| {
            let plan = fixture::plan(&format!(
                "prompts: [p]\nproviders: [echo, {{ id: echo, label: judge, config: {config} }}]\n\
                 tests: [{{ assert: [{{ type: llm-rubric, value: kind, provider: judge }}] }}]"
            ));
            let case = plan.cases().next().expect("one case");
            Identities::new(&plan, &Masker::new(&[])).of(&case)
        };
        assert_eq!(judged_by("{ heat: 0 }"), judged_by("{ heat: 0 }"));
        assert_ne!(judged_by("{ heat: 0 }"), judged_by("{ heat: 1 }"));
    }

    #[test]
    fn providers_that_get_other_variables_are_others_whatever_these_hold() {
        let of = |name: &str, value: &str| {
            let header = format!("{{{{env.{name}}}}}");
            let plan = fixture::plan_with(
                &format!(
                    "prompts: [p]\nproviders: [{{ id: echo, config: {{ headers: {{ X-Tenant: '{header}' }} }} }}]"
                ),
                &[(name, value)],
            );
            let case = plan.cases().next().expect("one case");
            let masker = Masker::new(&[Secret::new(value)]);
            Identities::new(&plan, &masker).of(&case)
        };
        assert_eq!(
            of("A_SECRET", "value-of-one"),
            of("A_SECRET", "value-of-another")
        );
        assert_ne!(
            of("A_SECRET", "value-of-one"),
            of("B_SECRET", "value-of-one")
        );
    }

    #[test]
    fn a_provider_is_known_by_what_answers_in_place_of_a_plugin() {
        let case = fixture::case("prompts: [p]\nproviders: ['exec: ./answer.sh']");
        let provider = &*case.column.provider;
        let mut other = provider.clone();
        let Some(ProviderProgram::Command(process)) = &mut other.program else {
            panic!("it is a command");
        };
        Arc::make_mut(process).digest = "other".to_owned();
        assert_eq!(exchange(provider), exchange(&provider.clone()));
        assert_ne!(exchange(provider), exchange(&other));
    }

    #[test]
    fn no_password_can_be_tried_out_on_the_id_of_a_call() {
        let secrets = ["correct-horse", "battery-staple"];
        let [one, other] = secrets.map(|key| id(&format!("{{ apiKey: {key} }}"), &secrets));
        assert_eq!(one, other);
        assert_ne!(one, id("{ apiKey: none }", &secrets));
        let short = |value: &str| {
            let config = "prompts: [p]\nproviders: [{ id: echo, config: { a: 1, b: [{ c: '{{ env.PIN }}' }] } }]";
            let plan = fixture::plan_with(config, &[("PIN", value)]);
            let case = plan.cases().next().expect("one case");
            call_id(&case, &Masker::new(&[Secret::new(value)]))
        };
        assert_eq!(short("1234"), short("9876"));
    }
}
