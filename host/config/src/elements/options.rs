//! How the run is carried out: flags, `commandLineOptions`, `evaluateOptions`, environment.
//!
//! Each option is taken from the first of these that has it; only a `delay` in the config wins
//! over the flag, as one of a provider wins over both: whoever wrote it down knows the server. How many cases are in flight when
//! nobody says it depends on who bounds the requests: see [`default_concurrency`]. A `delay` is
//! slept in the case's own slot and changes nothing of this.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::budget;
use crate::environment::{self, Variable};
use crate::filters::{RangeError, Sample, TestRange};
use crate::model::Findings;
use crate::overrides::Overrides;
use crate::plan::{RunOptions, ServerLimits};
use crate::read::entry::Entry;

/// Without `-j`, while lanes find their own windows: `-j` is only a ceiling then, and must not be
/// what a run waits for. 256 is the scheduler's own ceiling for one lane's window.
const ADAPTIVE_CONCURRENCY: u64 = 256;
/// Without `-j`, when nothing else bounds the requests: promptfoo's default.
const FIXED_CONCURRENCY: u64 = 4;
/// promptfoo's default.
const DEFAULT_ASSERTION_CONCURRENCY: u64 = 3;
/// Beyond it every case has its own file descriptors and memory mappings in vain.
pub(super) const MAX_CONCURRENCY: u64 = 10_000;
const MAX_REPEAT: u64 = 1_000_000;
/// A quarter of an hour: a run that waits longer without a word is taken for one that hangs.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(15);
/// A day: longer is a typo, and no timer misbehaves below it.
const MAX_MS: u64 = 86_400_000;

/// The two keys of a config that hold options, the first one winning.
const SECTIONS: [&str; 2] = ["commandLineOptions", "evaluateOptions"];

/// Keys that both sections may have; those without a meaning here are named in the README.
pub(crate) const KNOWN: [&str; 19] = [
    "filterRange",
    "filterSample",
    "filterSampleSeed",
    "generateSuggestions",
    "maxConcurrency",
    "repeat",
    "delay",
    "timeoutMs",
    "maxEvalTimeMs",
    "maxRetryAfter",
    "retryTimeouts",
    "cache",
    "showProgressBar",
    "silent",
    "verbose",
    "table",
    "tableCellMaxLength",
    "progressBar",
    "tags",
];

/// Keys of `commandLineOptions` that say what to run or where results go, each with its flag:
/// nothing reads them, as promptfoo doesn't read most of them. A stranger's config chooses no
/// files of keys either.
const FLAGS: [(&str, &str); 26] = [
    ("assertions", "--assertions"),
    ("config", "--config"),
    ("description", "--description"),
    ("envFile", "--env-file"),
    ("envPath", "--env-file"),
    ("extension", "--extension"),
    ("filterErrorsOnly", "--filter-errors-only"),
    ("filterFailing", "--filter-failing"),
    ("filterFirstN", "--filter-first-n"),
    ("filterMetadata", "--filter-metadata"),
    ("filterPattern", "--filter-pattern"),
    ("filterPrompts", "--filter-prompts"),
    ("filterProviders", "--filter-providers"),
    ("filterTargets", "--filter-targets"),
    ("grader", "--grader"),
    ("modelOutputs", "--model-outputs"),
    ("output", "--output"),
    ("promptPrefix", "--prompt-prefix"),
    ("promptSuffix", "--prompt-suffix"),
    ("prompts", "--prompts"),
    ("providers", "--providers"),
    ("retryErrors", "--retry-errors"),
    ("tests", "--tests"),
    ("var", "--var"),
    ("vars", "--vars"),
    ("watch", "--watch"),
];

/// Keys that ask for what is not done here: said, and no reason to refuse the config.
const NOT_DONE: [(&str, &str); 3] = [
    (
        "interactiveProviders",
        "cases never wait for somebody to type",
    ),
    ("share", "results are never shared"),
    ("write", "every run is kept; RUNNER_HOME says where"),
];

/// Keys whose effect is missing.
pub(crate) const UNSUPPORTED: [(&str, &str); 1] = [("generateSuggestions", "remove the key")];

struct OptionKeys<'a, 'n> {
    sections: Vec<Entry<'n>>,
    env: &'a BTreeMap<String, String>,
    findings: &'a Findings,
}

