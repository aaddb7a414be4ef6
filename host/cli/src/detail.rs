//! One case in full: what was sent, what came back, how each assertion judged it, and what
//! produced it. Nothing is cut; everything is made safe to show.

use std::fmt::Write as _;
use std::time::Duration;

use runner_eval::record::{
    CaseRecord, ComponentRecord, GradingRecord, PluginUse, Provenance, ResponseRecord,
};
use runner_store::Annotation;
use serde_json::Value;

use crate::figures;
use crate::findings::{error_text, text_of};
use crate::visible;

/// Renders the lines about a case.
pub(crate) fn render(record: &CaseRecord) -> String {
    let mut text = Sheet::default();
    head(&mut text, record);
    if !record.vars.is_empty() {
        text.title("Variables");
        for (name, value) in &*record.vars {
            text.block(&format!("{name} = {}", text_of(value)));
        }
    }
    text.title("Prompt");
    text.block(&record.prompt.raw);
    if let Some(response) = &record.response {
        answer(&mut text, record, response);
    }
    if record.grading_result.is_none() && record.conclusion.error().is_some() {
        text.title("Error");
        text.block(&error_text(record));
    }
    if let Some(grading) = &record.grading_result {
        let cost = cost_of_grading(record).map(|usd| format!(" ({usd} for grading)"));
        text.title(&format!("Assertions{}", cost.unwrap_or_default()));
        for component in &grading.component_results {
            text.block(&assertion(component));
        }
        text.block(&format!("→ {}", verdict(grading)));
    }
    if let Some(annotation) = &record.annotation {
        text.title("A person said");
        text.block(&said(annotation));
    }
    if !record.log.is_empty() {
        text.title("Log");
        for line in &record.log {
            text.block(&format!("{} {}: {}", line.level, line.plugin, line.message));
        }
    }
    if let Some(provenance) = &record.provenance {
        text.title("Produced by");
        text.block(&produced_by(provenance));
    }
    text.0
}

/// Why the case has its grade. Of what stands with its assertion already, the first line.
fn verdict(grading: &GradingRecord) -> &str {
    let mut components = grading.component_results.iter();
    let reason = &grading.reason;
    if components.any(|component| component.reason == *reason) {
        reason.lines().next().unwrap_or_default()
    } else {
        reason
    }
}

/// Prints what it is and how it ended.
fn head(text: &mut Sheet, record: &CaseRecord) {
    let CaseRecord {
        test_idx,
        prompt_idx,
        conclusion,
        ..
    } = record;
    let (provider, label) = (
        record.provider.name(),
        visible::cut(&record.prompt.label, 80),
    );
    let (word, score) = (conclusion.outcome().word(), conclusion.score());
    text.line(&format!(
        "Test {test_idx}, column {prompt_idx}: {provider} · {label}"
    ));
    text.line(&format!(
        "{word}, score {score:.2}, {}",
        figures::duration(Duration::from_millis(record.latency_ms))
    ));
    if record.repeat_index > 0 {
        text.line(&format!("Repeat {}", record.repeat_index + 1));
    }
    if let Some(description) = record.description() {
        text.line(&format!("Description: {description}"));
    }
    if let Some(question) = &record.question {
        let answer = question
            .answer
            .as_deref()
            .map(|answer| format!(", answered {answer:?}"));
        text.line(&format!(
            "Question {} of {}: {}{}",
            question.index,
            question.task,
            question.end().word(),
            answer.unwrap_or_default()
        ));
    }
}

fn answer(text: &mut Sheet, record: &CaseRecord, response: &ResponseRecord) {
    let mut facts = Vec::new();
    facts.extend(response.model.clone());
    facts.extend(
        response
            .finish_reason
            .as_ref()
            .map(|reason| format!("ended by {reason}")),
    );
    let usage = &record.token_usage;
    if usage.total > 0 {
        facts.push(format!(
            "{} tokens ({} in, {} out)",
            figures::count(usage.total),
            figures::count(usage.prompt),
            figures::count(usage.completion)
        ));
    }
    facts.extend(response.ttft_ms.map(|ms| {
        let after = figures::duration(Duration::from_millis(ms));
        format!("first token after {after}")
    }));
    let rate = record.tokens_per_second();
    facts.extend(rate.map(|rate| format!("{rate:.0} tokens a second")));
    facts.extend(cost_of_answer(record));
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join(", "))
    };
    if let Some(reasoning) = &response.reasoning {
        text.title("Reasoning");
        text.block(reasoning);
    }
    text.title(&format!("Answer{facts}"));
    text.block(&text_of(&response.output));
}

/// What the answer cost, or that the cache had it, and what it would have cost otherwise.
pub(crate) fn cost_of_answer(record: &CaseRecord) -> Option<String> {
    let cached = record.response.as_ref().is_some_and(|it| it.cached);
    let cost = record.cost.map(figures::dollars);
    match (cached, cost) {
        (true, Some(cost)) => Some(format!("cached, {cost} saved")),
        (true, None) => Some("cached".to_owned()),
        (false, cost) => cost,
    }
}

/// What was paid for its grade, if that is known.
pub(crate) fn cost_of_grading(record: &CaseRecord) -> Option<String> {
    record.costs().grading.map(figures::dollars)
}

/// What a person said of a case: a line of thumb, score and label, and the comment; not made safe to show.
pub(crate) fn said(annotation: &Annotation) -> String {
    let Annotation {
        thumb,
        score,
        label,
        comment,
    } = annotation;
    let thumb = thumb.map(|up| if up { "thumb up" } else { "thumb down" }.to_owned());
    let score = score.map(|score| format!("score {}", figures::number(score)));
    let facts = [thumb, score, label.clone()];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let facts = Some(facts.join(" · ")).filter(|facts| !facts.is_empty());
    let lines: Vec<String> = facts.into_iter().chain(comment.clone()).collect();
    lines.join("\n")
}

