//! Templates of a grader's questions: nunjucks as far as rubrics use it, rendered by minijinja.
//!
//! No autoescape; what is undefined prints as nothing; values print the JavaScript way, maps as
//! JSON. The host's engine has more around it (what a template may grow to, openings that never
//! close), because there a bomb would take the run with it. Here the sandbox holds: [`FUEL`]
//! only gives an endless template its name.
//!
//! An answer that is JSON can be read by key (`{{ output.name }}`), and still prints as the
//! text that it was: a grader must see what the model said, not our idea of it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use runner_plugin::Error;
use runner_plugin::json::{Map, Value as Json};

/// Steps of one rendering: thousands of loop rounds, tens of milliseconds.
const FUEL: u64 = 1_000_000;

/// What a question's templates may name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(BTreeMap<String, Value>);

impl Names {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a JSON value.
    pub(crate) fn value(mut self, name: &str, json: &Json) -> Self {
        self.0.insert(name.to_owned(), value(json));
        self
    }

    /// Adds a text that is nothing else.
    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        self.0.insert(name.to_owned(), Value::from(text));
        self
    }

    /// Adds a text that may be a JSON list or object.
    pub(crate) fn answer(mut self, name: &str, text: &str) -> Self {
        let value = match serde_json::from_str(text) {
            Ok(json @ (Json::Array(_) | Json::Object(_))) => Value::from_object(Node {
                json,
                text: Some(text.to_owned()),
            }),
            _ => Value::from(text),
        };
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Adds the test's variables where no name is taken.
    pub(crate) fn under(mut self, vars: &Map<String, Json>) -> Self {
        for (name, json) in vars {
            self.0.entry(name.clone()).or_insert_with(|| value(json));
        }
        self
    }

    /// Adds the test's variables, which win over names that are there.
    pub(crate) fn over(mut self, vars: &Map<String, Json>) -> Self {
        for (name, json) in vars {
            self.0.insert(name.clone(), value(json));
        }
        self
    }
}

/// Fills in a template.
///
/// # Errors
/// `invalid-request`, if the text is no template or does what can't be done.
pub(crate) fn render(text: &str, names: &Names) -> Result<String, Error> {
    if !["{{", "{%", "{#"]
        .iter()
        .any(|opening| text.contains(opening))
    {
        return Ok(text.to_owned());
    }
    let scope = Value::from_object(Scope(names.0.clone()));
    engine().render_str(text, scope).map_err(|error| {
        let what = match (error.kind(), error.detail()) {
            (ErrorKind::OutOfFuel, _) => "it takes too many steps".to_owned(),
            (_, Some(detail)) => detail.to_owned(),
            (kind, None) => kind.to_string(),
        };
        let line = error.line().unwrap_or(1);
        Error::invalid_request(format!(
            "the template of the grader's prompt can't be filled in: line {line}: {what}"
        ))
    })
}

fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    engine.set_syntax(syntax.expect("the default delimiters differ from each other"));
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_formatter(|out, _, value| {
        print(out, value).map_err(|_| ErrorKind::WriteFailure.into())
    });
    engine.set_fuel(Some(FUEL));
    engine.add_filter("dump", dump);
    engine
}

/// `JSON.stringify` of nunjucks' filter, without indent.
fn dump(value: &Value) -> Result<String, minijinja::Error> {
    serde_json::to_string(value)
        .map_err(|error| minijinja::Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// The root of a template's names.
#[derive(Debug)]
struct Scope(BTreeMap<String, Value>);

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(|key| Value::from(key.as_str())).collect())
    }
}

/// A list or a map as templates see it: always true, with `length`, printed as it was written
/// where that is known.
#[derive(Debug)]
struct Node {
    json: Json,
    text: Option<String>,
}

impl Object for Node {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.json.is_array() {
            ObjectRepr::Seq
        } else {
            ObjectRepr::Map
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.json {
            Json::Array(items) if key.as_str() == Some("length") => Some(Value::from(items.len())),
            Json::Array(items) => items.get(key.as_usize()?).map(value),
            Json::Object(fields) => match key.as_str() {
                Some(key) => fields.get(key).map(value),
                None => fields.get(&key.to_string()).map(value),
            },
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.json {
            Json::Array(items) => Enumerator::Seq(items.len()),
            Json::Object(fields) => {
                Enumerator::Values(fields.keys().map(|key| Value::from(key.as_str())).collect())
            }
            _ => Enumerator::NonEnumerable,
        }
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&printed(&self.json)),
        }
    }
}

