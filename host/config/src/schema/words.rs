//! What an editor says of types of assertions, and of ids of providers that are code.
//!
//! The READMEs of the plugins say it in full (`runner plugin docs NAME`); a test holds the table against what
//! is served, so that none is missing and none is left over.

/// A type of assertion.
#[derive(Debug)]
pub(super) struct TypeWords {
    pub(super) name: &'static str,
    /// What has to hold for an answer to pass.
    pub(super) gist: &'static str,
    /// Whether `not-` may stand before it.
    pub(super) has_opposite: bool,
}

const fn both(name: &'static str, gist: &'static str) -> TypeWords {
    TypeWords {
        name,
        gist,
        has_opposite: true,
    }
}

const fn alone(name: &'static str, gist: &'static str) -> TypeWords {
    TypeWords {
        name,
        gist,
        has_opposite: false,
    }
}

/// Prefixes that are whole ids.
pub(super) const BARE: [&str; 1] = ["echo"];

/// Code as a provider, by what its id looks like.
pub(super) const CODE: [(&str, &str); 3] = [
    (
        "^(file://|python:|javascript:)",
        "code of yours: a function, or a class with `callApi`",
    ),
    ("^package:", "an export of an npm package"),
    (
        "^exec:",
        "a program: it gets the prompt as an argument and prints the answer",
    ),
];

/// How such ids begin.
pub(super) const CODE_EXAMPLES: [&str; 5] = [
    "file://provider.py",
    "file://provider.mjs",
    "package:",
    "exec: ",
    "https://",
];

/// Every type that the program serves.
pub(super) const KINDS: [TypeWords; 59] = [
    both(
        "equals",
        "the answer is this text; a list or map: it equals the answer read as JSON",
    ),
    both("contains", "the answer contains this text"),
    both(
        "icontains",
        "the answer contains this text, in capitals or not",
    ),
    both(
        "contains-any",
        "the answer contains at least one of these texts",
    ),
    both("contains-all", "the answer contains each of these texts"),
    both(
        "icontains-any",
        "the answer contains at least one of these texts, in capitals or not",
    ),
    both(
        "icontains-all",
        "the answer contains each of these texts, in capitals or not",
    ),
    both("starts-with", "the answer begins with this text"),
    both(
        "regex",
        "this pattern of JavaScript, without slashes and flags, matches in the answer",
    ),
    both(
        "word-count",
        "the answer has so many words, or from `min` to `max` of them",
    ),
    both(
        "levenshtein",
        "at most `threshold` characters (5) are to be changed to make this text of the answer",
    ),
    both(
        "is-json",
        "the whole answer is JSON, and conforms to this JSON Schema if there is one",
    ),
    both(
        "contains-json",
        "there is a JSON object in the answer, and it conforms to this JSON Schema if there is one",
    ),
    both(
        "is-valid-openai-tools-call",
        "the answer is calls of tools in OpenAI's form, each with arguments that its tool takes",
    ),
    both(
        "is-valid-openai-function-call",
        "the answer is one call of a function in OpenAI's older form",
    ),
    both(
        "is-valid-function-call",
        "the answer is calls of tools in the form of OpenAI, Anthropic or Gemini",
    ),
    both(
        "tool-call-f1",
        "the tools that were called are those that are named here: F1 is at least `threshold` (1)",
    ),
    both(
        "is-xml",
        "the whole answer is XML, and has these elements if some are named",
    ),
    both(
        "contains-xml",
        "there is XML in the answer, and it has these elements if some are named",
    ),
    both("is-html", "the whole answer is HTML"),
    both("contains-html", "there is HTML in the answer"),
    both(
        "is-sql",
        "the whole answer is SQL, and uses the tables and columns that are allowed",
    ),
    both(
        "contains-sql",
        "there is SQL in the answer, in a code block or as a whole",
    ),
    both(
        "latency",
        "the response took at most `threshold` milliseconds",
    ),
    both(
        "ttft",
        "the first token of the response came at most `threshold` milliseconds after the request went out; \
         the provider's `config` says `stream: true`",
    ),
    both("cost", "the response cost at most `threshold` US dollars"),
    both(
        "finish-reason",
        "the answer ended for this reason: stop, length, tool_calls, content_filter, refusal",
    ),
    both("guardrails", "no filter of the API objected"),
    both("is-refusal", "the model refuses to answer"),
    both(
        "perplexity",
        "the perplexity of the answer's tokens is at most `threshold`",
    ),
    both(
        "perplexity-score",
        "1 / (1 + perplexity) is at least `threshold`",
    ),
    both("skill-used", "the agent used these skills"),
    both(
        "rouge-n",
        "words that answer and this text share (ROUGE-1, F1): at least `threshold` (0.75)",
    ),
    both(
        "bleu",
        "how much of the answer's phrases this text, or one of these, has (BLEU): at least `threshold` (0.5)",
    ),
    both(
        "gleu",
        "phrases that answer and this text share (GLEU): at least `threshold` (0.5)",
    ),
    both(
        "meteor",
        "words that answer and this text share, by form and stem, in order (METEOR): at least `threshold` (0.5)",
    ),
    both(
        "answer",
        "the text in the answer's last <answer>…</answer> is one of these",
    ),
    both(
        "llm-rubric",
        "a model says that the answer meets this rubric",
    ),
    both(
        "factuality",
        "a model says that the answer does not contradict this reference",
    ),
    both("model-graded-factuality", "the same as factuality"),
    both(
        "model-graded-closedqa",
        "a model says that the answer meets this criterion",
    ),
    both(
        "g-eval",
        "a model gives points by these criteria: at least `threshold` (0.7)",
    ),
    both(
        "answer-relevance",
        "the answer answers the question: at least `threshold` (0.5), by a model and vectors",
    ),
    both(
        "context-recall",
        "the context holds what this text says: at least `threshold` (0.5), by a model",
    ),
    both(
        "context-relevance",
        "the context is about the question: at least `threshold` (0.5), by a model",
    ),
    both(
        "context-faithfulness",
        "the answer says what the context bears out: at least `threshold` (0.5), by a model",
    ),
    both(
        "conversation-relevance",
        "the answers of the conversation are about what was asked: at least `threshold` (0.5), by a model",
    ),
    alone(
        "select-best",
        "a model chooses this column's answer among those of the test, by this criterion",
    ),
    alone(
        "max-score",
        "this column's answer has the best score of the test's other assertions",
    ),
    alone(
        "human",
        "a person says that the answer is good, in `runner view` or by an import; this text says what to look at",
    ),
    both(
        "similar",
        "the answer means the same as this text, or one of these: the cosine of their vectors is at least `threshold` (0.75)",
    ),
    both("similar:cosine", "the same as similar"),
    both(
        "similar:dot",
        "as similar, by the dot product of the vectors",
    ),
    both(
        "similar:euclidean",
        "as similar, by the distance of the vectors, which is at most `threshold`",
    ),
    both(
        "classifier",
        "a classifier gives this class, or any, at least the score `threshold` (1)",
    ),
    both(
        "moderation",
        "a moderation API flags nothing, or nothing of these categories",
    ),
    both(
        "webhook",
        "the service at this address says that the answer passes",
    ),
    both(
        "javascript",
        "this JavaScript gives true, a score, or a grade; or file://check.js",
    ),
    both(
        "python",
        "this Python gives true, a score, or a grade; or file://check.py",
    ),
];
