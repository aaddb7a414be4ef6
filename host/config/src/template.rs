//! Templates: nunjucks as people use it in prompts, rendered by minijinja.
//!
//! A template is read by nunjucks' grammar and written again for the engine (`nunjucks`). No
//! autoescape; what is undefined prints as nothing, also inside another undefined; values print
//! and compare the JavaScript way (`values`, `operators`), and have the methods that people call
//! (`methods`). Macros and includes don't exist: nothing in a prompt needs them. What a stranger's
//! template can cost is bounded: steps by [`FUEL`], output by [`MAX_RENDERED`], what expressions
//! make by `effort` and `growth`.
//!
//! Memory: at most 80 times the text for a template that is compiled, and a text of more than
//! [`MAX_RENDERED`] is refused.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

mod apart;
mod conditions;
mod custom;
mod effort;
mod filters;
mod growth;
mod methods;
mod nunjucks;
mod operators;
mod pieces;
mod prepared;
mod values;

pub use custom::FilterCall;
pub(crate) use custom::{Filters, Results};
pub(crate) use filters::is_known as is_filter;
pub(crate) use pieces::{Piece, is_plain, pieces, tolerates_nothing, words};
pub(crate) use prepared::Prepared;
pub(crate) use values::text as text_of;

/// Steps that one rendering may take: tens of milliseconds, thousands of loop rounds.
const FUEL: u64 = 1_000_000;

/// The longest text that a template may make: what may cross to a plugin.
pub(crate) const MAX_RENDERED: usize = 16 << 20;

/// Why a template gives no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template isn't one, or did something that can't be done.
    #[error("template '{excerpt}': {reason}")]
    Template {
        /// How the template begins.
        excerpt: String,
        /// What the engine said.
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
}

/// A template, compiled. Cheap to keep: the engine's tables are shared.
#[derive(Debug)]
pub(crate) struct Template {
    engine: Environment<'static>,
    /// How it begins, for messages.
    excerpt: String,
    /// Variables that the engine doesn't see.
    odd_names: BTreeSet<String>,
    /// Filters that it names and that are the config's, or nobody's.
    custom: BTreeSet<String>,
}

/// The one name that a template has in its engine.
const NAME: &str = "t";

impl Template {
    /// Compiles `text`; `env` is what `env.X` reads.
    pub(crate) fn new(
        text: &str,
        env: Option<&Arc<Map<String, Json>>>,
    ) -> Result<Self, RenderError> {
        let mut template = Self {
            engine: engine(),
            excerpt: excerpt(text),
            odd_names: BTreeSet::new(),
            custom: BTreeSet::new(),
        };
        if text.len() > MAX_RENDERED {
            let limit = MAX_RENDERED >> 20;
            return Err(template.error(format!("is longer than {limit} MiB")));
        }
        let translated = growth::check_tags(text).and_then(|()| nunjucks::translate(text));
        let translated = translated.map_err(|reason| template.error(reason))?;
        growth::check(&translated.source).map_err(|reason| template.error(reason))?;
        template.odd_names = translated.odd_names;
        template.custom = translated.custom;
        if let Some(env) = env {
            template.engine.add_global("env", environment(env));
        }
        let added = template.engine.add_template_owned(NAME, translated.source);
        added.map_err(|error| template.error(reason(&error)))?;
        Ok(template)
    }

    /// Fills in `vars`.
    pub(crate) fn render(&self, vars: &Arc<Map<String, Json>>) -> Result<String, RenderError> {
        self.render_in(&self.engine, vars, None)
    }

    /// The same with the config's own filters. Where some of them have not given what they are
    /// asked for, the text is not the last word: see [`Results::take_wanted`].
    pub(crate) fn render_with(
        &self,
        vars: &Arc<Map<String, Json>>,
        results: Option<&Arc<Results>>,
    ) -> Result<String, RenderError> {
        self.render_in(&self.engine, vars, results)
    }

    /// Filters that it names and nunjucks has not.
    pub(crate) fn custom(&self) -> impl Iterator<Item = &str> {
        self.custom.iter().map(String::as_str)
    }

