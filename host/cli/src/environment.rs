//! The environment: every variable that this program reads, and how.
//!
//! The process's environment is read once, at the start, and handed on as a value: nothing
//! below this crate looks at it, so a test can give any. Variables that promptfoo knows too are
//! read as `RUNNER_X` first and as `PROMPTFOO_X` after it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::env_file;
use crate::failure::Failure;

/// A variable and what it does, for `--help`.
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// One or two lines, without a full stop.
    pub(crate) about: &'static str,
}

/// What this crate reads. What a config's run options read besides is documented by
/// `runner-config`.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: "RUNNER_HOME",
        about: "folder for everything runner keeps (default: the platform's folders)",
    },
    Variable {
        name: "RUNNER_BUNDLED_PLUGINS",
        about: "folder of the bundled plugins (default: plugins/ beside the program)",
    },
    Variable {
        name: "RUNNER_LOG",
        about: "diagnostics on standard error, for example debug or runner_eval=trace",
    },
    Variable {
        name: "RUNNER_PASS_RATE_THRESHOLD",
        about: "percent of cases that must pass (default 100) *",
    },
    Variable {
        name: "RUNNER_FAILED_TEST_EXIT_CODE",
        about: "exit code when fewer pass (default 100) *",
    },
    Variable {
        name: "RUNNER_DISABLE_WAL_MODE",
        about: "true: runs.db and cache.db without write-ahead log, for network file systems *",
    },
    Variable {
        name: "RUNNER_LOCK_TIMEOUT",
        about: "seconds that results wait for another program which has runs.db locked (default 60) *",
    },
    Variable {
        name: "RUNNER_CACHE_TTL",
        about: "seconds that an answer is remembered; 0: for ever (default 14 days) *",
    },
    Variable {
        name: "NO_COLOR",
        about: "when set: no colours",
    },
    Variable {
        name: "CI",
        about: "when set: progress as plain lines instead of a bar",
    },
    Variable {
        name: "COLUMNS",
        about: "width of tables when the output is no terminal (default 120)",
    },
];

/// The environment of this command.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// That of the process; a variable that is not Unicode can't be used and is left out.
    pub(crate) fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        )
    }

    /// For tests.
    #[cfg(test)]
    pub(crate) fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        Self(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    /// Adds what a file of `NAME=value` lines says; the file wins, as it was named on purpose.
    ///
    /// # Errors
    /// When the file can't be read, or a line is no assignment.
    pub(crate) fn read_file(&mut self, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("can't read the environment file {shown}: {error}"))
        })?;
        let assignments = env_file::parse(&text).map_err(|line| {
            Failure::usage(format!("{shown}:{line}: not a line of the form NAME=value"))
        })?;
        self.0.extend(assignments);
        Ok(())
    }

    /// A variable; an empty one counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// `RUNNER_<name>`, or else `PROMPTFOO_<name>`, with the name that was found.
    pub(crate) fn setting(&self, name: &str) -> Option<(String, &str)> {
        ["RUNNER", "PROMPTFOO"].iter().find_map(|prefix| {
            let full = format!("{prefix}_{name}");
            self.get(&full).map(|value| (full.clone(), value))
        })
    }

    /// Whether a setting is on: `1`, `true`, `yes` or `on`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.setting(name).is_some_and(|(_, value)| {
            matches!(
                value.to_ascii_lowercase().as_str(),
                "1" | "true" | "yes" | "on"
            )
        })
    }

    /// A setting that is a number of seconds.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn seconds(&self, name: &str) -> Result<Option<Duration>, Failure> {
        let Some((name, value)) = self.setting(name) else {
            return Ok(None);
        };
        let seconds = value.trim().parse().map_err(|_| {
            Failure::usage(format!(
                "environment variable {name} must be a whole number of seconds, not '{value}'"
            ))
        })?;
        Ok(Some(Duration::from_secs(seconds)))
    }

    /// Everything, for the config and the plugins' host.
    pub(crate) fn map(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Names only: values are often secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_never_appear_in_debug_output() {
        let environment = Environment::from_pairs(&[("OPENAI_API_KEY", "sk-secret")]);
        assert_eq!(format!("{environment:?}"), r#"{"OPENAI_API_KEY"}"#);
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let environment = Environment::from_pairs(&[("RUNNER_X", ""), ("PROMPTFOO_X", "2")]);
        assert_eq!(
            environment.setting("X"),
            Some(("PROMPTFOO_X".to_owned(), "2"))
        );
        assert_eq!(environment.get("RUNNER_X"), None);
    }

    #[test]
    fn flags_are_on_by_the_usual_words() {
        for (value, on) in [
            ("1", true),
            ("TRUE", true),
            ("0", false),
            ("false", false),
            ("", false),
        ] {
            assert_eq!(
                Environment::from_pairs(&[("PROMPTFOO_X", value)]).flag("X"),
                on,
                "{value}"
            );
        }
    }

    #[test]
    fn seconds_are_a_whole_number_or_refused_by_name() {
        let seconds = |value| {
            let environment = Environment::from_pairs(&[("PROMPTFOO_X", value)]);
            environment.seconds("X").map_err(|failure| failure.render())
        };
        assert_eq!(seconds("60"), Ok(Some(Duration::from_mins(1))));
        assert_eq!(seconds(""), Ok(None));
        let told = seconds("1h").expect_err("no number");
        assert!(told.contains("PROMPTFOO_X must be a whole number of seconds, not '1h'"));
    }
}
