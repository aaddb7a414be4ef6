//! The environment: every variable that this program reads, and how.
//!
//! The process's environment is read once, at the start, and handed on as a value: nothing
//! below this crate looks at it, so a test can give any. Variables that promptfoo knows too are
//! read as `RUNNER_X` first and as `PROMPTFOO_X` after it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use runner_config::misspelt;

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
        about: "folder of the bundled plugins, trusted as they are (default: those that the program carries, or plugins/ beside one that was just built, known by their digests)",
    },
    Variable {
        name: "RUNNER_TRUST",
        about: "config or data: allow what the config, or also its data, asks for beyond its rights; only from the process's own environment",
    },
    Variable {
        name: "RUNNER_GOOGLE_TOKEN_URL",
        about: "address that gives access tokens for a Google key (default: Google's own)",
    },
    Variable {
        name: "RUNNER_LOG",
        about: "diagnostics on standard error, for example debug or runner_gateway=trace",
    },
    Variable {
        name: "RUNNER_PASS_RATE_THRESHOLD",
        about: "percent of cases that must pass, where neither --min-pass-rate nor the config says (default 100) *",
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
        name: "RUNNER_LEFT_FREE",
        about: "MiB that results leave free on the disk of runs.db (default 256, or a twentieth of a small disk) *",
    },
    Variable {
        name: "RUNNER_MEMORY_LIMIT",
        about: "MiB of memory beyond which the program ends itself (default 12288, or three quarters of the machine) *",
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
        about: "when set: progress as plain lines instead of a bar, and a runner.lock holds as with --locked",
    },
    Variable {
        name: "GITHUB_STEP_SUMMARY",
        about: "the file of a job's summary in GitHub Actions: `eval` and `retry` add theirs",
    },
    Variable {
        name: "GITHUB_ACTIONS",
        about: "true: the reasons why a run fails are printed as annotations of the job, and nothing else that is printed counts as one",
    },
    Variable {
        name: "TF_BUILD",
        about: "when set, as TEAMCITY_VERSION: nothing that is printed counts as a command to the job (Azure Pipelines, TeamCity)",
    },
    Variable {
        name: "COLUMNS",
        about: "width of tables when the output is not a terminal (default 120)",
    },
];

/// What variables of this program begin with.
const OURS: &str = "RUNNER_";

