//! What is done before there is a run: code that makes tests, `beforeAll`, documents that are read, and data sets that
//! are fetched.
//!
//! Making a plan is synchronous and knows no sandbox; here is what it is handed. Each call has a
//! thread with a small runtime of its own, since whoever makes a plan may be inside of one. There
//! is no case yet, and nothing to ask for: the host denies everything. The clock stands where the
//! contract has it when nobody sets it, and chance follows from the code, so that a run that goes
//! on gets the same tests as when it began.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use data_encoding::HEXLOWER;
use runner_config::plan::{Process, Script};
use runner_config::{CodeText, Dataset, Mistake, Scripts, TrustRequest, written_secrets};
use runner_gateway::{Masker, Secret};
use runner_process::Workers;
use runner_sandbox::abi::{self, Argument, CallContext};
use runner_sandbox::limits::{MAX_LOG_BYTES, MAX_LOG_LINES};
use runner_sandbox::{Call, CallLimits, CallOutcome, Host, InputOf, Sandbox};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::datasets::{DatasetServer, Fetching};
use crate::erased::{JAVASCRIPT, typed};
use crate::plugins::{FUEL_BEFORE_A_RUN, Interpreter, PluginSet, Trust, interpreter};
use crate::programs::Programs;
use crate::script::outside::{call as call_json, failure as failure_of};
use crate::script::{Runnable, argument, fault, program, runnable};
use crate::syntax::{self, Part};

/// The language of PDF files, to the plugin that reads them.
const PDF: &str = "pdf";

/// What reading a document may take.
const DOCUMENT: CallLimits = CallLimits {
    memory: 512 << 20,
    fuel: Some(100_000_000_000),
    guest_time: Duration::from_mins(1),
    http_calls: 0,
    llm_calls: 0,
};

/// What all documents may cost together, in fuel: some thousands of long papers. Each has a bound of its own, and a
/// folder may have any number.
const DOCUMENTS_FUEL: u64 = 40 * 100_000_000_000;

/// Runs code of the config, and fetches data sets, while a plan is made.
pub struct ScriptRunner<'a> {
    plugins: &'a PluginSet,
    sandbox: &'a Sandbox,
    /// By language; made when it is first needed.
    interpreters: RefCell<BTreeMap<String, Arc<Interpreter>>>,
    /// What calls of code have cost.
    fuel: Cell<u64>,
    /// What documents have cost.
    spent_on_documents: Cell<u64>,
    /// The person's environment, for what runs outside the sandbox and what asks a server.
    env: &'a BTreeMap<String, String>,
    fetching: Fetching<'a>,
    said: &'a dyn Fn(&str),
}

impl fmt::Debug for ScriptRunner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interpreters = self.interpreters.borrow();
        f.debug_set().entries(interpreters.keys()).finish()
    }
}

impl<'a> ScriptRunner<'a> {
    /// With the languages that `plugins` run; `said` takes each line that code writes to its
    /// console.
    pub fn new(
        plugins: &'a PluginSet,
        sandbox: &'a Sandbox,
        env: &'a BTreeMap<String, String>,
        fetching: Fetching<'a>,
        said: &'a dyn Fn(&str),
    ) -> Self {
        Self {
            plugins,
            sandbox,
            env,
            fetching,
            interpreters: RefCell::default(),
            fuel: Cell::default(),
            spent_on_documents: Cell::default(),
            said,
        }
    }

    fn interpreter(&self, language: &str) -> Result<Arc<Interpreter>, String> {
        let mut interpreters = self.interpreters.borrow_mut();
        if let Some(interpreter) = interpreters.get(language) {
            return Ok(interpreter.clone());
        }
        let interpreter = Arc::new(self.plugins.interpreter(language, self.sandbox)?);
        interpreters.insert(language.to_owned(), interpreter.clone());
        Ok(interpreter)
    }
}

