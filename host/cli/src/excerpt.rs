//! The line of a config's own file that a problem is about, with a mark below the column.
//!
//! What is shown is text of the file as it stands there: what was filled in never is. Shown are only
//! files that were read for this config, and of them those that are somebody's words about the run:
//! configs, and files of code. Rows of data are a stranger's, `.env` holds secrets, and neither shows a
//! line; nor does a line with a key that is named like a secret, or with a secret of the environment.
//! Each file is read once more, within bounds, and of many problems the first have a line.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use runner_config::plan::Position;
use runner_config::{FilesRead, LoadRequest, Problem, Warning, is_secret_variable};
use runner_eval::plugins::BindError;
use runner_gateway::Masker;
use unicode_width::UnicodeWidthChar;

use crate::visible;

/// Problems that have a line: who sees as many lines reads no more of them.
const MAX_SHOWN: usize = 20;

/// The largest file of which a line is shown.
const MAX_FILE: u64 = 4 << 20;

/// Endings of files that may show a line.
const SHOWN: [&str; 9] = ["yaml", "yml", "js", "cjs", "mjs", "ts", "cts", "mts", "py"];

/// Something to say about a config, and where it stands, if that is known.
pub(crate) struct Remark {
    text: String,
    at: Option<Position>,
}

impl From<Problem> for Remark {
    fn from(problem: Problem) -> Self {
        Self {
            text: problem.to_string(),
            at: Some(problem.at).filter(|at| !at.file.as_os_str().is_empty()),
        }
    }
}

impl From<Warning> for Remark {
    fn from(Warning(problem): Warning) -> Self {
        problem.into()
    }
}

impl From<BindError> for Remark {
    fn from(error: BindError) -> Self {
        Self {
            text: error.to_string(),
            at: error.at().cloned(),
        }
    }
}

/// The files of a config, of which lines may be shown.
pub(crate) struct Excerpts {
    cwd: PathBuf,
    /// What the person named.
    configs: Vec<PathBuf>,
    read: FilesRead,
    masker: Masker,
    /// Columns of the terminal.
    width: usize,
    /// What was read; `None`: it can't be shown.
    files: RefCell<HashMap<PathBuf, Option<String>>>,
    left: Cell<usize>,
}

impl Excerpts {
    /// Of the files that are read for `request`.
    pub(crate) fn of(request: &LoadRequest, masker: &Masker, width: u16) -> Self {
        Self {
            cwd: request.cwd.clone(),
            configs: request.config_files.clone(),
            read: request.files_read.clone(),
            masker: masker.clone(),
            width: usize::from(width),
            files: RefCell::default(),
            left: Cell::new(MAX_SHOWN),
        }
    }

    /// What they say, by their places in the files, each with its line behind its own first one.
    pub(crate) fn told(&self, remarks: impl IntoIterator<Item: Into<Remark>>) -> Vec<String> {
        let mut remarks: Vec<Remark> = remarks.into_iter().map(Into::into).collect();
        remarks.sort_by(|a, b| self.order(a).cmp(&self.order(b)));
        remarks.dedup_by(|a, b| a.text == b.text);
        let told = remarks.into_iter().map(|Remark { text, at }| {
            let shown = at.and_then(|at| self.shown(&at));
            match (shown, text.split_once('\n')) {
                (None, _) => text,
                (Some(shown), None) => format!("{text}\n{shown}"),
                (Some(shown), Some((first, rest))) => format!("{first}\n{shown}\n{rest}"),
            }
        });
        told.collect()
    }

