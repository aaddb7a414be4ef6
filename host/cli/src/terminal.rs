//! What the two standard streams are, and what follows from it.
//!
//! The facts are asked for once; what they mean is decided by a pure function, so that every
//! combination can be tested without a terminal.

use std::io::IsTerminal;

use crate::environment::Environment;

/// Width of a table where nothing tells a better one.
const DEFAULT_WIDTH: u16 = 120;
/// A narrower table could hold nothing readable; a lie in `COLUMNS` is not obeyed below it.
const MIN_WIDTH: u16 = 40;

/// What is known of the streams and the environment.
#[derive(Debug, Clone, Default)]
struct Streams {
    stdin_is_terminal: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// Columns of the terminal that standard output is.
    width: Option<u16>,
    /// `COLUMNS`
    columns: Option<u16>,
    no_color: bool,
    dumb: bool,
    ci: bool,
    github: bool,
    job: bool,
}

/// How to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Columns of a table on standard output.
    pub(crate) width: u16,
    /// Colours on standard output.
    pub(crate) color: bool,
    /// Colours on standard error.
    pub(crate) color_talk: bool,
    /// A bar that redraws itself on standard error, instead of plain lines.
    pub(crate) bar: bool,
    /// Whether somebody can be asked: on standard error, who answers on standard input.
    pub(crate) can_ask: bool,
    /// Whether a CI service says that it runs the program.
    pub(crate) ci: bool,
    /// Whether GitHub says so, which takes commands from what is printed.
    pub(crate) github: bool,
    /// A job of some service reads commands from what is printed.
    pub(crate) job: bool,
}

impl Terminal {
    /// Looks at the process's streams.
    pub(crate) fn detect(environment: &Environment) -> Self {
        let stdout_is_terminal = std::io::stdout().is_terminal();
        decide(&Streams {
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal,
            stderr_is_terminal: std::io::stderr().is_terminal(),
            // The table library asks the terminal; `None` if it is none. A terminal
            // that was never given a size says 0.
            width: comfy_table::Table::new().width().filter(|width| *width > 0),
            columns: environment
                .get("COLUMNS")
                .and_then(|columns| columns.parse().ok()),
            no_color: environment.get("NO_COLOR").is_some(),
            dumb: environment.get("TERM") == Some("dumb"),
            ci: environment
                .get("CI")
                .is_some_and(|ci| ci != "false" && ci != "0"),
            github: environment.get("GITHUB_ACTIONS") == Some("true"),
            job: JOBS.iter().any(|name| environment.get(name).is_some()),
        })
    }
}

/// Variables of services whose jobs read commands from what is printed: GitHub Actions, Azure Pipelines, TeamCity.
const JOBS: [&str; 3] = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

fn decide(facts: &Streams) -> Terminal {
    let color = !facts.no_color && !facts.dumb;
    let width = facts.width.or(facts.columns).unwrap_or(DEFAULT_WIDTH);
    Terminal {
        width: width.max(MIN_WIDTH),
        color: color && facts.stdout_is_terminal,
        color_talk: color && facts.stderr_is_terminal,
        bar: facts.stderr_is_terminal && !facts.dumb && !facts.ci,
        can_ask: facts.stdin_is_terminal && facts.stderr_is_terminal,
        ci: facts.ci,
        github: facts.github,
        job: facts.job,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> Streams {
        Streams {
            stdin_is_terminal: true,
            stdout_is_terminal: true,
            stderr_is_terminal: true,
            width: Some(80),
            ..Streams::default()
        }
    }

    #[test]
    fn a_pipe_gets_no_colour_no_bar_and_a_fixed_width() {
        let plain = Terminal {
            width: 120,
            color: false,
            color_talk: false,
            bar: false,
            can_ask: false,
            ci: false,
            github: false,
            job: false,
        };
        assert_eq!(decide(&Streams::default()), plain);
        assert_eq!(
            decide(&Streams {
                columns: Some(200),
                ..Streams::default()
            })
            .width,
            200
        );
        assert_eq!(
            decide(&Streams {
                columns: Some(3),
                ..Streams::default()
            })
            .width,
            40
        );
    }

    #[test]
    fn a_terminal_gets_all_of_it() {
        assert_eq!(
            decide(&terminal()),
            Terminal {
                width: 80,
                color: true,
                color_talk: true,
                bar: true,
                can_ask: true,
                ci: false,
                github: false,
                job: false
            }
        );
    }

    #[test]
    fn wishes_are_respected() {
        let no_color = decide(&Streams {
            no_color: true,
            ..terminal()
        });
        assert!(!no_color.color && !no_color.color_talk && no_color.bar);
        let dumb = decide(&Streams {
            dumb: true,
            ..terminal()
        });
        assert!(!dumb.color && !dumb.bar);
        let ci = decide(&Streams {
            ci: true,
            ..terminal()
        });
        assert!(ci.color && !ci.bar && ci.ci);
    }

    #[test]
    fn each_stream_is_judged_by_itself() {
        let piped = decide(&Streams {
            stdout_is_terminal: false,
            width: None,
            ..terminal()
        });
        assert!(!piped.color && piped.color_talk && piped.bar && piped.can_ask);
        let fed = decide(&Streams {
            stdin_is_terminal: false,
            ..terminal()
        });
        assert!(!fed.can_ask);
        assert_eq!(piped.width, 120);
    }
}
