//! `runner config check` and `runner config schema`.
//!
//! The check does what `eval` does before the first case, by the same code: it reads the config
//! and every file that it names, loads the plugins, renders no prompt and sends nothing. What it
//! lets pass can still fail at a server; what it refuses would have been refused by `eval`.

use super::{Setting, eval};
use crate::arguments::{Check, Config};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::output::yaml_block;
use crate::stdout;
use crate::visible;

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
    Ok(visible::line(&line).into_owned() + "\n")
}
