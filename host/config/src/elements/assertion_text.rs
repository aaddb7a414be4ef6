//! Assertions written as one text, as CSV cells hold them: `contains: hello`,
//! `not-similar(0.9): text`, `is-json`, or just the text that the output must equal.

use crate::model::did_you_mean;
use crate::read::csv_rows;
use crate::read::files::{has_extension, names_file};

/// promptfoo's types. Names of these that no plugin serves are "not supported yet", other names
/// are unknown.
pub(crate) const PROMPTFOO_TYPES: [&str; 68] = [
    "agent-rubric",
    "answer-relevance",
    "bleu",
    "classifier",
    "contains",
    "contains-all",
    "contains-any",
    "contains-html",
    "contains-json",
    "contains-sql",
    "contains-xml",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "cost",
    "equals",
    "factuality",
    "finish-reason",
    "g-eval",
    "gleu",
    "guardrails",
    "human",
    "icontains",
    "icontains-all",
    "icontains-any",
    "is-html",
    "is-json",
    "is-refusal",
    "is-sql",
    "is-valid-function-call",
    "is-valid-openai-function-call",
    "is-valid-openai-tools-call",
    "is-xml",
    "javascript",
    "latency",
    "levenshtein",
    "llm-rubric",
    "max-score",
    "meteor",
    "model-graded-closedqa",
    "model-graded-factuality",
    "moderation",
    "perplexity",
    "perplexity-score",
    "pi",
    "python",
    "regex",
    "rouge-l",
    "rouge-n",
    "rouge-s",
    "ruby",
    "search-rubric",
    "select-best",
    "similar",
    "similar:cosine",
    "similar:dot",
    "similar:euclidean",
    "skill-used",
    "starts-with",
    "tool-call-f1",
    "trace-error-spans",
    "trace-span-count",
    "trace-span-duration",
    "trajectory:goal-success",
    "trajectory:tool-used",
    "webhook",
    "word-count",
];

/// Types whose number in parentheses is a threshold; these have one even if none is written.
const WITH_THRESHOLD: [&str; 15] = [
    "answer-relevance",
    "classifier",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "cost",
    "latency",
    "levenshtein",
    "perplexity",
    "perplexity-score",
    "rouge-n",
    "similar",
    "starts-with",
    "similar:cosine",
    "ttft",
];

/// Beginnings that name a type in another way.
const PREFIXES: [(&str, &str); 6] = [
    ("javascript:", "javascript"),
    ("fn:", "javascript"),
    ("eval:", "javascript"),
    ("python:", "python"),
    ("grade:", "llm-rubric"),
    ("llm-rubric:", "llm-rubric"),
];

/// What a text says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// The type, `not-` included.
    pub(crate) kind: String,
    pub(crate) value: Option<Content>,
    pub(crate) threshold: Option<f64>,
    /// A type that the text may have meant when it was taken for a text to equal.
    pub(crate) meant: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Text(String),
    List(Vec<String>),
}

/// Reads a text; `is_type` knows the names of types, without `not-`.
pub(crate) fn parse<'a>(text: &str, types: impl Iterator<Item = &'a str> + Clone) -> Written {
    let of = |kind: &str, value: &str| Written {
        kind: kind.to_owned(),
        value: Some(Content::Text(value.trim().to_owned())),
        threshold: None,
        meant: None,
    };
    if let Some((value, kind)) = PREFIXES
        .iter()
        .find_map(|(prefix, kind)| Some((text.strip_prefix(prefix)?, kind)))
    {
        return of(kind, value);
    }
    match program_type(text) {
        Some(kind) => of(kind, text),
        None => typed(text, types.clone()).unwrap_or_else(|| Written {
            kind: "equals".to_owned(),
            value: Some(Content::Text(text.to_owned())),
            threshold: None,
            meant: meant(text, types),
        }),
    }
}

/// Whether a text means one of these types.
pub(crate) fn names_type<'a>(text: &str, types: impl Iterator<Item = &'a str>) -> bool {
    typed(text, types).is_some()
}

/// The type of a file with a program.
fn program_type(text: &str) -> Option<&'static str> {
    let path = super::programs::program(names_file(text).then_some(text)?)?;
    Some(if has_extension(path.as_ref(), &["py"]) {
        "python"
    } else {
        "javascript"
    })
}

