//! TypeScript for the person's Node.js, as JavaScript: which of its versions takes what is not to be
//! known here, so the driver is handed a text of every file with types that was read with the config.
//!
//! It is made in the sandbox by the program's own interpreter of JavaScript, and by no other one:
//! what it gives runs outside.

use std::collections::HashMap;
use std::sync::Arc;

use runner_config::plan::{CodeFile, CodeFiles, Process};
use runner_sandbox::abi::{CallContext, Form, Module, Program};
use runner_sandbox::{Call, DenyingHost, InputOf};
use serde_json::{Map, Value};

use crate::plugins::{FUEL_BEFORE_A_RUN, Interpreter, Trust};
use crate::private_door::ERASE;
use crate::programs::Typed;
use crate::script::argument;

/// The language whose interpreter does it.
pub(crate) const JAVASCRIPT: &str = "javascript";

/// Makes the texts of these processes, each made once, and of all no more than what code may cost before a
/// run: the others are Node's affair.
pub(crate) async fn typed(processes: &[Arc<Process>], interpreter: Option<&Interpreter>) -> Typed {
    let mut typed = Typed::default();
    let bundled = interpreter.filter(|it| matches!(it.plugin.trust, Trust::Bundled));
    let Some(interpreter) = bundled else {
        return typed;
    };
    let mut known = HashMap::new();
    let mut left = FUEL_BEFORE_A_RUN;
    for process in processes {
        let Some(files) = &process.typed else {
            continue;
        };
        if !known.contains_key(files) && left > 0 {
            let (texts, fuel) = texts(interpreter, files).await;
            left = left.saturating_sub(fuel);
            known.insert(files, texts.unwrap_or_default());
        }
        if let Some(texts) = known.get(files) {
            typed.add(process, files, texts);
        }
    }
    typed
}

/// Returns the texts by the path that a file has among the others, and what it took in fuel. `None` where the
/// interpreter gives none, since they are more than one call can do: then they are Node's affair.
async fn texts(interpreter: &Interpreter, files: &CodeFiles) -> (Option<Map<String, Value>>, u64) {
    let module = |file: &CodeFile| Module {
        path: file.path.clone(),
        source: file.source.clone(),
    };
    let program = Program {
        language: JAVASCRIPT.to_owned(),
        form: Form::File,
        name: files.main.path.clone(),
        source: files.main.source.clone(),
        entry: None,
        modules: files.modules.iter().map(module).collect(),
        clock_ms: None,
    };
    let context = CallContext::new(files.digest());
    let call = Call {
        host: Arc::new(DenyingHost),
        limits: interpreter.limits,
        nested: false,
        input: InputOf::default(),
    };
    let arguments = [argument(ERASE, "null".to_owned())];
    let component = &interpreter.plugin.component;
    let called = component.script(call, &program, &arguments, &context).await;
    let texts = match called.result {
        Ok(Ok(Some(Value::Object(texts)))) => Some(texts),
        _ => None,
    };
    (texts, called.usage.fuel)
}
