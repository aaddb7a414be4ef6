//! Requests of code that may send them: `fetch`, without an import.
//!
//! The host grants it by one more argument, the answers that there are so far. Code that waits for others
//! ends with what it asks, and is run again from its beginning when they are there. A call is a function
//! of its arguments, so that it comes to the same place, and goes on. What waits at once is asked at
//! once. Nothing of this is there for other code.

use rquickjs::object::Property;
use rquickjs::{Ctx, Function, Result};
use runner_plugin::script::Argument;

use crate::call::Call;
use crate::context::{REQUESTS, eval};

/// The argument's name, which no code can give its own: a JSON array. An answer has `url`, as it was asked,
/// and `status`, `headers` and `text` or `base64`, or `failed` with a message and `isLate`.
const ANSWERS: &str = "$answers";

/// `fetch` and what belongs to it.
const LIBRARY: &str = include_str!("network.js");

/// The answers, if the code may send requests, and the arguments of the code itself.
pub(crate) fn apart(arguments: &[Argument]) -> (Option<&str>, &[Argument]) {
    match arguments.split_last() {
        Some((last, rest)) if last.name == ANSWERS => (Some(&last.value_json), rest),
        _ => (None, arguments),
    }
}

/// Adds to the language what sends requests.
pub(crate) fn begin(ctx: &Ctx<'_>, answers: &str) -> Result<()> {
    let library: Function = eval(ctx, "runner:network", LIBRARY)?;
    let answers = ctx.json_parse(answers)?;
    let requests: Function = library.call((answers,))?;
    // Not to be replaced: it decides what the host hears.
    ctx.globals().prop(REQUESTS, Property::from(requests))?;
    Call::with(|call| call.may_ask = true);
    Ok(())
}

/// What such code came to, as JSON: `{"value": …}`, `{}` for no value, or `{"requests": […]}` where it waits
/// for answers, whatever it made of that.
pub(crate) fn outcome<E>(
    result: std::result::Result<Option<String>, E>,
) -> std::result::Result<Option<String>, E> {
    if let Some(asked) = Call::with(|call| call.asked.take()) {
        return Ok(Some(format!("{{\"requests\":{asked}}}")));
    }
    Ok(Some(match result? {
        Some(value) => format!("{{\"value\":{value}}}"),
        None => "{}".to_owned(),
    }))
}
