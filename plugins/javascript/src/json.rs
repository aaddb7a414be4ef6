//! A result as JSON, exactly: what JSON cannot hold is an error with its place, not a `null`.
//!
//! Follows `JSON.stringify` where it loses nothing: `toJSON`, own enumerable keys, `undefined`
//! left out of objects and `null` in arrays. Departs where it does: numbers that are none,
//! functions, symbols, maps and sets would vanish or become empty, and a config author would
//! look for them in vain.

use rquickjs::{Ctx, Error, Function, Object, Value};

use crate::context;

/// Deepest result; the host takes no deeper one.
const MAX_DEPTH: usize = 100;

/// Largest result in bytes: below what the host takes in one crossing (16 MiB), so that the
/// message says whose result it is.
const MAX_BYTES: usize = 15 << 20;

/// Kinds of objects without keys of their own that would become `{}`.
const EMPTY_KINDS: [&str; 6] = ["Map", "Set", "WeakMap", "WeakSet", "RegExp", "ArrayBuffer"];

/// Why there is no JSON.
#[derive(Debug)]
pub(crate) enum NoJson {
    /// A getter or a `toJSON` threw.
    Thrown(Error),
    /// One sentence that begins with the place.
    Unfit(String),
}

impl From<Error> for NoJson {
    fn from(error: Error) -> Self {
        Self::Thrown(error)
    }
}

/// The JSON text; `None` for `undefined`.
pub(crate) fn of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Option<String>, NoJson> {
    if value.is_undefined() {
        return Ok(None);
    }
    let mut writer = Writer {
        ctx,
        out: String::new(),
        path: String::new(),
        around: Vec::new(),
    };
    writer.value(value)?;
    Ok(Some(writer.out))
}

struct Writer<'a, 'js> {
    ctx: &'a Ctx<'js>,
    out: String,
    /// Where we are: `.scores[2]`.
    path: String,
    /// The objects that we are in.
    around: Vec<Value<'js>>,
}

impl<'js> Writer<'_, 'js> {
    fn value(&mut self, value: &Value<'js>) -> Result<(), NoJson> {
        if self.out.len() > MAX_BYTES {
            return Err(too_large());
        }
        if let Some(yes) = value.as_bool() {
            self.out.push_str(if yes { "true" } else { "false" });
        } else if let Some(number) = value.as_number() {
            self.number(number)?;
        } else if let Some(text) = value.as_string() {
            self.text(text)?;
        } else if value.is_null() {
            self.out.push_str("null");
        } else if value.is_function() {
            return Err(self.unfit("is a function, which can't leave the sandbox"));
        } else if value.is_symbol() {
            return Err(self.unfit("is a symbol, which JSON can't hold"));
        } else if value.is_big_int() {
            return Err(self.unfit("is a BigInt; make it a number or a string"));
        } else if let Some(object) = value.as_object() {
            return self.object(value, object);
        } else {
            return Err(self.unfit("has no value"));
        }
        Ok(())
    }

    fn number(&mut self, number: f64) -> Result<(), NoJson> {
        if !number.is_finite() {
            let name = if number.is_nan() { "NaN" } else { "Infinity" };
            return Err(self.unfit(&format!("is {name}, which is no number that JSON can hold")));
        }
        // Below 2^53 a whole number is exact; -0 is 0 in JSON as JavaScript writes it.
        if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
            self.out.push_str(&(number as i64).to_string());
        } else {
            self.out
                .push_str(&serde_json::Value::from(number).to_string());
        }
        Ok(())
    }

    fn text(&mut self, text: &rquickjs::String<'js>) -> Result<(), NoJson> {
        let text = context::text(self.ctx, text)?;
        if self.out.len() + text.len() > MAX_BYTES {
            return Err(too_large());
        }
        self.quoted(&text);
        Ok(())
    }

    fn quoted(&mut self, text: &str) {
        self.out
            .push_str(&serde_json::to_string(text).expect("a string has a JSON form"));
    }

    fn object(&mut self, value: &Value<'js>, object: &Object<'js>) -> Result<(), NoJson> {
        if self.around.contains(value) {
            return Err(self.unfit("contains itself"));
        }
        if self.around.len() >= MAX_DEPTH {
            return Err(self.unfit(&format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        if value.is_promise() {
            return Err(self.unfit("is a promise; await it"));
        }
        if value.is_error() {
            return Err(self.unfit("is an error; throw it, or return its message"));
        }
        self.around.push(value.clone());
        let to_json: Value = object.get("toJSON")?;
        if let Some(to_json) = to_json.as_function() {
            self.converted(value, to_json)?;
        } else if let Some(array) = value.as_array() {
            self.out.push('[');
            for at in 0..array.len() {
                if at > 0 {
                    self.out.push(',');
                }
                let item: Value = array.get(at)?;
                self.at(&format!("[{at}]"), |writer| writer.item(&item))?;
            }
            self.out.push(']');
        } else {
            self.fields(object)?;
        }
        self.around.pop();
        Ok(())
    }

    /// Writes what `toJSON` makes of the object: once, as `JSON.stringify` does.
    fn converted(&mut self, value: &Value<'js>, to_json: &Function<'js>) -> Result<(), NoJson> {
        let made: Value = to_json.call((rquickjs::function::This(value.clone()), ""))?;
        if &made == value {
            return Err(self.unfit("has a toJSON that gives itself"));
        }
        self.item(&made)
    }

    /// Writes a value where `undefined` stands for `null`.
    fn item(&mut self, item: &Value<'js>) -> Result<(), NoJson> {
        if item.is_undefined() {
            self.out.push_str("null");
            return Ok(());
        }
        self.value(item)
    }

    fn fields(&mut self, object: &Object<'js>) -> Result<(), NoJson> {
        self.out.push('{');
        let mut any = false;
        for key in object.keys::<rquickjs::String>() {
            let key = key?;
            let field: Value = object.get(key.clone())?;
            if field.is_undefined() {
                continue;
            }
            if any {
                self.out.push(',');
            }
            any = true;
            let key = context::text(self.ctx, &key)?;
            self.quoted(&key);
            self.out.push(':');
            self.at(&format!(".{key}"), |writer| writer.value(&field))?;
        }
        self.out.push('}');
        if any {
            return Ok(());
        }
        let kind = kind(object);
        if EMPTY_KINDS.contains(&kind.as_str()) {
            let message = format!("is a {kind}, which JSON can't hold; make it an object or array");
            return Err(self.unfit(&message));
        }
        Ok(())
    }

    /// Does something one step further down.
    fn at(
        &mut self,
        step: &str,
        act: impl FnOnce(&mut Self) -> Result<(), NoJson>,
    ) -> Result<(), NoJson> {
        let before = self.path.len();
        self.path.push_str(step);
        let done = act(self);
        self.path.truncate(before);
        done
    }

    fn unfit(&self, what: &str) -> NoJson {
        let place = match self.path.as_str() {
            "" => "the result".to_owned(),
            path => format!("`{}` of the result", path.trim_start_matches('.')),
        };
        NoJson::Unfit(format!("{place} {what}"))
    }
}

fn too_large() -> NoJson {
    NoJson::Unfit(format!(
        "the result is larger than {} MiB as JSON",
        MAX_BYTES >> 20
    ))
}

/// The name of an object's constructor; empty where there is none to be had.
fn kind(object: &Object<'_>) -> String {
    let constructor: Option<Object> = object.get("constructor").ok();
    let name = constructor.and_then(|constructor| constructor.get("name").ok());
    name.unwrap_or_default()
}
