//! The assertions about the answer as SQL: it is SQL of a database, or contains some, and
//! touches the tables and columns that it may.
//!
//! `check` decides, `access` lists what a statement touches, `fences` finds code in prose. The
//! SQL is read and never run; the component imports no function. An answer that is too large
//! to be read safely is "could not grade", see `check::MAX_BYTES`.

mod access;
mod check;
mod fences;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

use check::{Rules, Verdict};

/// The grader.
pub struct Sql;

impl Assertion for Sql {
    fn describe() -> Info {
        let with_rules = |name| AssertionType::new(name).value_schema(&value_schema());
        runner_plugin::package_info!(
            "sql",
            "Checks that the answer is SQL, and which tables and columns it touches."
        )
        .assertion_type(with_rules("is-sql"))
        .assertion_type(with_rules("contains-sql"))
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let rules = rules(input)?;
        match input.type_.as_str() {
            "is-sql" => is_sql(input, &rules),
            "contains-sql" => contains_sql(input, &rules),
            other => Err(Error::no_type("sql", other)),
        }
    }
}

/// The whole answer is SQL that keeps to the rules.
fn is_sql(input: &Input, rules: &Rules) -> Result<Grade, Error> {
    let what = format!("be valid {} SQL", rules.database());
    Ok(match rules.check(&input.output)? {
        Verdict::Fits => input.judge(true, what),
        Verdict::Breaks(why) => input.judge(false, format_args!("{what} ({why})")),
    })
}

/// A code block of the answer is SQL that keeps to the rules; where there is no block that
/// may hold SQL, the whole answer.
fn contains_sql(input: &Input, rules: &Rules) -> Result<Grade, Error> {
    let what = format!("contain valid {} SQL", rules.database());
    let blocks = fences::sql(&input.output);
    let candidates = if blocks.is_empty() {
        vec![input.output.clone()]
    } else {
        blocks
    };
    let mut reason = "there is none".to_owned();
    for candidate in candidates.iter().filter(|text| !text.trim().is_empty()) {
        match rules.check(candidate)? {
            Verdict::Fits => return Ok(input.judge(true, what)),
            Verdict::Breaks(why) => reason = why,
        }
    }
    Ok(input.judge(false, format_args!("{what} ({reason})")))
}

fn rules(input: &Input) -> Result<Rules, Error> {
    match input.value::<Value>()? {
        None | Some(Value::Null) => Rules::read(&Value::Null),
        Some(value @ Value::Object(_)) => Rules::read(&value),
        Some(_) => Err("the value is no object".to_owned()),
    }
    .map_err(|problem| {
        Error::invalid_request(format!(
            "the value of `{}` cannot be used: {problem}; it takes `databaseType`, \
             `allowedTables` and `allowedColumns`",
            input.type_
        ))
    })
}

fn value_schema() -> Value {
    let list = json!({ "type": ["array", "null"], "items": { "type": "string" } });
    json!({
        "type": ["object", "string", "null"],
        "properties": {
            "databaseType": { "type": ["string", "null"] },
            "allowedTables": list,
            "allowedColumns": list,
        },
        "additionalProperties": false,
    })
}

runner_plugin::export_assertion!(Sql);
