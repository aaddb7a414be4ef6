//! Code that is no program of its language is told with the config, not by each of its rows.
//!
//! All texts that will run are gathered while the config is read, equal ones once, and handed over
//! together to what runs code ([`Scripts::mistakes`]); this crate reads no language. Texts that
//! templates will still change are left out: what will run is not known yet. A mistake is told where
//! it stands in the user's own file, as far as the code stands there as it is: where it was quoted or
//! folded away, the place of the code is told, and the line within it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elements::scan::{JAVASCRIPT, PYTHON, TYPED};
use crate::model::{CodeFile, CodeFiles, Findings, Position, Problem, TextOrigin};
use crate::read::files::{Files, MAX_TREE_FILE, has_extension};
use crate::scripts::{CodeForm, CodeText, Mistake, Scripts};

/// Most that texts of the config and its data may take to be read before the run, in bytes: a data
/// file may have another one in each row. The others are told when they run.
const MAX_KEPT: usize = 8 << 20;

/// Places of one text that are told.
const MAX_PLACES: usize = 8;

/// What a text takes beside its characters.
const BESIDE: usize = 256;

/// A text of the config itself, or of its data.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inline {
    pub(crate) language: String,
    pub(crate) text: String,
    pub(crate) form: CodeForm<'static>,
    pub(crate) is_outside: bool,
}

/// What code is called with that grades, or makes another output.
const OUTPUT: [&str; 2] = ["output", "context"];

/// The form of an assertion's text.
pub(crate) const GRADED: CodeForm<'static> = CodeForm::Graded { names: &OUTPUT };

/// The form of another text, by the key that holds it.
pub(crate) fn form_of(key: &str) -> CodeForm<'static> {
    match key.rsplit('.').next().unwrap_or(key) {
        "transform" | "contextTransform" | "postprocess" => CodeForm::Inline { names: &OUTPUT },
        "transformRequest" => CodeForm::Exchanged {
            names: &["prompt", "vars", "context"],
        },
        "transformResponse" | "responseTransform" | "responseParser" => CodeForm::Exchanged {
            names: &["json", "text", "context"],
        },
        _ => CodeForm::Inline { names: &[] },
    }
}

/// A file of code and what it imports.
#[derive(Debug)]
struct NamedFile {
    language: String,
    files: Arc<CodeFiles>,
    is_outside: bool,
    /// The file as the user would name it.
    shown: PathBuf,
    /// What names it.
    at: Position,
}

/// Code that will run, as it was read.
#[derive(Debug, Default)]
pub(crate) struct SyntaxBook {
    /// Each with its place in the order of reading, and where it stands first.
    texts: RefCell<HashMap<Inline, (usize, Vec<Position>)>>,
    files: RefCell<Vec<NamedFile>>,
    /// Those of the files.
    named: RefCell<HashSet<Arc<CodeFiles>>>,
    kept: Cell<usize>,
    /// How many texts there was no room for.
    left_out: Cell<usize>,
}

