//! `runner config check` and `runner config schema`.
//!
//! The check does what `eval` does before the first case, by the same code: it reads the config
//! and every file that it names, loads the plugins, renders no prompt and sends nothing. What it
//! lets pass can still fail at a server; what it refuses would have been refused by `eval`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Setting, eval};
use crate::arguments::{Check, Config};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::output::yaml_block;
use crate::stdout;
use crate::visible;

/// Most pieces of code that a line names; `--show` has all.
const CODE_SHOWN: usize = 10;

/// Carries out `runner config …`.
pub(super) fn run(config: &Config, setting: &Setting) -> Result<u8, Failure> {
    let text = match config {
        Config::Check(check) => checked(check, setting)?,
        Config::Schema => format!("{:#}\n", runner_config::schema()),
    };
    stdout::print(&text)?;
    Ok(SUCCESS)
}

fn checked(check: &Check, setting: &Setting) -> Result<String, Failure> {
    let found = eval::check(&check.eval, setting)?;
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
