//! What Node.js is handed of the config's TypeScript.
//!
//! It may be megabytes, for thousands of providers that differ in their settings alone: it is put
//! together once for all of a group, and shared.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use runner_config::plan::{CodeFiles, Process};
use runner_process::NODE_HOOKS;
use serde_json::{Map, Value, json};

use super::{Group, group};

/// The JavaScript of each group of processes.
#[derive(Default)]
pub(crate) struct Typed(HashMap<Group, Texts>);

#[derive(Default)]
struct Texts {
    /// The files that they were made of.
    files: HashSet<PathBuf>,
    /// JavaScript, or why there is none, by the absolute path of its file.
    texts: BTreeMap<String, Value>,
    /// What the driver is told.
    setup: OnceLock<Arc<str>>,
}

impl Typed {
    /// Adds those of a process; `texts` is by the paths that `files` have among each other.
    pub(crate) fn add(&mut self, process: &Process, files: &CodeFiles, texts: &Map<String, Value>) {
        let known = self.0.entry(group(process)).or_default();
        if !known.files.insert(files.path.clone()) {
            return;
        }
        known.texts.extend(texts.iter().map(|(path, text)| {
            let place = files.place(path);
            (place.to_string_lossy().into_owned(), text.clone())
        }));
    }

    /// What the driver of a group is told before its first call.
    pub(super) fn setup(&self, group: &Group) -> Arc<str> {
        let told = |typed: &Texts| {
            let setup = json!({ "typed": typed.texts, "hooks": NODE_HOOKS });
            setup.to_string().into()
        };
        match self.0.get(group) {
            Some(typed) => typed.setup.get_or_init(|| told(typed)).clone(),
            None => "null".into(),
        }
    }
}
