//! From a test's variables as written to the variables of one case.
//!
//! A list that begins with a string, and a `file://` pattern, are axes: each item or file makes
//! a case of its own. Combinations are counted, never listed: the n-th is found from n, the last
//! key turning fastest. Contents of files are read when the plan is made, so that a missing one
//! is known before anything is spent, and so that walking the plan can't fail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{CodeVars, Script};
use crate::template::{FilterScripts, Template};

mod filling;

pub use filling::TooMuch;
pub(in crate::plan) use filling::{MAX_LEFT, fill_late};
use filling::{fits, reads_defined, resolve};

/// What the `file://` values of variables hold.
#[derive(Debug, Default)]
pub(crate) struct VarFiles {
    /// By the value as written.
    pub(crate) contents: BTreeMap<String, Value>,
    /// Files that a pattern matches; by the pattern as written.
    pub(crate) matches: BTreeMap<String, Arc<[PathBuf]>>,
    /// What these hold, which no value names.
    pub(crate) matched: BTreeMap<PathBuf, Value>,
    /// Code that makes a value, case by case; by the value as written.
    pub(crate) scripts: BTreeMap<String, Arc<Script>>,
}

impl VarFiles {
    /// The code that makes a value, if the value names any.
    pub(crate) fn script(&self, value: &Value) -> Option<&Arc<Script>> {
        self.scripts.get(value.as_str()?)
    }

    /// What the file holds that a value names, if it names one.
    fn content(&self, value: &Value) -> Option<&Value> {
        self.contents.get(value.as_str()?)
    }
}

/// A variable with several values.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    name: String,
    choices: Choices,
}

#[derive(Debug, Clone, PartialEq)]
enum Choices {
    /// The items of the variable's list.
    Items(usize),
    Files(Arc<[PathBuf]>),
}

impl Choices {
    fn len(&self) -> usize {
        match self {
            Self::Items(len) => *len,
            Self::Files(files) => files.len(),
        }
    }
}

/// The variables of a test that have several values.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Axes {
    several: Vec<Axis>,
    /// Whether the variables are what they say, without templates and files.
    raw: bool,
    /// The one that is what it says, where others are not.
    literal: Option<&'static str>,
}

/// The variables of one combination.
#[derive(Debug, Clone, Default)]
pub(crate) struct Combination {
    /// Nested templates resolved; as written if that takes too much.
    pub(crate) vars: Map<String, Value>,
    /// Those of them that code makes.
    pub(crate) code: CodeVars,
    /// Those that stayed templates.
    pub(crate) unfilled: Vec<String>,
    /// Those whose text is a file's, or has such a text in it: others wrote what stands there.
    pub(crate) of_files: BTreeSet<String>,
    pub(crate) refused: Option<TooMuch>,
}

impl Axes {
    /// Of variables that are what they say.
    pub(crate) fn raw() -> Self {
        Self {
            raw: true,
            ..Self::default()
        }
    }

    /// Leaves one variable, if any, what it says.
    pub(crate) fn but(mut self, literal: Option<&'static str>) -> Self {
        self.several.retain(|axis| literal != Some(&*axis.name));
        Self { literal, ..self }
    }

    /// Whether a variable is what it says.
    pub(super) fn is_literal(&self, name: &str) -> bool {
        self.raw || self.literal == Some(name)
    }

    /// The axes of `vars`, in the order of keys.
    pub(crate) fn new(vars: &Map<String, Value>, files: &VarFiles, expand: bool) -> Self {
        let choices = |value: &Value| match value {
            Value::Array(items) if expand && items.first().is_some_and(Value::is_string) => {
                Some(Choices::Items(items.len()))
            }
            Value::String(text) => files.matches.get(text).cloned().map(Choices::Files),
            _ => None,
        };
        let several = vars.iter().filter_map(|(name, value)| {
            Some(Axis {
                name: name.clone(),
                choices: choices(value)?,
            })
        });
        Self {
            several: several.collect(),
            ..Self::default()
        }
    }

    /// How many cases per column and repeat these of the variables make.
    pub(crate) fn combinations_of(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        let meant = self.several.iter().filter(|axis| is_meant(&axis.name));
        meant.fold(1, |product, axis| {
            product.saturating_mul(axis.choices.len() as u64)
        })
    }

