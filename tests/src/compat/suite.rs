//! The folder of configs and what is kept beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::rows::{Difference, Said};
use super::server::Server;
use crate::run::{Run, workspace_root};

/// The first line of a config that wants arguments on the command line.
const ARGUMENTS: &str = "# args:";

/// One config.
#[derive(Debug, Clone)]
pub struct Config {
    /// `GROUP/NAME`, without the ending.
    pub name: String,
    /// Its file.
    path: PathBuf,
    /// What `eval` is given besides.
    arguments: Vec<String>,
}

/// All configs, what promptfoo said of them, and where the program says otherwise.
#[derive(Debug)]
pub struct Suite {
    folder: PathBuf,
    /// Sorted by name.
    pub configs: Vec<Config>,
    verdicts: BTreeMap<String, Said>,
    differences: Vec<Value>,
    pending: Map<String, Value>,
    replies: Value,
}

impl Config {
    /// Copies the config's folder to where a run may write.
    pub(super) fn copy_to(&self, folder: &Path) {
        copy(self.path.parent().expect("a config has a folder"), folder);
    }

    /// Its file's name.
    pub(super) fn file_name(&self) -> &std::ffi::OsStr {
        self.path.file_name().expect("a config is a file")
    }

    /// What `eval` is given besides.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Does it begin with what it is for?
    pub fn says_its_purpose(&self) -> bool {
        let text = std::fs::read_to_string(&self.path).expect("a config is UTF-8");
        let mut lines = text
            .lines()
            .skip_while(|line| line.starts_with('#') || *line == "{");
        let first = lines.next().unwrap_or_default().trim_start();
        let first = first.trim_start_matches('"');
        first.starts_with("description") && first.len() > 20
    }

    /// Runs the built program; also what it wrote to stderr.
    pub fn run(&self, server: &Server) -> (Said, String) {
        let run = Run::new();
        self.copy_to(run.project());
        let finished = run
            .args([
                "eval",
                "--no-table",
                "--no-cache",
                "-o",
                "compat-out.json",
                "-c",
            ])
            .arg(self.file_name())
            .args(&self.arguments)
            // The configs are ours; some write variables of the environment into their texts.
            .env("RUNNER_TRUST", "config")
            .envs(server.environment())
            .finish();
        let said = match finished.code {
            Some(0 | 100) => Said::of_results(&finished.json("compat-out.json"), &server.url()),
            Some(2) => Said::Refused,
            other => panic!("{}: exit code {other:?}: {}", self.name, finished.stderr),
        };
        (said, finished.stderr)
    }
}

impl Suite {
    /// Reads `tests/compat`.
    pub fn read() -> Self {
        let folder = workspace_root().join("tests/compat");
        let mut configs = Vec::new();
        for group in entries(&folder) {
            if group.is_dir() {
                configs.extend(
                    entries(&group)
                        .into_iter()
                        .filter_map(|path| config(&group, path)),
                );
            }
        }
        Self {
            configs,
            verdicts: stored(&folder),
            differences: lines(&folder.join("differences.jsonl")),
            pending: match json(&folder.join("pending.json")) {
                Value::Object(pending) => pending,
                _ => Map::new(),
            },
            replies: json(&folder.join("replies.json")),
            folder,
        }
    }

    /// A server that answers as the configs expect.
    pub fn server(&self) -> Server {
        Server::start(self.replies.clone())
    }

    /// What promptfoo said.
    pub fn verdict(&self, config: &str) -> Option<&Said> {
        self.verdicts.get(config)
    }

    /// What the program can't do yet that the config needs.
    pub fn pending(&self, config: &str) -> Option<&str> {
        self.pending.get(config)?.as_str()
    }

    /// Names in the lists that are no config's.
    pub fn strays(&self) -> Vec<String> {
        let listed = self.differences.iter().map(name_in);
        let listed = listed.chain(self.verdicts.keys().cloned());
        let listed = listed.chain(self.pending.keys().cloned());
        let known = |name: &String| self.configs.iter().any(|config| config.name == *name);
        listed.filter(|name| !known(name)).collect()
    }

    /// Splits `found` into what is listed and what is not; also the listed lines of the config
    /// that were not found.
    pub fn sort_out(
        &self,
        config: &str,
        found: Vec<Difference>,
    ) -> (Vec<Difference>, Vec<Difference>, Vec<&Value>) {
        let of_config = self
            .differences
            .iter()
            .filter(|line| line["config"] == config);
        let listed: Vec<&Value> = of_config.collect();
        let is_listed = |it: &Difference| listed.iter().any(|line| it.is_listed_in(line));
        let (known, unknown): (Vec<_>, Vec<_>) = found.into_iter().partition(is_listed);
        let gone = |line: &&Value| !known.iter().any(|it| it.is_listed_in(line));
        let gone = listed.into_iter().filter(gone).collect();
        (known, unknown, gone)
    }

    /// Keeps what promptfoo said, and forgets configs that are no more.
    pub fn write(&mut self, said: impl IntoIterator<Item = (String, Said)>) {
        // Another comparison may have written meanwhile.
        self.verdicts = stored(&self.folder);
        self.verdicts.extend(said);
        let mut text = String::new();
        for config in &self.configs {
            let said = self.verdicts.get(&config.name);
            for line in said
                .into_iter()
                .flat_map(|said| said.to_lines(&config.name))
            {
                writeln!(text, "{line}").expect("a string takes everything");
            }
        }
        std::fs::write(self.folder.join("verdicts.jsonl"), text)
            .expect("the verdicts can be written");
    }
}

/// What promptfoo said, by config.
fn stored(folder: &Path) -> BTreeMap<String, Said> {
    let mut verdicts = BTreeMap::new();
    for line in lines(&folder.join("verdicts.jsonl")) {
        let said = verdicts.entry(name_in(&line));
        let said = said.or_insert_with(|| Said::Rows(BTreeMap::new()));
        said.add_line(&line);
    }
    verdicts
}

/// A config of the group, if the file is one. What configs refer to lies in deeper folders.
fn config(group: &Path, path: PathBuf) -> Option<Config> {
    let ending = path.extension()?.to_str()?;
    if !path.is_file() || !["yaml", "json"].contains(&ending) {
        return None;
    }
    let group = group.file_name()?.to_str()?;
    let name = format!("{group}/{}", path.file_stem()?.to_str()?);
    let text = std::fs::read_to_string(&path).expect("a config is UTF-8");
    let first = text.lines().next().unwrap_or_default();
    let arguments = first.strip_prefix(ARGUMENTS).unwrap_or_default();
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    Some(Config {
        name,
        path,
        arguments,
    })
}

/// What is in the folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of configs is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths
}

fn name_in(line: &Value) -> String {
    line["config"]
        .as_str()
        .expect("a line names its config")
        .to_owned()
}

/// The values of a JSONL file; none if there is no file.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let value = |line: &str| match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => panic!("{}: {error} in {line}", path.display()),
    };
    text.lines().map(value).collect()
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("it lies beside the configs");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the copy can be written");
    for entry in entries(from) {
        let target = to.join(entry.file_name().expect("an entry has a name"));
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, &target).expect("the copy can be written");
        }
    }
}
