//! How large a row may be.
//!
//! What the parts of a row may take is bounded where they are made: variables, the prompt, an
//! answer, grades. Their sum could still be more than a database, a file of results or the memory
//! of whoever reads it takes. So no row that is larger is ever handed on: it becomes an error that
//! says which part was large, with everything that is small.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use runner_gateway::Masker;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{CaseRecord, Conclusion};
use crate::failure::FailureCode;

/// Bytes of a record as JSON: some times the largest prompt and answer, and far below the largest
/// value of a database.
pub(crate) const MAX_RECORD: usize = 64 << 20;

/// What there is room for at first: most records are smaller.
const USUAL_RECORD: usize = 4 << 10;

/// Bytes of a name that stays where a record was too large.
const MAX_NAME: usize = 1 << 10;

/// The record and its JSON; without its large parts if it is too large with them.
pub(crate) fn bounded(record: CaseRecord, masker: &Masker) -> (CaseRecord, String) {
    if let Some(json) = json(&record, MAX_RECORD) {
        return (record, json);
    }
    let small = without_parts(record, masker);
    let json = json(&small, usize::MAX).expect("there is no bound");
    (small, json)
}

/// The record as an error that says which of its parts is the largest, without all of them.
fn without_parts(record: CaseRecord, masker: &Masker) -> CaseRecord {
    let cut = |name: &mut String| cut(name, MAX_NAME, masker);
    let parts = [
        ("variables", bytes(&(&*record.vars, &record.test_case))),
        ("prompt", bytes(&record.prompt)),
        ("answer", bytes(&record.response)),
        ("grades", bytes(&record.grading_result)),
        ("metadata", bytes(&record.metadata)),
    ];
    let [sum, limit] = [bytes(&record), MAX_RECORD].map(|bytes| bytes.div_ceil(1 << 20));
    let (largest, most) =
        parts.into_iter().fold(
            ("", 0),
            |most, part| {
                if part.1 > most.1 { part } else { most }
            },
        );
    let most = most.div_ceil(1 << 20);
    let message = format!(
        "the case is too large to be kept: its row would take {sum} MiB, and {limit} MiB is the most that one may \
         have; {most} MiB of that are its {largest}. Variables, prompt, answer and grades are left out"
    );
    let mut prompt = record.prompt;
    prompt.raw.clear();
    prompt.config = None;
    cut(&mut prompt.label);
    let mut provider = record.provider;
    cut(&mut provider.id);
    provider.label.iter_mut().for_each(cut);
    let question = record.question.filter(|it| bytes(it) <= MAX_NAME);
    CaseRecord {
        provider,
        prompt,
        vars: Arc::default(),
        test_case: Value::Object(Map::new()).into(),
        response: None,
        grading_result: None,
        named_scores: Map::new(),
        conclusion: Conclusion::failure(FailureCode::TooLarge, message),
        metadata: Map::new(),
        question,
        ..record
    }
}

/// Cuts a text to at most so many bytes, with a mark where more was.
/// Secrets go first: half of one would not be known again.
pub(crate) fn cut(text: &mut String, most: usize, masker: &Masker) {
    if text.len() > most
        && let Cow::Owned(masked) = masker.mask(text)
    {
        *text = masked;
    }
    if text.len() > most {
        let left_out = text.len() - most;
        text.truncate(text.floor_char_boundary(most));
        *text = format!("{text}… ({left_out} more bytes are left out)");
    }
}

/// How long something is as JSON.
pub(crate) fn bytes(part: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    serde_json::to_writer(&mut counted, part).expect("maps have string keys only");
    counted.0
}

/// The JSON of a record, if it takes at most `most` bytes.
fn json(record: &CaseRecord, most: usize) -> Option<String> {
    let mut out = Capped {
        bytes: Vec::with_capacity(USUAL_RECORD),
        most,
        full: false,
    };
    let written = serde_json::to_writer(&mut out, record);
    if out.full {
        return None;
    }
    written.expect("a record has string keys only");
    // It may wait for the store, with up to as much room again.
    out.bytes.shrink_to_fit();
    Some(String::from_utf8(out.bytes).expect("JSON is UTF-8"))
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.0 += more.len();
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Capped {
    bytes: Vec<u8>,
    most: usize,
    full: bool,
}

impl io::Write for Capped {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if more.len() > self.most - self.bytes.len() {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::Outcome;
    use crate::record::samples::record;
    use runner_gateway::Secret;

    #[test]
    fn a_record_that_is_too_large_becomes_a_small_error_that_says_what_was_large() {
        let mut large = record(7);
        let vars = [("a".to_owned(), json!("x".repeat(MAX_RECORD)))];
        large.vars = Arc::new(vars.into_iter().collect());
        large.question = None;
        let (small, json) = bounded(large.clone(), &Masker::default());
        let error = small.conclusion.error().expect("it says why");
        assert!(
            error.starts_with("the case is too large to be kept: its row would take 65 MiB, and 64 MiB is the most"),
            "{error}"
        );
        assert!(
            error.contains("65 MiB of that are its variables"),
            "{error}"
        );
        let whole = Conclusion::failure(FailureCode::TooLarge, error);
        assert_eq!(small.conclusion, whole);
        assert_eq!(whole.outcome(), Outcome::Error);
        assert_eq!((small.test_idx, &small.id), (large.test_idx, &large.id));
        assert_eq!(
            (small.cost, small.token_usage),
            (large.cost, large.token_usage)
        );
        assert!(json.len() < 10_000, "{json}");
        assert_eq!(
            serde_json::from_str::<CaseRecord>(&json).expect("a record"),
            small
        );
    }

    #[test]
    fn a_record_that_fits_stays_as_it_is() {
        let (same, json) = bounded(record(7), &Masker::default());
        assert_eq!(same, record(7));
        assert_eq!(json.len(), bytes(&same));
        assert_eq!(self::json(&same, json.len()).as_ref(), Some(&json));
        assert_eq!(self::json(&same, json.len() - 1), None);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let cut = |text: &str, most: usize, masker: &Masker| {
            let mut text = text.to_owned();
            cut(&mut text, most, masker);
            text
        };
        let none = Masker::default();
        assert_eq!(cut("aéb", 4, &none), "aéb");
        assert_eq!(cut("aéb", 2, &none), "a… (2 more bytes are left out)");
        let masker = Masker::new(&[Secret::new("s3cret-value")]);
        let text = "it is s3cret-value of mine";
        assert_eq!(
            cut(text, 12, &masker),
            "it is [maske… (10 more bytes are left out)"
        );
    }
}
