//! What became of a call, as JSON and as text.
//!
//! JSON first: fixtures are compared with it, and the text says the same. Figures (`calls`) differ from
//! machine to machine and stand apart from what a plugin said.

use std::fmt::Write as _;

use runner_eval::CalledPlugin;
use runner_eval::event::LogLine;
use runner_eval::record::{CaseRecord, ComponentRecord};
use serde_json::{Map, Value, json};

use super::super::eval::Single;
use crate::exit::{BELOW_THRESHOLD, SUCCESS};
use crate::figures;
use crate::visible;

/// What became of a call.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Outcome {
    /// `pass`, `fail`, `answer` or `error`.
    word: &'static str,
    /// `grade`, `completion` or `error`.
    said: (&'static str, Value),
    log: Vec<LogLine>,
    calls: Vec<CalledPlugin>,
}

impl Outcome {
    /// What a run of one case says of the call.
    pub(super) fn of(single: Single, is_grade: bool) -> Self {
        let Single { record, log, calls } = single;
        let components = record.grading_result.as_ref();
        let component = components.and_then(|it| it.component_results.first());
        let (word, said) = match component.filter(|_| is_grade) {
            Some(component) => grade(component),
            None => completion(&record),
        };
        Self {
            word,
            said,
            log,
            calls,
        }
    }

    /// The exit code: 0 if it answered, or the grade passed.
    pub(in crate::commands) fn code(&self) -> u8 {
        match self.word {
            "pass" | "answer" => SUCCESS,
            _ => BELOW_THRESHOLD,
        }
    }

    /// What the plugin said, and nothing that differs from machine to machine.
    pub(in crate::commands) fn said(&self) -> Value {
        let (key, said) = &self.said;
        json!({ "outcome": self.word, *key: said })
    }

    /// All of it.
    pub(in crate::commands) fn to_json(&self) -> Value {
        let mut json = self.said();
        json["log"] = self.log.iter().map(logged).collect();
        json["calls"] = self.calls.iter().map(called).collect();
        json
    }

    /// For people.
    pub(in crate::commands) fn to_text(&self) -> String {
        let mut text = String::new();
        let (key, said) = &self.said;
        match (*key, &said["output"]) {
            ("completion", Value::String(answer)) => {
                let _ = writeln!(text, "{}\n", visible::block(answer));
            }
            ("completion", output) => {
                let _ = writeln!(text, "{}\n", visible::block(&format!("{output:#}")));
            }
            _ => line(&mut text, "outcome", self.word),
        }
        let fields = said.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| *name != "output" && *name != "pass") {
            match value {
                Value::String(value) => line(&mut text, name, value),
                // 1 and not 1.0.
                Value::Number(value) => {
                    let value = value.as_f64().unwrap_or_default();
                    line(&mut text, name, &value.to_string());
                }
                Value::Array(items) => items
                    .iter()
                    .for_each(|item| line(&mut text, name, &item.to_string())),
                value => line(&mut text, name, &value.to_string()),
            }
        }
        for said in self.logged() {
            line(&mut text, "log", &said);
        }
        for call in self.figures() {
            line(&mut text, "used", &call);
        }
        text
    }

    /// What components logged, a text each.
    pub(in crate::commands) fn logged(&self) -> impl Iterator<Item = String> {
        self.log.iter().map(|line| {
            let level = line.level.as_str().to_ascii_lowercase();
            format!("{}: {level}: {}", line.plugin, line.message)
        })
    }

    /// What each call used, a text each.
    pub(in crate::commands) fn figures(&self) -> impl Iterator<Item = String> {
        self.calls.iter().map(used)
    }
}

/// A name and a value, whose further lines stand below its first.
fn line(text: &mut String, name: &str, value: &str) {
    let value = visible::block(value);
    let mut lines = value.lines();
    // Writing to a string can't fail.
    let _ = writeln!(text, "{name:12}{}", lines.next().unwrap_or_default());
    for more in lines {
        let _ = writeln!(text, "{:12}{more}", "");
    }
}

fn grade(component: &ComponentRecord) -> (&'static str, (&'static str, Value)) {
    if let Some(code) = &component.error_code {
        let said = json!({ "code": code, "message": component.reason });
        return ("error", ("error", said));
    }
    let mut said = Map::new();
    said.insert("pass".to_owned(), json!(component.pass));
    said.insert("score".to_owned(), json!(component.score));
    said.insert("reason".to_owned(), json!(component.reason));
    let mut metadata = component.metadata.clone();
    // It is what a template of the value became, which is no word of the plugin.
    metadata.remove("renderedAssertionValue");
    let more = [
        ("namedScores", json!(component.named_scores)),
        ("parts", json!(component.parts)),
        ("metadata", json!(metadata)),
    ];
    said.extend(known(more));
    let word = if component.pass { "pass" } else { "fail" };
    (word, ("grade", Value::Object(said)))
}

fn completion(record: &CaseRecord) -> (&'static str, (&'static str, Value)) {
    if let Some(why) = record.conclusion.error() {
        let code = record.conclusion.code();
        let said = json!({ "code": code, "message": why });
        return ("error", ("error", said));
    }
    let response = record.response.clone().unwrap_or_default();
    let usage = response.token_usage;
    let tokens = [usage.prompt, usage.completion, usage.reasoning];
    let tokens = tokens.iter().any(|count| *count > 0).then(|| {
        json!({ "prompt": usage.prompt, "completion": usage.completion, "reasoning": usage.reasoning })
    });
    let mut said = Map::new();
    said.insert("output".to_owned(), response.output);
    let more = [
        ("model", json!(response.model)),
        ("finishReason", json!(response.finish_reason)),
        ("reasoning", json!(response.reasoning)),
        ("tokens", json!(tokens)),
        ("cost", json!(response.cost)),
        ("metadata", json!(response.metadata)),
    ];
    said.extend(known(more));
    ("answer", ("completion", Value::Object(said)))
}

/// Those that say something.
fn known<const N: usize>(
    fields: [(&'static str, Value); N],
) -> impl Iterator<Item = (String, Value)> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let fields = fields.into_iter().filter(move |(_, value)| says(value));
    fields.map(|(name, value)| (name.to_owned(), value))
}

fn logged(line: &LogLine) -> Value {
    json!({
        "plugin": line.plugin,
        "level": line.level.as_str().to_ascii_lowercase(),
        "message": line.message,
    })
}

fn called(call: &CalledPlugin) -> Value {
    let usage = call.usage;
    json!({
        "plugin": call.plugin,
        "version": call.version,
        "sha256": call.sha256,
        "guestCpuUs": usage.guest_cpu.as_micros() as u64,
        "fuel": usage.fuel,
        "peakMemory": usage.peak_memory,
        "httpCalls": usage.http_calls,
        "llmCalls": usage.llm_calls,
    })
}

fn used(call: &CalledPlugin) -> String {
    let CalledPlugin {
        plugin,
        version,
        usage,
        ..
    } = call;
    let mut text = format!(
        "{plugin} {version}: {:.1} ms of CPU, {} of fuel, {:.1} MiB of memory",
        usage.guest_cpu.as_secs_f64() * 1e3,
        figures::count(usage.fuel),
        usage.peak_memory as f64 / f64::from(1 << 20),
    );
    let asked = [
        (usage.http_calls, "request", "requests"),
        (
            usage.llm_calls,
            "question to a model",
            "questions to models",
        ),
    ];
    for (count, one, many) in asked.into_iter().filter(|(count, ..)| *count > 0) {
        let _ = write!(text, ", {}", figures::counted(u64::from(count), one, many));
    }
    text
}
