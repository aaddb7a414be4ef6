//! Finding and reading a config, as far as its plugins need it.
//!
//! Two steps, because what a config may name depends on which plugins there are, and which
//! plugins there are stands in the config: [`load`] reads the files, `env` and `plugins`;
//! [`Config::plan`](crate::Config::plan), in `planning`, the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::elements::plugins::{self, PluginEntry};
use crate::elements::process;
use crate::elements::reading::Runtime;
use crate::fill::Declared;
use crate::model::{
    Agreements, CodePlace, Findings, LoadError, Position, Strictness, TextOrigin, TrustRequest,
    Warning,
};
use crate::overrides::Overrides;
use crate::read::entry::Entry;
use crate::read::files::{FileContents, Files, FilesRead};
use crate::read::node::{Key, Kind, Mark, Node};
use crate::read::references;
use crate::redacted::redacted;
use crate::several;

mod find;
mod given;
mod program;

pub use find::DEFAULT_NAMES;
pub use program::Interpreters;

/// Which config to read, and the world around it.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The files, folders and patterns that the user named, which become one config (see the
    /// README); none: one of [`DEFAULT_NAMES`] in `cwd`.
    pub config_files: Vec<PathBuf>,
    /// The current folder, absolute.
    pub cwd: PathBuf,
    /// The process's environment, `--env-file` included.
    pub env: BTreeMap<String, String>,
    /// What flags say.
    pub overrides: Overrides,
    /// Where every file that is read is noted, also when the config turns out to be wrong.
    pub files_read: FilesRead,
    /// What may be read beyond the config's rights.
    pub agreements: Agreements,
    /// The folder of the components that were added to this machine.
    pub added_plugins: Option<PathBuf>,
}

impl LoadRequest {
    /// The folders of the files; the current folder without any. Absolute, in no order.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let files = find::files(self).unwrap_or_default();
        if files.is_empty() {
            return [self.cwd.clone()].into();
        }
        let folder = |file: &PathBuf| {
            let path = self.cwd.join(file);
            path.parent().unwrap_or(&self.cwd).to_owned()
        };
        files.iter().map(folder).collect()
    }

    /// Whether a config is a program, which only [`load_with`] reads.
    pub fn has_programs(&self) -> bool {
        let files = find::files(self).unwrap_or_default();
        files.iter().any(|path| program::is_program(path))
    }
}

/// A config whose plugins are known, and nothing else checked yet.
pub struct Config {
    /// The (first) file, as the user would write it.
    pub path: PathBuf,
    /// Its files, absolute, in the order named; none where flags say enough.
    pub files: Vec<PathBuf>,
    /// `plugins`, in the order written.
    pub plugins: Vec<PluginEntry>,
    /// `env`, templates rendered; may hold secrets.
    pub env: Map<String, Value>,
    /// At least one, in the order named.
    pub(crate) sources: Vec<Source>,
    /// The hosts that `plugins` grants to its own code, by language.
    pub(crate) granted_code: BTreeMap<String, Vec<String>>,
    pub(crate) declared: Declared,
    pub(crate) process: BTreeMap<String, String>,
    pub(crate) agreements: Agreements,
    /// What its files asked for while they were read.
    pub(crate) trust_requests: Vec<TrustRequest>,
    pub(crate) overrides: Overrides,
    /// How it takes keys that nothing reads.
    pub(crate) strictness: Strictness,
    /// The files as JSON, environment templates unrendered, secrets left out.
    pub(crate) json: Value,
}

impl Config {
    /// What it asks for so far that is not agreed to.
    pub fn not_agreed(&self) -> Vec<TrustRequest> {
        let requests = self.trust_requests.iter();
        let open = requests.filter(|request| !self.agreements.cover(request));
        open.cloned().collect()
    }
}

/// Shows no values: `env` may hold secrets.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}

/// One file of a config.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) root: Node,
    pub(crate) files: Files,
    /// Who wrote it. In data nothing is a template.
    pub(crate) origin: TextOrigin,
    /// Where it ran, if it is a program.
    pub(crate) places: Vec<CodePlace>,
}

impl Source {
    /// A source in the same place, of what hooks made of words of this origin.
    pub(crate) fn made(&self, mut fields: Vec<(Key, Node)>, origin: TextOrigin) -> Self {
        let mark = self.root.mark;
        if let Kind::Map(own) = &self.root.kind {
            fields.extend(own.iter().find(|(key, _)| &*key.name == "runtime").cloned());
        }
        Self {
            path: self.path.clone(),
            root: Node {
                kind: Kind::Map(fields),
                mark,
            },
            files: self.files.clone(),
            origin,
            places: Vec::new(),
        }
    }

    /// Where its code is to run, if it says so.
    pub(crate) fn runtime(&self) -> Option<Runtime> {
        let runtime = Entry::root(&self.root, &self.path, &self.origin).get("runtime")?;
        process::known(runtime.text()?)
    }
}

/// Reads a config's files, `env` and `plugins`; gives what is odd about them, too. A file that is a
/// program is an error; see [`load_with`].
///
/// # Errors
/// When there is no config, it can't be read, its `env` or `plugins` are wrong, or it asks to read
/// what is not agreed to.
pub fn load(request: &LoadRequest) -> Result<(Config, Vec<Warning>), LoadError> {
    load_by(request, None)
}

/// Reads a config's files, `env` and `plugins`, with what runs configs that are programs.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    request: &LoadRequest,
    interpreters: Interpreters<'_>,
) -> Result<(Config, Vec<Warning>), LoadError> {
    load_by(request, Some(interpreters))
}

