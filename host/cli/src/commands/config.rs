//! `runner config check` and `runner config schema`.
//!
//! The check does what `eval` does before the first case, by the same code: it reads the config
//! and every file that it names, loads the plugins, renders no prompt and sends nothing. What it
//! lets pass can still fail at a server; what it refuses would have been refused by `eval`.

use serde_json::{Value, json};

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

/// A plan as `--show` has it: as it was understood, the config's own words at the end.
pub(super) fn shown(
    plan: &runner_config::plan::Plan,
    plugins: &runner_eval::plugins::PluginSet,
) -> Value {
    let columns = plan.columns.iter().map(|column| {
        let (prompt, provider) = (&column.prompt, &column.provider);
        json!({
            "provider": provider.id,
            "label": provider.label,
            "plugin": provider.plugin,
            "prompt": prompt.label,
            "raw": prompt.raw,
            "from": place(&prompt.at),
            "price": price(plan, provider),
        })
    });
    let options = &plan.options;
    let ms = |time: Option<std::time::Duration>| time.map(|time| time.as_millis() as u64);
    let paths = plan.output_paths.iter();
    json!({
        "description": plan.description,
        "columns": columns.collect::<Value>(),
        // A repeat and a combination of variables are rows of their own.
        "tests": plan.row_count(),
        "cases": plan.case_count(),
        "options": {
            "maxConcurrency": options.max_concurrency,
            "repeat": options.repeat,
            "delay": ms(options.delay),
            "timeoutMs": ms(options.case_timeout),
            "maxEvalTimeMs": ms(options.run_timeout),
            "cache": options.cache,
        },
        "plugins": plugins.provenance(),
        "outputPath": paths.map(|output| output.path.display().to_string()).collect::<Vec<_>>(),
        "config": plan.config_json,
    })
}

/// What a provider's tokens cost where its own config says nothing of it.
fn price(plan: &runner_config::plan::Plan, provider: &runner_config::plan::Provider) -> Value {
    let Some(listed) = plan.prices.of(provider) else {
        return Value::Null;
    };
    let mut price = json!(listed.price);
    price["unit"] = json!("US dollars for a million tokens");
    price["from"] = match listed.as_of {
        Some(day) => json!(format!("list price of {day}")),
        None => json!("prices"),
    };
    price
}

fn place(at: &runner_config::plan::Position) -> String {
    let file = at.file.display();
    format!("{file}:{}:{}", at.line, at.column)
}
