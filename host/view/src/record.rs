//! A case's record as a page reads it: leniently, since it may be of an older format or another
//! program's; what is missing is empty.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Values of a text of JSON that a page may show. In memory each takes hundreds of bytes, whatever it
/// takes as text, and a browser does no better.
const MOST_VALUES: usize = 100_000;

/// Bytes of a picture or a sound that stays whole where texts are cut.
const MOST_MEDIA: usize = 1 << 20;

/// What stands for those that are too many.
pub(crate) const TOO_MUCH: &str =
    "it has too many values for a page; `runner export` writes all of them";

/// JSON that a page can show; `None`: it is none, or too much.
pub(crate) fn shown(json: &str) -> Option<Value> {
    if is_for_a_page(json) {
        serde_json::from_str(json).ok()
    } else {
        None
    }
}

/// Whether a text holds no more values than a page can show, whatever is in its strings.
fn is_for_a_page(json: &str) -> bool {
    let separators = json
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'));
    separators.take(MOST_VALUES + 1).count() <= MOST_VALUES
}

/// A finished case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) repeat_index: u32,
    pub(crate) repeat_group: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) prompt: Prompt,
    pub(crate) vars: Map<String, Value>,
    pub(crate) test_case: Value,
    pub(crate) data_file: Option<String>,
    pub(crate) response: Option<Response>,
    pub(crate) grading_result: Option<Grading>,
    pub(crate) named_scores: Map<String, Value>,
    pub(crate) error: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) question: Option<Value>,
    pub(crate) provenance: Option<Value>,
    pub(crate) log: Vec<LoggedLine>,
}

/// A line that a plugin, or code, logged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LoggedLine {
    pub(crate) plugin: String,
    pub(crate) level: String,
    pub(crate) message: String,
}

/// What was asked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Prompt {
    pub(crate) raw: String,
}

/// What came back.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Response {
    pub(crate) output: Value,
    pub(crate) raw: Option<Value>,
    pub(crate) cached: bool,
    pub(crate) ttft_ms: Option<u64>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) token_usage: Value,
}

/// What the assertions came to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Grading {
    pub(crate) reason: String,
    pub(crate) not_graded: Vec<String>,
    pub(crate) component_results: Vec<Component>,
}

/// What one assertion said.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Component {
    pub(crate) pass: bool,
    pub(crate) score: Option<f64>,
    pub(crate) reason: String,
    pub(crate) skipped: bool,
    pub(crate) error_code: Option<String>,
    pub(crate) assertion: Value,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) parts: Vec<Part>,
}

/// A part of a grade.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) pass: bool,
    pub(crate) score: Option<f64>,
    pub(crate) reason: String,
}

/// An attempt of a request, with what it waited for before.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Attempt {
    pub(crate) lane: String,
    #[serde(rename = "attempt")]
    pub(crate) number: u32,
    pub(crate) queued_ms: u64,
    pub(crate) waited_ms: u64,
    pub(crate) worked_ms: Option<u64>,
    pub(crate) status: Option<u16>,
    pub(crate) ended: Option<String>,
}

impl Attempt {
    /// When it went out, or gave up waiting.
    pub(crate) fn sent_ms(&self) -> u64 {
        self.queued_ms.saturating_add(self.waited_ms)
    }

    /// When it was over.
    pub(crate) fn end_ms(&self) -> u64 {
        self.sent_ms()
            .saturating_add(self.worked_ms.unwrap_or_default())
    }
}

impl Record {
    /// Which repeat of its test it is, in words.
    pub(crate) fn repeat(&self) -> Option<String> {
        let of = self.test_case["options"]["repeat"].as_u64();
        let number = self.repeat_index + 1;
        self.repeat_group.as_ref()?;
        Some(match of.filter(|of| *of >= u64::from(number)) {
            Some(of) => format!("repeat {number} of {of}"),
            None => format!("repeat {number}"),
        })
    }

    /// Of the text in the store; one that is none is an error that says so.
    pub(crate) fn read(json: &str) -> Self {
        if !is_for_a_page(json) {
            return Self {
                error: Some(TOO_MUCH.to_owned()),
                error_code: Some("large-record".to_owned()),
                ..Self::default()
            };
        }
        serde_json::from_str(json).unwrap_or_else(|error| Self {
            error: Some(format!("the stored record can't be read: {error}")),
            error_code: Some("unreadable-record".to_owned()),
            ..Self::default()
        })
    }

