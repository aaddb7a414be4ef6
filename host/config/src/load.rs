//! Finding and reading a config, as far as its plugins need it.
//!
//! Two steps, because what a config may name depends on which plugins there are, and which
//! plugins there are stands in the config: [`load`] reads the file, `env` and `plugins`;
//! [`Config::plan`](crate::Config::plan), in `planning`, the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::elements::plugins::{self, PluginEntry};
use crate::entry::Entry;
use crate::files::{Files, has_extension};
use crate::fill::Declared;
use crate::node::{Kind, Mark, Node};
use crate::plan::Position;
use crate::problem::{ConfigError, Findings, Problem, Warning};
use crate::redacted::redacted;

/// Names that a folder's config may have, in the order of looking.
pub const DEFAULT_NAMES: [&str; 3] = [
    "promptfooconfig.yaml",
    "promptfooconfig.yml",
    "promptfooconfig.json",
];

/// Names that promptfoo would take, too, but which are programs.
const PROGRAM_NAMES: [&str; 6] = [
    "promptfooconfig.cjs",
    "promptfooconfig.cts",
    "promptfooconfig.js",
    "promptfooconfig.mjs",
    "promptfooconfig.mts",
    "promptfooconfig.ts",
];

/// Which config to read, and the world around it.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The files that the user named; none: one of [`DEFAULT_NAMES`] in `cwd`.
    pub config_files: Vec<PathBuf>,
    /// The current folder, absolute.
    pub cwd: PathBuf,
    /// The process's environment, `--env-file` included.
    pub env: BTreeMap<String, String>,
    /// What flags say.
    pub overrides: Overrides,
}

/// What flags say; each wins over the config.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `-j`: cases in flight at once, ≥ 1.
    pub max_concurrency: Option<usize>,
    /// `--repeat`: how often each test is run, ≥ 1.
    pub repeat: Option<u32>,
    /// `--delay`: pause after each call, in ms; 0: none.
    pub delay_ms: Option<u64>,
    /// Time a case may work, in ms; 0: no limit.
    pub case_timeout_ms: Option<u64>,
    /// Time the run may take, in ms; 0: no limit.
    pub run_timeout_ms: Option<u64>,
    /// `-o`: replaces the config's `outputPath`.
    pub output_paths: Vec<PathBuf>,
    /// `--description`.
    pub description: Option<String>,
    /// `--var key=value`: under the variables of every test, over those of `defaultTest`.
    pub vars: Map<String, Value>,
}

/// A config that was read.
#[derive(Debug)]
pub struct Loaded {
    /// The config.
    pub config: Config,
    /// What is odd about what was read so far.
    pub warnings: Vec<Warning>,
}

/// A config whose plugins are known, and nothing else checked yet.
pub struct Config {
    /// The file, as the user would write it.
    pub path: PathBuf,
    /// `plugins`, in the order written.
    pub plugins: Vec<PluginEntry>,
    /// `env`, templates rendered; may hold secrets.
    pub env: Map<String, Value>,
    pub(crate) root: Node,
    pub(crate) declared: Declared,
    pub(crate) files: Files,
    pub(crate) process: BTreeMap<String, String>,
    pub(crate) overrides: Overrides,
    /// The file as JSON, environment templates unrendered, secrets left out.
    pub(crate) json: Value,
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

/// Reads a config's file, `env` and `plugins`.
///
/// # Errors
/// When there is no config, it can't be read, or its `env` or `plugins` are wrong.
pub fn load(request: &LoadRequest) -> Result<Loaded, ConfigError> {
    let path = find(request).map_err(|problem| ConfigError {
        problems: vec![problem],
    })?;
    let base = path.parent().map(Path::to_owned).unwrap_or_default();
    let files = Files {
        cwd: request.cwd.clone(),
        base,
    };
    let findings = Findings::default();
    let whole = Position {
        file: path.clone(),
        ..Position::default()
    };
    let Some(mut root) = files.tree(&path, &whole, &findings) else {
        return Err(findings
            .verdict(())
            .expect_err("a file without a tree was reported"));
    };
    if !matches!(root.kind, Kind::Map(_)) {
        let Mark { line, column } = root.mark;
        let entry = Entry::root(&root, &path);
        let message = format!(
            "a config is a map with `prompts`, `providers` and `tests`, not {}",
            entry.what()
        );
        findings.error(
            Position {
                line,
                column,
                ..whole
            },
            message,
        );
        return Err(findings.verdict(()).expect_err("this was reported"));
    }
    let json = redacted(root.json_as_written());
    let declared = Declared::read(&Entry::root(&root, &path), &request.env, &findings);
    declared.fill(&mut root, &path, &findings);
    let plugins = plugins::read(&Entry::root(&root, &path), &files, &findings);
    let config = Config {
        path,
        plugins,
        env: (*declared.values).clone(),
        root,
        declared,
        files,
        process: request.env.clone(),
        overrides: request.overrides.clone(),
        json,
    };
    let (config, warnings) = findings.verdict(config)?;
    Ok(Loaded { config, warnings })
}

/// The config's file.
fn find(request: &LoadRequest) -> Result<PathBuf, Problem> {
    let problem = |file: PathBuf, message: &str, help: &str| Problem {
        message: message.to_owned(),
        at: Position {
            file,
            ..Position::default()
        },
        help: Some(help.to_owned()),
    };
    let in_cwd = |name: &&str| request.cwd.join(name).is_file();
    match request.config_files.as_slice() {
        [] => match DEFAULT_NAMES.into_iter().find(in_cwd) {
            Some(name) => Ok(PathBuf::from(name)),
            None => Err(match PROGRAM_NAMES.into_iter().find(in_cwd) {
                Some(name) => program(PathBuf::from(name)),
                None => problem(
                    PathBuf::new(),
                    "there is no promptfooconfig.yaml here",
                    "name a config with -c, or run in a folder that has one",
                ),
            }),
        },
        [file] if has_extension(file, &["js", "cjs", "mjs", "ts", "cts", "mts"]) => {
            Err(program(file.clone()))
        }
        [file] if request.cwd.join(file).is_dir() => {
            let name = DEFAULT_NAMES
                .into_iter()
                .map(|name| file.join(name))
                .find(|name| request.cwd.join(name).is_file());
            name.ok_or_else(|| {
                problem(
                    file.clone(),
                    "the folder has no promptfooconfig.yaml",
                    "name the config itself",
                )
            })
        }
        [file] => Ok(file.clone()),
        [_, second, ..] => Err(problem(
            second.clone(),
            "several configs in one run are not supported yet",
            "run each by itself, or put shared parts into files that both name",
        )),
    }
}

fn program(file: PathBuf) -> Problem {
    Problem {
        message: "a config written as a program is not supported".to_owned(),
        at: Position {
            file,
            ..Position::default()
        },
        help: Some("write it as YAML or JSON; code in a config never runs in the host".to_owned()),
    }
}

#[cfg(test)]
mod tests;
