//! A loaded plugin: what it is, and its functions as calls.
//!
//! Cheap to clone and to share; it holds no instance. Each call makes one and drops it, so two
//! calls of the same plugin know nothing of each other but how often it crashed.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use wasmtime::component::{Component, ComponentExportIndex, ComponentNamedList, Lift, Lower};

use crate::abi;
use crate::call::{self, Call, CallOutcome, CallUsage, Ready, Returned};
use crate::carried::ComponentHeader;
use crate::compiled::Cache;
use crate::crashes::{Crashes, InputOf};
use crate::describe::{self, Exported, Problem, Schemas};
use crate::host::DenyingHost;
use crate::limits::{CallLimits, DESCRIBE_TIMEOUT, MAX_CRASHES_IN_A_ROW};
use crate::log::LogSink;
use crate::notice::{CallError, Finding, Label, MessageCode, one_line};
use crate::preflight;
use crate::purity::{Capabilities, Purity};
use crate::script::{self, ScriptLanguage};
use crate::v0_1::check::{self, Checked, ScriptResult, Violation};
use crate::v0_1::{self, Exports};

type Answer<T> = Result<T, abi::Error>;

/// A loaded plugin.
#[derive(Clone)]
pub struct Plugin(Arc<Inner>);

struct Inner {
    label: Label,
    sha256: String,
    start_memory: u64,
    ready: Ready,
    exports: Exports,
    capabilities: Capabilities,
    api: Option<String>,
    info: abi::Info,
    schemas: Schemas,
    languages: Vec<ScriptLanguage>,
    crashes: Crashes,
}

/// What a plugin is made of before it has described itself.
pub(crate) struct PluginParts<'a> {
    pub(crate) label: Label,
    /// The label's name was given by the user.
    pub(crate) named: bool,
    pub(crate) sha256: String,
    pub(crate) start_memory: u64,
    pub(crate) component: Component,
    pub(crate) ready: Ready,
    pub(crate) cache: Option<Arc<Cache>>,
    /// What it said of itself when it was compiled.
    pub(crate) description: Option<&'a str>,
}

impl PluginParts<'_> {
    /// Lets it describe itself, or remembers what it said. `P011`, `P012`.
    pub(crate) fn plugin(self) -> Result<Plugin, Finding> {
        let exports = Exports::of(&self.component);
        let engine = self.ready.engine.wasmtime();
        let outside = self.component.component_type();
        let capabilities = Capabilities::of(&outside, engine);
        let exported = outside.exports(engine).map(|(name, _)| name);
        let imported = outside.imports(engine).map(|(name, _)| name);
        let api = preflight::highest(imported.chain(exported)).map(|version| version.to_string());
        let remembered = self.remembered();
        let is_new = remembered.is_none();
        let info = remembered.map_or_else(|| self.ask(&exports), Ok)?;
        let exported = Exported {
            provider: exports.complete.is_some(),
            assertion: exports.evaluate.is_some(),
        };
        let schemas = describe::check(&info, exported)?;
        if is_new {
            schemas.compile()?;
            self.remember(&info);
        }
        let languages = script::languages(&info, exports.run.is_some())?;
        let mut label = self.label;
        if !self.named {
            label.name.clone_from(&info.name);
        }
        Ok(Plugin(Arc::new(Inner {
            label,
            sha256: self.sha256,
            start_memory: self.start_memory,
            ready: self.ready,
            exports,
            capabilities,
            api,
            info,
            schemas,
            languages,
            crashes: Crashes::default(),
        })))
    }

    /// What it said of itself before, all of which was checked then.
    fn remembered(&self) -> Option<abi::Info> {
        let kept = self.description.map(Cow::Borrowed).or_else(|| {
            let cache = self.cache.as_ref()?;
            let text = cache.description(&self.sha256, v0_1::VERSION)?;
            Some(Cow::Owned(text))
        });
        v0_1::description::read(&kept?)
    }

    fn remember(&self, info: &abi::Info) {
        if let Some(cache) = &self.cache {
            let text = v0_1::description::write(info);
            cache.put_description(&self.sha256, v0_1::VERSION, &text);
        }
    }

    /// Calls `describe` on a thread of its own, since the caller may be inside a runtime, where
    /// blocking on another is not possible.
    fn ask(&self, exports: &Exports) -> Result<abi::Info, Finding> {
        let failed = |what: &str| {
            Finding::new(
                MessageCode::P011,
                format!("its `describe` failed: {what}"),
                "report this to the plugin's author",
            )
        };
        let Some(describe) = &exports.describe else {
            return Err(failed("it is not there"));
        };
        let call = quiet(self.start_memory);
        let outcome = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .map_err(|error| failed(&error.to_string()))?;
                    let asked =
                        call::run::<(), (abi::Info,)>(&self.ready, &call, QUIET, describe, ());
                    runtime
                        .block_on(async { tokio::time::timeout(DESCRIBE_TIMEOUT, asked).await })
                        .map_err(|_| failed(&overslept()))
                })
                .join()
                .expect("describing does not panic")
        })?;
        match outcome.result {
            Ok((info,)) => Ok(info),
            Err(finding) => Err(failed(&finding.message)),
        }
    }
}