/// Reads the options of a run; `roots` are its configs, the one that wins first.
pub(crate) fn read(
    roots: &[Entry<'_>],
    overrides: &Overrides,
    env: &BTreeMap<String, String>,
    findings: &Findings,
) -> RunOptions {
    let sections = sections(roots, findings);
    let from = OptionKeys {
        sections,
        env,
        findings,
    };
    let delay = from.delay(overrides.delay);
    let flag = overrides.max_concurrency.map(|count| count as u64);
    let variable = Some(environment::MAX_CONCURRENCY);
    let concurrency = from.find(flag, "maxConcurrency", variable, (1, MAX_CONCURRENCY));
    let variable = environment::ASSERTIONS_MAX_CONCURRENCY;
    let assertions = environment::count(env, variable, (1, MAX_CONCURRENCY), findings);
    let repeat = from.find(
        overrides.repeat.map(u64::from),
        "repeat",
        None,
        (1, MAX_REPEAT),
    );
    let fixed = environment::flag(env, environment::DISABLE_ADAPTIVE_SCHEDULER, findings);
    let server_limits = if fixed {
        ServerLimits::Ignored
    } else {
        ServerLimits::Learnt
    };
    let max_concurrency = concurrency.unwrap_or(default_concurrency(server_limits));
    let timeout = environment::EVAL_TIMEOUT_MS;
    let run_timeout = environment::MAX_EVAL_TIME_MS;
    let request_timeout = environment::REQUEST_TIMEOUT_MS;
    let exchange_timeout = environment::count(env, request_timeout, (1, MAX_MS), findings);
    let retry_after = environment::MAX_RETRY_AFTER_MS;
    let retry_after = from.said_time(overrides.max_retry_after, "maxRetryAfter", retry_after);
    RunOptions {
        max_concurrency: overrides
            .most_concurrency
            .map_or(max_concurrency as usize, |most| {
                most.min(max_concurrency as usize)
            }),
        asked_concurrency: concurrency.map(|asked| asked as u32),
        server_limits,
        assertion_concurrency: assertions.unwrap_or(DEFAULT_ASSERTION_CONCURRENCY) as usize,
        repeat: repeat.unwrap_or(1) as u32,
        delay,
        case_timeout: from.time(overrides.case_timeout, "timeoutMs", timeout),
        run_timeout: from.time(overrides.run_timeout, "maxEvalTimeMs", run_timeout),
        exchange_timeout: exchange_timeout.map(Duration::from_millis),
        max_retry_after: some_time(retry_after.or(Some(MAX_RETRY_AFTER))),
        retry_timeouts: from
            .flag("retryTimeouts", environment::RETRY_TIMEOUTS)
            .unwrap_or_default(),
        cache: from
            .flag("cache", environment::CACHE_ENABLED)
            .unwrap_or(true),
        budget: budget::of_run(overrides.budget, roots, findings),
    }
}

/// Cases in flight at once when neither flag, config nor environment says it.
fn default_concurrency(server_limits: ServerLimits) -> u64 {
    match server_limits {
        ServerLimits::Learnt => ADAPTIVE_CONCURRENCY,
        ServerLimits::Ignored => FIXED_CONCURRENCY,
    }
}

/// `filterRange`, whose home is beside the other filters.
pub(crate) fn filter_range(roots: &[Entry<'_>], findings: &Findings) -> Option<TestRange> {
    // What is odd about the sections is said when the other options are read.
    let sections = sections(roots, &Findings::default());
    let entry = sections
        .iter()
        .find_map(|section| section.get("filterRange"))?;
    let parsed = entry.want_text(findings)?.parse();
    parsed
        .map_err(|error: RangeError| findings.error(entry.at(), error.to_string()))
        .ok()
}

/// The keys that hold options, their own keys checked.
fn sections<'n>(roots: &[Entry<'n>], findings: &Findings) -> Vec<Entry<'n>> {
    let of_all = |name| roots.iter().filter_map(move |root| root.get(name));
    let sections: Vec<Entry<'_>> = SECTIONS.into_iter().flat_map(of_all).collect();
    for section in &sections {
        if !section.is_map() {
            section.mismatch(findings, "a map");
        }
        let only_said = FLAGS.iter().chain(&NOT_DONE).map(|(key, _)| *key);
        let known: Vec<&str> = KNOWN.into_iter().chain(only_said).collect();
        section.report_unknown(findings, &known);
        not_read(section, findings);
        section.refuse(findings, &UNSUPPORTED);
    }
    sections
}