    /// The configs in the order in which they are named, then other files, then what stands nowhere.
    fn order<'a>(&self, remark: &'a Remark) -> impl Ord + use<'a> {
        let place = remark.at.as_ref().map(|at| {
            let index = self.configs.iter().position(|config| *config == at.file);
            let is_other = index.is_none() && !self.is_config(&at.file);
            let index = index.unwrap_or(self.configs.len());
            ((is_other, index), &*at.file, at.line, at.column)
        });
        (place.is_none(), place)
    }

    fn shown(&self, at: &Position) -> Option<String> {
        if at.line == 0 || self.left.get() == 0 || is_of_secret(&at.key) {
            return None;
        }
        let mut files = self.files.borrow_mut();
        let file = files.entry(at.file.clone());
        let text = file.or_insert_with(|| self.text(&at.file)).as_ref()?;
        let line = text.lines().nth(at.line as usize - 1)?;
        if line.trim().is_empty() || names_secret(line) || self.masker.mask(line) != line {
            return None;
        }
        self.left.set(self.left.get() - 1);
        Some(excerpt(line, at.line, at.column, self.width))
    }

    /// The text of a file that may show its lines.
    fn text(&self, file: &Path) -> Option<String> {
        let path = self.cwd.join(file);
        if !self.may_show(file) || !self.read.contains(&path) || !path.is_file() {
            return None;
        }
        let mut text = String::new();
        let file = File::open(&path).ok()?.take(MAX_FILE + 1);
        let is_whole = { file }.read_to_string(&mut text).ok()? as u64 <= MAX_FILE;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        is_whole.then(|| text.to_owned())
    }

    fn may_show(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        let ending = file.extension().and_then(|ending| ending.to_str());
        let is_hidden = name.is_none_or(|name| name.starts_with('.'));
        let is_words = ending.is_some_and(|ending| {
            SHOWN.contains(&ending) || ending == "json" && self.is_config(file)
        });
        !is_hidden && is_words
    }

    /// Whether the person named it, or it has a name that configs have.
    fn is_config(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        self.configs.iter().any(|config| config == file)
            || name.is_some_and(|name| runner_config::DEFAULT_NAMES.contains(&name))
    }
}

/// Whether a key leads to what may be a secret.
fn is_of_secret(key: &str) -> bool {
    let mut names = key.split(['.', '[', ']', '"']);
    names.any(|name| name == "env" || is_secret_variable(name))
}

