//! Why a call of a program gave no answer.

use std::process::ExitStatus;
use std::time::Duration;

use crate::supervisor::{NOT_STARTED, OUT_OF_MEMORY};

/// Most of a program's last words, in characters.
const LAST_WORDS: usize = 2000;

/// Why a call of a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It could not be started.
    #[error("{program}: can't be started: {reason}")]
    NotStarted {
        /// What messages call it.
        program: String,
        /// Why, in words.
        reason: String,
    },
    /// It ended in the middle of the call.
    #[error("{program}: {how} in the middle of the call{}", said(.last_words))]
    Crashed {
        /// What messages call it.
        program: String,
        /// `ended with exit code 1`, `was ended by signal 9`.
        how: String,
        /// What it wrote last to standard error; may be empty.
        last_words: String,
    },
    /// It had no answer in time, and was ended with all that it had started.
    #[error("{program}: gave no answer within {limit:?}")]
    TimedOut {
        /// What messages call it.
        program: String,
        /// How long it had.
        limit: Duration,
    },
    /// It took more memory than it may, and was ended.
    #[error("{program}: took more than {} MiB of memory and was ended; `memoryMb` in its config allows more", limit >> 20)]
    OutOfMemory {
        /// What messages call it.
        program: String,
        /// Bytes that it may take.
        limit: u64,
    },
    /// Its answer is too large.
    #[error("{program}: the answer is larger than {} MiB", limit >> 20)]
    TooLarge {
        /// What messages call it.
        program: String,
        /// Bytes that an answer may have.
        limit: usize,
    },
}

fn said(last_words: &str) -> String {
    if last_words.is_empty() {
        String::new()
    } else {
        format!("; its last words: {last_words}")
    }
}

/// How a program ended before its answer, from its supervisor's status and what it wrote last.
pub(crate) fn fault(program: &str, memory: u64, status: Option<ExitStatus>, stderr: &str) -> Fault {
    let program = program.to_owned();
    let last = stderr.trim_end().lines().next_back().unwrap_or_default();
    if last == OUT_OF_MEMORY {
        return Fault::OutOfMemory {
            program,
            limit: memory,
        };
    }
    if let Some(reason) = last.strip_prefix(NOT_STARTED) {
        return Fault::NotStarted {
            program,
            reason: reason.to_owned(),
        };
    }
    Fault::Crashed {
        program,
        how: how(status),
        last_words: last_words(stderr),
    }
}

/// In words; the supervisor says a signal as shells do.
pub(crate) fn how(status: Option<ExitStatus>) -> String {
    const FIRST_SIGNAL: i32 = 129;
    const LAST_SIGNAL: i32 = 192;
    #[cfg(unix)]
    if let Some(signal) =
        status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status))
    {
        return format!("was ended by signal {signal}");
    }
    match status.and_then(|status| status.code()) {
        Some(code @ FIRST_SIGNAL..=LAST_SIGNAL) => {
            format!("was ended by signal {}", code - FIRST_SIGNAL + 1)
        }
        Some(code) => format!("ended with exit code {code}"),
        None => "ended".to_owned(),
    }
}

/// The end of what a program wrote to standard error, in whole lines: a secret across a cut would not
/// be known for one. A line that is too long is left out.
pub(crate) fn last_words(stderr: &str) -> String {
    let text = stderr.trim();
    let mut left = LAST_WORDS;
    let mut kept = Vec::new();
    for line in text.rsplit('\n') {
        let length = line.chars().count() + 1;
        if length > left {
            kept.push("…");
            break;
        }
        left -= length;
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn the_end_of_a_program_is_told_in_words() {
        let told = |raw: i32, stderr: &str| {
            fault("p", 3 << 20, Some(ExitStatus::from_raw(raw)), stderr).to_string()
        };
        assert_eq!(
            told(1 << 8, "a\nb\n"),
            "p: ended with exit code 1 in the middle of the call; its last words: a\nb"
        );
        assert_eq!(
            told(137 << 8, ""),
            "p: was ended by signal 9 in the middle of the call"
        );
        assert_eq!(
            told(9, ""),
            "p: was ended by signal 9 in the middle of the call"
        );
        assert_eq!(
            told(9, &format!("x\n{OUT_OF_MEMORY}\n")),
            "p: took more than 3 MiB of memory and was ended; `memoryMb` in its config allows more"
        );
        assert_eq!(
            told(127 << 8, &format!("{NOT_STARTED}No such file\n")),
            "p: can't be started: No such file"
        );
    }

    #[test]
    fn last_words_are_the_end_of_what_was_said() {
        assert_eq!(last_words(" a \n"), "a");
        // A line across the border may hold a part of a secret.
        let long = "é".repeat(LAST_WORDS);
        assert_eq!(last_words(&format!("{long}\nb\nc")), "…\nb\nc");
        assert_eq!(last_words(&long), "…");
    }
}
