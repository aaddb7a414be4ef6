//! `runner plugin call`: one grade or one completion of one plugin, without a config.

use std::path::Path;

use runner_config::misspelt;
use runner_gateway::Exchanges;
use serde_json::{Map, Value, json};

use super::CommandContext;
use super::eval::texts;
use super::fixtures::{Fixture, PassingRecording};
use super::trial::{Outcome, Subject, Trial};
use crate::arguments::Call;
use crate::failure::Failure;
use crate::output::check_place;
use crate::stdout;

/// Asks once; gives the exit code.
pub(super) fn run(arguments: &Call, setting: &CommandContext) -> Result<u8, Failure> {
    setting.tell_found_keys();
    let subject = Subject::find(&arguments.plugin, setting)?;
    let trial = trial(arguments, &subject)?;
    let outcome = match &arguments.record {
        None => trial.carry_out((&subject, None), Exchanges::Live, setting)?,
        Some(file) => recorded(trial, &subject, &setting.cwd.join(file), setting)?,
    };
    if arguments.json {
        stdout::json(&outcome.to_json())?;
    } else {
        stdout::print(&outcome.to_text())?;
    }
    Ok(outcome.code())
}

/// Asks, and writes down what was asked, what was exchanged and what came of it.
fn recorded(
    trial: Trial,
    subject: &Subject,
    file: &Path,
    setting: &CommandContext,
) -> Result<Outcome, Failure> {
    if file.extension().is_none_or(|ending| ending != "json") {
        return Err(Failure::usage(format!(
            "{} must end in .json",
            file.display()
        )));
    }
    // Found before anything is sent, which may be paid for.
    if file.exists() {
        let message = format!("there is a {} already", file.display());
        return Err(Failure::usage(message).help("delete it, or name another"));
    }
    check_place(file)?;
    let (kept, recording) = PassingRecording::new(setting)?;
    let outcome = trial.carry_out((subject, None), Exchanges::Record(recording), setting)?;
    let fixture = Fixture {
        request: trial,
        exchanges: kept.exchanges()?,
        expect: outcome.said(),
    };
    fixture.write(file)?;
    setting.talk.written(file);
    Ok(outcome)
}

/// What the flags ask for.
fn trial(arguments: &Call, subject: &Subject) -> Result<Trial, Failure> {
    let Call {
        kind,
        value,
        threshold,
        output,
        provider,
        prompt,
        vars,
        config,
        grader,
        allow_llm,
        ..
    } = arguments;
    Ok(Trial {
        kind: kind.clone(),
        value: value.as_deref().map(json_or_text),
        threshold: *threshold,
        output: output.clone().map(Value::from),
        provider: provider.clone(),
        prompt: prompt.clone(),
        vars: vars.clone().unwrap_or_default(),
        config: config.clone().unwrap_or_default(),
        grader: grader.clone(),
        permissions: permissions(arguments, subject)?,
        models: texts(allow_llm),
    })
}

/// What is JSON is a value; anything else is text.
fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The flags as `permissions` of a config.
fn permissions(arguments: &Call, subject: &Subject) -> Result<Map<String, Value>, Failure> {
    let mut permissions = Map::new();
    let mut put = |key: &str, value: Value| permissions.insert(key.to_owned(), value);
    if !arguments.allow_host.is_empty() {
        put("hosts", json!(arguments.allow_host));
    }
    if !arguments.allow_key.is_empty() {
        let mut credentials = Map::new();
        for (name, variable) in &arguments.allow_key {
            let scheme = scheme(subject, name)?;
            credentials.insert(name.clone(), json!({ "env": variable, "scheme": scheme }));
        }
        put("credentials", Value::Object(credentials));
    }
    if !arguments.allow_llm.is_empty() {
        let names = arguments.allow_llm.iter().map(|(name, _)| name);
        put("llm", names.map(String::as_str).collect());
    }
    if arguments.allow_wasi_http {
        put("wasi_http", json!(true));
    }
    Ok(permissions)
}

/// How the plugin wants the key to be sent. One that it never names could not be used.
fn scheme<'a>(subject: &'a Subject, name: &str) -> Result<&'a str, Failure> {
    let known = || subject.schemes.iter();
    if let Some((_, scheme)) = known().find(|(known, _)| known == name) {
        return Ok(scheme);
    }
    let message = format!("plugin '{}' wants no key '{name}'", subject.name);
    let names: Vec<&str> = known().map(|(name, _)| name.as_str()).collect();
    Err(match misspelt(name, names.iter().copied()) {
        Some(meant) => Failure::usage(message).help(format!("did you mean {meant}?")),
        None if names.is_empty() => Failure::usage(message),
        None => Failure::usage(message).help(format!("it wants {}", names.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_can_be() {
        for (text, value) in [
            ("5", json!(5)),
            ("[\"a\"]", json!(["a"])),
            ("\"5\"", json!("5")),
            ("plain words", json!("plain words")),
            ("{{expected}}", json!("{{expected}}")),
        ] {
            assert_eq!(json_or_text(text), value, "{text}");
        }
    }
}
