//! Every environment variable that this crate reads.
//!
//! Ours first (`RUNNER_X`), then promptfoo's (`PROMPTFOO_X`), so that an existing setup works
//! and can be overridden. An empty variable counts as unset. The table is what help pages print.

use std::collections::BTreeMap;

use crate::model::{Findings, Position};

/// One variable, without its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// The name after `RUNNER_` or `PROMPTFOO_`.
    pub name: &'static str,
    /// What it does, as a fragment.
    pub meaning: &'static str,
    /// What holds without it.
    pub default: &'static str,
}

/// Cases in flight at once.
pub(crate) const MAX_CONCURRENCY: Variable = Variable {
    name: "MAX_CONCURRENCY",
    meaning: "cases in flight at once",
    default: "256; 4 without the adaptive scheduler",
};
/// The least that a lane's window shrinks to, where a provider doesn't say.
pub(crate) const MIN_CONCURRENCY: Variable = Variable {
    name: "MIN_CONCURRENCY",
    meaning: "requests in flight that a lane keeps however often its server refuses",
    default: "1",
};
/// No limits are learnt.
pub(crate) const DISABLE_ADAPTIVE_SCHEDULER: Variable = Variable {
    name: "DISABLE_ADAPTIVE_SCHEDULER",
    meaning: "true: learn no limits from servers; declared limits and retries still hold",
    default: "false",
};
/// Assertions in flight at once per case.
pub(crate) const ASSERTIONS_MAX_CONCURRENCY: Variable = Variable {
    name: "ASSERTIONS_MAX_CONCURRENCY",
    meaning: "assertions in flight at once per case",
    default: "3",
};
/// Pause after each call that left the machine.
pub(crate) const DELAY_MS: Variable = Variable {
    name: "DELAY_MS",
    meaning: "pause after each call that left the machine, in ms",
    default: "0",
};
/// Time a case may work.
pub(crate) const EVAL_TIMEOUT_MS: Variable = Variable {
    name: "EVAL_TIMEOUT_MS",
    meaning: "time a case may work, in ms; 0: no limit",
    default: "0",
};
/// Time the whole run may take.
pub(crate) const MAX_EVAL_TIME_MS: Variable = Variable {
    name: "MAX_EVAL_TIME_MS",
    meaning: "time the whole run may take, in ms; 0: no limit",
    default: "0",
};
/// Time one request may spend on the wire.
pub(crate) const REQUEST_TIMEOUT_MS: Variable = Variable {
    name: "REQUEST_TIMEOUT_MS",
    meaning: "time one request may spend on the wire, its retries included, in ms",
    default: "300000",
};
/// The longest wait that a server may ask for.
pub(crate) const MAX_RETRY_AFTER_MS: Variable = Variable {
    name: "MAX_RETRY_AFTER_MS",
    meaning: "longest wait that a server may ask for, in ms; requests that would wait longer end as errors; 0: no limit",
    default: "900000",
};
/// Timeouts are retried.
pub(crate) const RETRY_TIMEOUTS: Variable = Variable {
    name: "RETRY_TIMEOUTS",
    meaning: "true: send a request again that ran out of time, which may have been billed",
    default: "false",
};
/// Whether answers are remembered.
pub(crate) const CACHE_ENABLED: Variable = Variable {
    name: "CACHE_ENABLED",
    meaning: "false: neither read nor write the cache of answers",
    default: "true",
};
/// The delimiter of CSV files.
pub(crate) const CSV_DELIMITER: Variable = Variable {
    name: "CSV_DELIMITER",
    meaning: "the delimiter of CSV files, one ASCII character",
    default: ",",
};
/// Quotes in CSV files must be right.
pub(crate) const CSV_STRICT: Variable = Variable {
    name: "CSV_STRICT",
    meaning: "true: a quote inside a CSV cell that does not begin with one is an error",
    default: "false",
};
/// JSON prompts are filled in as text.
pub(crate) const DISABLE_JSON_AUTOESCAPE: Variable = Variable {
    name: "DISABLE_JSON_AUTOESCAPE",
    meaning: "true: prompts in JSON are filled in like any text, and values are not escaped",
    default: "false",
};
/// Lists in variables stay one value.
pub(crate) const DISABLE_VAR_EXPANSION: Variable = Variable {
    name: "DISABLE_VAR_EXPANSION",
    meaning: "lists in variables stay one value instead of one case each",
    default: "false",
};

/// The interpreter of code that runs outside the sandbox.
pub(crate) const PYTHON: Variable = Variable {
    name: "PYTHON",
    meaning: "the interpreter that runs Python outside the sandbox",
    default: "the project's virtual environment, else python3",
};
/// How many of them run.
pub(crate) const PYTHON_WORKERS: Variable = Variable {
    name: "PYTHON_WORKERS",
    meaning: "how many interpreters run each Python file outside the sandbox",
    default: "1",
};