impl SyntaxBook {
    /// Notes a text that will run as it is.
    pub(crate) fn text(&self, text: Inline, at: &Position) {
        let mut texts = self.texts.borrow_mut();
        if let Some((_, places)) = texts.get_mut(&text) {
            if places.len() < MAX_PLACES {
                places.push(at.clone());
            }
            return;
        }
        let kept = self.kept.get() + text.text.len() + BESIDE;
        if kept > MAX_KEPT {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        self.kept.set(kept);
        let order = texts.len();
        texts.insert(text, (order, vec![at.clone()]));
    }

    /// Notes a file of code, with what it imports.
    pub(crate) fn files(
        &self,
        language: &str,
        files: &Arc<CodeFiles>,
        is_outside: bool,
        (shown, at): (&Path, &Position),
    ) {
        // Equal ones are one: thousands of providers may name the same file.
        if self.named.borrow_mut().insert(files.clone()) {
            self.files.borrow_mut().push(NamedFile {
                language: language.to_owned(),
                files: files.clone(),
                is_outside,
                shown: shown.to_owned(),
                at: at.clone(),
            });
        }
    }

    /// Reports what of it is no program.
    pub(crate) fn check(&self, scripts: &dyn Scripts, files: &Files, findings: &Findings) {
        let (texts, code_files) = (self.texts.borrow(), self.files.borrow());
        let mut inline: Vec<_> = texts.iter().collect();
        inline.sort_unstable_by_key(|(_, (order, _))| *order);
        let mut asked = Vec::new();
        let mut stands = Vec::new();
        for (text, (_, places)) in inline {
            asked.push(code_text(
                &text.language,
                text.form,
                &text.text,
                text.is_outside,
            ));
            stands.push(CodeSource::Inline { text, places });
        }
        let mut known = HashSet::new();
        for named in code_files.iter() {
            let all = [&named.files.main].into_iter().chain(&named.files.modules);
            for file in all.filter(|file| known.insert(named.files.place(&file.path))) {
                let form = CodeForm::File { path: &file.path };
                asked.push(code_text(
                    &named.language,
                    form,
                    &file.source,
                    named.is_outside,
                ));
                stands.push(CodeSource::File { named, file });
            }
        }
        if asked.is_empty() {
            return;
        }
        let mut sources = SourceTexts::of(files);
        for mistake in scripts.mistakes(&asked) {
            match stands.get(mistake.text) {
                None => {}
                Some(CodeSource::Inline { text, places }) => {
                    let problem = |at| text.problem(at, &mistake, &mut sources);
                    let problems = places.iter().map(problem);
                    problems.for_each(|problem| findings.problem(problem));
                }
                Some(CodeSource::File { named, file }) => {
                    findings.problem(named.problem(file, &mistake, &sources));
                }
            }
        }
        if self.left_out.get() > 0 {
            let count = self.left_out.get();
            scripts.note(&format!("{count} more texts were not read before the run"));
        }
    }
}

fn code_text<'a>(
    language: &'a str,
    form: CodeForm<'a>,
    source: &'a str,
    is_outside: bool,
) -> CodeText<'a> {
    CodeText {
        language,
        form,
        source,
        is_outside,
    }
}

/// Where a text is from.
enum CodeSource<'a> {
    Inline {
        text: &'a Inline,
        places: &'a [Position],
    },
    File {
        named: &'a NamedFile,
        file: &'a CodeFile,
    },
}

impl Inline {
    /// What is wrong with it, where it stands at `at`.
    fn problem(&self, at: &Position, mistake: &Mistake, sources: &mut SourceTexts<'_>) -> Problem {
        let Mistake { line, column, .. } = *mistake;
        let mut message = said(&self.language, &mistake.message);
        let mut at = at.clone();
        let found = sources
            .of_file(&at.file)
            .and_then(|source| place(source, &at, &self.text, (line, column)));
        if let Some(found) = found {
            (at.line, at.column) = found;
        } else if self.text.contains('\n') {
            message = format!("{message} (line {line} of the code)");
        }
        Problem {
            message,
            at,
            help: is_statement(&self.text).then(|| LINES.to_owned()),
        }
    }
}

impl NamedFile {
    /// What is wrong with `file`, which is it or what it imports.
    fn problem(&self, file: &CodeFile, mistake: &Mistake, sources: &SourceTexts<'_>) -> Problem {
        let shown = if file.path == self.files.main.path {
            self.shown.clone()
        } else {
            sources.shown(self.files.place(&file.path))
        };
        let is_typed = has_extension(Path::new(&file.path), &TYPED);
        let language = if is_typed {
            "TypeScript"
        } else {
            &*self.language
        };
        let Position { line, key, .. } = &self.at;
        Problem {
            message: said(language, &mistake.message),
            at: Position {
                file: shown,
                line: mistake.line,
                column: mistake.column.max(1),
                key: String::new(),
            },
            help: (*line > 0).then(|| format!("{}: {key} names it", self.at)),
        }
    }
}

/// What code of the config itself is, by its lines.
const LINES: &str =
    "one line is an expression; several lines are the body of a function, with `return`";

/// Whether a line is more than an expression, which is all that one line can be.
fn is_statement(text: &str) -> bool {
    let text = text.trim();
    !text.contains('\n') && (text.contains(';') || text.starts_with("return"))
}

/// What is wrong, as YAML says it of itself.
fn said(language: &str, message: &str) -> String {
    let language = match language {
        JAVASCRIPT => "JavaScript",
        PYTHON => "Python",
        other => other,
    };
    let message = message.strip_prefix("SyntaxError: ").unwrap_or(message);
    format!("not valid {language}: {message}")
}

