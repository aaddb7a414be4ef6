//! What passes between the host and the program's own plugins where the contract has no word for it.
//!
//! A private door: members of JSON by agreement of both sides, checked by no type, and promised to
//! nobody. All of it stands here, so that the contract's next step can see what it has to say:
//!
//! | who tells whom | where | what |
//! |---|---|---|
//! | host → plugin | config | [`RAW`]: give the body as it came · [`VARS`]: variables of the host's, over the case's · [`WITHOUT`]: which credentials are missing |
//! | host → plugin | options of a request | [`REQUEST`]: what code of the config made of the prompt |
//! | host → plugin | the only argument of code | [`ERASE`]: give the JavaScript of TypeScript, and run nothing |
//! | host → plugin | the only argument of code | [`SYNTAX`]: say which texts are no programs, and run nothing |
//! | host → plugin | a config to check | [`VALUES`]: values of assertions |
//! | host → plugin | `extra-json` of what is graded | [`extra`]: keys beside the assertion's `type`, [`CONTEXT`], [`PROVIDER_CONFIG`], [`OUTPUTS`] |
//! | plugin → host | metadata of an answer | [`RESPONSE`]: status and headers of a raw answer |
//! | plugin → host | `info.metadata-json` | [`Extras`]: what it wants and reads beyond the contract |
//! | plugin → host | the alias of a model | [`judge`]: the models that an assertion of the config names |
//!
//! None of them is the user's to write: members of these names are taken out of configs and of what
//! rows bring. `script-languages` in `metadata-json` is the contract's own (`wit/`), and no part of it.

use runner_config::plan::{Assertion, JudgeId, Judges};
use runner_sandbox::abi::{Info, ReadCompletion, Wants};
use serde_json::{Map, Value};

/// The member of a config by which a plugin is told to give the body as it came.
pub(crate) const RAW: &str = "$raw";

/// The member of a config in which a plugin finds the names of credentials that are missing.
const WITHOUT: &str = "$without";

/// The member of a config in which a plugin that fills in templates finds variables of the host's.
const VARS: &str = "$vars";

/// The option in which a plugin finds what code made of the prompt.
pub(crate) const REQUEST: &str = "$request";

/// What the user's own question to a judge is called, beside the assertion's `type` or in a test's options.
const RUBRIC_PROMPT: &str = "rubricPrompt";

/// The context that code of the config made.
pub(crate) const CONTEXT: &str = "context";

/// The tools that the model was offered.
pub(crate) const PROVIDER_CONFIG: &str = "providerConfig";

/// The answers of a row, for a type that compares them.
pub(crate) const OUTPUTS: &str = "outputs";

/// Where the metadata of a raw answer has status and headers, for code alone: headers may hold
/// what is not for a database.
const RESPONSE: &str = "$response";

/// The name of the only argument by which an interpreter is told to run nothing, and to give the
/// JavaScript of each file with types: `{"a.ts": {"text": "…"}, "b.ts": {"refused": "…"}}`.
pub(crate) const ERASE: &str = "$erase";

/// The name of the only argument by which an interpreter is asked which texts are no programs:
/// `[{"form": "body", "name": "a", "source": "…", "names": ["output"], "outside": false}]`. It says
/// `[{"text": 0, "message": "…", "line": 1, "column": 3}]`, a text by its place.
pub(crate) const SYNTAX: &str = "$syntax";

/// The argument with the answers to the requests that code waited for, which only code gets that may send some.
/// What it then gives is `{"value": …}`, or `{"requests": […]}`.
pub(crate) const ANSWERS: &str = "$answers";

/// The member of a config by which a grader is asked about values, each a pair `[type, value]`.
pub(crate) const VALUES: &str = "$values";

/// Takes out of a config, or of the options of a request, what only the host may say there: whatever begins
/// like it, so that no member can be forgotten.
pub(crate) fn close(config: &mut Map<String, Value>) {
    config.retain(|name, _| !name.starts_with('$'));
}

