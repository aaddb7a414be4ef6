//! Templates of a config, in the language of [`runner_template`].
//!
//! A template sees a case's variables, the names that the config's `env` declares, and the
//! config's own filters (`custom`). A prompt's text may be JSON or become it (`prepared`).
//!
//! Memory: at most 80 times the text for a template that was read, and a text of more than
//! [`MAX_TEXT`] is refused.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use runner_template::{
    Allowance, Error, Escape, Limits, Printed, Scope, Value, Variables, seed_of,
};
use serde_json::{Map, Value as Json};

mod custom;
mod kept;
mod prepared;

pub use custom::FilterCall;
pub(crate) use custom::{FilterScripts, Results, for_data};
pub(crate) use kept::CompiledCache;
pub(crate) use prepared::{Prepared, PromptContent, YAML_CHAT, read_chat};
pub(crate) use runner_template::{
    MAX_TEXT, Piece, is_filter, is_plain, pieces, text_of, tolerates_nothing, words,
};
pub(crate) use runner_template::{Mixed, Strings};

/// Why a template gives no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template isn't one, or did something that can't be done.
    #[error("template '{excerpt}': {reason}")]
    Template {
        /// How the template begins.
        excerpt: String,
        /// What is wrong, and the line if there are several.
        reason: String,
    },
    /// A prompt that begins like a chat in YAML, but isn't one.
    #[error("the prompt begins like a chat in YAML (`- role:`), but line {line} is not: {reason}")]
    Chat {
        /// Line of the rendered prompt.
        line: u32,
        /// What is wrong there.
        reason: String,
    },
    /// A prompt that looks like a chat, to which a value may have added messages.
    #[error("the prompt looks like a chat, but {0}")]
    Mixed(#[from] Mixed),
    /// A text that a function made, to which a value may have added messages.
    #[error(
        "the prompt that a function made looks like a chat, but a variable's value is not whole in any of its messages; \
        let the function give the list of messages itself, and no text of it"
    )]
    Broken,
}

/// A template with what it sees besides variables.
#[derive(Debug)]
pub(crate) struct Template {
    parsed: runner_template::Template,
    /// What `env.X` reads.
    env: Option<Arc<Map<String, Json>>>,
    /// How it begins, for messages.
    excerpt: String,
}

/// Steps that all texts may take together that are filled in while a config is read: some seconds of
/// a processor.
const STEPS_AT_LOAD: u64 = 200_000_000;

/// What is left of them.
pub(crate) struct LoadSteps(Allowance);

impl Default for LoadSteps {
    fn default() -> Self {
        Self(Allowance::new(STEPS_AT_LOAD))
    }
}

/// All but what stands for itself anywhere in an address (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// What a case's template sees.
struct Seen<'a> {
    vars: &'a Map<String, Json>,
    env: Option<&'a Map<String, Json>>,
}

impl Variables for Seen<'_> {
    fn get<'a>(&'a self, name: &str) -> Option<Value<'a>> {
        let env = || self.env.filter(|_| name == "env").map(Value::from);
        self.vars.get(name).map(Value::from).or_else(env)
    }

    fn seed(&self) -> u64 {
        seed_of(self.vars)
    }
}

impl Template {
    /// Reads `text`; `env` is what `env.X` reads.
    pub(crate) fn new(
        text: &str,
        env: Option<&Arc<Map<String, Json>>>,
    ) -> Result<Self, RenderError> {
        let excerpt = excerpt(text);
        match runner_template::Template::parse(text) {
            Ok(parsed) => Ok(Self {
                parsed,
                env: env.cloned(),
                excerpt,
            }),
            Err(error) => Err(refused(excerpt, &error)),
        }
    }

    /// Fills in what needs no variables of a case, while a config is read: all such texts share what
    /// they may cost.
    pub(crate) fn render_at_load(&self, shared: &LoadSteps) -> Result<String, RenderError> {
        self.rendered(&Map::new(), None, Some(&shared.0), None)
    }

    /// Fills in `vars` with the config's own filters. Where some of them have not given what they
    /// are asked for, the text is not the last word: see [`Results::take_wanted`].
    pub(crate) fn render_with(
        &self,
        vars: &Map<String, Json>,
        results: Option<&Arc<Results>>,
    ) -> Result<String, RenderError> {
        self.render_escaped(vars, results, None)
    }

    fn render_escaped(
        &self,
        vars: &Map<String, Json>,
        results: Option<&Arc<Results>>,
        escape: Option<&Escape<'_>>,
    ) -> Result<String, RenderError> {
        let filters = results.map(|results| &**results as _);
        let allowance = results.map(|results| &results.allowance);
        self.rendered(vars, filters, allowance, escape)
    }

