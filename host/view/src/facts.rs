//! What is found by of a record: words, kind of error, metrics, metadata, and what it is by content.

use runner_store::Facts;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::pairing;
use crate::record::{Record, text_of};

/// Bytes of a case that are searched.
const MOST_TEXT: usize = 32 << 10;
/// Metrics, and values of metadata, of a case.
const MOST_NAMES: usize = 64;
/// Characters of a name or a value.
const NAME_CHARS: usize = 200;

/// Reads them out of a record.
pub(crate) fn of(json: &str) -> Facts {
    let record = Record::read(json);
    let answer = record.answer();
    let metrics = record.metrics().take(MOST_NAMES);
    let metadata = record.metadata.iter().take(MOST_NAMES);
    Facts {
        text: text(&record, &answer),
        error: record.error_code.clone(),
        content: pairing::content(&record.test_case, &record.vars, record.repeat_index) as u64,
        file: hash(&json!(record.data_file).to_string()),
        tested: hash(&record.test_case.to_string()),
        answer: hash(&answer),
        repeats: record
            .repeat_group
            .as_ref()
            .map(|group| hash(&format!("{group} {}", record.prompt.raw))),
        metrics: metrics.map(|(name, score)| (cut(name), score)).collect(),
        metadata: metadata
            .map(|(name, value)| (cut(name), cut(&text_of(value))))
            .collect(),
    }
}

/// What people search for, the most telling first: the rest of a long case is not searched.
fn text(record: &Record, answer: &str) -> String {
    let mut text = String::new();
    let mut add = |part: &str| {
        if text.len() < MOST_TEXT && !part.is_empty() {
            let room = MOST_TEXT - text.len();
            text.push_str(&part[..part.floor_char_boundary(room)]);
            text.push('\n');
        }
    };
    add(record.description().unwrap_or_default());
    add(record.error.as_deref().unwrap_or_default());
    add(answer);
    for value in record.vars.values() {
        add(&text_of(value));
    }
    for component in record.components() {
        add(component.name());
        add(&component.reason);
    }
    add(&record.prompt.raw);
    add(record
        .response
        .as_ref()
        .and_then(|it| it.reasoning.as_deref())
        .unwrap_or_default());
    let labels = record.metadata.values().filter_map(Value::as_str);
    labels.for_each(add);
    text
}

fn cut(text: &str) -> String {
    text.chars().take(NAME_CHARS).collect()
}

/// Digest that no build changes, since it is kept.
fn hash(content: &str) -> u64 {
    let digest = Sha256::digest(content);
    let first: [u8; 8] = digest[..8].try_into().expect("a sha256 has 32 bytes");
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_what_it_says() {
        let json = r#"{"repeatGroup":"g","prompt":{"raw":"Ask"},"vars":{"city":"Paris"},"testCase":{"description":"capital"},
            "response":{"output":{"a":1}},"namedScores":{"tone":0.5,"truth":0.0},"errorCode":"timeout","error":"too slow",
            "metadata":{"team":"x","n":3},"gradingResult":{"notGraded":["truth"],"componentResults":[{"reason":"because","assertion":{"type":"equals"}}]}}"#;
        let facts = of(json);
        for word in [
            "capital", "too slow", "\"a\": 1", "Paris", "equals", "because", "Ask",
        ] {
            assert!(facts.text.contains(word), "{word} in {}", facts.text);
        }
        assert_eq!(facts.error.as_deref(), Some("timeout"));
        let expected = [("tone", Some(0.5)), ("truth", None)].map(|it| (it.0.to_owned(), it.1));
        assert_eq!(facts.metrics, expected);
        assert_eq!(
            facts.metadata,
            [
                ("team".to_owned(), "x".to_owned()),
                ("n".to_owned(), "3".to_owned())
            ]
        );
        assert!(facts.repeats.is_some());
        let damaged = of("{");
        assert_eq!(damaged.error.as_deref(), Some("unreadable-record"));
        let long = format!(r#"{{"response":{{"output":"{}"}}}}"#, "ä".repeat(MOST_TEXT));
        assert!(of(&long).text.len() <= MOST_TEXT + 1);
    }
}