impl ScriptRunner<'_> {
    /// Runs code outside the sandbox, in a program of its own, which ends with it.
    fn outside(
        &self,
        process: &Arc<Process>,
        script: &Script,
        arguments: &[Argument],
        written: &Masker,
    ) -> Result<Option<Value>, String> {
        let Runnable {
            program, outside, ..
        } = runnable(script);
        let files = outside.and_then(|outside| outside.files);
        let processes = std::slice::from_ref(process);
        let interpreter = match &process.typed {
            Some(_) => Some(self.interpreter(JAVASCRIPT)?),
            None => None,
        };
        let typed = on_a_thread(typed(processes, interpreter.as_deref()))?;
        let programs = Programs::of(processes, self.env, typed);
        let given: Vec<Secret> = programs.secrets().collect();
        let masker = Masker::union([written, &Masker::new(&given)]);
        let service = programs.service(process, files.as_deref());
        let folder = process.folder.to_string_lossy();
        // What makes a config or tests must not lose a function on the way: nobody would miss it.
        let path = files.map(|files| json!({ "path": files.path.to_string_lossy(), "data": true }));
        let call = call_json(&program, arguments, path.as_ref());
        let timeout = process.timeout.unwrap_or(Process::DEFAULT_TIMEOUT);
        let heard = Arc::new(Heard::default());
        let log = {
            let heard = heard.clone();
            Arc::new(move |line: runner_process::LogLine| heard.take(line.text))
        };
        let answer = on_a_thread(async {
            let workers = Workers::new(service);
            let answer = workers.call(&call, timeout, log).await;
            workers.close().await;
            answer
        })?;
        for line in heard.lines() {
            (self.said)(&masker.mask(&line));
        }
        let answer = answer.map_err(|fault| fault.to_string());
        let value = answer.and_then(|answer| match answer {
            Ok(None) => Ok(None),
            Ok(Some(json)) => serde_json::from_str(json.get())
                .map(Some)
                .map_err(|error| error.to_string()),
            Err(report) => Err(fault(&failure_of(report, &folder)).0),
        });
        value.map_err(|error| masker.mask(&error).into_owned())
    }

    /// Runs code in the sandbox.
    fn inside(
        &self,
        script: &Script,
        arguments: &[Argument],
        masker: &Masker,
    ) -> Result<Option<Value>, String> {
        if self.fuel.get() > FUEL_BEFORE_A_RUN {
            return Err(
                "the code that ran before it used up all that code may use before a run".to_owned(),
            );
        }
        let interpreter = self.interpreter(&script.language)?;
        let heard = Arc::new(Heard::default());
        let id = HEXLOWER.encode(&Sha256::digest(script.content().to_string()));
        let program = program(script);
        let limits = interpreter.limits;
        let work = (&program, id, limits);
        let (outcome, fuel) = call(&interpreter, work, arguments, heard.clone());
        self.fuel.set(self.fuel.get().saturating_add(fuel));
        for line in heard.lines() {
            (self.said)(&masker.mask(&line));
        }
        outcome?.map_err(|failure| fault(&failure).0)
    }
}

/// Bytes of secrets that a config writes for which what its code says is searched: each costs a thousand of memory.
const MOST_WRITTEN: usize = 32 << 10;

/// Hides what stands in these where a secret does. Nothing has taken the keys yet that a config writes, and what its
/// code says may have them.
fn masker_of<'v>(given: impl Iterator<Item = &'v Value>) -> Masker {
    let written: BTreeSet<String> = given.flat_map(written_secrets).collect();
    let secrets = written.into_iter().flat_map(Secret::credential);
    let mut left = MOST_WRITTEN;
    let secrets = secrets.take_while(|secret| {
        let fits = secret.bytes() <= left;
        left = left.saturating_sub(secret.bytes());
        fits
    });
    let secrets: Vec<Secret> = secrets.collect();
    Masker::new(&secrets)
}

/// Waits for `work` on a thread of its own, since whoever makes a plan may be inside of a runtime.
fn on_a_thread<T: Send>(work: impl Future<Output = T> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            Ok(runtime.block_on(work))
        });
        thread.join().expect("a call does not panic")
    })
}

