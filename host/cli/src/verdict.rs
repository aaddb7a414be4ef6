//! What a run comes to: whether enough of it passed, what is said of that, and the exit code.

use runner_eval::summary::{End, Summary};

use crate::environment::Environment;
use crate::exit::{BELOW_THRESHOLD, INTERNAL, INTERRUPTED, SUCCESS, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::thresholds::{self, ThresholdCheck};

/// What counts as good enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Policy {
    /// Percent of the plan's cases that have to pass, 0 to 100.
    threshold: f64,
    /// Exit code when fewer do.
    code: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            threshold: 100.0,
            code: BELOW_THRESHOLD,
        }
    }
}

impl Policy {
    /// Reads `RUNNER_PASS_RATE_THRESHOLD` and `RUNNER_FAILED_TEST_EXIT_CODE`.
    ///
    /// # Errors
    /// When one is set to what it can't be; a typo must not turn a red run green.
    pub(crate) fn from_environment(environment: &Environment) -> Result<Self, Failure> {
        let mut policy = Self::default();
        if let Some((name, text)) = environment.setting("PASS_RATE_THRESHOLD") {
            policy.threshold = text
                .trim()
                .parse()
                .ok()
                .filter(|percent| (0.0..=100.0).contains(percent))
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "{name} is `{text}`, not a percentage from 0 to 100"
                    ))
                })?;
        }
        if let Some((name, text)) = environment.setting("FAILED_TEST_EXIT_CODE") {
            policy.code = text.trim().parse().map_err(|_| {
                Failure::usage(format!(
                    "{name} is `{text}`, not an exit code from 0 to 255"
                ))
            })?;
        }
        Ok(policy)
    }

    /// The exit code where too little passed.
    pub(crate) fn code(self) -> u8 {
        self.code
    }

    /// The exit code of a run, and why it is not 0.
    pub(crate) fn judge(mut self, summary: &Summary) -> Verdict {
        // Flag and config win over the environment.
        self.threshold = summary.thresholds.pass_rate.unwrap_or(self.threshold);
        let verdict = self.verdict(Facts::from(summary));
        if verdict.code != SUCCESS && verdict.code != self.code {
            return verdict;
        }
        // The pass rate is in the verdict already.
        let rate = usize::from(summary.thresholds.pass_rate.is_some());
        let checks = thresholds::checks(summary).into_iter().skip(rate);
        let broken = checks.filter(|check| !check.holds);
        let broken = broken.map(|ThresholdCheck { wanted, found, .. }| {
            format!("threshold not held: {wanted}: {found}")
        });
        let reasons: Vec<String> = verdict.reason.iter().cloned().chain(broken).collect();
        if reasons.is_empty() {
            return verdict;
        }
        Verdict::because(self.code, reasons.join("; "))
    }

    fn verdict(self, facts: Facts) -> Verdict {
        let Facts {
            end,
            total,
            passed,
            not_run,
        } = facts;
        if end == End::Interrupted && not_run > 0 {
            let cases = figures::counted(not_run, "case was", "cases were");
            return Verdict::because(INTERRUPTED, format!("interrupted, {cases} not run"));
        }
        if end == End::StoreFailed {
            let why = "the database took no more results".to_owned();
            return Verdict::because(INTERNAL, why);
        }
        if total == 0 {
            return Verdict::because(
                USAGE,
                "the config makes no cases, so nothing was tested".to_owned(),
            );
        }
        if not_run == total {
            let cases = figures::counted(total, "case was", "cases were");
            return Verdict::because(USAGE, format!("{cases} planned and none was run"));
        }
        if !runner_telling::thresholds::passes(passed, total, self.threshold) {
            let percent = figures::percent(passed, total);
            let threshold = self.threshold;
            return Verdict::because(
                self.code,
                format!("pass rate {percent} is below {threshold} %"),
            );
        }
        Verdict::GOOD
    }
}

/// What the exit code of a run depends on, beside its metrics.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// Why the run ended.
    end: End,
    /// Cases that the plan holds.
    total: u64,
    /// Cases that passed.
    passed: u64,
    /// Cases without a row.
    not_run: u64,
}

impl From<&Summary> for Facts {
    fn from(summary: &Summary) -> Self {
        Self {
            end: summary.end,
            total: summary.total,
            passed: summary.all.passed,
            not_run: summary.not_run(),
        }
    }
}

/// An exit code with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The exit code.
    pub(crate) code: u8,
    /// Why it is not 0.
    pub(crate) reason: Option<String>,
}

impl Verdict {
    /// Good enough.
    pub(crate) const GOOD: Self = Self {
        code: SUCCESS,
        reason: None,
    };

    /// One that is not good enough, and why.
    pub(crate) fn because(code: u8, reason: String) -> Self {
        Self {
            code,
            reason: Some(reason),
        }
    }

    /// The one that stands where something that was asked for is not whole, whatever the cases came to.
    pub(crate) fn incomplete(self, why: &str) -> Self {
        let reasons: Vec<String> = [why.to_owned()].into_iter().chain(self.reason).collect();
        Self::because(INTERNAL, reasons.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs)
    }

    /// `policy, why it ended, total, passed, not run`, and the exit code with its reason.
    fn check(policy: Policy, end: End, cases: [u64; 3], code: u8, reason: &str) {
        let [total, passed, not_run] = cases;
        let verdict = policy.verdict(Facts {
            end,
            total,
            passed,
            not_run,
        });
        let told = (verdict.code, verdict.reason.unwrap_or_default());
        assert_eq!(told, (code, reason.to_owned()), "{end:?} {cases:?}");
    }

