//! The assertions about how much the answer's words overlap with a reference: ROUGE-1, BLEU,
//! GLEU and METEOR.
//!
//! Each metric is one file with its formula; `words` splits texts the ways they want. The score
//! is the metric, from 0 to 1, and `not-` turns it over. They measure wording, not meaning: for
//! that there is `similar`. All are pure: the component imports no function, and all take time
//! in proportion to the texts.

mod bleu;
mod gleu;
mod meteor;
mod rouge;
mod stem;
mod words;

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

/// The least score that passes if the assertion has no threshold.
const THRESHOLD: f64 = 0.5;

/// The least ROUGE score that passes without a threshold: it ignores the order of words and is higher.
const ROUGE_THRESHOLD: f64 = 0.75;

/// The grader.
pub struct Overlap;

impl Assertion for Overlap {
    fn describe() -> Info {
        let text = json!({ "title": "a text", "type": "string" });
        let texts = json!({
            "title": "a text, or a list of texts",
            "type": ["string", "array"],
            "minItems": 1,
            "items": text
        });
        let info = runner_plugin::package_info!(
            "overlap",
            "Measures how much the answer's words overlap with a reference: ROUGE, BLEU, GLEU, \
             METEOR."
        );
        let types = [
            ("rouge-n", &text),
            ("bleu", &texts),
            ("gleu", &texts),
            ("meteor", &texts),
        ];
        types.into_iter().fold(info, |info, (name, schema)| {
            info.assertion_type(AssertionType::new(name).value_schema(schema))
        })
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let references = references(input)?;
        let output = input.output.as_str();
        let best = |score: &dyn Fn(&str) -> f64| {
            let scores = references.iter().map(|reference| score(reference));
            scores.fold(0.0, f64::max)
        };
        let (name, score, default) = match input.type_.as_str() {
            "rouge-n" => {
                let score = best(&|reference| rouge::score(output, reference));
                ("ROUGE-1", score, ROUGE_THRESHOLD)
            }
            "bleu" => ("BLEU", bleu::score(output, &references), THRESHOLD),
            "gleu" => {
                let score = best(&|reference| gleu::score(output, reference));
                ("GLEU", score, THRESHOLD)
            }
            "meteor" => {
                let weights = weights(input)?;
                let score = best(&|reference| meteor::score(output, reference, weights));
                ("METEOR", score, THRESHOLD)
            }
            other => return Err(Error::no_type("overlap", other)),
        };
        Ok(judge(
            input,
            name,
            score,
            input.threshold.unwrap_or(default),
        ))
    }
}

/// The metric as the score, turned over for `not-`.
fn judge(input: &Input, name: &str, score: f64, threshold: f64) -> Grade {
    let reaches = score >= threshold;
    let relation = if reaches { "reaches" } else { "is below" };
    let reason = format!("The {name} score {score:.4} {relation} the threshold {threshold}");
    let shown = if input.inverse { 1.0 - score } else { score };
    Grade::new(reaches != input.inverse, shown, reason)
}

/// One reference, or several where the metric knows what to do with them.
fn references(input: &Input) -> Result<Vec<String>, Error> {
    let several = input.type_ != "rouge-n";
    let wrong = || {
        let what = if several {
            "a text or a list of texts"
        } else {
            "a text"
        };
        Error::invalid_request(format!("`{}` takes {what} as its value", input.type_))
    };
    match input.value::<Value>()? {
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(items)) if several && !items.is_empty() => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect(),
        _ => Err(wrong()),
    }
}

/// The weights of METEOR, from the assertion's `config`.
fn weights(input: &Input) -> Result<meteor::Weights, Error> {
    let config: Map<String, Value> = match &input.config_json {
        Some(text) => runner_plugin::json::read("config", text)?,
        None => Map::new(),
    };
    let number = |key: &str, default: f64, most: f64| match config.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => value
            .as_f64()
            .filter(|number| (0.0..=most).contains(number))
            .ok_or_else(|| {
                Error::invalid_request(format!("`{key}` must be a number from 0 to {most}"))
            }),
    };
    let usual = meteor::Weights::default();
    Ok(meteor::Weights {
        alpha: number("alpha", usual.alpha, 1.0)?,
        beta: number("beta", usual.beta, 100.0)?,
        gamma: number("gamma", usual.gamma, 1.0)?,
    })
}

runner_plugin::export_assertion!(Overlap);
