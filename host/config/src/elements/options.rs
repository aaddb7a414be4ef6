//! How the run is carried out: flags, `commandLineOptions`, `evaluateOptions`, environment.
//!
//! Each option is taken from the first of these that has it; only a `delay` in the config wins
//! over the flag, as one of a provider wins over both: whoever wrote it down knows the server. How many cases are in flight when
//! nobody says it depends on who bounds the requests: see [`default_concurrency`]. A `delay` is
//! slept in the case's own slot and changes nothing of this.

use std::collections::BTreeMap;
use std::time::Duration;

use super::budget;
use crate::entry::Entry;
use crate::environment::{self, Variable};
use crate::filters::{TestRange, written_range};
use crate::load::Overrides;
use crate::plan::RunOptions;
use crate::problem::Findings;

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
/// A day: longer is a typo, and no timer misbehaves below it.
const MAX_MS: u64 = 86_400_000;

/// The two keys of a config that hold options, the first one winning.
const SECTIONS: [&str; 2] = ["commandLineOptions", "evaluateOptions"];

/// Keys that both sections may have; those without a meaning here are named in the README.
pub(crate) const KNOWN: [&str; 12] = [
    "filterRange",
    "generateSuggestions",
    "maxConcurrency",
    "repeat",
    "delay",
    "timeoutMs",
    "maxEvalTimeMs",
    "cache",
    "showProgressBar",
    "silent",
    "verbose",
    "table",
];

/// Keys whose effect is missing.
pub(crate) const UNSUPPORTED: [(&str, &str); 1] = [("generateSuggestions", "remove the key")];

struct Sources<'a, 'n> {
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
    let from = Sources {
        sections,
        env,
        findings,
    };
    let delay = from.delay(overrides.delay_ms);
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
    let adaptive = !environment::flag(env, environment::DISABLE_ADAPTIVE_SCHEDULER);
    let max_concurrency = concurrency.unwrap_or(default_concurrency(adaptive));
    let timeout = environment::EVAL_TIMEOUT_MS;
    let run_timeout = environment::MAX_EVAL_TIME_MS;
    let request_timeout = environment::REQUEST_TIMEOUT_MS;
    let exchange_timeout = environment::count(env, request_timeout, (1, MAX_MS), findings);
    RunOptions {
        max_concurrency: max_concurrency as usize,
        adaptive,
        assertion_concurrency: assertions.unwrap_or(DEFAULT_ASSERTION_CONCURRENCY) as usize,
        repeat: repeat.unwrap_or(1) as u32,
        delay,
        case_timeout: from.ms(overrides.case_timeout_ms, "timeoutMs", timeout),
        run_timeout: from.ms(overrides.run_timeout_ms, "maxEvalTimeMs", run_timeout),
        exchange_timeout: exchange_timeout.map(Duration::from_millis),
        cache: from
            .flag("cache", environment::CACHE_ENABLED)
            .unwrap_or(true),
        budget: budget::of_run(overrides.budget, roots, findings),
    }
}

/// Cases in flight at once when neither flag, config nor environment says it.
fn default_concurrency(adaptive: bool) -> u64 {
    if adaptive {
        ADAPTIVE_CONCURRENCY
    } else {
        FIXED_CONCURRENCY
    }
}

/// `filterRange`, whose home is beside the other filters.
pub(crate) fn filter_range(roots: &[Entry<'_>], findings: &Findings) -> Option<TestRange> {
    // What is odd about the sections is said when the other options are read.
    written_range(&sections(roots, &Findings::default()), findings)
}

/// The keys that hold options, their own keys checked.
fn sections<'n>(roots: &[Entry<'n>], findings: &Findings) -> Vec<Entry<'n>> {
    let of_all = |name| roots.iter().filter_map(move |root| root.get(name));
    let sections: Vec<Entry<'_>> = SECTIONS.into_iter().flat_map(of_all).collect();
    for section in &sections {
        if !section.is_map() {
            section.mismatch(findings, "a map");
        }
        section.warn_unknown(findings, &KNOWN);
        section.refuse(findings, &UNSUPPORTED);
    }
    sections
}

impl Sources<'_, '_> {
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
            .or_else(|| set.then(|| environment::flag(self.env, variable)))
    }

    /// `commandLineOptions` > `evaluateOptions` > flag > environment; 0 is none.
    fn delay(&self, flag: Option<u64>) -> Option<Duration> {
        let written = self.find(None, "delay", None, (0, MAX_MS));
        let variable = environment::DELAY_MS;
        let ms = written
            .or(flag.map(|ms| ms.min(MAX_MS)))
            .or_else(|| environment::count(self.env, variable, (0, MAX_MS), self.findings));
        ms.filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// A time in milliseconds; 0 is none.
    fn ms(&self, flag: Option<u64>, key: &str, variable: Variable) -> Option<Duration> {
        let ms = self.find(flag, key, Some(variable), (0, MAX_MS));
        ms.filter(|ms| *ms > 0).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests;