    /// Fills in `vars`, in an engine that has the template and may print otherwise.
    fn render_in(
        &self,
        engine: &Environment<'_>,
        vars: &Arc<Map<String, Json>>,
        results: Option<&Arc<Results>>,
    ) -> Result<String, RenderError> {
        let mut output = Capped::default();
        let scope = Value::from_object(values::Scope::new(vars.clone(), results));
        let rendered = compiled(engine)
            .render_captured_to(scope, &mut output)
            .map(drop);
        if output.full {
            return Err(self.error(format!(
                "makes more than {} MiB of text",
                MAX_RENDERED >> 20
            )));
        }
        rendered.map_err(|error| self.error(reason(&error)))?;
        Ok(String::from_utf8(output.bytes).expect("the engine writes UTF-8"))
    }

    /// The variables it reads.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.undeclared(false)
    }

    /// The variables it reads, with their attributes: `env.HOME`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.undeclared(true)
    }

    fn undeclared(&self, nested: bool) -> impl Iterator<Item = String> {
        let seen = compiled(&self.engine)
            .undeclared_variables(nested)
            .into_iter();
        let own = |name: &String| !name.starts_with(nunjucks::OWN);
        seen.filter(own).chain(self.odd_names.iter().cloned())
    }

    fn error(&self, reason: String) -> RenderError {
        RenderError::Template {
            excerpt: self.excerpt.clone(),
            reason,
        }
    }
}

fn compiled<'engine>(engine: &'engine Environment<'_>) -> minijinja::Template<'engine, 'engine> {
    engine
        .get_template(NAME)
        .expect("it was added when the template was made")
}

/// `text` filled in once, or as it is where it is no template.
pub(crate) fn render_once(
    text: &str,
    vars: &Arc<Map<String, Json>>,
    results: Option<&Arc<Results>>,
) -> Result<String, RenderError> {
    if is_plain(text) {
        Ok(text.to_owned())
    } else {
        Template::new(text, None)?.render_with(vars, results)
    }
}

/// The value of `env`, made once for all templates that see the same one: a copy for each would
/// be gigabytes where both are many.
fn environment(env: &Arc<Map<String, Json>>) -> Value {
    type Made = (Weak<Map<String, Json>>, Value);
    static LAST: Mutex<Option<Made>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, value)) = &*last
        && of.as_ptr() == Arc::as_ptr(env)
    {
        return value.clone();
    }
    let value = values::value(&Json::Object((**env).clone()));
    *last = Some((Arc::downgrade(env), value.clone()));
    value
}

/// An engine without templates. A clone shares the tables.
fn engine() -> Environment<'static> {
    static ENGINE: OnceLock<Environment<'static>> = OnceLock::new();
    ENGINE.get_or_init(make_engine).clone()
}

fn make_engine() -> Environment<'static> {
    // nunjucks' filters and tests, and none of the engine's.
    let mut engine = Environment::empty();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    engine.set_syntax(syntax.expect("the default delimiters differ from each other"));
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_formatter(|out, state, value| {
        effort::make(state, values::size(value))?;
        values::print(out, value).map_err(|_| minijinja::ErrorKind::WriteFailure.into())
    });
    engine.set_fuel(Some(FUEL));
    conditions::add(&mut engine);
    custom::add(&mut engine);
    filters::add(&mut engine);
    methods::add(&mut engine);
    operators::add(&mut engine);
    engine
}

/// The engine's reason in our form: a fragment, the line if there are several.
fn reason(error: &minijinja::Error) -> String {
    use minijinja::ErrorKind;
    let what = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "takes too many steps".to_owned(),
        (_, Some(detail)) => detail.to_owned(),
        (kind, None) => kind.to_string(),
    };
    match error.line() {
        Some(line) if line > 1 => format!("{what} (line {line})"),
        _ => what,
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

/// Takes no more than [`MAX_RENDERED`].
#[derive(Default)]
struct Capped {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Capped {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > MAX_RENDERED {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
