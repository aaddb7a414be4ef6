//! TypeScript for the person's Node.js, as JavaScript: which of its versions takes what is not to be
//! known here, so the driver is handed a text of every file with types that was read with the config.
//!
//! It is made in the sandbox by the program's own interpreter of JavaScript, and by no other one:
//! what it gives runs outside.

use std::sync::Arc;

use runner_config::plan::{CodeFile, CodeFiles, Process};
use runner_sandbox::abi::{CallContext, Form, Module, Program};
use runner_sandbox::{Call, Nothing};
use serde_json::{Map, Value};

use crate::plugins::{Interpreter, Trust};
use crate::private_door::ERASE;
use crate::programs::Typed;
use crate::script::argument;

/// The language whose interpreter does it.
pub(crate) const JAVASCRIPT: &str = "javascript";

/// The texts of these processes.
pub(crate) async fn typed(processes: &[Arc<Process>], interpreter: Option<&Interpreter>) -> Typed {
    let mut typed = Typed::default();
    let bundled = interpreter.filter(|it| matches!(it.plugin.trust, Trust::Bundled));
    let Some(interpreter) = bundled else {
        return typed;
    };
    for process in processes {
        if let Some(files) = &process.typed {
            let texts = texts(interpreter, files).await.unwrap_or_default();
            typed.add(process, files, texts);
        }
    }
    typed
}

/// By the path that a file has among the others. `None` where the interpreter gives none, since they
/// are more than one call can do: then they are Node's affair.
async fn texts(interpreter: &Interpreter, files: &CodeFiles) -> Option<Map<String, Value>> {
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
    let context = CallContext {
        call_id: files.digest().to_owned(),
        attempt: 1,
        deadline_ms: None,
        test_index: 0,
        repeat_index: 0,
        labels: Vec::new(),
    };
    let call = Call {
        host: Arc::new(Nothing),
        limits: interpreter.limits,
        call_id: context.call_id.clone(),
        nested: false,
    };
    let arguments = [argument(ERASE, "null".to_owned())];
    let component = &interpreter.plugin.component;
    let called = component.script(call, &program, &arguments, &context).await;
    match called.result.ok()?.ok()?? {
        Value::Object(texts) => Some(texts),
        _ => None,
    }
}
