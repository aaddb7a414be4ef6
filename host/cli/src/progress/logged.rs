//! The log lines of plugins, as far as they are told while a run goes on.
//!
//! The sandbox bounds what one call logs; a run has any number of calls, and what all of them log is a
//! terminal or a job's log full of it, in which nobody finds the program's own words. So each plugin has
//! so many lines and bytes for a run, and then a last line that says so.

use std::collections::HashMap;

use runner_eval::event::LogLine;
use tracing::Level;

use crate::figures;
use crate::visible;

/// What one plugin may say in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogBound {
    lines: u64,
    bytes: usize,
}

/// Usually: a warning for every case of a small run.
const USUAL: LogBound = LogBound {
    lines: 1_000,
    bytes: 1 << 20,
};

/// Where much is wanted.
const VERBOSE: LogBound = LogBound {
    lines: 100_000,
    bytes: 64 << 20,
};

/// Which lines are told.
#[derive(Debug)]
pub(super) struct Logged {
    verbose: bool,
    /// By the name of the plugin.
    said: HashMap<String, LogTotal>,
}

/// What a plugin has said.
#[derive(Debug, Default)]
struct LogTotal {
    lines: u64,
    bytes: usize,
    /// Whether it has said all that it may.
    is_full: bool,
}

impl Logged {
    /// `verbose`: also what is not grave, and more of it.
    pub(super) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            said: HashMap::new(),
        }
    }

    /// What to tell of a line, if anything.
    pub(super) fn line(&mut self, line: &LogLine) -> Option<String> {
        if !self.verbose && line.level > Level::WARN {
            return None;
        }
        let most = if self.verbose { VERBOSE } else { USUAL };
        let said = match self.said.get_mut(&line.plugin) {
            Some(said) => said,
            None => self.said.entry(line.plugin.clone()).or_default(),
        };
        if said.is_full {
            return None;
        }
        said.lines += 1;
        said.bytes = said.bytes.saturating_add(line.message.len());
        if said.lines <= most.lines && said.bytes <= most.bytes {
            return Some(told(line));
        }
        said.is_full = true;
        Some(self.end(&line.plugin, most))
    }

    /// That no more is told of a plugin.
    fn end(&self, plugin: &str, most: LogBound) -> String {
        let lines = figures::counted(most.lines, "line", "lines");
        let more = if self.verbose { "" } else { ", with -v more" };
        format!(
            "note: further log lines of {} are left out: {lines} or {} MiB in a run are told{more}",
            visible::line(plugin),
            most.bytes >> 20
        )
    }
}

fn told(line: &LogLine) -> String {
    let LogLine {
        plugin,
        case,
        level,
        message,
    } = line;
    let level = level.as_str().to_ascii_lowercase();
    format!(
        "{level}: {} (test {}, column {}): {}",
        visible::line(plugin),
        case.test_idx,
        case.prompt_idx,
        visible::line(message)
    )
}

#[cfg(test)]
mod tests {
    use runner_config::plan::CaseId;

    use super::*;

    fn line(plugin: &str, level: Level, message: &str) -> LogLine {
        LogLine {
            plugin: plugin.to_owned(),
            case: CaseId {
                test_idx: 3,
                prompt_idx: 1,
            },
            level,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_log_line_is_one_line_that_says_where_it_comes_from() {
        let line = line("acme", Level::WARN, "slow\nerror: forged line\u{1b}[2K");
        assert_eq!(
            told(&line),
            "warn: acme (test 3, column 1): slow error: forged line␛[2K"
        );
    }

    #[test]
    fn each_plugin_says_so_much_in_a_run_and_then_one_line_more() {
        for (verbose, most) in [(false, USUAL), (true, VERBOSE)] {
            let mut logged = Logged::new(verbose);
            let warning = line("evil\n", Level::WARN, "x");
            for _ in 0..most.lines {
                assert_eq!(logged.line(&warning), Some(told(&warning)));
            }
            let last = logged.line(&warning).expect("it is said once");
            assert!(
                last.starts_with("note: further log lines of evil  are left out: "),
                "{last}"
            );
            assert_eq!(logged.line(&warning), None);
            // Another one has all of its own.
            let other = line("good", Level::ERROR, "y");
            assert_eq!(logged.line(&other), Some(told(&other)));
        }
    }

    #[test]
    fn few_long_lines_are_as_much_as_many_short_ones() {
        let mut logged = Logged::new(false);
        let long = line("evil", Level::ERROR, &"x".repeat(USUAL.bytes / 2));
        assert!(logged.line(&long).is_some_and(|it| it == told(&long)));
        assert!(logged.line(&long).is_some_and(|it| it == told(&long)));
        assert_eq!(
            logged.line(&long).as_deref(),
            Some(
                "note: further log lines of evil are left out: 1,000 lines or 1 MiB in a run are told, with -v more"
            )
        );
        assert_eq!(logged.line(&line("evil", Level::ERROR, "")), None);
    }

    #[test]
    fn what_is_not_grave_is_told_where_much_is_wanted() {
        let info = line("acme", Level::INFO, "x");
        assert_eq!(Logged::new(false).line(&info), None);
        assert_eq!(Logged::new(true).line(&info), Some(told(&info)));
    }
}