/// A JSON value for a template.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (_, Some(number)) => Value::from(number),
            _ => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        list_or_map => Value::from_object(Node {
            json: list_or_map.clone(),
            text: None,
        }),
    }
}

/// A JSON value as `{{ … }}` prints it: lists of scalars with commas, what is deeper as JSON.
pub(crate) fn printed(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float_text(float),
            None => number.to_string(),
        },
        Json::Array(items) if !items.iter().any(|item| item.is_array() || item.is_object()) => {
            let items: Vec<String> = items.iter().map(printed).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

/// A float without a fraction prints as a whole number.
fn float_text(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return (number as i64).to_string();
    }
    number.to_string()
}

fn print(out: &mut impl Write, value: &Value) -> fmt::Result {
    if value.is_undefined() || value.is_none() {
        return Ok(());
    }
    if let Some(text) = value.as_str() {
        return out.write_str(text);
    }
    if value.is_number() && !value.is_integer() {
        return out.write_str(&float_text(
            f64::try_from(value.clone()).unwrap_or_default(),
        ));
    }
    if value.kind() == ValueKind::Bool {
        return out.write_str(if value.is_true() { "true" } else { "false" });
    }
    let of_template = value.as_object().is_some_and(|object| !object.is::<Node>());
    match of_template.then(|| serde_json::to_value(value)) {
        // Lists and maps that the template made itself would print as in Python.
        Some(Ok(json)) => out.write_str(&printed(&json)),
        _ => write!(out, "{value}"),
    }
}

#[cfg(test)]
mod tests {
    use runner_plugin::json::json;

    use super::*;

    fn names() -> Names {
        Names::new()
            .answer("output", r#"{ "name": "Ann", "tags": ["x"] }"#)
            .answer("number", "1.0")
            .text("rubric", "is {{ polite }}")
            .value("statements", &json!(["one", "two"]))
            .value("people", &json!([{ "n": 1 }, { "n": 2.0 }]))
            .value("nothing", &json!(null))
            .value("yes", &json!(true))
            .value("half", &json!(0.5))
    }

    #[test]
    fn templates_are_filled_in_as_nunjucks_does() {
        for (template, expected) in [
            ("plain }}", "plain }}"),
            ("{{ rubric }}", "is {{ polite }}"),
            ("{{ output }}", r#"{ "name": "Ann", "tags": ["x"] }"#),
            ("{{ output.name }} {{ output.tags[0] }}", "Ann x"),
            ("{{ number }}", "1.0"),
            ("{{ missing }}{{ missing.deeper.still }}", ""),
            ("{{ statements }}", "one,two"),
            ("{{ statements.length }}", "2"),
            (
                "{% for s in statements %}{{ loop.index }}:{{ s }} {% endfor %}",
                "1:one 2:two ",
            ),
            ("{{ people }}", r#"[{"n":1},{"n":2.0}]"#),
            ("{{ people[1].n }}", "2"),
            ("{{ nothing }}|{{ yes }}|{{ half }}", "|true|0.5"),
            ("{{ output | dump }}", r#"{"name":"Ann","tags":["x"]}"#),
            ("{{ rubric | upper | safe }}", "IS {{ POLITE }}"),
            ("{{ [1, 2.0] }}", "1,2"),
            ("a\n", "a\n"),
            ("{% if output %}t{% endif %}\n", "t\n"),
        ] {
            assert_eq!(
                render(template, &names()),
                Ok(expected.to_owned()),
                "{template}"
            );
        }
    }

    #[test]
    fn what_cannot_be_filled_in_says_where() {
        for (template, part) in [
            ("a\n{{ b", "line 2"),
            ("{{ x | nosuch }}", "nosuch"),
            (
                "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
                "steps",
            ),
        ] {
            let error = render(template, &names()).expect_err(template);
            assert!(error.message.contains(part), "{}", error.message);
        }
    }

    #[test]
    fn whose_name_wins_is_the_callers_choice() {
        let vars = json!({ "output": "var", "extra": 1 });
        let vars = vars.as_object().expect("a map");
        let own = || Names::new().text("output", "own");
        let text = "{{ output }} {{ extra }}";
        assert_eq!(render(text, &own().under(vars)), Ok("own 1".to_owned()));
        assert_eq!(render(text, &own().over(vars)), Ok("var 1".to_owned()));
    }
}