    /// Of the text in the store, with every text in it cut to so many characters, and this sentence behind it; a
    /// picture or a sound that is a text of its own stays whole.
    pub(crate) fn read_cut(json: &str, most: usize, rest: &str) -> Self {
        let Some(mut value) = shown(json) else {
            return Self::read(json);
        };
        cut(&mut value, most, rest);
        serde_json::from_value(value).unwrap_or_else(|_| Self::read(json))
    }

    /// The answer as text; empty where there is none.
    pub(crate) fn answer(&self) -> String {
        self.response
            .as_ref()
            .map(|it| text_of(&it.output))
            .unwrap_or_default()
    }

    /// What each assertion came to.
    pub(crate) fn components(&self) -> &[Component] {
        let grading = self.grading_result.as_ref();
        grading.map_or(&[], |it| &it.component_results)
    }

    /// Each named score; none of a metric that a judge failed to grade, which promptfoo counts as 0.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (&str, Option<f64>)> {
        let not_graded = self.grading_result.as_ref().map(|it| &it.not_graded);
        self.named_scores.iter().map(move |(name, score)| {
            let is_graded = !not_graded.is_some_and(|it| it.contains(name));
            (name.as_str(), score.as_f64().filter(|_| is_graded))
        })
    }

    /// What the grade says of the whole; empty where there is none.
    pub(crate) fn reason(&self) -> &str {
        let grading = self.grading_result.as_ref();
        grading.map_or("", |it| &it.reason)
    }

    /// What somebody called the test.
    pub(crate) fn description(&self) -> Option<&str> {
        self.test_case.get("description").and_then(Value::as_str)
    }
}

impl Component {
    /// Whether it did not pass, or nothing was said yet.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self.word(), "ERROR" | "FAIL" | "WAITS")
    }

    /// Whether a judge failed to give it.
    pub(crate) fn is_graded(&self) -> bool {
        self.error_code.is_none() && self.metadata.get("graderError") != Some(&Value::Bool(true))
    }

    /// Whether a person gave it.
    pub(crate) fn is_people_s(&self) -> bool {
        self.assertion["type"] == "human"
    }

    /// The metric that it counts for, or else its type.
    pub(crate) fn name(&self) -> &str {
        let text = |name: &str| self.assertion.get(name).and_then(Value::as_str);
        text("metric")
            .or_else(|| text("type"))
            .unwrap_or("assertion")
    }

    /// `PASS`, `FAIL`, `ERROR`, `SKIPPED`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self {
                error_code: Some(_),
                ..
            } => "ERROR",
            // What a condition left out counts as passed.
            Self {
                skipped: true,
                pass: false,
                ..
            } => "WAITS",
            Self { skipped: true, .. } => "SKIPPED",
            Self { pass: true, .. } => "PASS",
            _ => "FAIL",
        }
    }
}

fn cut(value: &mut Value, most: usize, rest: &str) {
    match value {
        Value::String(text) => {
            if text.len() <= MOST_MEDIA && text.starts_with("data:") {
                return;
            }
            if let Some((end, _)) = text.char_indices().nth(most) {
                text.truncate(end);
                text.push_str(rest);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| cut(it, most, rest)),
        Value::Object(members) => members.values_mut().for_each(|it| cut(it, most, rest)),
        _ => {}
    }
}

/// A value as people read it: a text as it is, nothing as nothing, all else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_cut_and_pictures_stay_whole_as_far_as_a_page_has_room() {
        let picture = |bytes: usize| format!("data:image/png;base64,{}", "A".repeat(bytes));
        let vars = json!({ "long": "äöü", "small": picture(10), "large": picture(MOST_MEDIA) });
        let record = Record::read_cut(&json!({ "vars": vars }).to_string(), 2, "…");
        let expected = json!({ "long": "äö…", "small": picture(10), "large": "da…" });
        assert_eq!(json!(record.vars), expected);
    }

    #[test]
    fn a_record_with_more_values_than_a_page_can_show_says_so() {
        let json = |values: usize| {
            let values = vec![r#"{"":0}"#; values].join(",");
            format!(r#"{{"vars":{{"x":[{values}]}}}}"#)
        };
        let some = Record::read(&json(1000));
        assert_eq!((some.error.as_deref(), some.vars.len()), (None, 1));
        let many = Record::read(&json(MOST_VALUES));
        assert_eq!(many.error.as_deref(), Some(TOO_MUCH));
        assert_eq!((many.vars.len(), shown(&json(MOST_VALUES))), (0, None));
    }
}