/// The largest environment file; one that somebody generated has some kilobytes.
const MAX_ENV_FILE: u64 = 16 << 20;

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
        let text = runner_files::text_up_to(path, MAX_ENV_FILE).map_err(|error| {
            Failure::usage(format!("can't read the environment file {shown}: {error}"))
        })?;
        let assignments = env_file::parse(&text).map_err(|line| {
            Failure::usage(format!("{shown}:{line}: not a line of the form NAME=value"))
        })?;
        self.0.extend(assignments);
        Ok(())
    }

    /// Adds the keys of a `.env` that nobody named, where they are not set, and says which. It
    /// may be a stranger's. An address of theirs would be sent the user's key, so it gives none;
    /// with a key of theirs, prompts and answers are seen in their account, which is why it is
    /// told. None if there is no such file, it is a link, or it is no text of that form.
    pub(crate) fn read_keys(&mut self, path: &Path) -> Vec<String> {
        let text = own_text(path).unwrap_or_default();
        let mut taken = Vec::new();
        for (name, value) in env_file::parse(&text).unwrap_or_default() {
            if is_key(&name) && !value.is_empty() && self.get(&name).is_none() {
                taken.push(name.clone());
                self.0.insert(name, value);
            }
        }
        taken
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

    /// Checks whether a setting is on.
    ///
    /// # Errors
    /// When it says neither yes nor no.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Failure> {
        let Some((name, value)) = self.setting(name) else {
            return Ok(false);
        };
        match value.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" | "" => Ok(false),
            _ => Err(Failure::usage(format!(
                "environment variable {name} must be true or false, not '{value}'"
            ))),
        }
    }

    /// A setting that is a number of seconds.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn seconds(&self, name: &str) -> Result<Option<Duration>, Failure> {
        Ok(self.number(name, "seconds")?.map(Duration::from_secs))
    }

    /// A setting that is a number of mebibytes, in bytes.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn mebibytes(&self, name: &str) -> Result<Option<u64>, Failure> {
        let mebibytes = self.number(name, "MiB")?;
        Ok(mebibytes.map(|number| number.saturating_mul(1 << 20)))
    }

    fn number(&self, name: &str, unit: &str) -> Result<Option<u64>, Failure> {
        let Some((name, value)) = self.setting(name) else {
            return Ok(None);
        };
        let number = value.trim().parse().map_err(|_| {
            Failure::usage(format!(
                "environment variable {name} must be a whole number of {unit}, not '{value}'"
            ))
        })?;
        Ok(Some(number))
    }

    /// Variables of ours that nobody reads and that are nearly one that is read, each with that one.
    pub(crate) fn slips(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let ours = VARIABLES.iter().filter_map(|it| it.name.strip_prefix(OURS));
        let of_configs = runner_config::VARIABLES.iter().map(|it| it.name);
        let known: Vec<&'static str> = ours.chain(of_configs).collect();
        let set = self.0.keys().filter_map(|name| name.strip_prefix(OURS));
        set.filter_map(move |name| {
            let is_read = known.contains(&name);
            let meant = misspelt(name, known.iter().copied()).filter(|_| !is_read);
            Some((name, meant?))
        })
    }

    /// Everything, for the config and the plugins' host.
    pub(crate) fn map(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Reads the text of an ordinary file of a size that such files have. A link may lead to another project's
/// keys, a pipe or device has no end.
fn own_text(path: &Path) -> io::Result<String> {
    const MOST: u64 = 1 << 20;
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    runner_files::text_up_to(path, MOST)
}

/// Whether a variable holds a key of some service, by the words that end such names.
fn is_key(name: &str) -> bool {
    let ours = name.starts_with("RUNNER_") || name.starts_with("PROMPTFOO_");
    !ours
        && ["_KEY", "_KEY_ID", "_TOKEN", "_SECRET"]
            .iter()
            .any(|end| name.ends_with(end))
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
    fn a_variable_that_is_nearly_one_of_ours_is_told_and_one_of_a_ci_is_not() {
        let environment = Environment::from_pairs(&[
            ("RUNNER_DELAY_MS", "1"),
            ("RUNNER_DEALY_MS", "1"),
            ("RUNNER_MAXCONCURRENCY", "1"),
            ("RUNNER_HOME", "x"),
            // GitHub's.
            ("RUNNER_ARCH", "X64"),
            ("RUNNER_DEBUG", "1"),
            ("RUNNER_ENVIRONMENT", "self-hosted"),
            ("RUNNER_NAME", "x"),
            ("RUNNER_OS", "Linux"),
            ("RUNNER_TEMP", "x"),
            ("RUNNER_TOOL_CACHE", "x"),
            ("RUNNER_USER", "x"),
            ("RUNNER_WORKSPACE", "x"),
        ]);
        let slips: Vec<_> = environment.slips().collect();
        let expected = [
            ("DEALY_MS", "DELAY_MS"),
            ("MAXCONCURRENCY", "MAX_CONCURRENCY"),
        ];
        assert_eq!(slips, expected);
    }

    #[test]
    fn a_file_that_nobody_named_gives_keys_alone_and_only_where_they_are_not_set() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join(".env");
        let text =
            "A_KEY=theirs\nB_KEY=b\nB_KEY_ID=i\nOPENAI_BASE_URL=http://x\nRUNNER_KEY=1\nC_TOKEN=\n";
        std::fs::write(&file, text).expect("written");
        let mut environment = Environment::from_pairs(&[("A_KEY", "ours")]);
        assert_eq!(environment.read_keys(&file), ["B_KEY", "B_KEY_ID"]);
        let kept = Environment::from_pairs(&[("A_KEY", "ours"), ("B_KEY", "b"), ("B_KEY_ID", "i")]);
        assert_eq!(environment.map(), kept.map());
        let missing = folder.path().join("none");
        assert!(environment.read_keys(&missing).is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_nobody_named_is_no_link_and_no_device() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let (theirs, file) = (folder.path().join("theirs"), folder.path().join(".env"));
        std::fs::write(&theirs, "B_KEY=b").expect("written");
        for leads in [theirs.as_path(), Path::new("/dev/zero")] {
            std::os::unix::fs::symlink(leads, &file).expect("a link");
            assert!(Environment::default().read_keys(&file).is_empty());
            std::fs::remove_file(&file).expect("it was there");
        }
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
            let environment = Environment::from_pairs(&[("PROMPTFOO_X", value)]);
            let flag = environment.flag("X").map_err(|failure| failure.render());
            assert_eq!(flag, Ok(on), "{value}");
        }
        let failure = Environment::from_pairs(&[("RUNNER_X", "zz")]).flag("X");
        let told = failure
            .map_err(|failure| failure.render())
            .expect_err("no word");
        assert!(
            told.contains("RUNNER_X must be true or false, not 'zz'"),
            "{told}"
        );
    }

    #[test]
    fn seconds_are_a_whole_number_or_refused_by_name() {
        let seconds = |value| {
            let environment = Environment::from_pairs(&[("PROMPTFOO_X", value)]);
            environment.seconds("X").map_err(|failure| failure.render())
        };
        assert_eq!(seconds("60"), Ok(Some(Duration::from_mins(1))));
        assert_eq!(seconds(""), Ok(None));
        let size = Environment::from_pairs(&[("RUNNER_X", "3")]).mebibytes("X");
        assert!(matches!(size, Ok(Some(bytes)) if bytes == 3 << 20));
        let told = seconds("1h").expect_err("no number");
        assert!(told.contains("PROMPTFOO_X must be a whole number of seconds, not '1h'"));
    }
}
