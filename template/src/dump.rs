//! Values as the text of JSON: what `dump` gives, and what a map prints as.
//!
//! Written as the value is walked over, each piece counted before it is made. A tree of JSON in
//! between would take some times what it counts, and a list that holds itself twice, again and
//! again, has more items than there is memory.

use std::ops::Deref;

use crate::meter::{ITEM, Meter, Outcome};
use crate::numbers::json_number;
use crate::value::Value;

impl Meter {
    /// Writes as `JSON.stringify` does: compact, or each level indented by `width` spaces; `None`
    /// for what JSON has no word for.
    pub(crate) fn json_text(&mut self, value: &Value<'_>, width: usize) -> Outcome<Option<String>> {
        let (meter, text) = (self, String::new());
        let mut writer = Writer { meter, text, width };
        let is_written = writer.value(value, 0)?;
        Ok(is_written.then_some(writer.text))
    }
}

struct Writer<'m> {
    meter: &'m mut Meter,
    text: String,
    width: usize,
}

/// Whether a value is left out of a map, and `null` in a list.
fn is_nothing(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Undefined | Value::Pending | Value::Function(_)
    )
}

impl Writer<'_> {
    /// Writes a value; says whether there was anything to write.
    fn value(&mut self, value: &Value<'_>, depth: usize) -> Outcome<bool> {
        self.meter.read(ITEM)?;
        match value {
            nothing if is_nothing(nothing) => return Ok(false),
            Value::Null => self.push("null")?,
            Value::Bool(true) => self.push("true")?,
            Value::Bool(false) => self.push("false")?,
            Value::Text(text) | Value::Safe(text) => self.quoted(text)?,
            Value::List(list) => {
                let items = list.iter().map(|item| (None::<&str>, item));
                self.all(['[', ']'], items, depth)?;
            }
            Value::Map(map) => {
                let fields = self.meter.fields(map)?.into_iter();
                let fields = fields.filter(|(_, value)| !is_nothing(value));
                let fields = fields.map(|(key, value)| (Some(key), value));
                self.all(['{', '}'], fields, depth)?;
            }
            number => self.push(&json_number(number).to_string())?,
        }
        Ok(true)
    }

    /// Writes items between brackets, fields with their keys.
    fn all<'a>(
        &mut self,
        [open, close]: [char; 2],
        items: impl Iterator<Item = (Option<impl Deref<Target = str>>, Value<'a>)>,
        depth: usize,
    ) -> Outcome<()> {
        self.push(open.encode_utf8(&mut [0]))?;
        let mut is_empty = true;
        for (key, value) in items {
            self.push(if is_empty { "" } else { "," })?;
            self.line(depth + 1)?;
            is_empty = false;
            if let Some(key) = key {
                self.quoted(&key)?;
                self.push(if self.width == 0 { ":" } else { ": " })?;
            }
            if !self.value(&value, depth + 1)? {
                self.push("null")?;
            }
        }
        if !is_empty {
            self.line(depth)?;
        }
        self.push(close.encode_utf8(&mut [0]))
    }

    /// Begins the next line, if there are lines.
    fn line(&mut self, depth: usize) -> Outcome<()> {
        if self.width == 0 {
            return Ok(());
        }
        let spaces = self.width * depth;
        self.meter.make(1 + spaces)?;
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', spaces));
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> Outcome<()> {
        let escaped = |byte: u8| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
            0..0x20 => 5,
            _ => 0,
        };
        let more: usize = text.bytes().map(escaped).sum();
        self.meter.read(text.len())?;
        self.meter.make(2 + text.len() + more)?;
        if more > 0 {
            let quoted = serde_json::to_string(text).expect("a text is JSON");
            self.text.push_str(&quoted);
        } else {
            self.text.extend(["\"", text, "\""]);
        }
        Ok(())
    }

    fn push(&mut self, text: &str) -> Outcome<()> {
        self.meter.make(text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::filters::indented;
    use crate::meter::Limits;
    use crate::value::Text;

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            prop_oneof![Just(0.5), Just(-1e300), Just(1e-7)].prop_map(Json::from),
            "\\PC{0,6}|[\\x00-\\x20\"\\\\]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec(("[a-c\"]{0,2}", inner), 0..4)
                    .prop_map(|fields| Json::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_the_text_of_serde_json_and_counted(json in any_json(), width in 0usize..4) {
            let mut meter = Meter::new(&Limits::default());
            let text = meter.json_text(&Value::from(&json), width).unwrap().unwrap();
            let expected = match width {
                0 => json.to_string(),
                width => indented(&json, width),
            };
            prop_assert_eq!(&text, &expected);
            let exactly = Limits { made: text.len(), ..Limits::default() };
            prop_assert!(Meter::new(&exactly).json_text(&Value::from(&json), width).is_ok());
            let less = Limits { made: text.len() - 1, ..exactly };
            prop_assert!(Meter::new(&less).json_text(&Value::from(&json), width).is_err());
        }
    }

    #[test]
    fn what_json_has_no_word_for_is_left_out_of_maps() {
        let mut meter = Meter::new(&Limits::default());
        let mut text = |value| meter.json_text(&value, 0).unwrap();
        assert_eq!(text(Value::Undefined), None);
        let key = Text::Borrowed;
        let map = vec![(key("a"), Value::Undefined), (key("b"), Value::Null)];
        let list = Value::list(vec![Value::Undefined, Value::map(map).unwrap()]);
        assert_eq!(text(list.unwrap()).as_deref(), Some(r#"[null,{"b":null}]"#));
        let whole = json!(18_446_744_073_709_551_615_u64);
        assert_eq!(text(Value::from(&whole)), Some(whole.to_string()));
        assert_eq!(text(Value::Float(f64::NAN)).as_deref(), Some("null"));
    }
}
