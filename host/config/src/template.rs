//! Templates: nunjucks as people use it in prompts, rendered by minijinja.
//!
//! No autoescape; what is undefined prints as nothing, also inside another undefined; values
//! print the JavaScript way (see `values`). Macros, includes and block captures don't exist:
//! nothing in a prompt needs them, and without them what a stranger's template can cost is
//! bounded: steps by [`FUEL`], output by [`MAX_RENDERED`], growth inside an expression by
//! `growth`.

use std::io;
use std::sync::{Arc, OnceLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

mod filters;
mod growth;
mod pieces;
mod prepared;
mod values;

pub(crate) use pieces::{Piece, is_plain, pieces};
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
}

/// The one name that a template has in its engine.
const NAME: &str = "t";

impl Template {
    /// Compiles `text`; `env` is what `env.X` reads.
    pub(crate) fn new(text: &str, env: Option<&Map<String, Json>>) -> Result<Self, RenderError> {
        let mut template = Self {
            engine: engine(),
            excerpt: excerpt(text),
        };
        let source = pieces::engine_source(text);
        growth::check(&source).map_err(|reason| template.error(reason))?;
        if let Some(env) = env {
            template
                .engine
                .add_global("env", values::value(&Json::Object(env.clone())));
        }
        let added = template
            .engine
            .add_template_owned(NAME, source.into_owned());
        added.map_err(|error| template.error(reason(&error)))?;
        template.check_filters()?;
        Ok(template)
    }

    /// Fills in `vars`.
    pub(crate) fn render(&self, vars: &Arc<Map<String, Json>>) -> Result<String, RenderError> {
        let mut output = Capped::default();
        let scope = Value::from_object(values::Scope(vars.clone()));
        let rendered = self
            .compiled()
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
        self.compiled().undeclared_variables(false).into_iter()
    }

    /// The variables it reads, with their attributes: `env.HOME`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.compiled().undeclared_variables(true).into_iter()
    }

    fn compiled(&self) -> minijinja::Template<'_, '_> {
        self.engine
            .get_template(NAME)
            .expect("it was added when the template was made")
    }

    /// The engine finds unknown filters only when it comes to them.
    fn check_filters(&self) -> Result<(), RenderError> {
        use minijinja::machinery::{Instruction, get_compiled_template};
        let template = self.compiled();
        let instructions = &get_compiled_template(&template).instructions;
        let filters = (0..)
            .map_while(|index| instructions.get(index))
            .filter_map(|instruction| match instruction {
                Instruction::ApplyFilter(name, ..) => Some(*name),
                _ => None,
            });
        for name in filters {
            let tried = self.engine.empty_state().apply_filter(name, &[]);
            if tried.is_err_and(|error| error.kind() == minijinja::ErrorKind::UnknownFilter) {
                return Err(self.error(format!("there is no filter '{name}'")));
            }
        }
        Ok(())
    }

    fn error(&self, reason: String) -> RenderError {
        RenderError::Template {
            excerpt: self.excerpt.clone(),
            reason,
        }
    }
}

/// `text` filled in once, or as it is where it is no template.
pub(crate) fn render_once(
    text: &str,
    vars: &Arc<Map<String, Json>>,
) -> Result<String, RenderError> {
    if is_plain(text) {
        Ok(text.to_owned())
    } else {
        Template::new(text, None)?.render(vars)
    }
}

/// An engine without templates. A clone shares the tables.
fn engine() -> Environment<'static> {
    static ENGINE: OnceLock<Environment<'static>> = OnceLock::new();
    ENGINE.get_or_init(make_engine).clone()
}

fn make_engine() -> Environment<'static> {
    let mut engine = Environment::new();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    engine.set_syntax(syntax.expect("the default delimiters differ from each other"));
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_formatter(|out, _, value| {
        values::print(out, value).map_err(|_| minijinja::ErrorKind::WriteFailure.into())
    });
    engine.set_fuel(Some(FUEL));
    for name in ["debug", "dict", "namespace"] {
        engine.remove_global(name);
    }
    filters::add(&mut engine);
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