impl Scripts for ScriptRunner<'_> {
    fn needs(&self, language: &str) -> Option<TrustRequest> {
        Some(interpreter(language, self.plugins)?.request)
    }

    fn run(&self, script: &Script, arguments: &[(&str, Value)]) -> Result<Option<Value>, String> {
        let masker = masker_of(arguments.iter().map(|(_, value)| value));
        let arguments: Vec<Argument> = arguments
            .iter()
            .map(|(name, value)| argument(name, value.to_string()))
            .collect();
        let run = match &script.process {
            Some(process) => self.outside(process, script, &arguments, &masker),
            None => self.inside(script, &arguments, &masker),
        };
        run.map_err(|error| masker.mask(&error).into_owned())
    }

    fn mistakes(&self, texts: &[CodeText<'_>]) -> Vec<Mistake> {
        let mut found = Vec::new();
        for (language, parts) in syntax::parts(texts) {
            let mistakes = self.mistakes_of(language, &parts);
            found.extend(mistakes.unwrap_or_else(|reason| {
                self.note(&format!(
                    "its {language} is not read before the run: {reason}"
                ));
                Vec::new()
            }));
        }
        found.sort_by_key(|mistake| mistake.text);
        found
    }

    fn text_of_pdf(&self, bytes: &[u8]) -> Result<String, String> {
        let interpreter = self.interpreter(PDF)?;
        if !matches!(interpreter.plugin.trust, Trust::Bundled) {
            return Err("the plugin that reads it did not come with the program".to_owned());
        }
        let program = abi::Program {
            language: PDF.to_owned(),
            form: abi::Form::File,
            name: "document.pdf".to_owned(),
            source: BASE64_STANDARD.encode(bytes),
            entry: None,
            modules: Vec::new(),
            clock_ms: None,
        };
        let id = HEXLOWER.encode(&Sha256::digest(bytes));
        if self.spent_on_documents.get() > DOCUMENTS_FUEL {
            return Err("the documents before it took all the time that documents may".to_owned());
        }
        let work = (&program, id, DOCUMENT);
        let (outcome, fuel) = call(&interpreter, work, &[], Arc::default());
        let spent = self.spent_on_documents.get();
        self.spent_on_documents.set(spent.saturating_add(fuel));
        match outcome? {
            Ok(Some(Value::String(text))) => Ok(text),
            Ok(_) => Err("it has no text".to_owned()),
            Err(failure) => Err(failure.message),
        }
    }

    fn fetch(&self, dataset: &mut Dataset) -> Result<(), String> {
        let server = DatasetServer::new(self.env, &self.fetching)?;
        on_a_thread(server.read(dataset))?
    }

    fn note(&self, word: &str) {
        (self.said)(word);
    }
}

impl ScriptRunner<'_> {
    /// What the program's own interpreter says of these texts. No other is asked: it would run them.
    fn mistakes_of(&self, language: &str, parts: &[Part]) -> Result<Vec<Mistake>, String> {
        let interpreter = self.interpreter(language)?;
        if !matches!(interpreter.plugin.trust, Trust::Bundled) {
            return Err("the plugin that runs it did not come with the program".to_owned());
        }
        let mut found = Vec::new();
        let mut spent = 0;
        for (index, part) in parts.iter().enumerate() {
            if spent > FUEL_BEFORE_A_RUN {
                let left = parts.len() - index;
                self.note(&format!(
                    "much {language}: {left} parts are not read before the run"
                ));
                break;
            }
            let program = syntax::program(language);
            let id = HEXLOWER.encode(&Sha256::digest(language));
            let (answer, fuel) = call(
                &interpreter,
                (&program, id, interpreter.limits),
                &[part.argument()],
                Arc::default(),
            );
            spent = spent.saturating_add(fuel);
            match answer {
                Ok(Ok(Some(answer))) => found.extend(part.mistakes(&answer)),
                // It is too much for one call, and no mistake.
                Err(reason) => self.note(&format!("{language}: {reason}")),
                Ok(_) => {}
            }
        }
        Ok(found)
    }
}

/// One call of the guest, to its end; with the fuel that it took.
fn call(
    interpreter: &Interpreter,
    (program, call_id, limits): (&abi::Program, String, CallLimits),
    arguments: &[Argument],
    host: Arc<Heard>,
) -> (
    Result<Result<Option<Value>, abi::ScriptFailure>, String>,
    u64,
) {
    let context = CallContext::new(call_id);
    let call = Call {
        host,
        limits,
        nested: false,
        input: InputOf::default(),
    };
    let component = &interpreter.plugin.component;
    match on_a_thread(component.script(call, program, arguments, &context)) {
        Ok(CallOutcome { result, usage, .. }) => {
            let result = result.map_err(|error| error.to_string());
            (result, usage.fuel)
        }
        Err(reason) => (Err(reason), 0),
    }
}

/// Denies everything, and keeps what is logged.
#[derive(Debug, Default)]
struct Heard(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    kept: Vec<String>,
    bytes: usize,
    dropped: usize,
}

impl Heard {
    fn take(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.bytes += line.len();
        if lines.kept.len() < MAX_LOG_LINES as usize && lines.bytes <= MAX_LOG_BYTES {
            lines.kept.push(line);
        } else {
            lines.dropped += 1;
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Lines {
            mut kept, dropped, ..
        } = std::mem::take(&mut *lines);
        if dropped > 0 {
            kept.push(format!("{dropped} lines more"));
        }
        kept
    }
}

impl Host for Heard {
    fn log(&self, line: abi::LogLine) {
        self.take(line.message);
    }
}
