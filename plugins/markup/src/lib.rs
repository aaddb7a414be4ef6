//! The assertions about the answer as markup: it is XML or HTML, or contains some.
//!
//! `is-xml` is strict and uses an XML parser, `is-html` one that reads as browsers do; the other
//! two read what models write, which is seldom well-formed, with scanners of their own. No
//! document type, no entity and no address in a document is ever followed. Everything takes time
//! in proportion to the answer. What is too large or too involved for that is not graded at all: as
//! "no markup" it would pass the opposite (`not-is-html`) unread. All are pure: the component imports
//! no function.

mod html;
mod page;
mod tags;
mod xml;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

/// The longest answer that is looked at, in bytes; promptfoo's limit for HTML.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Why a text is not found to be what was asked for, as a clause.
#[derive(Debug, PartialEq)]
pub(crate) enum Not {
    /// It is not.
    So(String),
    /// It was not read to its end.
    Read(String),
}

impl Not {
    pub(crate) fn so(why: impl Into<String>) -> Self {
        Self::So(why.into())
    }

    pub(crate) fn read(why: impl Into<String>) -> Self {
        Self::Read(why.into())
    }
}

/// The grader.
pub struct Markup;

impl Assertion for Markup {
    fn describe() -> Info {
        let texts = json!({ "type": "array", "items": { "type": ["string", "number"] } });
        let elements = json!({
            "type": ["string", "array", "object", "null"],
            "items": texts["items"],
            "properties": { "requiredElements": texts },
            "additionalProperties": false,
        });
        let with_elements = |name| AssertionType::new(name).value_schema(&elements);
        runner_plugin::package_info!(
            "markup",
            "Checks that the answer is XML or HTML, or contains some."
        )
        .assertion_type(with_elements("is-xml"))
        .assertion_type(with_elements("contains-xml"))
        .assertion("is-html")
        .assertion("contains-html")
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let text = input.output.as_str();
        let ungraded =
            |why: &str| Error::unsupported(format!("`{}` cannot be graded: {why}", input.type_));
        if text.len() > MAX_BYTES {
            return Err(ungraded("the answer is longer than 10 MiB"));
        }
        let (what, found) = match input.type_.as_str() {
            "is-xml" => ("be well-formed XML", xml::whole(text, &elements(input)?)),
            "contains-xml" => ("contain XML", tags::contains(text, &elements(input)?)),
            "is-html" => ("be HTML", page::whole(text)),
            "contains-html" => {
                let found = html::contains(text).then_some(());
                let too_little = || Not::so("too little of it looks like HTML");
                ("contain HTML", found.ok_or_else(too_little))
            }
            other => return Err(Error::no_type("markup", other)),
        };
        Ok(match found {
            Ok(()) => input.judge(true, what),
            Err(Not::So(why)) => input.judge(false, format_args!("{what} ({why})")),
            Err(Not::Read(why)) => return Err(ungraded(&why)),
        })
    }
}

/// The elements that must be there, each as a path of names with dots between.
fn elements(input: &Input) -> Result<Vec<Vec<String>>, Error> {
    let wrong = || {
        Error::invalid_request(format!(
            "`{}` takes the paths of elements as its value: a list, texts separated by commas, \
             or a list as `requiredElements`",
            input.type_
        ))
    };
    let list = |items: &[Value]| -> Option<Vec<String>> {
        let text = |item: &Value| match item {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        items.iter().map(text).collect()
    };
    let paths = match input.value::<Value>()? {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => text.split(',').map(|path| path.trim().to_owned()).collect(),
        Some(Value::Array(items)) => list(&items).ok_or_else(wrong)?,
        Some(Value::Object(object)) if object.is_empty() => Vec::new(),
        Some(Value::Object(object)) => {
            let items = object.get("requiredElements").and_then(Value::as_array);
            items.and_then(|items| list(items)).ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
    };
    let filled = paths.iter().filter(|path| !path.is_empty());
    Ok(filled
        .map(|path| path.split('.').map(str::to_owned).collect())
        .collect())
}

runner_plugin::export_assertion!(Markup);
