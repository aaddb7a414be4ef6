//! From a test's variables as written to the variables of one case.
//!
//! A list that begins with a string, and a `file://` pattern, are axes: each item or file makes
//! a case of its own. Combinations are counted, never listed: the n-th is found from n, the last
//! key turning fastest. Contents of files are read when the plan is made, so that a missing one
//! is known before anything is spent, and so that walking the plan can't fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Script;
use crate::template::{Filters, Template, is_plain};

mod filling;

pub use filling::TooMuch;
pub(in crate::plan) use filling::{MAX_LEFT, fill_late};
use filling::{fits, reads_defined, resolve};

/// What the `file://` values of variables hold.
#[derive(Debug, Default)]
pub(crate) struct VarFiles {
    /// By the value as written; files that a pattern matched by what nobody can write.
    pub(crate) contents: BTreeMap<String, Value>,
    /// Files that a pattern matches, each as a key of `contents`; by the pattern as written.
    pub(crate) matches: BTreeMap<String, Arc<[String]>>,
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
    Files(Arc<[String]>),
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
    axes: Vec<Axis>,
    /// Whether the variables are what they say, without templates and files.
    raw: bool,
}

/// The variables of one combination.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Combination {
    /// Nested templates resolved; as written if that takes too much.
    pub(crate) vars: Map<String, Value>,
    pub(crate) refused: Option<TooMuch>,
}

impl Axes {
    /// Of variables that are what they say.
    pub(crate) fn raw() -> Self {
        Self {
            axes: Vec::new(),
            raw: true,
        }
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
        let axes = vars.iter().filter_map(|(name, value)| {
            Some(Axis {
                name: name.clone(),
                choices: choices(value)?,
            })
        });
        Self {
            axes: axes.collect(),
            raw: false,
        }
    }

    /// How many cases per column and repeat; `None` if that is more than fits.
    pub(crate) fn combinations(&self) -> Option<u64> {
        self.axes.iter().try_fold(1_u64, |product, axis| {
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
                refused: None,
            };
        }
        let mut choices = vec![0; self.axes.len()];
        for (choice, axis) in choices.iter_mut().zip(&self.axes).rev() {
            let len = axis.choices.len() as u64;
            *choice = (index % len) as usize;
            index /= len;
        }
        // Axes are in the order of keys. Only what is chosen is copied, never a whole list.
        let mut axes = self.axes.iter().zip(choices).peekable();
        let mut chosen = Map::new();
        for (name, value) in vars {
            let value = match (axes.next_if(|(axis, _)| axis.name == *name), value) {
                (
                    Some((
                        Axis {
                            choices: Choices::Files(files),
                            ..
                        },
                        choice,
                    )),
                    _,
                ) => Value::from(files[choice].as_str()),
                (Some((_, choice)), Value::Array(items)) => items[choice].clone(),
                (_, value) => value.clone(),
            };
            chosen.insert(name.clone(), value);
        }
        let refused = filled(&mut chosen, files).err();
        Combination {
            vars: chosen,
            refused,
        }
    }
}

/// Fills in contents of files, and templates.
fn filled(vars: &mut Map<String, Value>, files: &VarFiles) -> Result<(), TooMuch> {
    fits(vars, files)?;
    let mut later = Map::new();
    for (name, mut value) in std::mem::take(vars) {
        settle(&mut value, files);
        let by_code = files.script(&value).is_some();
        let map = if by_code { &mut later } else { &mut *vars };
        map.insert(name, value);
    }
    // What reads a value that code will make stays a template until then.
    let resolved = resolve(vars);
    vars.extend(later);
    resolved
}

/// File contents in place of their names; one trailing newline off.
fn settle(value: &mut Value, files: &VarFiles) {
    if let Some(content) = files.content(value) {
        *value = content.clone();
    } else if let Value::String(text) = value
        && text.ends_with('\n')
    {
        text.pop();
    }
}

/// The variables whose texts were left as they are only since they call filters of the config.
pub(super) fn waiting_for_filters(vars: &Map<String, Value>, filters: &Filters) -> Arc<[String]> {
    if filters.is_empty() {
        return Arc::default();
    }
    let waits = |value: &Value| {
        let text = value.as_str().filter(|text| !is_plain(text))?;
        let template = Template::new(text, None).ok()?;
        let calls = template.custom().next().is_some();
        let known = template.custom().all(|name| filters.contains_key(&name));
        (calls && known && reads_defined(&template, vars)).then_some(())
    };
    let waiting = vars.iter().filter(|(_, value)| waits(value).is_some());
    waiting.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests;
