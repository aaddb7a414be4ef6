//! Within the context of a call: evaluating, the prelude's functions, promises, texts.
//!
//! Whoever has a context can do these, whether the machine that made it, the modules that it loads
//! or the code that it runs. How a context comes about is `machine`.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Error, FromJs, Function, Object, Promise, Result, Value};

use crate::call::Call;
use crate::shape;

/// Evaluates a script; `name` is its file in positions.
pub(crate) fn eval<'js, V: FromJs<'js>>(ctx: &Ctx<'js>, name: &str, text: &str) -> Result<V> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    ctx.eval_with_options(text, options)
}

/// Evaluates what [`shape`] made: an expression that is a function.
pub(crate) fn function<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    wrapped: shape::Wrapped,
) -> Result<Function<'js>> {
    Call::with(|call| call.added.insert(name.to_owned(), wrapped.added));
    eval(ctx, name, &wrapped.text)
}

/// A function of the prelude.
pub(crate) fn helper<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    let helpers: Object = ctx.globals().get("__runner")?;
    helpers.get(name)
}

/// The global with which requests go on (`network.js`).
pub(crate) const REQUESTS: &str = "__requests";

/// What a promise comes to. When nothing else is left to do, requests get their answers, or the call
/// ends with what it asks; without any the earliest timer runs.
pub(crate) fn awaited<'js, V: FromJs<'js>>(ctx: &Ctx<'js>, promise: &Promise<'js>) -> Result<V> {
    loop {
        match promise.finish() {
            Err(Error::WouldBlock) => {}
            settled => return settled,
        }
        if Call::with(|call| call.may_ask) {
            let goes_on: Value = ctx.globals().get::<_, Function>(REQUESTS)?.call(())?;
            if let Some(asked) = goes_on.as_string() {
                let asked = text(ctx, asked)?;
                Call::with(|call| call.asked = Some(asked));
                return Err(Error::WouldBlock);
            }
            if !goes_on.is_undefined() {
                continue;
            }
        }
        if !helper(ctx, "runTimer")?.call::<_, bool>(())? {
            return Err(Error::WouldBlock);
        }
    }
}

/// The text of a string. Halves of surrogate pairs, which Rust and JSON cannot hold, become
/// the replacement character.
pub(crate) fn text<'js>(ctx: &Ctx<'js>, string: &rquickjs::String<'js>) -> Result<String> {
    match string.to_string() {
        Err(Error::Utf8(_)) => {
            let formed: rquickjs::String = helper(ctx, "wellFormed")?.call((string.clone(),))?;
            formed.to_string()
        }
        other => other,
    }
}
