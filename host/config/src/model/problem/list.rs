//! A list of problems that stays short: what is wrong with every row of a file is one mistake.
//!
//! Of problems of one file that say the same, the first are kept as they are; the others are places
//! in the last of these. What is beyond the list's end is counted.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Position, Problem};

/// Problems beyond this many are counted, not kept: a generated file can hold a million.
const MAX_KEPT: usize = 50;

/// Problems of one file that say the same and are kept each for itself.
const MAX_ALIKE: usize = 3;

/// Places that the last of these names.
const MAX_PLACES: usize = 10;

/// Problems, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct ProblemList {
    kept: Vec<Problem>,
    /// By file and message, what is kept of those that say the same.
    alike: HashMap<(PathBuf, String), Alike>,
    unkept: usize,
}

#[derive(Debug, Default)]
struct Alike {
    kept: usize,
    /// The place of the last one in the list.
    last: usize,
    /// Lines and columns of the others, of which there may be more.
    places: Vec<(u32, u32)>,
    others: usize,
}

impl ProblemList {
    pub(super) fn add(&mut self, problem: Problem) {
        let Position {
            file, line, column, ..
        } = &problem.at;
        let key = (*line > 0).then(|| (file.clone(), problem.message.clone()));
        let known = key.as_ref().and_then(|key| self.alike.get_mut(key));
        if let Some(alike) = known.filter(|alike| alike.kept == MAX_ALIKE) {
            alike.others += 1;
            if alike.places.len() < MAX_PLACES {
                alike.places.push((*line, *column));
            }
        } else if self.is_full() {
            self.unkept += 1;
        } else {
            if let Some(key) = key {
                let alike = self.alike.entry(key).or_default();
                alike.kept += 1;
                alike.last = self.kept.len();
            }
            self.kept.push(problem);
        }
    }

    /// Whether no other message is kept.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() == MAX_KEPT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The list, and how many more there are of these, `what`.
    pub(super) fn finish(self, what: &str) -> Vec<Problem> {
        let mut kept = self.kept;
        for alike in self.alike.into_values().filter(|alike| alike.others > 0) {
            kept[alike.last].message.push_str(&alike.told());
        }
        if self.unkept > 0 {
            kept.push(Problem {
                message: format!("and {} more {what}", self.unkept),
                at: Position::default(),
                help: None,
            });
        }
        kept
    }
}

impl Alike {
    fn told(&self) -> String {
        let places = self.places.iter();
        let places: Vec<String> = places
            .map(|(line, column)| format!("{line}:{column}"))
            .collect();
        let more = match self.others - places.len() {
            0 => String::new(),
            more => format!(" and {more} more places"),
        };
        format!("; the same at {}{more}", places.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(message: &str, line: u32) -> Problem {
        Problem {
            message: message.to_owned(),
            at: Position {
                file: "rows.json".into(),
                line,
                column: 3,
                key: format!("[{line}]"),
            },
            help: None,
        }
    }

    fn told(problems: impl IntoIterator<Item = Problem>) -> Vec<String> {
        let mut listed = ProblemList::default();
        problems.into_iter().for_each(|problem| listed.add(problem));
        let problems = listed.finish("problems");
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn problems_beyond_the_limit_are_counted() {
        let found = told((0..MAX_KEPT + 3).map(|n| problem(&format!("bad {n}"), 1)));
        assert_eq!(found.len(), MAX_KEPT + 1);
        assert_eq!(found[MAX_KEPT], "and 3 more problems");
    }

    #[test]
    fn what_is_wrong_with_every_row_is_told_once() {
        let lines = |lines: u32| (1..=lines).flat_map(|line| [problem("empty", line)]);
        let found = told(lines(5).chain([problem("odd", 9)]));
        assert_eq!(
            found,
            [
                "rows.json:1:3: [1]: empty",
                "rows.json:2:3: [2]: empty",
                "rows.json:3:3: [3]: empty; the same at 4:3, 5:3",
                "rows.json:9:3: [9]: odd",
            ]
        );
        let found = told(lines(1_000_000));
        assert_eq!(found.len(), MAX_ALIKE);
        assert!(
            found[2].ends_with("13:3 and 999987 more places"),
            "{}",
            found[2]
        );
    }

    #[test]
    fn what_has_no_line_is_never_the_same() {
        let found = told((0..5).map(|_| problem("bad", 0)));
        assert_eq!(found.len(), 5);
    }
}