/// A call with all imports denied.
fn quiet(start_memory: u64) -> Call {
    Call {
        host: Arc::new(DenyingHost),
        limits: CallLimits::describe(start_memory),
        nested: false,
        input: InputOf::default(),
    }
}

/// What stands for the `call-id` of such a call.
const QUIET: &str = "describe";

/// Problems that a guest found, as far as anybody reads them.
fn told(problems: &[Problem]) -> Vec<Problem> {
    let plain = |text: &str| one_line(text, MOST_TOLD_CHARACTERS);
    let told = problems.iter().take(MOST_TOLD);
    told.map(|(pointer, message)| (plain(pointer), plain(message)))
        .collect()
}

/// Problems of a config that are told.
const MOST_TOLD: usize = 32;

/// Characters of each.
const MOST_TOLD_CHARACTERS: usize = 1_000;

fn overslept() -> String {
    format!("it did not end within {} s", DESCRIBE_TIMEOUT.as_secs())
}

impl Plugin {
    /// The version of the contract that it was built for: the highest that it names.
    pub fn api(&self) -> Option<&str> {
        self.0.api.as_deref()
    }

    /// What it says of itself, checked.
    pub fn info(&self) -> &abi::Info {
        &self.0.info
    }

    /// The alias it was loaded under, else its own name.
    pub fn name(&self) -> &str {
        &self.0.label.name
    }

