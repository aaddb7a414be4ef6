//! What a program told, as one text to compare with a snapshot.

use std::sync::LazyLock;

use regex::Regex;

use super::Finished;

/// What differs from run to run, and what stands for it.
static DIFFERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let each = [
        // Progress depends on the clock alone.
        (r"(?m)^\d+ % · \d+ of \d+ cases · .*\n", ""),
        (r"\b(run|import)-\d{8}-\d{6}-[0-9a-f]{6}\b", "[$1]"),
        (r"\b[0-9a-f]{12,64}\b", "[digest]"),
        (r"\b127\.0\.0\.1:\d+\b", "127.0.0.1:[port]"),
        // Numbers are aligned to the right, and times have any length.
        (r" +\d[\d.]* (ms|s|min)\b", " [time]"),
    ];
    let compiled = each.map(|(pattern, word)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        (pattern, word)
    });
    compiled.into()
});

impl Finished {
    /// Exit code, stdout and stderr as one text, in which words in brackets stand for what differs
    /// from run to run: folders, ids, digests, ports, times.
    pub fn told(&self) -> String {
        let code = match self.code {
            Some(code) => format!("exit code {code}"),
            None => "ended by a signal".to_owned(),
        };
        let told = format!(
            "{code}\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout.trim_end(),
            self.stderr.trim_end()
        );
        let folders = [
            (self.run.project(), "[project]"),
            (self.run.home(), "[home]"),
        ];
        let told = folders.into_iter().fold(told, |told, (folder, word)| {
            told.replace(&*folder.to_string_lossy(), word)
        });
        DIFFERS.iter().fold(told, |told, (pattern, word)| {
            pattern.replace_all(&told, *word).into_owned()
        })
    }
}