/// Tells the plugin to give the body as it came.
pub(crate) fn ask_for_body(config: &mut Map<String, Value>) {
    config.insert(RAW.to_owned(), Value::Bool(true));
}

/// Gives a plugin that fills in templates these variables, over those of the case.
pub(crate) fn add_vars(config: &mut Map<String, Value>, vars: Value) {
    config.insert(VARS.to_owned(), vars);
}

/// Tells the plugin that a credential which may be missing is missing.
pub(crate) fn without(config: &mut Map<String, Value>, credential: &str) {
    let names = config
        .entry(WITHOUT)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(names) = names {
        names.push(Value::from(credential));
    }
}

/// What a grader finds in `extra-json`: the keys beside the assertion's `type`, the question that the
/// test's options give all of its assertions, and what the host `made` for it; `None` if there is nothing.
pub(crate) fn extra(
    assertion: &Assertion,
    options: &Map<String, Value>,
    made: impl IntoIterator<Item = (&'static str, Value)>,
) -> Option<String> {
    let mut extra = assertion.knobs.clone();
    if let Some(prompt) = options.get(RUBRIC_PROMPT) {
        extra.entry(RUBRIC_PROMPT).or_insert_with(|| prompt.clone());
    }
    let made = made
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    extra.extend(made);
    (!extra.is_empty()).then(|| Value::Object(extra).to_string())
}

/// Status and headers of a raw answer, which leave its metadata; null if it has none.
pub(crate) fn take_response(read: &mut ReadCompletion) -> Value {
    let Some(response) = read.metadata.remove(RESPONSE) else {
        return Value::Null;
    };
    read.completion.metadata_json = Some(Value::Object(read.metadata.clone()).to_string());
    response
}

/// The aliases by which a grader means models of its assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgeAlias {
    Grader,
    Embedding,
    Classifier,
    Moderation,
}

impl JudgeAlias {
    /// `None`: it means a provider of that name.
    pub(crate) fn of(alias: &str) -> Option<Self> {
        Some(match alias {
            "grader" => Self::Grader,
            "embedding" => Self::Embedding,
            "classifier" => Self::Classifier,
            "moderation" => Self::Moderation,
            _ => return None,
        })
    }
}

/// The model of the assertion that an alias means.
pub(crate) fn judge(judges: Judges, alias: &str) -> Option<JudgeId> {
    match JudgeAlias::of(alias)? {
        JudgeAlias::Grader => judges.text,
        JudgeAlias::Embedding => judges.embedding,
        JudgeAlias::Classifier => judges.classification,
        JudgeAlias::Moderation => judges.moderation,
    }
}

/// Whether an assertion type of a plugin asks models of its assertions: by an alias for which the config names no
/// provider.
pub(crate) fn asks_judges(
    info: &Info,
    assertion_type: &str,
    is_named: impl Fn(&str) -> bool,
) -> bool {
    let wants = Extras::of(info).wants_of_type(assertion_type, &info.wants);
    let mut aliases = wants.llm.iter();
    aliases.any(|(alias, _)| JudgeAlias::of(alias).is_some() && !is_named(alias))
}

/// What a provider is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Answer,
    /// Classes of a text, each with its score.
    Classes,
}

/// What a grader of the bundle wants of the model that it means by an alias.
pub(crate) fn purpose(alias: &str) -> Purpose {
    match JudgeAlias::of(alias) {
        Some(JudgeAlias::Classifier) => Purpose::Classes,
        _ => Purpose::Answer,
    }
}

/// Where a plugin's requests go that has a stated origin in common with others.
pub(crate) struct SharedAddress {
    /// The address; `{key}` stands for a text of the config.
    pub(crate) address: String,
    /// Whether the credentials are another company's than the origin.
    pub(crate) lends: bool,
}

/// A plugin's `info.metadata-json`.
pub(crate) struct Extras(Value);

