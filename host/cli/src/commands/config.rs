//! `runner config check` and `runner config schema`.
//!
//! The check does what `eval` does before the first case, by the same code: it reads the config
//! and every file that it names, loads the plugins, renders no prompt and sends nothing. What it
//! lets pass can still fail at a server; what it refuses would have been refused by `eval`.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use anyhow::Context as _;
use serde_json::Value;

use super::{CommandContext, eval};
use crate::arguments::{Check, Config, SCHEMA_NAME, Schema};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::output::yaml_block;
use crate::stdout;
use crate::visible;

/// What is in every schema of a config that this program wrote.
const TITLE: &str = "promptfooconfig.yaml, as runner reads it";
/// Most pieces of code that a line names; `--show` has all.
const CODE_SHOWN: usize = 10;

/// Carries out `runner config …`.
pub(super) fn run(config: &Config, setting: &CommandContext) -> Result<u8, Failure> {
    let text = match config {
        Config::Check(check) => checked(check, setting)?,
        Config::Schema(Schema { write: None }) => schema_text(),
        Config::Schema(Schema { write: Some(file) }) => written(file, setting)?,
    };
    stdout::print(&text)?;
    Ok(SUCCESS)
}

/// The schema as a file has it.
pub(super) fn schema_text() -> String {
    format!("{:#}\n", runner_config::schema())
}

/// Writes the schema; says which line of a config names it. Another file is not written over.
fn written(file: &Path, setting: &CommandContext) -> Result<String, Failure> {
    let path = setting.cwd.join(file);
    let shown = file.display();
    let is_other = fs::read_to_string(&path).map(|text| !text.contains(TITLE));
    match is_other {
        Ok(true) => {
            let message = format!("{shown} is there already and is no schema of a config");
            return Err(Failure::usage(message).help("name another file"));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::usage(format!("can't write {shown}: {error}")));
        }
        _ => {}
    }
    fs::write(&path, schema_text()).with_context(|| format!("can't write {shown}"))?;
    let line = if file == Path::new(SCHEMA_NAME) {
        format!("./{SCHEMA_NAME}")
    } else {
        path.display().to_string()
    };
    let text = format!(
        "written: {shown}\nfirst line of the config: # yaml-language-server: $schema={line}"
    );
    Ok(visible::block(&text).into_owned() + "\n")
}

fn checked(check: &Check, setting: &CommandContext) -> Result<String, Failure> {
    let found = eval::check(&check.eval, setting)?;
    if check.eval.json {
        let json = format!("{found:#}\n");
        return Ok(visible::json(&json).into_owned());
    }
    if check.show {
        return Ok(yaml_block(&found, 0));
    }
    let number = |name: &str| found[name].as_u64().unwrap_or(0);
    let listed = |name: &str| found[name].as_array().map_or(0, Vec::len) as u64;
    let description = found["description"].as_str();
    let description = description
        .map(|text| format!("{text}: "))
        .unwrap_or_default();
    let line = format!(
        "fine: {description}{} × {} = {}, at most {} at once",
        figures::counted(listed("columns"), "column", "columns"),
        figures::counted(number("tests"), "test", "tests"),
        figures::counted(number("cases"), "case", "cases"),
        figures::count(found["options"]["maxConcurrency"].as_u64().unwrap_or(0)),
    );
    Ok(visible::line(&line).into_owned() + "\n" + &code(&found["code"]))
}

/// Where the config's code runs: a line for the sandbox, and one for each command of this machine.
fn code(places: &Value) -> String {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for place in places.as_array().into_iter().flatten() {
        let code = text(&place["code"]);
        let (runs, code) = match (&place["command"], &place["reason"]) {
            (Value::Null, _) => ("in the sandbox".to_owned(), code),
            (command, Value::Null) => ("on this machine".to_owned(), text(command)),
            (command, reason) => {
                let runs = format!("on this machine, by {}", text(command));
                (runs, format!("{code} ({})", text(reason)))
            }
        };
        lines.entry(runs).or_default().push(code);
    }
    let lines = lines.into_iter().map(|(runs, mut code)| {
        let more = code.len().saturating_sub(CODE_SHOWN);
        code.truncate(CODE_SHOWN);
        if more > 0 {
            code.push(format!("{} more", figures::count(more as u64)));
        }
        let line = format!("code {runs}: {}", code.join(", "));
        visible::line(&line).into_owned() + "\n"
    });
    lines.collect()
}
