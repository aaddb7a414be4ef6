//! Flags and commands that promptfoo has and this version doesn't.
//!
//! A person who comes with a promptfoo command line is told by name what is missing and what to
//! do meanwhile, instead of that an argument is unexpected. A line leaves this table when the
//! thing is built.

use crate::failure::Failure;

/// Words, what they ask for, and what helps meanwhile.
const LATER: &[(&[&str], &str, &str)] = &[
    (
        &["--suggest-prompts"],
        "this setting as a flag",
        "set it in the config, where it is supported",
    ),
    (
        &["--no-write"],
        "a run that is not kept",
        "set RUNNER_HOME to a folder that you delete afterwards",
    ),
    (
        &["--share", "--remote"],
        "sharing results through a service",
        "write a file with -o and share that; nothing leaves this machine by itself",
    ),
    (
        &["validate"],
        "this command",
        "`runner config check` says what is wrong with a config",
    ),
    (
        &[
            "logs",
            "debug",
            "generate",
            "redteam",
            "share",
            "auth",
            "optimize",
            "feedback",
            "mcp",
            "scan-model",
            "code-scans",
        ],
        "this command",
        "see `runner --help` for what there is",
    ),
];

/// What to say to `word`, if it is known.
pub(crate) fn failure(word: &str) -> Option<Failure> {
    let flag = word.split('=').next().unwrap_or(word);
    let (_, what, help) = LATER.iter().find(|(words, ..)| words.contains(&flag))?;
    Some(Failure::usage(format!("{flag} is not supported yet: {what}")).help(*help))
}
