//! What a program told, as one text to compare with a snapshot.

use std::sync::LazyLock;

use regex::Regex;

use super::{Finished, target_folder, where_built};

/// What differs from run to run, and what stands for it.
static DIFFERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let each = [
        // Progress depends on the clock alone.
        (r"(?m)^\d+ % · [\d,]+ of [\d,]+ cases? · .*\n", ""),
        (
            r"\b(run|import)-\d{8}-\d{6}-[0-9a-f]{6}([0-9a-f]{6})?\b",
            "[$1]",
        ),
        // Compilers differ: so do digests of plugins, and YAML puts some into quotes.
        (r#"sha256: "?[0-9a-f]{64}"?"#, "sha256: [digest]"),
        (r"\bsha256 [0-9a-f]+\b", "sha256 [digest]"),
        (r"\b[0-9a-f]{12,64}\b", "[digest]"),
        (r"\b[\d.]+ MiB of memory\b", "[size] of memory"),
        (
            r"\b[\d,]+ instructions and \[size\]",
            "[count] instructions and [size]",
        ),
        (r"\b[\d,]+ of fuel\b", "[count] of fuel"),
        (r"\b(127\.0\.0\.1|0\.0\.0\.0):\d+\b", "$1:[port]"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "[when]"),
        (r"(?m)^  \d{4}-\d\d-\d\d\b", "  [day]"),
        // Numbers are aligned to the right, and times have any length.
        (r"( +\d+ m)? +\d[\d.]* (ms|s|min)\b", " [time]"),
        (r"\bp50 +p95\b", "p50 p95"),
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
            self.stderr
        );
        // Plugins are beside the program, which may be in the target folder.
        let mut beside = where_built();
        beside.pop();
        let folders = [
            (self.run.project(), "[project]"),
            (self.run.home(), "[home]"),
            (&beside, "[program]"),
            (&target_folder(), "[target]"),
        ];
        let told = folders.into_iter().fold(told, |told, (folder, word)| {
            told.replace(&*folder.to_string_lossy(), word)
        });
        let told = DIFFERS.iter().fold(told, |told, (pattern, word)| {
            pattern.replace_all(&told, *word).into_owned()
        });
        told.trim_end().to_owned()
    }

    /// [`Finished::told`] below a heading: what several told makes one snapshot.
    pub fn told_as(&self, heading: &str) -> String {
        format!("=== {heading}\n{}\n\n", self.told())
    }
}
