//! `threshold`: a number that scores are held against.
//!
//! One that no score reaches would fail every answer, or pass all of them where the assertion is a
//! `not-…`. Which scores there are is known of some types only: what models and code give may be
//! anything.

use crate::model::Findings;
use crate::read::entry::Entry;

/// Types whose score is never above 1.
const UP_TO_ONE: [&str; 14] = [
    "answer-relevance",
    "bleu",
    "classifier",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "gleu",
    "meteor",
    "perplexity-score",
    "rouge-l",
    "rouge-n",
    "rouge-s",
    "similar",
    "similar:cosine",
];

/// `threshold` of a test, a set or an assertion. A negative one would pass whatever happens.
pub(crate) fn threshold(entry: &Entry<'_>, findings: &Findings) -> Option<f64> {
    let entry = entry.get("threshold")?;
    let threshold = entry.want_number(findings)?;
    if threshold.is_finite() && threshold >= 0.0 {
        return Some(threshold);
    }
    let message = format!("must be a number from 0 on, not {threshold}");
    findings.error(entry.at(), message);
    None
}

/// `threshold` of an assertion of this type.
pub(super) fn of_assertion(kind: &str, entry: &Entry<'_>, findings: &Findings) -> Option<f64> {
    let threshold = threshold(entry, findings)?;
    if threshold <= 1.0 || !UP_TO_ONE.contains(&kind) {
        return Some(threshold);
    }
    let at = entry
        .get("threshold")
        .map_or_else(|| entry.at(), |it| it.at());
    let message = format!("must be between 0 and 1, not {threshold}: '{kind}' gives no more");
    findings.error(at, message);
    None
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    fn problems(assertion: &str) -> String {
        let config =
            format!("prompts: [p]\nproviders: [echo]\ntests: [{{ assert: [{assertion}] }}]");
        let folder = Folder::new(&config).env("OPENAI_API_KEY", "sk-test");
        folder.problems().join("\n")
    }

    #[test]
    fn a_threshold_that_no_score_reaches_is_wrong() {
        for wrong in [
            "{ type: similar, value: x, threshold: 80 }",
            "{ type: not-similar, value: x, threshold: 1.1 }",
            "{ type: answer-relevance, threshold: 2 }",
        ] {
            let told = problems(wrong);
            assert!(told.contains("must be between 0 and 1"), "{wrong}: {told}");
        }
        for right in [
            "{ type: similar, value: x, threshold: 1 }",
            "{ type: similar, value: x, threshold: 0 }",
            "{ type: latency, threshold: 5000 }",
            "{ type: javascript, value: '7', threshold: 7 }",
            "{ type: llm-rubric, value: x, threshold: 3 }",
        ] {
            assert_eq!(problems(right), "", "{right}");
        }
        assert!(problems("{ type: latency, threshold: -1 }").contains("from 0 on"));
    }
}