impl Extras {
    pub(crate) fn of(info: &Info) -> Self {
        let text = info.metadata_json.as_deref();
        let extras = text.and_then(|text| serde_json::from_str(text).ok());
        Self(extras.unwrap_or_default())
    }

    /// Whether a credential that it wants may be missing (`optionalCredentials`).
    pub(crate) fn can_do_without(&self, credential: &str) -> bool {
        self.lists("optionalCredentials", credential)
    }

    /// Whether a credential is sent only where it is set (`credentialsIfSet`). The plugin is told
    /// which are not ([`without`]).
    pub(crate) fn if_set(&self, credential: &str) -> bool {
        self.lists("credentialsIfSet", credential)
    }

    /// Further variables that may hold a credential, in order (`credentialEnvs`).
    pub(crate) fn further_envs(&self, credential: &str) -> impl Iterator<Item = &str> {
        let envs = self.0["credentialEnvs"][credential].as_array();
        envs.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The credential that the config's `auth` gives (`authCredential`).
    pub(crate) fn of_auth(&self) -> Option<&str> {
        self.0["authCredential"].as_str()
    }

    /// The credential that takes the place of another where it has a value (`credentialsUnless`).
    pub(crate) fn unless(&self, credential: &str) -> Option<&str> {
        self.0["credentialsUnless"][credential].as_str()
    }

    /// At which addresses of the origins that it wants the API is (`bases`).
    pub(crate) fn bases(&self) -> impl Iterator<Item = &str> {
        let bases = self.0["bases"].as_array().into_iter().flatten();
        bases.filter_map(Value::as_str)
    }

    /// Where a provider of this prefix and name is asked, if others share that origin (`shared`).
    pub(crate) fn shared(&self, prefix: &str, name: &str) -> Option<SharedAddress> {
        let first = name.split(':').next().unwrap_or_default();
        let shared = self.0["shared"].get(format!("{prefix}:{first}"))?;
        Some(SharedAddress {
            address: shared["address"].as_str()?.to_owned(),
            lends: shared["lends"] == true,
        })
    }

    /// What of its wants a provider of this prefix and name uses (`wantsOf`): what is said of the
    /// prefix with the first part of the name, else of the prefix; everything where nothing is
    /// said. It only ever takes away.
    pub(crate) fn wants_of(&self, prefix: &str, name: &str, wants: &Wants) -> Wants {
        let first = name.split(':').next().unwrap_or_default();
        let all = &self.0["wantsOf"];
        let part = all.get(format!("{prefix}:{first}")).or(all.get(prefix));
        let mut wants = narrowed(wants, part);
        // Only grades ask models.
        wants.llm.clear();
        wants
    }

    /// What of its wants a grade of this type uses (`wantsOf`, by `assertion:` and the type), the models that it
    /// asks among them; everything where nothing is said.
    pub(crate) fn wants_of_type(&self, assertion_type: &str, wants: &Wants) -> Wants {
        let part = self.0["wantsOf"].get(format!("assertion:{assertion_type}"));
        let mut wants = narrowed(wants, part);
        if let Some(part) = part {
            wants.llm.retain(|(alias, _)| lists(&part["llm"], alias));
        }
        wants
    }

    /// Whether its check of a config reads the provider's id, too (`checks`: `target`).
    pub(crate) fn checks_target(&self) -> bool {
        self.lists("checks", "target")
    }

    /// Whether it checks values of assertions (`checks`: `values`).
    pub(crate) fn checks_values(&self) -> bool {
        self.lists("checks", "values")
    }

    /// Whether it reads this of a case beyond the request (`reads`: `vars`).
    pub(crate) fn reads(&self, what: &str) -> bool {
        self.lists("reads", what)
    }

    fn lists(&self, key: &str, name: &str) -> bool {
        lists(&self.0[key], name)
    }
}

/// Those of the wants that a part of the plugin uses; all of them where nothing is said of it.
fn narrowed(wants: &Wants, part: Option<&Value>) -> Wants {
    let mut wants = wants.clone();
    if let Some(part) = part {
        wants.hosts.retain(|host| lists(&part["hosts"], host));
        wants
            .credentials
            .retain(|want| lists(&part["credentials"], &want.name));
        wants
            .settings
            .retain(|want| lists(&part["settings"], &want.env));
    }
    wants
}

fn lists(names: &Value, name: &str) -> bool {
    let names = names.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).any(|listed| listed == name)
}