fn load_by(
    request: &LoadRequest,
    interpreters: Option<Interpreters<'_>>,
) -> Result<(Config, Vec<Warning>), LoadError> {
    request.files_read.begin();
    let findings = Findings::new(request.agreements.clone(), Vec::new());
    let config = read(request, interpreters, &findings);
    let requests = findings.take_trust_requests();
    let declared = config.as_ref().map(|config| config.declared.clone());
    let found = declared
        .unwrap_or_default()
        .without_secrets(findings.found())?;
    let (config, warnings) = found.unless_wrong(config)?;
    let mut config = config.expect("a file that can't be read was reported");
    config.trust_requests = requests;
    Ok((config, warnings))
}

/// Reads the config; `None` if a file of it can't be read.
fn read(
    request: &LoadRequest,
    interpreters: Option<Interpreters<'_>>,
    findings: &Findings,
) -> Option<Config> {
    let paths = find::files(request).map_err(|problem| findings.problem(problem));
    let paths = paths.ok()?;
    let files = paths.iter().map(|path| request.cwd.join(path)).collect();
    let given = &request.overrides.given;
    findings.take_keys(request.overrides.strictness.unwrap_or_default());
    let sources = paths
        .into_iter()
        .map(|path| source(path, request, interpreters, findings));
    let sources: Vec<Option<Source>> = sources.collect();
    let sources: Option<Vec<Source>> = sources.into_iter().collect();
    let made = given.sources(request, findings);
    let (mut sources, made) = (sources?, made?);
    let strictness = strictness(&sources, &request.overrides, findings);
    findings.take_keys(strictness);
    let replaced = given.replaced();
    for Source { root, .. } in &mut sources {
        if let Kind::Map(fields) = &mut root.kind {
            fields.retain(|(key, _)| !replaced.contains(&&*key.name));
        }
    }
    sources.extend(made);
    let as_written = sources.iter().map(|source| source.root.json_as_written());
    let mut json = redacted(several::merged_json(as_written));
    if !given.providers.is_empty() {
        json["providers"] = given::names(&given.providers);
    }
    let declared = sources
        .iter()
        .map(|source| {
            let root = Entry::root(&source.root, &source.path, &source.origin);
            Declared::read(&root, &request.env, findings)
        })
        .reduce(Declared::and)
        .unwrap_or_default()
        .opened(findings);
    let plugins = read_plugins(&mut sources, (&declared, request), findings);
    Some(Config {
        path: sources[0].path.clone(),
        files,
        granted_code: plugins::granted_code(&plugins),
        plugins,
        env: declared.settings(),
        sources,
        declared,
        process: request.env.clone(),
        agreements: request.agreements.clone(),
        trust_requests: Vec::new(),
        overrides: request.overrides.clone(),
        strictness,
        json,
    })
}

/// What the flag says, else the last file that has `strict`.
fn strictness(sources: &[Source], flags: &Overrides, findings: &Findings) -> Strictness {
    let said = sources.iter().filter_map(|source| {
        let root = Entry::root(&source.root, &source.path, &source.origin);
        root.get("strict")?.want_bool(findings)
    });
    let said = said.last().map(|is_strict| {
        if is_strict {
            Strictness::Strict
        } else {
            Strictness::Lenient
        }
    });
    flags.strictness.or(said).unwrap_or_default()
}

/// `plugins` of every file that is no data, which have `env` filled in before that.
fn read_plugins(
    sources: &mut [Source],
    (declared, request): (&Declared, &LoadRequest),
    findings: &Findings,
) -> Vec<PluginEntry> {
    let mut plugins = Vec::new();
    for Source {
        path,
        root,
        files,
        origin,
        ..
    } in sources.iter_mut().filter(|source| !source.origin.is_data())
    {
        if !declared.fill_config(root, path, findings) {
            continue;
        }
        let more = plugins::read(
            &Entry::root(root, path, origin),
            (files, request.added_plugins.as_deref()),
            findings,
        );
        plugins::add(&mut plugins, more);
    }
    plugins
}

/// One file; `None` if it was reported.
fn source(
    path: PathBuf,
    request: &LoadRequest,
    interpreters: Option<Interpreters<'_>>,
    findings: &Findings,
) -> Option<Source> {
    let base = path.parent().map(Path::to_owned).unwrap_or_default();
    let files = Files::new(request.cwd.clone(), base, request.files_read.clone());
    let whole = Position {
        file: path.clone(),
        ..Position::default()
    };
    // A config that nobody named was put there by whoever made the folder: it may be a link.
    let named_by = if request.config_files.contains(&path) {
        TextOrigin::Person
    } else {
        TextOrigin::Config
    };
    let (mut root, places) = if program::is_program(&path) {
        program::tree(&path, &files, request, interpreters, findings)?
    } else {
        let root = files.tree(&path, &whole, &named_by, findings)?;
        (root, Vec::new())
    };
    references::resolve(
        &mut root,
        (FileContents::Config, &path),
        &TextOrigin::Config,
        &files,
        findings,
    );
    if !matches!(root.kind, Kind::Map(_)) {
        let Mark { line, column } = root.mark;
        let what = Entry::root(&root, &path, &TextOrigin::Config).what();
        let message =
            format!("a config is a map with `prompts`, `providers` and `tests`, not {what}");
        let at = Position {
            line,
            column,
            ..whole
        };
        findings.error(at, message);
        return None;
    }
    Some(Source {
        path,
        root,
        files,
        origin: TextOrigin::Config,
        places,
    })
}

#[cfg(test)]
mod tests;