    fn rendered(
        &self,
        vars: &Map<String, Json>,
        filters: Option<&dyn runner_template::Filters>,
        allowance: Option<&Allowance>,
        escape: Option<&Escape<'_>>,
    ) -> Result<String, RenderError> {
        let seen = Seen {
            vars,
            env: self.env.as_deref(),
        };
        let scope = Scope {
            variables: &seen,
            filters,
            allowance,
            escape,
        };
        let rendered = self.parsed.render(scope, &Limits::default());
        rendered.map_err(|error| refused(self.excerpt.clone(), &error))
    }

    /// The variables it reads.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + use<> {
        self.parsed.names().into_iter()
    }

    /// The variables it reads, with their attributes: `env.HOME`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + use<> {
        self.parsed.paths().into_iter()
    }

    /// Filters that it names and nunjucks has not.
    pub(crate) fn custom(&self) -> impl Iterator<Item = String> + use<> {
        self.parsed.custom_filters().into_iter()
    }
}

fn refused(excerpt: String, error: &Error) -> RenderError {
    RenderError::Template {
        excerpt,
        reason: error.to_string(),
    }
}

/// What the texts that are filled in for one value take together: no more than one text may.
#[derive(Debug, Default)]
pub(crate) struct FilledSize(usize);

impl FilledSize {
    /// Adds a text.
    pub(crate) fn add(&mut self, text: String) -> Result<String, RenderError> {
        self.0 += text.len();
        if self.0 <= MAX_TEXT {
            return Ok(text);
        }
        let limit = MAX_TEXT >> 20;
        Err(RenderError::Template {
            excerpt: excerpt(&text),
            reason: format!("together with the texts beside it, it is larger than {limit} MiB"),
        })
    }
}

/// Reads the template of a text; for cases of a plan it is read once.
fn read(text: &str, results: Option<&Arc<Results>>) -> Result<Arc<Template>, RenderError> {
    let read = || Template::new(text, None);
    match results {
        Some(results) => results.templates.get(text, read),
        None => read().map(Arc::new),
    }
}

/// `text` filled in once, or as it is where it is no template.
pub(crate) fn render_once(
    text: &str,
    vars: &Map<String, Json>,
    results: Option<&Arc<Results>>,
) -> Result<String, RenderError> {
    if is_plain(text) {
        Ok(text.to_owned())
    } else {
        read(text, results)?.render_with(vars, results)
    }
}

/// `text` as an address, filled in once: what is filled in stays one segment of the path or one value
/// of the query, unless the template says `safe`. It is no step of the path in any case.
pub(crate) fn render_address(
    text: &str,
    vars: &Map<String, Json>,
    results: Option<&Arc<Results>>,
) -> Result<String, RenderError> {
    if is_plain(text) {
        return Ok(text.to_owned());
    }
    let escape = |printed: &Printed<'_>| {
        let encoded = || utf8_percent_encode(printed.text, RESERVED).to_string();
        (!printed.is_safe).then(encoded)
    };
    let address = read(text, results)?.render_escaped(vars, results, Some(&escape))?;
    // These can't be encoded: `%2e%2e` is the same segment.
    if steps(&address) > steps(text) {
        return Err(RenderError::Template {
            excerpt: excerpt(text),
            reason: "a variable puts `.` or `..` into its path, which would lead elsewhere"
                .to_owned(),
        });
    }
    Ok(address)
}

/// How many segments of an address's path are `.` or `..`.
fn steps(address: &str) -> usize {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\'])
        .map(|segment| segment.to_ascii_lowercase().replace("%2e", "."))
        .filter(|segment| matches!(segment.trim(), "." | ".."))
        .count()
}

/// A text of data, in which `{{ env.X }}` is text: such tags are put between `raw` and `endraw`.
pub(crate) fn without_env(text: &str) -> Cow<'_, str> {
    let reads_env = |tag: &str| {
        let template = Template::new(tag, None);
        tag.contains("env")
            && !tag.contains("endraw")
            && template.is_ok_and(|template| template.names().any(|name| name == "env"))
    };
    let mut changed = String::new();
    let mut any = false;
    for piece in pieces(text) {
        match piece {
            Piece::Expression(tag) if reads_env(tag) => {
                any = true;
                changed.extend(["{% raw %}", tag, "{% endraw %}"]);
            }
            other => changed.push_str(other.source()),
        }
    }
    if any {
        Cow::Owned(changed)
    } else {
        Cow::Borrowed(text)
    }
}

/// Makes a text a template that prints it as it is.
pub(crate) fn verbatim(value: &mut Json) {
    if let Json::String(text) = value
        && !is_plain(text)
    {
        let quoted = text.replace('\\', r"\\").replace('"', "\\\"");
        *text = format!("{{{{ \"{quoted}\" }}}}");
    }
}

/// How a text begins, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const LENGTH: usize = 40;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LENGTH) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