    #[test]
    fn what_is_not_whole_outweighs_what_the_cases_came_to() {
        let why = "not all events could be written";
        assert_eq!(
            Verdict::GOOD.incomplete(why),
            Verdict::because(INTERNAL, why.to_owned())
        );
        let interrupted = Verdict::because(INTERRUPTED, "interrupted".to_owned());
        let expected = Verdict::because(INTERNAL, format!("{why}; interrupted"));
        assert_eq!(interrupted.incomplete(why), expected);
    }

    #[test]
    fn each_way_to_end_has_its_code() {
        let all = Policy::default();
        let most = Policy {
            threshold: 80.0,
            code: 7,
        };
        let none = Policy {
            threshold: 0.0,
            code: 100,
        };
        let nothing = "the config makes no cases, so nothing was tested";
        check(all, End::Finished, [4, 4, 0], 0, "");
        check(
            all,
            End::Finished,
            [4, 3, 0],
            100,
            "pass rate 75.0 % is below 100 %",
        );
        check(
            all,
            End::Finished,
            [100_000, 99_999, 0],
            100,
            "pass rate 99.9 % is below 100 %",
        );
        check(most, End::Finished, [10, 8, 0], 0, "");
        check(
            most,
            End::Finished,
            [10, 7, 0],
            7,
            "pass rate 70.0 % is below 80 %",
        );
        check(none, End::Finished, [4, 0, 0], 0, "");
        check(none, End::Finished, [0, 0, 0], 2, nothing);
        check(
            all,
            End::Interrupted,
            [4, 2, 2],
            130,
            "interrupted, 2 cases were not run",
        );
        check(
            none,
            End::Interrupted,
            [4, 3, 1],
            130,
            "interrupted, 1 case was not run",
        );
        check(all, End::Interrupted, [4, 4, 0], 0, "");
        check(all, End::TimeLimit, [4, 4, 0], 0, "");
        check(
            all,
            End::TimeLimit,
            [4, 2, 2],
            100,
            "pass rate 50.0 % is below 100 %",
        );
    }

    #[test]
    fn what_could_not_be_kept_is_never_green() {
        let none = Policy {
            threshold: 0.0,
            code: 100,
        };
        let no_more = "the database took no more results";
        for cases in [[4, 4, 0], [4, 2, 2], [4, 0, 4], [0, 0, 0]] {
            check(none, End::StoreFailed, cases, INTERNAL, no_more);
        }
    }

    #[test]
    fn a_run_of_nothing_is_never_green() {
        let all = Policy::default();
        let none = Policy {
            threshold: 0.0,
            code: 100,
        };
        check(
            none,
            End::TimeLimit,
            [4, 0, 4],
            2,
            "4 cases were planned and none was run",
        );
        check(
            none,
            End::TimeLimit,
            [1, 0, 1],
            2,
            "1 case was planned and none was run",
        );
        check(
            all,
            End::Interrupted,
            [4, 0, 4],
            130,
            "interrupted, 4 cases were not run",
        );
    }

    #[test]
    fn settings_are_read_under_both_names_ours_first() {
        let both = environment(&[
            ("RUNNER_PASS_RATE_THRESHOLD", "90"),
            ("PROMPTFOO_PASS_RATE_THRESHOLD", "10"),
            ("PROMPTFOO_FAILED_TEST_EXIT_CODE", "0"),
        ]);
        let policy = Policy::from_environment(&both).map_err(|failure| failure.render());
        assert_eq!(
            policy,
            Ok(Policy {
                threshold: 90.0,
                code: 0
            })
        );
    }

    #[test]
    fn each_form_of_a_setting_is_read() {
        let read = |name: &str, text: &str| {
            let policy = Policy::from_environment(&environment(&[(name, text)]));
            let policy = policy.map_err(|failure| failure.render());
            policy.map(|policy| (policy.threshold.to_string(), policy.code))
        };
        let cases = [
            ("RUNNER_PASS_RATE_THRESHOLD", "0", ("0", 100)),
            ("RUNNER_PASS_RATE_THRESHOLD", "99.5", ("99.5", 100)),
            ("PROMPTFOO_PASS_RATE_THRESHOLD", " 80 ", ("80", 100)),
            ("RUNNER_PASS_RATE_THRESHOLD", "", ("100", 100)),
            ("RUNNER_FAILED_TEST_EXIT_CODE", "1", ("100", 1)),
            ("PROMPTFOO_FAILED_TEST_EXIT_CODE", "255", ("100", 255)),
            ("PROMPTFOO_FAILED_TEST_EXIT_CODE", "", ("100", 100)),
            ("PASS_RATE_THRESHOLD", "1", ("100", 100)),
        ];
        for (name, text, (threshold, code)) in cases {
            let expected = Ok((threshold.to_owned(), code));
            assert_eq!(read(name, text), expected, "{name}={text}");
        }
    }

    #[test]
    fn a_setting_that_means_nothing_is_refused() {
        let refused = [
            ("PROMPTFOO_PASS_RATE_THRESHOLD", "-1"),
            ("RUNNER_PASS_RATE_THRESHOLD", "90%"),
            ("RUNNER_FAILED_TEST_EXIT_CODE", "-1"),
            ("RUNNER_FAILED_TEST_EXIT_CODE", "1.5"),
            ("RUNNER_PASS_RATE_THRESHOLD", "most"),
            ("RUNNER_PASS_RATE_THRESHOLD", "NaN"),
            ("RUNNER_PASS_RATE_THRESHOLD", "101"),
            ("PROMPTFOO_FAILED_TEST_EXIT_CODE", "256"),
        ];
        for (name, value) in refused {
            let failure =
                Policy::from_environment(&environment(&[(name, value)])).expect_err("refused");
            assert!(failure.render().contains(name), "{}", failure.render());
            assert_eq!(failure.code(), USAGE);
        }
    }
}
