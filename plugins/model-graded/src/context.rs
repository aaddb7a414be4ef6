//! The assertions about retrieved context: does it hold what a reference says (recall), is it
//! to the point (relevance), does the answer keep to it (faithfulness)?
//!
//! Each is a count over what the grader marks in lines of text. The marks are promptfoo's, so
//! that prompts written for it work: `[Attributed]`, `Insufficient Information`,
//! `Verdict: yes`.

use std::collections::BTreeSet;

use runner_plugin::json::{Value, json};

use crate::bench::{Bench, excerpt};
use crate::chat::Prompt;
use crate::panel;
use crate::template::Names;
use crate::verdict::{Failure, Verdict};

mod prompts;

/// promptfoo's default for all three.
const THRESHOLD: f64 = 0.5;

/// What was retrieved.
enum Context {
    Text(String),
    Chunks(Vec<String>),
}

impl Context {
    /// A `contextTransform`'s result, else the variable `context`.
    fn of(bench: &Bench<'_>) -> Result<Option<Self>, Failure> {
        let written = bench.knobs.context.as_ref().or(bench.vars.get("context"));
        let wrong = || bench.refuse("takes a text or a list of texts as its context");
        Ok(match written {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(Self::Text(text.clone())),
            Some(Value::Array(items)) if !items.is_empty() => {
                let chunks = items.iter().map(|item| item.as_str().map(str::to_owned));
                Some(Self::Chunks(
                    chunks.collect::<Option<_>>().ok_or_else(wrong)?,
                ))
            }
            Some(_) => return Err(wrong()),
        })
    }