/// `[not-]type[(number)][:value]`
fn typed<'a>(text: &str, types: impl Iterator<Item = &'a str>) -> Option<Written> {
    let (not, rest) = text
        .strip_prefix("not-")
        .map_or(("", text), |rest| ("not-", rest));
    // The longest name wins: `similar:dot` before `similar` with a value.
    let parsed = types.filter_map(|name| Some((name, argument(rest.strip_prefix(name)?)?)));
    let (name, (number, value)) = parsed.max_by_key(|(name, _)| name.len())?;
    let default = || {
        if name.starts_with("similar") {
            0.8
        } else {
            0.75
        }
    };
    let threshold = WITH_THRESHOLD
        .contains(&name)
        .then(|| number.filter(|n| *n != 0.0).unwrap_or_else(default));
    let value = value.map(|value| match name {
        "contains-any" | "contains-all" | "icontains-any" | "icontains-all" => {
            Content::List(csv_rows::split(value, ','))
        }
        _ => Content::Text(value.trim().to_owned()),
    });
    Some(Written {
        kind: format!("{not}{name}"),
        value,
        threshold,
        meant: None,
    })
}

/// `[(number)][:value]`
fn argument(rest: &str) -> Option<(Option<f64>, Option<&str>)> {
    let (number, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (number, rest) = rest.split_once(')')?;
            let digits = number.chars().all(|c| c.is_ascii_digit() || c == '.');
            (Some(number.parse().ok().filter(|_| digits)?), rest)
        }
        None => (None, rest),
    };
    if rest.is_empty() {
        Some((number, None))
    } else {
        Some((number, Some(rest.strip_prefix(':')?)))
    }
}

/// A type that the beginning of `text` is almost the name of.
fn meant<'a>(text: &str, types: impl Iterator<Item = &'a str>) -> Option<String> {
    let (head, _) = text.split_once(':')?;
    let head = head.split('(').next().unwrap_or(head);
    let name = head.strip_prefix("not-").unwrap_or(head);
    let like = name.len() > 3
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    did_you_mean(name, types)
        .filter(|_| like)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the tables hold options")]
    fn text(text: &str) -> Option<Content> {
        Some(Content::Text(text.to_owned()))
    }

    /// Each of `cases` is (text, type, value, threshold).
    fn check(cases: Vec<(&str, &str, Option<Content>, Option<f64>)>) {
        for (written, kind, value, threshold) in cases {
            let parsed = parse(written, PROMPTFOO_TYPES.iter().copied());
            let said = (parsed.kind.as_str(), parsed.value, parsed.threshold);
            assert_eq!(said, (kind, value, threshold), "{written}");
        }
    }

    #[test]
    fn texts_are_read_by_promptfoos_grammar() {
        let list = |items: &[&str]| {
            Some(Content::List(
                items.iter().map(|item| (*item).to_owned()).collect(),
            ))
        };
        check(vec![
            ("Paris", "equals", text("Paris"), None),
            (" Paris ", "equals", text(" Paris "), None),
            ("equals: Paris", "equals", text("Paris"), None),
            ("contains:a:b", "contains", text("a:b"), None),
            ("not-contains: x", "not-contains", text("x"), None),
            ("is-json", "is-json", None, None),
            ("not-is-json", "not-is-json", None, None),
            (
                "contains-any: a, \"b, c\",d",
                "contains-any",
                list(&["a", "b, c", "d"]),
                None,
            ),
            ("containsthis: x", "equals", text("containsthis: x"), None),
            ("is-json is nice", "equals", text("is-json is nice"), None),
            ("regex: ^a\nb$", "regex", text("^a\nb$"), None),
        ]);
    }

    #[test]
    fn numbers_in_parentheses_are_thresholds_of_the_types_that_have_one() {
        check(vec![
            ("similar: hi", "similar", text("hi"), Some(0.8)),
            ("similar(0.5): hi", "similar", text("hi"), Some(0.5)),
            ("similar:dot: hi", "similar:dot", text("hi"), None),
            ("similar(x): hi", "equals", text("similar(x): hi"), None),
            ("levenshtein(3): hi", "levenshtein", text("hi"), Some(3.0)),
            ("contains(3): hi", "contains", text("hi"), None),
            ("latency(100)", "latency", None, Some(100.0)),
            ("latency", "latency", None, Some(0.75)),
        ]);
    }

    #[test]
    fn other_beginnings_name_types_too() {
        check(vec![
            ("grade: is polite", "llm-rubric", text("is polite"), None),
            (
                "fn: output.length > 1",
                "javascript",
                text("output.length > 1"),
                None,
            ),
            ("eval:x", "javascript", text("x"), None),
            ("python: x", "python", text("x"), None),
            (
                "file://check.py:grade",
                "python",
                text("file://check.py:grade"),
                None,
            ),
            (
                "file://check.mjs",
                "javascript",
                text("file://check.mjs"),
                None,
            ),
        ]);
    }

    #[test]
    fn a_text_that_is_almost_a_type_is_noticed() {
        let meant = |text| parse(text, PROMPTFOO_TYPES.iter().copied()).meant;
        assert_eq!(meant("contians: x"), Some("contains".to_owned()));
        assert_eq!(meant("not-containz(1): x"), Some("contains".to_owned()));
        assert_eq!(meant("Answer: x"), None);
        assert_eq!(meant("just text"), None);
    }
}