/// Whether a line has a key, an argument or a header that is named like a secret.
fn names_secret(line: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut rest = line;
    while let Some(at) = rest.find([':', '=']) {
        let before = rest[..at].trim_end_matches(|c: char| !is_of_name(c));
        let start = before.rfind(|c| !is_of_name(c)).map_or(0, |at| at + 1);
        if is_secret_variable(before.get(start..).unwrap_or_default()) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    line.to_ascii_lowercase().contains("bearer ")
}

/// A line with its number, cut to `width` around the column, and the mark below it.
fn excerpt(line: &str, number: u32, column: u32, width: usize) -> String {
    let number = number.to_string();
    let gutter = " ".repeat(number.len());
    let shown = visible::line(line.trim_end());
    let room = width.saturating_sub(number.len() + 4).max(20);
    let at = (column.max(1) as usize - 1).min(shown.chars().count());
    let (shown, at) = window(&shown, at, room);
    let wide: usize = shown.chars().take(at).map(columns).sum();
    let pad = " ".repeat(wide);
    format!("{number} | {shown}\n{gutter} | {pad}^")
}

/// `room` characters of a line, among them the one at `at`, which comes with its new place.
fn window(line: &str, at: usize, room: usize) -> (String, usize) {
    let count = line.chars().count();
    if count <= room {
        return (line.to_owned(), at);
    }
    let from = at.saturating_sub(room * 2 / 3).min(count - room);
    let mut shown: Vec<char> = line.chars().skip(from).take(room).collect();
    if from > 0 {
        shown[0] = '…';
    }
    if from + room < count {
        shown[room - 1] = '…';
    }
    (shown.into_iter().collect(), at - from)
}

/// How wide a terminal shows a character.
fn columns(c: char) -> usize {
    UnicodeWidthChar::width(c).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of a place in a file that was read.
    fn told(name: &str, text: &str, at: (u32, u32), key: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("a file");
        let request = LoadRequest {
            cwd: folder.path().to_owned(),
            ..LoadRequest::default()
        };
        request.files_read.add(&path);
        let secret = runner_gateway::Secret::new("s3cr3t-of-the-environment");
        let excerpts = Excerpts::of(&request, &Masker::new(&[secret]), 60);
        let problem = Problem {
            message: "odd".to_owned(),
            at: Position {
                file: name.into(),
                line: at.0,
                column: at.1,
                key: key.to_owned(),
            },
            help: Some("mend it".to_owned()),
        };
        excerpts.told([problem]).concat()
    }

    #[test]
    fn the_line_stands_between_what_is_wrong_and_what_helps() {
        let text = "a: 1\ntests:\n  - vasr: { n: 1 }\n";
        assert_eq!(
            told("c.yaml", text, (3, 5), "tests[0].vasr"),
            "c.yaml:3:5: tests[0].vasr: odd\n3 |   - vasr: { n: 1 }\n  |     ^\nhelp: mend it"
        );
    }

    #[test]
    fn problems_stand_in_the_order_of_their_files_and_each_is_told_once() {
        let request = LoadRequest {
            config_files: vec!["z.yaml".into(), "b.yaml".into()],
            ..LoadRequest::default()
        };
        let excerpts = Excerpts::of(&request, &Masker::new(&[]), 80);
        let places = [
            ("", 0, 0),
            ("a.csv", 1, 1),
            ("b.yaml", 1, 1),
            ("z.yaml", 12, 1),
            ("z.yaml", 2, 9),
            ("z.yaml", 2, 3),
            ("z.yaml", 2, 9),
        ];
        let problems = places.map(|(file, line, column)| Problem {
            message: "odd".to_owned(),
            at: Position {
                file: file.into(),
                line,
                column,
                key: String::new(),
            },
            help: None,
        });
        assert_eq!(
            excerpts.told(problems),
            [
                "z.yaml:2:3: odd",
                "z.yaml:2:9: odd",
                "z.yaml:12:1: odd",
                "b.yaml:1:1: odd",
                "a.csv:1:1: odd",
                "odd",
            ]
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_the_mark_stays_below_its_column() {
        let shown = |line: &str, column| excerpt(line, 7, column, 60);
        assert_eq!(shown("日本: \u{1b}[2Jx", 5), "7 | 日本: ␛[2Jx\n  |       ^");
        assert_eq!(shown("\ta\u{202e}b", 4), "7 |  a\u{fffd}b\n  |    ^");
        assert_eq!(shown("ab", 99), "7 | ab\n  |   ^");
        assert_eq!(shown("ab", 0), "7 | ab\n  | ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let line: String = ('a'..='z').cycle().take(1000).collect();
        for column in [1, 30, 500, 1000, 5000] {
            let shown = excerpt(&line, 1, column, 40);
            let (text, mark) = shown.split_once('\n').expect("two lines");
            assert_eq!(text.chars().count(), 39, "{shown}");
            let at = mark.chars().count() - 1;
            let meant = line.chars().nth(column as usize - 1);
            let under = text.chars().nth(at).filter(|c| *c != '…');
            assert!(under.is_none() || under == meant, "{shown}");
        }
    }

    #[test]
    fn secrets_and_strangers_rows_show_no_line() {
        let is_shown = |name, text, key| told(name, text, (1, 1), key).contains('|');
        assert!(is_shown("c.yaml", "a: 1", "a"));
        assert!(is_shown("promptfooconfig.json", "{}", ""));
        assert!(is_shown("lib/../grade.py", "a = 1", ""));
        for (name, text, key) in [
            (".env", "a: 1", "a"),
            (".hidden.yaml", "a: 1", "a"),
            ("rows.csv", "a,b", ""),
            ("rows.json", "{}", ""),
            ("rows.jsonl", "{}", ""),
            ("c.yaml", "a: 1", "env.X"),
            ("c.yaml", "a: 1", "providers[0].config.apiKey"),
            ("c.yaml", "p: { id: x, config: { api_key: sk-1 } }", "p"),
            ("c.yaml", "headers: { 'X-Auth' : y }", "headers"),
            ("c.yaml", "h: 'Authorization= y'", "h"),
            ("c.yaml", "h: Bearer abc", "h"),
            ("c.yaml", "h: s3cr3t-of-the-environment", "h"),
            ("c.yaml", "   ", "h"),
        ] {
            assert!(!is_shown(name, text, key), "{name}: {text}");
        }
    }

    #[test]
    fn a_file_that_was_not_read_shows_no_line_and_of_many_problems_the_first_do() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["read.yaml", "not.yaml"] {
            std::fs::write(folder.path().join(name), "a: 1").expect("a file");
        }
        let request = LoadRequest {
            cwd: folder.path().to_owned(),
            ..LoadRequest::default()
        };
        request.files_read.add(&folder.path().join("read.yaml"));
        let excerpts = Excerpts::of(&request, &Masker::new(&[]), 80);
        let problem = |file: &str, nth: u32| Problem {
            message: format!("odd {nth}"),
            at: Position {
                file: file.into(),
                line: 1,
                column: 1,
                key: String::new(),
            },
            help: None,
        };
        let told = excerpts.told([problem("not.yaml", 0)]);
        assert_eq!(told, ["not.yaml:1:1: odd 0"]);
        let told = excerpts.told((0..1000).map(|nth| problem("read.yaml", nth)));
        let shown = told.iter().filter(|text| text.contains('|'));
        assert_eq!(shown.count(), MAX_SHOWN);
    }
}