/// Says which keys of a section have no effect, and what has.
fn not_read(section: &Entry<'_>, findings: &Findings) {
    for (key, flag) in FLAGS {
        if let Some(entry) = section.get(key) {
            let message = format!("'{key}' is read from the command line only");
            findings.warn(entry.at(), message, Some(format!("give it as {flag}")));
        }
    }
    for (key, why) in NOT_DONE {
        let entry = section.get(key);
        let asks = |entry: &Entry<'_>| entry.node.json() != Value::Bool(key == "write");
        if let Some(entry) = entry.filter(asks) {
            findings.warn(entry.at(), format!("'{key}' is ignored: {why}"), None);
        }
    }
}

/// `filterSample` with `filterSampleSeed`. Without a seed the same tests are drawn every time: what
/// a config means does not change by itself.
pub(crate) fn filter_sample(roots: &[Entry<'_>], findings: &Findings) -> Option<Sample> {
    let sections = sections(roots, &Findings::default());
    let first = |key| sections.iter().find_map(|section| section.get(key));
    let count = first("filterSample")?.want_count(findings, 1, u64::from(u32::MAX))?;
    let seed = first("filterSampleSeed").and_then(|seed| seed.want_text(findings));
    Some(Sample {
        count: count as usize,
        seed: seed.unwrap_or_default(),
    })
}

/// `tags` of the sections, the winning ones last.
pub(crate) fn tags(roots: &[Entry<'_>], findings: &Findings) -> Map<String, Value> {
    let sections = sections(roots, &Findings::default());
    let tags = sections
        .iter()
        .rev()
        .filter_map(|section| section.get("tags"));
    tags.filter_map(|tags| tags.want_map(findings))
        .flatten()
        .collect()
}

impl OptionKeys<'_, '_> {
    /// Flag > `commandLineOptions` > `evaluateOptions` > environment.
    fn find(
        &self,
        flag: Option<u64>,
        key: &str,
        variable: Option<Variable>,
        bounds: (u64, u64),
    ) -> Option<u64> {
        let (min, max) = bounds;
        let entries = self.sections.iter().filter_map(|section| section.get(key));
        let written: Vec<u64> = entries
            .filter_map(|entry| entry.want_count(self.findings, min, max))
            .collect();
        flag.map(|flag| flag.clamp(min, max))
            .or_else(|| written.first().copied())
            .or_else(|| environment::count(self.env, variable?, bounds, self.findings))
    }

    /// `commandLineOptions` > `evaluateOptions` > environment. No flag of a command line says yes.
    fn flag(&self, key: &str, variable: Variable) -> Option<bool> {
        let entries = self.sections.iter().filter_map(|section| section.get(key));
        let written: Vec<bool> = entries
            .filter_map(|entry| entry.want_bool(self.findings))
            .collect();
        let set = environment::value(self.env, variable).is_some();
        written
            .first()
            .copied()
            .or_else(|| set.then(|| environment::flag(self.env, variable, self.findings)))
    }

    /// `commandLineOptions` > `evaluateOptions` > flag > environment; 0 is none.
    fn delay(&self, flag: Option<Duration>) -> Option<Duration> {
        let variable = flag.is_none().then_some(environment::DELAY_MS);
        let written = self.find(None, "delay", variable, (0, MAX_MS));
        some_time(written.map(Duration::from_millis).or(flag))
    }

    /// A time in milliseconds but for the flag; 0 is none.
    fn time(&self, flag: Option<Duration>, key: &str, variable: Variable) -> Option<Duration> {
        some_time(self.said_time(flag, key, variable))
    }

    /// A time as it was said, if it was.
    fn said_time(&self, flag: Option<Duration>, key: &str, variable: Variable) -> Option<Duration> {
        let variable = flag.is_none().then_some(variable);
        let written = self.find(None, key, variable, (0, MAX_MS));
        flag.or(written.map(Duration::from_millis))
    }
}

/// What a time means that was said: none if it is zero, and a day at most.
fn some_time(said: Option<Duration>) -> Option<Duration> {
    said.map(|time| time.min(Duration::from_millis(MAX_MS)))
        .filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests;
