//! `prompts`: texts, objects, maps of paths to labels, files.
//!
//! A single line is taken for a path by promptfoo's rule: `file://`, a known extension, a dot
//! third or fourth from the end, or one of `*`, `/`, `\`. Unlike there, a line that only looks
//! like a path, names no file and has a space or a template in it is a prompt: `and/or` is not
//! a folder.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::process::{self, Settings};
use super::programs::program;
use super::reading::{Document, Reading};
use super::{code, test_options};
use crate::environment;
use crate::model::{Code, Position, Script, TextOrigin};
use crate::plan::{Prompt, weight};
use crate::read::entry::Entry;
use crate::read::files::{has_extension, is_pattern, names_file, without_scheme};
use crate::several::{self, ContentDigest, MergedList, Repeated};
use crate::template::{Piece, Prepared, excerpt, pieces};

mod file;

/// Extensions that make a line a path whatever else it holds.
const KNOWN_EXTENSIONS: [&str; 9] = [
    "csv", "j2", "json", "jsonl", "md", "txt", "yaml", "yml", "xlsx",
];

/// Prefixes of places that prompts can't come from.
const UNSUPPORTED_PREFIXES: [&str; 6] = [
    "langfuse://",
    "portkey://",
    "helicone://",
    "package:",
    "http://",
    "https://",
];

/// A text on its way to a prompt.
struct PromptDraft {
    raw: String,
    label: String,
    at: Position,
}

/// Reads the key of every config, at least one. Without it there is the one prompt `{{prompt}}`.
pub(crate) fn read(documents: &[Document<'_>]) -> Vec<Arc<Prompt>> {
    let Document { root, reading } = &documents[0];
    let mut written = documents
        .iter()
        .filter_map(|document| Some((document.root.get("prompts")?, document.reading)))
        .peekable();
    let Some((first, _)) = written.peek() else {
        let at = Position {
            key: "prompts".to_owned(),
            ..root.at()
        };
        let (raw, label) = ("{{prompt}}".to_owned(), "{{prompt}}".to_owned());
        let reader = PromptReader::new(*reading);
        return reader
            .finish(PromptDraft { raw, label, at }, None, &TextOrigin::Config)
            .into_iter()
            .collect();
    };
    let at = first.at();
    let mut prompts = MergedList::new();
    for (entry, reading) in written {
        let more = PromptReader::new(reading).key(&entry);
        prompts.add(more, reading.findings);
    }
    let prompts = prompts.into_all();
    if prompts.is_empty() && reading.findings.is_clean() {
        reading.findings.error_help(
            at,
            "there are no prompts",
            "write at least one, for example: prompts: [\"{{question}}\"]",
        );
    }
    prompts
}

/// A prompt of the program's own, on behalf of what stands at `at`.
pub(crate) fn own(
    raw: &str,
    label: &str,
    at: Position,
    reading: Reading<'_>,
) -> Option<Arc<Prompt>> {
    let (raw, label) = (raw.to_owned(), label.to_owned());
    let draft = PromptDraft { raw, label, at };
    PromptReader::new(reading).finish(draft, None, &TextOrigin::Config)
}

impl Repeated for Arc<Prompt> {
    fn digest(&self) -> ContentDigest {
        let config = self.config.as_ref().map(several::in_order);
        ContentDigest::of(&(&self.label, &self.raw, config))
    }

    fn name(&self) -> String {
        format!("the prompt '{}'", excerpt(&self.label))
    }

    fn at(&self) -> &Position {
        &self.at
    }
}

/// Whether a map is one prompt rather than a map of paths.
fn is_object(entry: &Entry<'_>) -> bool {
    ["raw", "id", "label"]
        .iter()
        .any(|key| entry.get(key).is_some())
}

struct PromptReader<'a> {
    reading: Reading<'a>,
    /// Whether values in a JSON prompt are escaped.
    escapes: bool,
}

impl<'a> PromptReader<'a> {
    fn new(reading: Reading<'a>) -> Self {
        let variable = environment::DISABLE_JSON_AUTOESCAPE;
        Self {
            reading,
            escapes: !environment::flag(reading.process, variable, reading.findings),
        }
    }

    /// The whole key of one config.
    fn key(&self, entry: &Entry<'_>) -> Vec<Arc<Prompt>> {
        let mut prompts = Vec::new();
        if entry.is_list() {
            let mut seen = HashSet::new();
            for item in entry.items() {
                let text = item.text_as_written().unwrap_or_default();
                if !text.is_empty() && !seen.insert(text.to_owned()) {
                    let message = "the same prompt stands above: it is used once";
                    self.reading.findings.warn(item.at(), message, None);
                    continue;
                }
                self.one(&item, &mut prompts);
            }
        } else if entry.is_map() && !is_object(entry) {
            for (path, label) in entry.fields() {
                let label = label.want_text(self.reading.findings);
                let named = (path, &entry.at(), entry.origin);
                self.source(named, label.as_deref(), None, &mut prompts);
            }
        } else {
            self.one(entry, &mut prompts);
        }
        prompts
    }

