//! What a tag prints, as who renders sees it.

use super::{Error, Node, Outcome, Renderer, Value};

/// What is written in place of what a tag prints; `None`: that itself.
pub type Escape<'a> = dyn Fn(&Printed<'_>) -> Option<String> + 'a;

/// What a tag prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed<'v> {
    /// It.
    pub text: &'v str,
    /// Whether it is the text of a text, and not of another value.
    pub is_text: bool,
    /// Whether it was said to be safe, or was escaped before.
    pub is_safe: bool,
    /// Where it is printed.
    pub level: Level,
}

/// Where something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Into the text.
    Outer,
    /// Into a macro's text, or a block's.
    Inner,
    /// It is the whole text of a macro or a block, which is printed, or changed, later.
    Block,
}

impl<'a> Renderer<'a> {
    /// Returns the text of a block.
    pub(super) fn printed(&mut self, body: &'a [Node]) -> Result<String, Error> {
        self.captured.push(String::new());
        self.nodes(body)?;
        let text = self.captured.pop().unwrap_or_default();
        let escaped = self.scope.escape.filter(|_| !text.is_empty());
        let escaped = escaped.and_then(|escape| {
            escape(&Printed {
                text: &text,
                is_text: true,
                is_safe: true,
                level: Level::Block,
            })
        });
        Ok(escaped.unwrap_or(text))
    }

    pub(super) fn print(&mut self, value: &Value<'a>) -> Outcome<()> {
        let text = self.meter.text(value)?;
        let level = if self.captured.is_empty() {
            Level::Outer
        } else {
            Level::Inner
        };
        let escaped = self.scope.escape.and_then(|escape| {
            escape(&Printed {
                text: &text,
                is_text: value.as_text().is_some(),
                is_safe: matches!(value, Value::Safe(_)),
                level,
            })
        });
        self.write(escaped.as_deref().unwrap_or(&text))
    }
}
