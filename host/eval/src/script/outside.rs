//! Code as a driver outside the sandbox takes it, and what a driver says of code that failed. Pure.

use std::fmt::Write as _;

use runner_process::CodeFailure;
use runner_sandbox::abi::{Argument, FailureKind, Form, Position, Program, ScriptFailure};
use serde_json::{Value, json};

use super::form_name;

/// A program of the contract as the drivers take it: a JSON object. `role` adds what makes it more
/// than a function that is called.
pub(crate) fn call(program: &Program, arguments: &[Argument], role: Option<&Value>) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let form = form_name(program.form);
    let mut call = format!(
        "{{\"form\":\"{form}\",\"name\":{},\"entry\":{}",
        quoted(&program.name),
        Value::from(program.entry.clone())
    );
    // A file is read where it is; the modules beside it, too.
    if program.form != Form::File {
        write!(call, ",\"source\":{}", quoted(&program.source)).expect("a string takes everything");
    }
    if let Some(Value::Object(role)) = role {
        for (key, value) in role {
            write!(call, ",{}:{value}", quoted(key)).expect("a string takes everything");
        }
    }
    call.push_str(",\"arguments\":[");
    for (index, argument) in arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let name = quoted(&argument.name);
        write!(call, "{comma}[{name},{}]", argument.value_json).expect("a string takes everything");
    }
    call.push_str("]}");
    call
}

/// The arguments that a command gets after its own.
pub(crate) fn command_call<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let arguments: Vec<&str> = arguments.into_iter().collect();
    json!({ "arguments": arguments }).to_string()
}

/// How code failed; paths as the config's folder has them.
pub(crate) fn failure(report: CodeFailure, folder: &str) -> ScriptFailure {
    let short = |text: String| text.replace(&format!("{folder}/"), "");
    let line = report.line.unwrap_or_default();
    let position = report.file.map(|file| Position {
        file: short(file),
        line,
        column: report.column.unwrap_or_default(),
    });
    ScriptFailure {
        kind: if report.missing {
            FailureKind::NotFound
        } else {
            FailureKind::Exception
        },
        message: short(report.message),
        position,
        stack: report.stack.map(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::argument;

    fn program(form: Form) -> Program {
        Program {
            language: "python".to_owned(),
            form,
            name: "lib/\"x\".py".to_owned(),
            source: "output\n".to_owned(),
            entry: Some("f".to_owned()),
            modules: Vec::new(),
            clock_ms: None,
        }
    }

    #[test]
    fn a_call_is_json_and_a_file_is_read_where_it_is() {
        let arguments = [
            argument("a", "{\"b\":1}".to_owned()),
            argument("c", "null".to_owned()),
        ];
        let read = |call: String| -> Value { serde_json::from_str(&call).expect("JSON") };
        let role = json!({ "role": "provider", "setup": { "k": 1 } });
        assert_eq!(
            read(call(&program(Form::File), &arguments, Some(&role))),
            json!({ "form": "file", "name": "lib/\"x\".py", "entry": "f", "role": "provider",
                "setup": { "k": 1 }, "arguments": [["a", { "b": 1 }], ["c", null]] })
        );
        let inline = read(call(&program(Form::Body), &[], None));
        assert_eq!(inline["source"], "output\n");
        assert_eq!(inline["arguments"], json!([]));
    }

    #[test]
    fn a_failure_has_no_path_of_the_machine_in_it() {
        let report = CodeFailure {
            message: "no /home/ada/x/data.csv".to_owned(),
            file: Some("/home/ada/x/lib/a.py".to_owned()),
            line: Some(3),
            column: None,
            stack: Some("    at f (/home/ada/x/lib/a.py:3)".to_owned()),
            missing: false,
        };
        let failed = crate::script::fault(&failure(report, "/home/ada/x"));
        assert_eq!(failed.0, "no data.csv (lib/a.py:3)\n    at f (lib/a.py:3)");
    }
}