#[cfg(test)]
mod tests {
    use runner_sandbox::abi::Completion;
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_are_for_code_alone() {
        let metadata =
            json!({ RESPONSE: { "status": 200, "headers": {} }, "http": { "status": 200 } });
        let completion = Completion {
            metadata_json: Some(metadata.to_string()),
            ..Completion::new(Vec::new())
        };
        let mut read = ReadCompletion {
            completion,
            output: None,
            raw: None,
            metadata: metadata.as_object().expect("a map").clone(),
        };
        let response = take_response(&mut read);
        assert_eq!(response, json!({ "status": 200, "headers": {} }));
        let left = read.completion.metadata_json.as_deref();
        assert_eq!(left, Some(r#"{"http":{"status":200}}"#));
        assert_eq!(json!(read.metadata), json!({ "http": { "status": 200 } }));
        assert_eq!(take_response(&mut read), Value::Null);
    }

    #[test]
    fn the_first_part_of_a_name_says_more_than_the_prefix() {
        let named = |list: &[&str]| json!({ "hosts": list });
        let extras = Extras(json!({ "wantsOf": { "gate": named(&[]), "gate:a": named(&["a"]) } }));
        let wants = Wants {
            hosts: vec!["a".to_owned(), "b".to_owned()],
            host_config_key: None,
            credentials: Vec::new(),
            settings: Vec::new(),
            llm: Vec::new(),
        };
        let hosts = |prefix: &str, name: &str| extras.wants_of(prefix, name, &wants).hosts;
        assert_eq!(hosts("gate", "a:m"), ["a"]);
        assert_eq!(hosts("gate", "a"), ["a"]);
        assert!(hosts("gate", "b:a").is_empty());
        assert!(hosts("gate", "").is_empty());
        assert_eq!(hosts("other", "a:m"), ["a", "b"]);
    }

    #[test]
    fn a_type_has_the_wants_that_are_said_of_it_and_a_provider_asks_nobody() {
        let of_type = json!({ "hosts": ["a"], "llm": ["judge"] });
        let extras = Extras(json!({ "wantsOf": { "assertion:own": of_type } }));
        let said = |name: &str| (name.to_owned(), "why".to_owned());
        let wants = Wants {
            hosts: vec!["a".to_owned(), "b".to_owned()],
            host_config_key: None,
            credentials: Vec::new(),
            settings: Vec::new(),
            llm: vec![said("judge"), said("other")],
        };
        let own = extras.wants_of_type("own", &wants);
        assert_eq!((own.hosts.len(), own.llm), (1, vec![said("judge")]));
        assert_eq!(extras.wants_of_type("more", &wants), wants);
        let of_provider = extras.wants_of("own", "x", &wants);
        assert_eq!((of_provider.hosts.len(), of_provider.llm.len()), (2, 0));
    }

    #[test]
    fn what_only_the_host_may_say_is_not_the_users_to_write() {
        let config = json!({ RAW: "theirs", WITHOUT: ["key"], "url": "u" });
        let mut config = config.as_object().expect("a map").clone();
        close(&mut config);
        assert_eq!(Value::Object(config.clone()), json!({ "url": "u" }));
        ask_for_body(&mut config);
        without(&mut config, "key");
        assert_eq!(config[RAW], true);
        assert_eq!(config[WITHOUT], json!(["key"]));
    }
}