/// The texts of the files in which code stands, each read once more.
struct SourceTexts<'a> {
    files: &'a Files,
    known: HashMap<PathBuf, Option<String>>,
}

impl<'a> SourceTexts<'a> {
    fn of(files: &'a Files) -> Self {
        Self {
            files,
            known: HashMap::new(),
        }
    }

    fn of_file(&mut self, path: &Path) -> Option<&str> {
        // It was read before, by the same right.
        let read = || {
            let file = self.files.permit_own(path, &TextOrigin::Config)?;
            self.files.read(&file, MAX_TREE_FILE).ok()
        };
        let known = self.known.entry(path.to_owned()).or_insert_with(read);
        known.as_deref()
    }

    /// A path as the user would write it.
    fn shown(&self, path: PathBuf) -> PathBuf {
        match path.strip_prefix(&self.files.cwd) {
            Ok(inside) => inside.to_owned(),
            Err(_) => path,
        }
    }
}

/// Where a place of code is in the file that holds the code at `at`, if it stands there as it is: on
/// the line of its beginning, or on the lines below that of a block. Which of the two it is shows in
/// where its first words stand.
fn place(source: &str, at: &Position, code: &str, within: (u32, u32)) -> Option<(u32, u32)> {
    let (line, column) = within;
    let index = line.checked_sub(1)? as usize;
    let written = code.lines().nth(index)?;
    let first = code.lines().position(|line| !line.trim().is_empty())?;
    let stands = |below: usize, index: usize| {
        let own = code.lines().nth(index)?.trim();
        let number = (at.line as usize).checked_sub(1)? + below + index;
        let text = source.lines().nth(number)?;
        // Before its beginning stands its key, or another cell.
        let before = match (below, index) {
            (0, 0) => at.column.saturating_sub(1) as usize,
            _ => 0,
        };
        let (from, _) = text.char_indices().nth(before)?;
        let found = from + text[from..].find(own)?;
        let start = text[..found].chars().count();
        (!own.is_empty()).then_some((number as u32 + 1, start as u32 + 1))
    };
    let below = [0, 1]
        .into_iter()
        .find(|below| stands(*below, first).is_some())?;
    let (number, start) = stands(below, index)?;
    let indent = written.chars().take_while(|c| c.is_whitespace()).count() as u32;
    Some((
        number,
        start + column.saturating_sub(1).saturating_sub(indent),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_code_is_found_in_its_file() {
        type LineAndColumn = (u32, u32);
        let at = |line, column| Position {
            line,
            column,
            ..Position::default()
        };
        let cases: [(
            &str,
            LineAndColumn,
            &str,
            LineAndColumn,
            Option<LineAndColumn>,
        ); 8] = [
            ("value: a + ;", (1, 8), "a + ;", (1, 5), Some((1, 12))),
            ("value: 'a + ;'", (1, 8), "a + ;", (1, 5), Some((1, 13))),
            (
                "- value: |  # why\n    let a = 1;\n      return b +;\n",
                (1, 10),
                "let a = 1;\n  return b +;\n",
                (2, 13),
                Some((3, 17)),
            ),
            (
                "x,\"javascript: f( \"\nb",
                (1, 3),
                "f(",
                (1, 3),
                Some((1, 18)),
            ),
            // What was escaped or folded stands nowhere.
            ("value: 'a(''b'')'", (1, 8), "a('b')", (1, 2), None),
            ("v: >\n  a\n  b\n", (1, 4), "a b", (1, 2), None),
            ("value: a", (0, 0), "a", (1, 1), None),
            ("value: a", (1, 8), "a", (3, 1), None),
        ];
        for (source, (line, column), code, within, expected) in cases {
            let found = place(source, &at(line, column), code, within);
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn equal_texts_are_kept_once_and_all_of_them_are_bounded() {
        let book = SyntaxBook::default();
        let text = |text: String| Inline {
            language: "javascript".to_owned(),
            text,
            form: GRADED,
            is_outside: false,
        };
        for row in 0..100_000 {
            book.text(text(format!("output > {}", row % 7)), &Position::default());
        }
        assert_eq!(book.texts.borrow().len(), 7);
        for row in 0..100_000 {
            book.text(text(format!("output > {row}")), &Position::default());
        }
        let kept = book.texts.borrow().len();
        assert!(kept < MAX_KEPT / BESIDE, "{kept}");
        assert_eq!(book.left_out.get(), 100_000 - kept);
    }
}