/// What one assertion said, and its parts; not made safe to show.
pub(crate) fn assertion(component: &ComponentRecord) -> String {
    let word = match (&component.error_code, component.pass) {
        (Some(code), _) => format!("ERROR {code}"),
        _ if component.skipped => "SKIPPED".to_owned(),
        (None, true) => "PASS".to_owned(),
        (None, false) => "FAIL".to_owned(),
    };
    let kind = component
        .assertion
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("assertion");
    // The value as it was compared, where a template made it.
    let value = component
        .metadata
        .get("renderedAssertionValue")
        .or_else(|| component.assertion.get("value"));
    let value = value.map(|value| format!(" {value}")).unwrap_or_default();
    if component.skipped {
        return format!("{word} {kind}{value}: {}", component.reason);
    }
    let mut text = format!(
        "{word} ({:.2}) {kind}{value}: {}",
        component.score, component.reason
    );
    for part in &component.parts {
        let word = if part.pass { "PASS" } else { "FAIL" };
        // Writing to a string can't fail.
        let _ = write!(
            text,
            "\n  {word} ({:.2}) {}: {}",
            part.score, part.name, part.reason
        );
    }
    text
}

fn produced_by(provenance: &Provenance) -> String {
    let own = used_by(
        (&provenance.plugin, &provenance.version, &provenance.sha256),
        provenance.used,
    );
    let graders = provenance.graders.iter();
    let graders = graders.map(|it| used_by((&it.plugin, &it.version, &it.sha256), it.used));
    let each: Vec<String> = std::iter::once(own).chain(graders).collect();
    each.join("\n")
}

fn used_by((name, version, sha256): (&str, &str, &str), used: PluginUse) -> String {
    let cpu_ms = used.guest_cpu_us as f64 / 1000.0;
    let mib = used.peak_memory as f64 / f64::from(1 << 20);
    format!(
        "plugin {name} {version}, sha256 {sha256}\n  {cpu_ms:.2} ms of CPU, {} instructions and {mib:.1} MiB of memory in the sandbox",
        figures::count(used.fuel)
    )
}

/// Text that grows by lines that are safe to show.
#[derive(Default)]
struct Sheet(String);

impl Sheet {
    fn line(&mut self, line: &str) {
        self.0.push_str(&visible::line(line));
        self.0.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.0.push('\n');
        self.line(&format!("{title}:"));
    }

    /// Prints a text indented, so that no answer can look like a title.
    fn block(&mut self, block: &str) {
        for line in visible::block(block).lines() {
            self.0.push_str("  ");
            self.0.push_str(line);
            self.0.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use runner_eval::record::{Outcome, PluginRecord};

    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn a_failed_case() {
        let mut failed = record(3, 1, Outcome::Failed, "no\n\nError:\u{1b}[2J");
        failed.provenance = Some(Provenance {
            plugin: "echo".to_owned(),
            version: "0.1.0".to_owned(),
            sha256: "ab".repeat(32),
            grants_digest: String::new(),
            used: PluginUse {
                guest_cpu_us: 1_250,
                fuel: 12_345,
                peak_memory: 3 << 19,
            },
            graders: vec![PluginRecord {
                plugin: "text".to_owned(),
                version: "0.1.0".to_owned(),
                sha256: "cd".repeat(32),
                used: PluginUse {
                    guest_cpu_us: 500,
                    fuel: 999,
                    peak_memory: 1 << 20,
                },
            }],
        });
        let expected = format!(
            "\
Test 3, column 1: echo · Hello {{{{name}}}}
FAIL, score 0.00, 103 ms

Variables:
  name = user 3

Prompt:
  Hello user 3

Answer (15 tokens (10 in, 5 out), $0.001000):
  no
  
  Error:␛[2J

Assertions:
  FAIL (0.00) contains \"yes\": Expected output to contain \"yes\", got no
  
  Error:␛[2J
  → Expected output to contain \"yes\", got no

Produced by:
  plugin echo 0.1.0, sha256 {}
    1.25 ms of CPU, 12,345 instructions and 1.5 MiB of memory in the sandbox
  plugin text 0.1.0, sha256 {}
    0.50 ms of CPU, 999 instructions and 1.0 MiB of memory in the sandbox
",
            "ab".repeat(32),
            "cd".repeat(32)
        );
        assert_eq!(render(&failed), expected);
    }

    #[test]
    fn what_the_cache_and_judges_cost_and_what_a_person_said_is_told() {
        let mut record = record(0, 0, Outcome::Passed, "yes");
        let answer = record.response.as_mut().expect("it answered");
        answer.cached = true;
        let grading = record.grading_result.as_mut().expect("it is graded");
        (grading.used.cost, grading.used.incurred_cost) = (Some(0.25), Some(0.25));
        record.annotation = Some(Annotation {
            thumb: Some(false),
            score: Some(0.5),
            label: Some("tone\u{1b}[2J".to_owned()),
            comment: Some("curt".to_owned()),
        });
        let text = render(&record);
        for lines in [
            "\nAnswer (15 tokens (10 in, 5 out), cached, $0.001000 saved):\n",
            "\nAssertions ($0.250000 for grading):\n",
            "\nA person said:\n  thumb down · score 0.5 · tone␛[2J\n  curt\n",
        ] {
            assert!(text.contains(lines), "{text}");
        }
        assert_eq!(said(&Annotation::default()), "");
    }

    #[test]
    fn an_error_has_its_code() {
        let text = render(&record(0, 0, Outcome::Error, "the API refused the key"));
        assert!(
            text.ends_with("\nError:\n  auth: the API refused the key\n"),
            "{text}"
        );
    }
}