    /// Reads one item of the list.
    fn one(&self, entry: &Entry<'_>, prompts: &mut Vec<Arc<Prompt>>) {
        let findings = self.reading.findings;
        if let Some(text) = entry.text_as_written() {
            return self.source((text, &entry.at(), entry.origin), None, None, prompts);
        }
        if !entry.is_map() {
            return entry.mismatch(findings, "text or a map with `raw` or `id`");
        }
        entry.report_unknown(findings, &["id", "raw", "label", "config", "display"]);
        let Some(source) = entry.get("raw").or_else(|| entry.get("id")) else {
            return findings.error_help(
                entry.at(),
                "has neither `raw` nor `id`",
                "raw: the text, or id: file://path",
            );
        };
        let Some(text) = source.text_as_written() else {
            return source.mismatch(findings, "text");
        };
        if let (None, Some(file)) = (entry.get("raw"), entry.get("file")) {
            let path = file.text_as_written().unwrap_or("path");
            return findings.error_help(
                file.at(),
                format!("a prompt has no `file`: its text would be '{text}'"),
                format!("label: {text}, and id: file://{}", without_scheme(path)),
            );
        }
        let label = entry.get("label").or_else(|| entry.get("display"));
        let id = entry.get("raw").and_then(|_| entry.get("id"));
        let id = id.and_then(|id| id.want_text(findings));
        let label = label.and_then(|label| label.want_text(findings));
        let label = label.or_else(|| id.clone());
        let config = entry.get("config").and_then(|config| {
            test_options::refuse_provider_keys(&config, findings);
            test_options::ask_for_steering(&config, findings);
            config.want_map(findings)
        });
        let named = (text, &source.at(), source.origin);
        let begin = prompts.len();
        self.source(named, label.as_deref(), config.as_ref(), prompts);
        for prompt in prompts[begin..].iter_mut().filter_map(Arc::get_mut) {
            prompt.own_id.clone_from(&id);
        }
    }

    /// Reads a text, given with where it stands and who wrote it, or the file or files that it names.
    fn source(
        &self,
        (text, at, origin): (&str, &Position, &TextOrigin),
        label: Option<&str>,
        config: Option<&Map<String, Value>>,
        prompts: &mut Vec<Arc<Prompt>>,
    ) {
        let findings = self.reading.findings;
        if findings.has_stopped() {
            return;
        }
        if let Some(prefix) = UNSUPPORTED_PREFIXES
            .iter()
            .find(|prefix| text.starts_with(**prefix))
        {
            let message = format!("prompts from '{prefix}' are not supported yet");
            return findings.error_help(
                at.clone(),
                message,
                "write the text, or save it as a file",
            );
        }
        if let Some(line) = text.strip_prefix("exec:") {
            let script = self.command(line.trim(), at, origin);
            let prompt = script.map(|script| self.function(line.trim(), label, config, script, at));
            return self.keep(prompt, prompts);
        }
        if !self.is_path(text, at, origin) {
            let label = label.unwrap_or(text).to_owned();
            let draft = PromptDraft {
                raw: text.to_owned(),
                label,
                at: at.clone(),
            };
            return self.keep(self.finish(draft, config, origin), prompts);
        }
        if program(text).is_some() {
            let script = code::file(text, at, origin, self.reading);
            let prompt = script.map(|script| self.function(text, label, config, script, at));
            return self.keep(prompt, prompts);
        }
        let named = (at, origin, findings);
        match self.reading.files.expand(text, named) {
            Err(reason) => findings.error(at.clone(), format!("'{text}' {reason}")),
            Ok(paths) => {
                for path in paths {
                    let drafts = file::read(&path, label, (at, origin), self.reading);
                    for draft in drafts {
                        self.keep(self.finish(draft, config, origin), prompts);
                    }
                }
            }
        }
    }

    /// Adds a prompt, unless all of them would take too much: one file may be named for many.
    fn keep(&self, prompt: Option<Arc<Prompt>>, prompts: &mut Vec<Arc<Prompt>>) {
        let Some(prompt) = prompt else { return };
        let Reading {
            files, findings, ..
        } = self.reading;
        if files.read.count_prompt(weight::of_prompt(&prompt)) > weight::MAX_PROMPTS {
            let max = weight::MAX_PROMPTS >> 20;
            let message = format!("the prompts take more than {max} MiB of memory");
            let help = "what is large may be a variable; a file counts each time that it is named";
            return findings.stop(prompt.at.clone(), message, help);
        }
        prompts.push(prompt);
    }