    fn needed(bench: &Bench<'_>) -> Result<Self, Failure> {
        Self::of(bench)?.ok_or_else(|| {
            bench.refuse(
                "needs a context: give the test a variable `context`, or the assertion a `contextTransform`",
            )
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Chunks(chunks) => chunks.join("\n\n"),
        }
    }

    /// What relevance is counted in: chunks, or lines, or the sentences of one paragraph.
    fn units(&self) -> usize {
        match self {
            Self::Text(text) => sentences(text).len(),
            Self::Chunks(chunks) => chunks
                .iter()
                .filter(|chunk| !chunk.trim().is_empty())
                .count(),
        }
    }

    /// A grader's quotes from it, in units of the same kind.
    fn quotes(&self, reply: &str) -> Vec<String> {
        match self {
            Self::Text(text) if lines(text).len() <= 1 => sentences(reply),
            _ => lines(reply),
        }
    }
}

/// How much of the reference is in the context. Without a context the prompt is looked at.
pub(crate) fn recall(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let context = match Context::of(bench)? {
        Some(context) => context.text(),
        None => bench.prompt()?,
    };
    let names = Names::new()
        .text("context", &context)
        .text("groundTruth", &bench.text_value()?)
        .under(&bench.vars);
    let own = Prompt::own(prompts::RECALL_SYSTEM, prompts::RECALL_USER);
    let question = bench.prompt_or(own)?.render(&names)?;
    let threshold = bench.threshold_or(THRESHOLD);
    panel::decide(bench, &question, |reply| {
        let text = reply.text()?;
        let (mut marked, mut attributed) = (0_u32, 0_u32);
        for line in lines(text) {
            let line = line.to_lowercase();
            let not = line.contains("[not attributed]");
            if not || line.contains("[attributed]") {
                marked += 1;
                attributed += u32::from(!not);
            }
        }
        if marked == 0 {
            return Err(Failure::unreadable(format_args!(
                "the grader marked nothing as [Attributed] or [Not Attributed]: {}",
                excerpt(text)
            )));
        }
        let score = f64::from(attributed) / f64::from(marked);
        Ok(Verdict::measured("Recall", score, threshold)
            .with("totalSentences", json!(marked))
            .with("attributedSentences", json!(attributed)))
    })
}

/// How much of the context is needed for the question.
pub(crate) fn relevance(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let context = Context::needed(bench)?;
    let names = Names::new()
        .text("context", &context.text())
        .text("query", bench.query()?)
        .under(&bench.vars);
    let own = Prompt::own(prompts::RELEVANCE_SYSTEM, prompts::RELEVANCE_USER);
    let question = bench.prompt_or(own)?.render(&names)?;
    let threshold = bench.threshold_or(THRESHOLD);
    let units = context.units();
    let whole = plain(&context.text());
    panel::decide(bench, &question, |reply| {
        let text = reply.text()?;
        let quotes = if text.contains("Insufficient Information") {
            BTreeSet::new()
        } else {
            BTreeSet::from_iter(context.quotes(text))
        };
        let from_context = |quote: &String| whole.contains(&plain(unnumbered(quote)));
        if !quotes.is_empty() && !quotes.iter().any(from_context) {
            return Err(Failure::unreadable(format_args!(
                "the grader's reply does not quote the context: {}",
                excerpt(text)
            )));
        }
        let relevant = quotes.len().min(units);
        let score = if units == 0 {
            0.0
        } else {
            relevant as f64 / units as f64
        };
        Ok(Verdict::measured("Context relevance", score, threshold)
            .with("totalContextUnits", json!(units))
            .with("relevantSentenceCount", json!(relevant)))
    })
}

/// How much of what the answer states can be inferred from the context.
pub(crate) fn faithfulness(bench: &Bench<'_>) -> Result<Verdict, Failure> {
    let context = Context::needed(bench)?.text();
    let (extract, verify) = faithfulness_prompts(bench)?;
    let names = Names::new()
        .text("question", bench.query()?)
        .answer("answer", &bench.input.output)
        .under(&bench.vars);
    let reply = bench.ask(&extract.render(&names)?)?;
    let statements = lines(reply.text()?);
    let names = Names::new()
        .text("context", &context)
        .value("statements", &json!(statements))
        .under(&bench.vars);
    let question = verify.render(&names)?;
    let threshold = bench.threshold_or(THRESHOLD);
    panel::decide(bench, &question, |reply| {
        let text = reply.text()?;
        let (yes, no) = verdicts(text).ok_or_else(|| {
            Failure::unreadable(format_args!(
                "the grader's reply holds no verdict for the statements: {}",
                excerpt(text)
            ))
        })?;
        // A statement that was passed over is not borne out.
        let missing = statements.len().saturating_sub(yes + no);
        let score = 1.0 - (no + missing) as f64 / statements.len() as f64;
        let verdict = Verdict::measured("Faithfulness", score.clamp(0.0, 1.0), threshold);
        Ok(verdict.with("statements", json!(statements)))
    })
}

/// The two questions; a `rubricPrompt` is a list of two, each a text or a chat.
fn faithfulness_prompts(bench: &Bench<'_>) -> Result<(Prompt, Prompt), Failure> {
    let written = match &bench.knobs.rubric_prompt {
        None => &[][..],
        Some(Value::Array(prompts)) if prompts.len() <= 2 => prompts,
        Some(_) => return Err(bench.refuse("takes a `rubricPrompt` that is a list of two prompts")),
    };
    let pick = |index: usize, own: Prompt| match written.get(index) {
        None | Some(Value::Null) => Ok(own),
        Some(prompt) => Prompt::written(prompt.get("content").unwrap_or(prompt)),
    };
    Ok((
        pick(
            0,
            Prompt::own(prompts::STATEMENTS_SYSTEM, prompts::STATEMENTS_USER),
        )?,
        pick(
            1,
            Prompt::own(prompts::VERDICTS_SYSTEM, prompts::VERDICTS_USER),
        )?,
    ))
}

/// How many statements are borne out and how many are not: from a list at the end of the
/// reply, else from the marks along it.
fn verdicts(reply: &str) -> Option<(usize, usize)> {
    const LIST: &str = "final verdict for each statement in order:";
    let reply = reply.to_lowercase();
    if let Some(at) = reply.find(LIST) {
        let list = &reply[at + LIST.len()..];
        let said: Vec<bool> = list
            .split('.')
            .filter(|piece| !piece.trim().is_empty())
            .map(|piece| {
                let mut words = piece.split(|c: char| !c.is_alphanumeric());
                words.find_map(|word| match word {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => None,
                })
            })
            .collect::<Option<_>>()?;
        let yes = said.iter().filter(|yes| **yes).count();
        return (!said.is_empty()).then_some((yes, said.len() - yes));
    }
    let count = |mark: &str| reply.matches(mark).count();
    let (yes, no) = (count("verdict: yes"), count("verdict: no"));
    (yes + no > 0).then_some((yes, no))
}

/// Lines with something on them.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

/// Lines if there are several, else sentences. A number of a list alone is neither.
fn sentences(text: &str) -> Vec<String> {
    let lines = lines(text);
    let pieces = if lines.len() > 1 {
        lines
    } else {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(end) = sentence_end(rest) {
            pieces.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        pieces.push(rest.to_owned());
        pieces
    };
    let pieces = pieces.iter().map(|piece| piece.trim());
    pieces
        .filter(|piece| !piece.is_empty() && !unnumbered(piece).is_empty())
        .map(str::to_owned)
        .collect()
}

/// Where a sentence ends: after a mark that white space follows.
fn sentence_end(text: &str) -> Option<usize> {
    text.match_indices(['.', '!', '?'])
        .map(|(at, mark)| at + mark.len())
        .find(|end| text[*end..].starts_with(char::is_whitespace))
}

/// Without the number or bullet of a list.
fn unnumbered(line: &str) -> &str {
    let line = line.trim();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*'])
    };
    after.map_or(line, str::trim_start)
}

/// In lower case, with single spaces.
fn plain(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
