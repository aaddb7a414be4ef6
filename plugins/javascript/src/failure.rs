//! From what code threw to a failure: kind, words, and a position in the user's text.
//!
//! The kind follows from the stage that failed and from the error's `name`, never from its
//! words. Code can forge a name, but fools no one but itself: nothing is decided by the kind
//! beyond what is shown.

use rquickjs::{Ctx, Error, Object, Value};
use runner_plugin::script::{Failure, FailureKind, Position};

use crate::call::Call;
use crate::context;
use crate::modules::{NOT_FOUND, UNSUPPORTED};

/// What the code was at when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The text was being compiled.
    Compiling,
    /// It ran.
    Running,
}

/// Longest message and stack, in bytes: they are shown to people.
const MAX_WORDS: usize = 8 << 10;

/// The failure for an error of the engine; takes a pending exception with it.
pub(crate) fn of(ctx: &Ctx<'_>, error: &Error, stage: Stage) -> Failure {
    match error {
        // The engine reports an exception inside a conversion as `Unknown`.
        Error::Exception | Error::Unknown => thrown(ctx, &ctx.catch(), stage),
        Error::WouldBlock => Failure::new(
            FailureKind::BadResult,
            "the promise never settles: nothing goes on in the sandbox while it waits",
        ),
        Error::InvalidString(_) => {
            Failure::new(FailureKind::Syntax, "the text contains a NUL character")
        }
        other => Failure::new(FailureKind::Other, format!("the engine failed: {other}")),
    }
}

fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>, stage: Stage) -> Failure {
    if value.is_null() {
        // So it ends where not even the error fits into what memory is left.
        let message = "threw null, as the engine does when its memory is used up";
        return Failure::new(FailureKind::Exhausted, message);
    }
    let is_error = value.is_error() || is_dom_exception(ctx, value);
    let Some(error) = value.as_object().filter(|_| is_error) else {
        return Failure::new(FailureKind::Exception, uncaught(ctx, value));
    };
    let [name, message, stack] = ["name", "message", "stack"].map(|key| field(ctx, error, key));
    let frames = frames(&stack);
    let position = frames.first().map(|frame| frame.position.clone());
    let kind = kind(&name, stage);
    let position = position.or_else(|| match kind {
        FailureKind::Unsupported | FailureKind::NotFound => Call::with(|c| c.import_at.take()),
        _ => None,
    });
    let own = matches!(kind, FailureKind::Unsupported | FailureKind::NotFound);
    let words = match (own || name.is_empty(), message.is_empty()) {
        (true, _) => message,
        (false, true) => name,
        (false, false) => format!("{name}: {message}"),
    };
    let stack = frames
        .iter()
        .map(Frame::line)
        .collect::<Vec<_>>()
        .join("\n");
    Failure {
        kind,
        message: cut(words),
        position,
        stack: (!stack.is_empty()).then(|| cut(stack)),
    }
}

/// The one kind of error that is no `Error` to the engine.
fn is_dom_exception<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> bool {
    let class: Option<Object> = ctx.globals().get("DOMException").ok();
    let object = value.as_object();
    object.is_some_and(|object| class.is_some_and(|class| object.is_instance_of(&class)))
}

fn kind(name: &str, stage: Stage) -> FailureKind {
    let compiling = stage == Stage::Compiling || Call::with(|call| call.broken);
    match name {
        "SyntaxError" if compiling => FailureKind::Syntax,
        UNSUPPORTED => FailureKind::Unsupported,
        NOT_FOUND => FailureKind::NotFound,
        // The engine throws it when its memory is used up.
        "InternalError" => FailureKind::Exhausted,
        _ => FailureKind::Exception,
    }
}

/// Words for a thrown value that is no error.
fn uncaught<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    let json = crate::json::of(ctx, value).ok().flatten();
    ctx.catch(); // a getter may have thrown
    match json {
        Some(json) => cut(format!("threw {json}")),
        None => format!("threw a value of type {}", value.type_name()),
    }
}

/// A property as text; empty if it is none. Code may have put anything there.
fn field<'js>(ctx: &Ctx<'js>, error: &Object<'js>, key: &str) -> String {
    let text = error
        .get::<_, rquickjs::String>(key)
        .and_then(|text| context::text(ctx, &text));
    text.unwrap_or_else(|_| {
        ctx.catch();
        String::new()
    })
}

/// One line of a stack, in the user's text.
struct Frame {
    function: String,
    position: Position,
}

impl Frame {
    fn line(&self) -> String {
        let Position { file, line, column } = &self.position;
        match self.function.as_str() {
            "" => format!("at {file}:{line}:{column}"),
            function => format!("at {function} ({file}:{line}:{column})"),
        }
    }
}

/// The lines of a stack that are in files of the user's.
fn frames(stack: &str) -> Vec<Frame> {
    stack.lines().filter_map(frame).collect()
}

/// Reads `at name (file:line:column)` and `at file:line:column`.
fn frame(text: &str) -> Option<Frame> {
    let text = text.trim().strip_prefix("at ")?;
    let (function, place) = match text
        .strip_suffix(')')
        .and_then(|text| text.split_once(" ("))
    {
        Some((function, place)) => (function, place),
        None => ("", text),
    };
    let mut parts = place.rsplitn(3, ':');
    let column: u32 = parts.next()?.parse().ok()?;
    let line: u32 = parts.next()?.parse().ok()?;
    let file = parts.next()?;
    let (line, column) = Call::with(|call| {
        if file != call.name && !call.sources.contains_key(file) {
            return None;
        }
        let added = call.added.get(file);
        Some(added.map_or((line, column), |added| added.back(line, column)))
    })?;
    Some(Frame {
        function: function.replace("<anonymous>", "").trim().to_owned(),
        position: Position {
            file: file.to_owned(),
            line,
            column,
        },
    })
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_WORDS));
    text
}