/// All of them, each read as `RUNNER_<name>` and, failing that, `PROMPTFOO_<name>`.
pub const VARIABLES: [Variable; 17] = [
    MAX_CONCURRENCY,
    MIN_CONCURRENCY,
    DISABLE_ADAPTIVE_SCHEDULER,
    ASSERTIONS_MAX_CONCURRENCY,
    DELAY_MS,
    EVAL_TIMEOUT_MS,
    MAX_EVAL_TIME_MS,
    REQUEST_TIMEOUT_MS,
    MAX_RETRY_AFTER_MS,
    RETRY_TIMEOUTS,
    CACHE_ENABLED,
    CSV_DELIMITER,
    CSV_STRICT,
    DISABLE_JSON_AUTOESCAPE,
    DISABLE_VAR_EXPANSION,
    PYTHON,
    PYTHON_WORKERS,
];

/// A variable's value and the full name that it was found under.
pub(crate) fn value(env: &BTreeMap<String, String>, variable: Variable) -> Option<(String, &str)> {
    ["RUNNER_", "PROMPTFOO_"].into_iter().find_map(|prefix| {
        let name = format!("{prefix}{}", variable.name);
        let value = env.get(&name)?.trim();
        (!value.is_empty()).then_some((name, value))
    })
}

/// A whole number between the bounds; anything else is reported.
pub(crate) fn count(
    env: &BTreeMap<String, String>,
    variable: Variable,
    bounds: (u64, u64),
    findings: &Findings,
) -> Option<u64> {
    let (name, text) = value(env, variable)?;
    let (min, max) = bounds;
    let count = text
        .parse()
        .ok()
        .filter(|count| (min..=max).contains(count));
    if count.is_none() {
        let message = format!(
            "environment variable {name} must be a whole number from {min} to {max}, not '{text}'"
        );
        findings.error(Position::default(), message);
    }
    count
}

/// Whether a variable is on. Anything that is neither a word for yes nor one for no is reported
/// and means no: promptfoo takes it for no without a word, and a typing error stays unseen.
pub(crate) fn flag(
    env: &BTreeMap<String, String>,
    variable: Variable,
    findings: &Findings,
) -> bool {
    let Some((name, text)) = value(env, variable) else {
        return false;
    };
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => true,
        "0" | "false" | "no" | "off" => false,
        _ => {
            let message =
                format!("environment variable {name} must be true or false, not '{text}'");
            findings.error(Position::default(), message);
            false
        }
    }
}

/// Reports what stands under `env` and is no name of a variable. A system takes what follows the
/// first `=` for the value, so that a name with one in it would set another variable.
pub(crate) fn check_name(name: &str, at: Position, findings: &Findings) {
    if name.is_empty() || name.contains(['=', '\0']) {
        let help = "for example: env: { API_VERSION: \"2\" }";
        findings.error_help(at, "is no name of a variable", help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn ours_wins_over_promptfoos_and_empty_is_unset() {
        let cases = [
            (
                env(&[("RUNNER_DELAY_MS", "1"), ("PROMPTFOO_DELAY_MS", "2")]),
                Some(1),
            ),
            (
                env(&[("RUNNER_DELAY_MS", ""), ("PROMPTFOO_DELAY_MS", "2")]),
                Some(2),
            ),
            (env(&[("DELAY_MS", "3")]), None),
        ];
        for (env, expected) in cases {
            assert_eq!(
                count(&env, DELAY_MS, (0, 10), &Findings::default()),
                expected
            );
        }
    }

    #[test]
    fn a_bad_value_is_reported_with_the_name_that_was_set() {
        let findings = Findings::default();
        count(
            &env(&[("PROMPTFOO_MAX_CONCURRENCY", "many")]),
            MAX_CONCURRENCY,
            (1, 9),
            &findings,
        );
        let error = findings.found().expect("nothing is unknown");
        assert_eq!(
            error.to_string(),
            "environment variable PROMPTFOO_MAX_CONCURRENCY must be a whole number from 1 to 9, not 'many'"
        );
    }

    #[test]
    fn flags_are_words_for_yes_and_no_and_nothing_else() {
        let cases = [
            ("true", true, true),
            ("1", true, true),
            ("YES", true, true),
            ("on", true, true),
            ("0", false, true),
            ("No", false, true),
            ("", false, true),
            ("zz", false, false),
        ];
        for (text, expected, fine) in cases {
            let env = env(&[("RUNNER_DISABLE_VAR_EXPANSION", text)]);
            let findings = Findings::default();
            assert_eq!(flag(&env, DISABLE_VAR_EXPANSION, &findings), expected);
            assert_eq!(findings.is_clean(), fine, "{text}");
        }
    }
}