    /// How many cases per column and repeat; `None` if that is more than fits.
    pub(crate) fn combinations(&self) -> Option<u64> {
        self.several.iter().try_fold(1_u64, |product, axis| {
            product.checked_mul(axis.choices.len() as u64)
        })
    }

    /// The variables of combination `index`.
    pub(crate) fn combination(
        &self,
        vars: &Map<String, Value>,
        files: &VarFiles,
        mut index: u64,
    ) -> Combination {
        if self.raw {
            return Combination {
                vars: vars.clone(),
                ..Combination::default()
            };
        }
        let mut choices = vec![0; self.several.len()];
        for (choice, axis) in choices.iter_mut().zip(&self.several).rev() {
            let len = axis.choices.len() as u64;
            *choice = (index % len) as usize;
            index /= len;
        }
        // Axes are in the order of keys. Only what is chosen is copied, never a whole list.
        let mut axes = self.several.iter().zip(choices).peekable();
        let (mut chosen, mut contents, mut code) = (Map::new(), Vec::new(), Vec::new());
        for (name, value) in vars {
            let chooses = axes.next_if(|(axis, _)| axis.name == *name);
            let chooses = chooses.map(|(axis, choice)| (&axis.choices, choice));
            let (value, content) = match (chooses, value) {
                (Some((Choices::Files(paths), choice)), _) => {
                    (value, files.matched.get(&paths[choice]))
                }
                (Some((Choices::Items(_), choice)), Value::Array(items)) => {
                    (&items[choice], files.content(&items[choice]))
                }
                _ => (value, files.content(value)),
            };
            let is_literal = self.is_literal(name);
            contents.push(content.filter(|_| !is_literal));
            let script = files.script(value).filter(|_| !is_literal);
            code.extend(script.map(|script| (name.clone(), script.clone())));
            chosen.insert(name.clone(), value.clone());
        }
        let of_files = filling::of_files(&chosen, &contents);
        let filled = self.fill(&mut chosen, &contents, &code);
        Combination {
            vars: chosen,
            of_files,
            code: code.into(),
            refused: filled.as_ref().err().cloned(),
            unfilled: filled.unwrap_or_default(),
        }
    }

    /// Fills in contents of files, each with its variable, and templates.
    fn fill(
        &self,
        vars: &mut Map<String, Value>,
        contents: &[Option<&Value>],
        code: &[(String, Arc<Script>)],
    ) -> Result<Vec<String>, TooMuch> {
        fits(vars, contents)?;
        let mut later = Map::new();
        let mut code = code.iter().peekable();
        for ((name, value), content) in std::mem::take(vars).into_iter().zip(contents) {
            let value = match content {
                Some(content) => (*content).clone(),
                None if self.is_literal(&name) => value,
                None => without_newline(value),
            };
            let by_code = code.next_if(|(own, _)| *own == name).is_some();
            let map = if by_code { &mut later } else { &mut *vars };
            map.insert(name, value);
        }
        // What reads a value that code will make stays a template until then.
        let resolved = resolve(vars, self.literal);
        vars.extend(later);
        resolved
    }
}

impl Combination {
    /// The variables whose texts were left as they are only since they call filters of the config; texts of files call
    /// those that data may.
    pub(super) fn waiting_for(
        &self,
        filters: &FilterScripts,
        for_data: &FilterScripts,
    ) -> Arc<[String]> {
        let waits = |name: &String| {
            let text = self.vars.get(name)?.as_str()?;
            let template = Template::new(text, None).ok()?;
            let calls = template.custom().next().is_some();
            let of_file = self.of_files.contains(name);
            let filters = if of_file { for_data } else { filters };
            let known = template.custom().all(|name| filters.contains_key(&name));
            (calls && known && reads_defined(&template, &self.vars)).then_some(())
        };
        let unfilled = self.unfilled.iter().filter(|_| !filters.is_empty());
        unfilled
            .filter(|name| waits(name).is_some())
            .cloned()
            .collect()
    }
}

/// A text without one newline at its end.
fn without_newline(mut value: Value) -> Value {
    if let Value::String(text) = &mut value
        && text.ends_with('\n')
    {
        text.pop();
    }
    value
}

#[cfg(test)]
mod tests;
