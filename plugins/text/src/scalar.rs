//! Scalars as text, the way JavaScript writes them: configs are written with promptfoo in mind,
//! where `5` equals "5" and `1.0` is `1`.

use runner_plugin::json::Value;

/// A scalar as text; `None` for a list or an object, which have no text of their own.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(float),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number without a needless fraction, with an exponent outside 1e-7 … 1e21.
fn float(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{number:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                format!("{digits}e+{exponent}")
            }
            _ => text,
        };
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner_plugin::json::json;

    #[test]
    fn scalars_read_as_in_javascript() {
        for (value, expected) in [
            (json!(5), "5"),
            (json!(5.0), "5"),
            (json!(-0.0), "0"),
            (json!(0.1), "0.1"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-7"),
            (json!(123_456_789_012.0), "123456789012"),
            (json!(true), "true"),
            (json!(null), "null"),
            (json!("a"), "a"),
        ] {
            assert_eq!(text(&value).as_deref(), Some(expected));
        }
        assert_eq!(text(&json!([1])), None);
        assert_eq!(text(&json!({})), None);
    }
}
