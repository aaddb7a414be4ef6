//! What Node.js is handed of the config's TypeScript.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use runner_config::plan::{CodeFiles, Process};
use runner_process::NODE_HOOKS;
use serde_json::{Map, Value, json};

use super::{Group, group};

/// The JavaScript of each group of processes, or why there is none, by the absolute path of its file.
#[derive(Default)]
pub(crate) struct Typed(HashMap<Group, BTreeMap<String, Value>>);

impl Typed {
    /// Adds those of a process; `texts` is by the paths that `files` have among each other.
    pub(crate) fn add(&mut self, process: &Process, files: &CodeFiles, texts: &Map<String, Value>) {
        let known = self.0.entry(group(process)).or_default();
        known.extend(texts.iter().map(|(path, text)| {
            let place = files.place(path);
            (place.to_string_lossy().into_owned(), text.clone())
        }));
    }

    /// What the driver of a group is told before its first call.
    pub(super) fn setup(&self, group: &Group) -> Arc<str> {
        match self.0.get(group) {
            Some(texts) => json!({ "typed": texts, "hooks": NODE_HOOKS })
                .to_string()
                .into(),
            None => "null".into(),
        }
    }
}
