//! A plan in words, as `config check --show` has it.

use runner_config::plan::Engine;
use serde_json::{Value, json};

/// A plan as `--show` has it: as it was understood, the config's own words at the end.
pub(super) fn shown(
    plan: &runner_config::plan::Plan,
    plugins: &runner_eval::plugins::PluginSet,
) -> Value {
    let columns = plan.columns.iter().map(|column| {
        let (prompt, provider) = (&column.prompt, &column.provider);
        json!({
            "provider": provider.shown_id(),
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
            "maxRetryAfter": ms(options.max_retry_after),
            "retryTimeouts": options.retry_timeouts,
            "cache": options.cache,
        },
        "plugins": plugins.provenance(),
        "code": code(plan),
        "outputPath": paths.map(|output| output.path.display().to_string()).collect::<Vec<_>>(),
        "config": plan.config_json,
    })
}

/// Where its code runs: in the sandbox, or by which command, and why.
fn code(plan: &runner_config::plan::Plan) -> Value {
    let places = plan.code_places.iter().map(|place| {
        let mut shown =
            json!({ "code": place.code, "command": place.command, "reason": place.reason });
        if !place.reaches.is_empty() {
            shown["reaches"] = json!(place.reaches);
        }
        shown
    });
    let commands = plan
        .processes
        .iter()
        .filter_map(|process| match &process.engine {
            Engine::Command { line } => {
                Some(json!({ "code": "exec", "command": line, "reason": null }))
            }
            Engine::Python { .. } | Engine::Node => None,
        });
    places.chain(commands).collect()
}

/// What a provider's tokens cost where its own config says nothing of it.
fn price(plan: &runner_config::plan::Plan, provider: &runner_config::plan::Provider) -> Value {
    let Some(listed) = plan.prices.of(provider) else {
        return Value::Null;
    };
    let mut price = json!(listed.price);
    price["unit"] = json!("US dollars for a million tokens");
    price["from"] = match (listed.as_of, listed.source) {
        (Some(day), Some(source)) => json!(format!("list price of {day}, source: {source}")),
        _ => json!("prices"),
    };
    price
}

fn place(at: &runner_config::plan::Position) -> String {
    let file = at.file.display();
    format!("{file}:{}:{}", at.line, at.column)
}
