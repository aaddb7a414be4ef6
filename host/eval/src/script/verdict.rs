//! What code that grades came to: a boolean, a number or an object, and what each means.
//!
//! Pure; promptfoo's rules. A boolean is a verdict. A number is a score, which passes from the
//! threshold on, without one if it is more than 0. An object says verdict, score and reason
//! itself, and no threshold counts. `not-` turns the verdict and leaves a stated score. Anything
//! else, and code that throws, is a failing grade that says why: the code is what is wrong, so
//! the case is graded and not in error. In Python more is a result, see `python`.

use runner_sandbox::abi::{GradeComponent, ReadGrade};
use serde_json::{Map, Value};

use super::made::word;
use super::{CodeResult, Fault, PYTHON};

mod python;

/// How much of the code a reason shows, in characters.
const SHOWN: usize = 200;

/// What a grade depends on beside what the code gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// `not-`.
    pub(crate) inverse: bool,
    pub(crate) threshold: Option<f64>,
    /// The code, or the name of its file, for reasons.
    pub(crate) code: &'a str,
    pub(crate) language: &'a str,
}

/// A grade by what the code gave.
pub(crate) fn grade(given: &CodeResult, rules: Rules<'_>) -> ReadGrade {
    if rules.language == PYTHON {
        return python::grade(given, rules);
    }
    by_value(given, rules)
}

/// The rules of the module's head.
fn by_value(given: &CodeResult, rules: Rules<'_>) -> ReadGrade {
    match given {
        Ok(Some(Value::Bool(is))) => {
            let pass = *is != rules.inverse;
            let score = if pass { 1.0 } else { 0.0 };
            plain(pass, score, reason(pass, &is.to_string(), rules))
        }
        Ok(Some(Value::Number(number))) => {
            let score = number.as_f64().unwrap_or_default();
            let reached = match rules.threshold {
                Some(threshold) => score >= threshold,
                None => score > 0.0,
            };
            let pass = reached != rules.inverse;
            let gave = match rules.threshold {
                Some(threshold) => format!("{number} (threshold {threshold})"),
                None => number.to_string(),
            };
            plain(pass, score, reason(pass, &gave, rules))
        }
        Ok(Some(Value::Object(stated))) => match read(stated) {
            Ok(grade) => ReadGrade {
                pass: grade.pass != rules.inverse,
                ..grade
            },
            Err(why) => wrong(&why),
        },
        Ok(other) => wrong(&format!("it gave {}", word(other.as_ref()))),
        Err(Fault(message, _)) => plain(false, 0.0, format!("the code failed: {message}")),
    }
}

/// The object form, on its own: what a scoring function gives.
pub(crate) fn stated(given: &CodeResult) -> ReadGrade {
    match given {
        Ok(Some(Value::Object(stated))) => {
            read(stated).unwrap_or_else(|why| plain(false, 0.0, needed(&why)))
        }
        Ok(other) => plain(
            false,
            0.0,
            needed(&format!("it gave {}", word(other.as_ref()))),
        ),
        Err(Fault(message, _)) => plain(
            false,
            0.0,
            format!("the scoring function failed: {message}"),
        ),
    }
}

fn needed(why: &str) -> String {
    format!("a scoring function must give {{ pass, score, reason }}, and {why}")
}

fn wrong(why: &str) -> ReadGrade {
    let reason = format!(
        "code that grades must give a boolean, a number or {{ pass, score, reason }}, and {why}"
    );
    plain(false, 0.0, reason)
}

fn reason(pass: bool, gave: &str, rules: Rules<'_>) -> String {
    if pass {
        return "Assertion passed".to_owned();
    }
    let mut code: String = rules.code.trim().chars().take(SHOWN).collect();
    if code.len() < rules.code.trim().len() {
        code.push('…');
    }
    format!("the code gave {gave}: {code}")
}

fn plain(pass: bool, score: f64, reason: String) -> ReadGrade {
    ReadGrade {
        pass,
        score,
        reason,
        named_scores: Vec::new(),
        components: Vec::new(),
        metadata: Map::new(),
    }
}

/// `{ pass, score, reason, namedScores?, componentResults?, metadata? }`.
fn read(stated: &Map<String, Value>) -> Result<ReadGrade, String> {
    let (pass, score, reason) = verdict(stated)?;
    let mut grade = plain(pass, score, reason);
    match stated.get("namedScores") {
        None | Some(Value::Null) => {}
        Some(Value::Object(scores)) => {
            for (name, score) in scores {
                let score = score
                    .as_f64()
                    .ok_or_else(|| format!("its namedScores.{name} is {}", word(Some(score))))?;
                grade.named_scores.push((name.clone(), score));
            }
        }
        Some(other) => return Err(format!("its namedScores is {}", word(Some(other)))),
    }
    match stated.get("componentResults") {
        None | Some(Value::Null) => {}
        Some(Value::Array(parts)) => {
            for (index, part) in parts.iter().enumerate() {
                let component = component(index, part)
                    .map_err(|why| format!("in its componentResults[{index}] {why}"))?;
                grade.components.push(component);
            }
        }
        Some(other) => return Err(format!("its componentResults is {}", word(Some(other)))),
    }
    let metadata = stated.get("metadata").and_then(Value::as_object);
    grade.metadata = metadata.cloned().unwrap_or_default();
    Ok(grade)
}

/// The three that every grade states.
fn verdict(stated: &Map<String, Value>) -> Result<(bool, f64, String), String> {
    let field = |name: &str| stated.get(name);
    let wrong = |name: &str| match field(name) {
        None => format!("its `{name}` is missing"),
        Some(value) => format!("its `{name}` is {}", word(Some(value))),
    };
    let pass = field("pass").and_then(Value::as_bool);
    let score = field("score").and_then(Value::as_f64);
    let reason = field("reason").and_then(Value::as_str);
    Ok((
        pass.ok_or_else(|| wrong("pass"))?,
        score.ok_or_else(|| wrong("score"))?,
        reason.ok_or_else(|| wrong("reason"))?.to_owned(),
    ))
}

fn component(index: usize, part: &Value) -> Result<GradeComponent, String> {
    let stated = part
        .as_object()
        .ok_or_else(|| format!("is {}", word(Some(part))))?;
    let (pass, score, reason) = verdict(stated)?;
    let assertion = stated.get("assertion");
    let named = |key| assertion?.get(key)?.as_str().map(str::to_owned);
    let weight = assertion.and_then(|it| it.get("weight")?.as_f64());
    Ok(GradeComponent {
        name: named("metric")
            .or_else(|| named("type"))
            .unwrap_or_else(|| (index + 1).to_string()),
        pass,
        score,
        weight: weight.unwrap_or(1.0),
        reason,
    })
}

#[cfg(test)]
mod tests;