    /// A command that prints the prompt. A name that is a file's in the config's folder is that file; what a
    /// link leads to outside is not looked at.
    fn command(&self, line: &str, at: &Position, origin: &TextOrigin) -> Option<Arc<Script>> {
        let name = line.split_whitespace().next().unwrap_or_default();
        let files = self.reading.files;
        let is_own = || files.beyond(&files.shown(name), origin).is_none();
        let is_here = !name.contains('/') && is_own() && files.absolute(name).is_file();
        let line = format!("{}{line}", if is_here { "./" } else { "" });
        let process = process::command(&line, &Settings::default(), (origin, at), self.reading)?;
        Some(Arc::new(Script {
            language: "exec".to_owned(),
            key: at.key.clone(),
            code: Code::Inline { text: line },
            process: Some(process),
            sends: false,
        }))
    }

    /// A prompt that a function makes. `raw` is its file, for the results.
    fn function(
        &self,
        text: &str,
        label: Option<&str>,
        config: Option<&Map<String, Value>>,
        script: Arc<Script>,
        at: &Position,
    ) -> Arc<Prompt> {
        let label = label.unwrap_or(without_scheme(text)).to_owned();
        let raw = match &script.code {
            Code::File { files, .. } => files.main.source.clone(),
            Code::Inline { text } => text.clone(),
        };
        Arc::new(Prompt {
            id: id(&label, self.reading),
            own_id: None,
            label,
            raw,
            code: Some(script),
            config: config.cloned(),
            at: at.clone(),
            prepared: Arc::new(Prepared::new("", None).expect("no text is no broken template")),
            affixed: Arc::default(),
            escapes: self.escapes,
            env: self.reading.declared.visible(at).clone(),
            of_data: false,
        })
    }

    /// The rule of the module's head.
    fn is_path(&self, text: &str, at: &Position, origin: &TextOrigin) -> bool {
        if text.contains('\n') || text.trim().is_empty() {
            return false;
        }
        if names_file(text) {
            return true;
        }
        let path = Path::new(text);
        if program(text).is_some() && !text.contains(' ') || has_extension(path, &KNOWN_EXTENSIONS)
        {
            return true;
        }
        let from_end = |index: usize| text.chars().rev().nth(index) == Some('.');
        let looks = from_end(2) || from_end(3) || text.contains(['*', '/', '\\']);
        if !looks {
            return false;
        }
        let (files, findings) = (self.reading.files, self.reading.findings);
        let in_words = text.contains([' ', '{']);
        if in_words && files.beyond(&files.shown(text), origin).is_some() {
            // Whether there is such a file is not looked up for a sentence.
            return false;
        }
        if is_pattern(text) {
            return files.expand(text, (at, origin, findings)).is_ok();
        }
        !in_words || files.absolute(text).is_file()
    }

    /// Compiles a text; what is wrong with it is reported.
    fn finish(
        &self,
        draft: PromptDraft,
        config: Option<&Map<String, Value>>,
        origin: &TextOrigin,
    ) -> Option<Arc<Prompt>> {
        let PromptDraft { raw, label, at } = draft;
        let of_data = origin.is_data();
        let env = (!of_data).then(|| self.reading.declared.visible(&at));
        let prepare = if self.escapes {
            Prepared::new
        } else {
            Prepared::unescaped
        };
        let prepared = prepare(&raw, env);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                let help =
                    "text that is not meant as a template goes between {% raw %} and {% endraw %}";
                self.reading
                    .findings
                    .error_help(at, error.to_string(), help);
                return None;
            }
        };
        if pieces(&raw).any(|piece| piece == Piece::Stray("{{")) {
            let message = "a `{{` is never closed: it is text, and no variable";
            let help = "write {{name}}; where it is meant as text, {% raw %}{{{% endraw %}";
            let findings = self.reading.findings;
            findings.warn(at.clone(), message, Some(help.to_owned()));
        }
        for template in prepared.templates() {
            let filters = self.reading.filters;
            filters.check(template, &at, self.reading.findings);
        }
        // What rows say is filled in without `env`.
        let reads_env = || prepared.templates().into_iter().filter(|_| !of_data);
        for template in reads_env() {
            let findings = self.reading.findings;
            self.reading.declared.note_reads(template, &at, findings);
        }
        // Texts of the config itself were checked when it was filled in.
        if at.file != self.reading.config {
            for template in reads_env() {
                self.reading
                    .declared
                    .check(template, &at, self.reading.findings);
            }
        }
        let id = id(&label, self.reading);
        let env = env.cloned().unwrap_or_default();
        let prepared = Arc::new(prepared);
        Some(Arc::new(Prompt {
            own_id: None,
            id,
            label,
            raw,
            code: None,
            config: config.cloned(),
            at,
            prepared,
            affixed: Arc::default(),
            escapes: self.escapes,
            env,
            of_data,
        }))
    }
}

/// The id of the prompt with this label. It is kept, so it is no digest of a secret.
fn id(label: &str, reading: Reading<'_>) -> String {
    HEXLOWER.encode(&Sha256::digest(reading.declared.hide(label)))
}

#[cfg(test)]
mod tests;