    /// The file as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.0.label.path
    }

    /// Of the file, in hex.
    pub fn sha256(&self) -> &str {
        &self.0.sha256
    }

    /// What its answers can depend on, from the binary.
    pub fn purity(&self) -> Purity {
        self.0.capabilities.purity()
    }

    /// What it imports, from the binary.
    pub fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    /// The languages that it runs ([`Self::script`]); none if it is no script plugin.
    pub fn script_languages(&self) -> &[ScriptLanguage] {
        &self.0.languages
    }

    /// Whether it can be called with [`Self::embed`].
    pub fn embeds(&self) -> bool {
        self.0.exports.embed.is_some()
    }

    /// Takes in that the plugin comes with the program: it is never disabled, since a crash is the doing of its
    /// input, and shares its places in the pool with no plugin of others.
    pub fn mark_bundled(&self) {
        self.0.ready.is_bundled.store(true, Ordering::Relaxed);
    }

    /// What loading it needs to know beside its code.
    pub(crate) fn about(&self) -> ComponentHeader {
        ComponentHeader {
            name: self.0.info.name.clone(),
            sha256: self.0.sha256.clone(),
            start_memory: self.0.start_memory,
            places: self.0.ready.places,
            description: v0_1::description::write(&self.0.info),
        }
    }

    /// Its code, as the engine compiled it.
    pub(crate) fn code(&self) -> wasmtime::Result<Vec<u8>> {
        self.0.ready.pre.component().serialize()
    }

    /// Whether it has crashed on [`MAX_CRASHES_IN_A_ROW`] such tests in a row and is not called for them again.
    pub fn disabled(&self, input: InputOf) -> bool {
        self.0.crashes.disable(input)
    }

    /// Problems of a provider's `config` against the plugin's schema; none if it has no schema.
    pub fn validate_config(&self, config: &Value) -> Vec<Problem> {
        self.0.schemas.config(config)
    }

    /// Problems of an assertion's `value` against the schema of its type.
    pub fn validate_value(&self, assertion_type: &str, value: &Value) -> Vec<Problem> {
        self.0.schemas.value(assertion_type, value)
    }

    /// Asks a provider. Dropping the future drops the guest.
    pub async fn complete(
        &self,
        call: Call,
        target: &abi::Target,
        request: &abi::Request,
        context: &abi::CallContext,
    ) -> CallOutcome<Answer<abi::ReadCompletion>> {
        self.call(
            &call,
            &context.call_id,
            self.0.exports.complete.as_ref(),
            (target, request, context),
            check::completion,
        )
        .await
        .or_refused()
    }

    /// Asks for one vector for each of `inputs`.
    pub async fn embed(
        &self,
        call: Call,
        target: &abi::Target,
        inputs: &[String],
        context: &abi::CallContext,
    ) -> CallOutcome<Answer<abi::Embeddings>> {
        self.call(
            &call,
            &context.call_id,
            self.0.exports.embed.as_ref(),
            (target, inputs, context),
            |answer| check::embeddings(&answer, inputs.len()).map(|()| answer),
        )
        .await
        .or_refused()
    }

    /// Grades one answer. Dropping the future drops the guest.
    pub async fn evaluate(
        &self,
        call: Call,
        input: &abi::Input,
        context: &abi::CallContext,
    ) -> CallOutcome<Answer<abi::ReadGrade>> {
        self.call(
            &call,
            &context.call_id,
            self.0.exports.evaluate.as_ref(),
            (input, context),
            check::grade,
        )
        .await
        .or_refused()
    }

    /// Runs code of a config. The answer is its value, `None` for none, or how it failed; an error is
    /// a guest that gave no answer: out of CPU or memory, crashed. What the program wrote to its
    /// console has gone to the host's log. Dropping the future drops the guest.
    pub async fn script(
        &self,
        call: Call,
        program: &abi::Program,
        arguments: &[abi::Argument],
        context: &abi::CallContext,
    ) -> CallOutcome<ScriptResult> {
        let host = Arc::clone(&call.host);
        let called = self
            .call(
                &call,
                &context.call_id,
                self.0.exports.run.as_ref(),
                (program, arguments, context),
                check::script,
            )
            .await;
        // The console comes back as data, so that running code needs no import and is a pure function.
        called.map(|(result, console)| {
            if !console.is_empty() {
                let sink = LogSink::new(host);
                for line in &console {
                    sink.line(line.level, &line.text, Vec::new());
                }
                sink.finish();
            }
            result
        })
    }

    /// Asks the plugin what is wrong with a provider's config beyond its schema, with all
    /// imports denied. Needs a tokio runtime with a clock.
    ///
    /// # Errors
    /// [`CallError`] if it gives no answer.
    pub async fn check_config(&self, config_json: &str) -> Result<Vec<Problem>, CallError> {
        let call = quiet(self.0.start_memory);
        let export = self.0.exports.check_config.as_ref();
        let asked = self.call(&call, QUIET, export, (config_json,), Ok::<Vec<Problem>, _>);
        match tokio::time::timeout(DESCRIBE_TIMEOUT, asked).await {
            Ok(called) => called.result.map(|problems| told(&problems)),
            Err(_) => Err(self.error(Finding::new(
                MessageCode::C104,
                format!("its `check-config`: {}", overslept()),
                "report this to the plugin's author",
            ))),
        }
    }

    async fn call<P, R, T>(
        &self,
        call: &Call,
        call_id: &str,
        export: Option<&ComponentExportIndex>,
        params: P,
        check: impl FnOnce(R) -> Checked<T>,
    ) -> CallOutcome<T>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: Send + Sync + 'static,
        (R,): ComponentNamedList + Lift,
    {
        let inner = &*self.0;
        let export = match export {
            Some(export) if !self.disabled(call.input) => export,
            Some(_) => return self.not_called(disabled()),
            None => return self.not_called(not_exported()),
        };
        let outcome = call::run::<P, (R,)>(&inner.ready, call, call_id, export, params).await;
        self.count(call, &outcome);
        let checked = |(answer,)| check(answer).map_err(|violation| broken(&violation));
        let result = outcome.result.and_then(checked);
        CallOutcome {
            result: result.map_err(|finding| self.error(finding)),
            usage: outcome.usage,
            refusal: outcome.refusal,
        }
    }

    /// Counts crashes in a row. The line about the last one is logged by the call that makes it.
    fn count<R>(&self, call: &Call, returned: &Returned<R>) {
        // A program that loops says nothing about the plugin that runs it, and an input that takes too
        // long nothing about one that is known.
        if !self.0.languages.is_empty() || self.0.ready.is_bundled.load(Ordering::Relaxed) {
            return;
        }
        let crashes = &self.0.crashes;
        match &returned.result {
            Ok(_) => crashes.succeeded(call.input),
            Err(finding) if finding.code.is_crash() && returned.refusal.is_none() => {
                if crashes.crashed(call.input) {
                    call.host.log(abi::LogLine {
                        level: abi::Level::Error,
                        message: self.error(disabled()).to_string(),
                        fields: Vec::new(),
                    });
                }
            }
            Err(_) => {}
        }
    }

    fn not_called<R>(&self, finding: Finding) -> CallOutcome<R> {
        CallOutcome {
            result: Err(self.error(finding)),
            usage: CallUsage::default(),
            refusal: None,
        }
    }

    fn error(&self, finding: Finding) -> CallError {
        CallError(Box::new(finding.about(self.0.label.clone())))
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugin").field(&self.0.label).finish()
    }
}

fn disabled() -> Finding {
    Finding::new(
        MessageCode::C111,
        format!("disabled for this run after crashes on {MAX_CRASHES_IN_A_ROW} tests in a row"),
        "see the first of them; the other plugins go on",
    )
}

fn not_exported() -> Finding {
    Finding::new(
        MessageCode::C112,
        "does not export what it was called for",
        "look at what it serves with `runner plugin inspect`",
    )
}

/// `C109`.
fn broken(violation: &Violation) -> Finding {
    let mut message = format!("broke the contract: {} {}", violation.field, violation.what);
    if !violation.excerpt.is_empty() {
        let begins = violation.excerpt.escape_debug();
        message = format!("{message}; it begins `{begins}`");
    }
    Finding::new(
        MessageCode::C109,
        message,
        "report this to the plugin's author",
    )
}
