//! A template, read once and filled in many times.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::error::Error;
use crate::meter::{Limits, Meter};
use crate::parser;
use crate::references;
use crate::render::{self, Scope};
use crate::tree::Node;
use crate::value::Value;

/// A template.
#[derive(Debug)]
pub struct Template {
    nodes: Vec<Node>,
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is no template.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let nodes = parser::parse(text)?;
        Ok(Self { nodes })
    }

    /// Fills it in.
    ///
    /// # Errors
    /// If it does what can't be done, or more than it may.
    pub fn render(&self, scope: Scope<'_>, limits: &Limits) -> Result<String, Error> {
        render::render(&self.nodes, scope, limits)
    }

    /// The variables that it reads.
    pub fn names(&self) -> BTreeSet<String> {
        let paths = self.paths();
        let names = paths.iter().map(|path| path.split('.').next());
        names.flatten().map(str::to_owned).collect()
    }

    /// The variables that it reads, with their attributes: `env.HOME`. Where an attribute is
    /// worked out (`env[name]`), the variable alone.
    pub fn paths(&self) -> BTreeSet<String> {
        references::find(&self.nodes).paths
    }

    /// Filters that it names and nunjucks has not.
    pub fn custom_filters(&self) -> BTreeSet<String> {
        references::find(&self.nodes).filters
    }
}

/// The text of a JSON value, as `{{ … }}` prints it.
pub fn text_of(json: &Json) -> String {
    let limits = Limits {
        steps: u64::MAX,
        output: usize::MAX,
        made: usize::MAX,
        read: usize::MAX,
    };
    let value = Value::from(json);
    let text = Meter::new(&limits).text(&value);
    text.expect("nothing is refused where nothing is limited")
        .into_owned()
}
