//! `load`: the JSON in a text, its values counted as they are made: five bytes of text can make a
//! map of two hundred.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Args;
use crate::meter::{FIELD, ITEM, LIST, MAP, Meter, Outcome, Refusal, refuse};
use crate::value::{Text, Value};

/// `JSON.parse`; what isn't text is passed on, since files of variables are values already.
pub(super) fn load<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    let Some(text) = value.as_text() else {
        return Ok(value.clone());
    };
    json(meter, text)?.or_else(|error| refuse(format!("load: not JSON: {error}")))
}

/// The value that a text says in JSON, or why it is none.
pub(crate) fn json<'a>(
    meter: &mut Meter,
    text: &str,
) -> Outcome<Result<Value<'a>, serde_json::Error>> {
    meter.read(text.len())?;
    let mut loading = Loading {
        meter,
        refusal: None,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let loaded = loading.deserialize(&mut reader);
    match loading.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(loaded.and_then(|value| reader.end().map(|()| value))),
    }
}

struct Loading<'m> {
    meter: &'m mut Meter,
    /// Why it is too much, if it is.
    refusal: Option<Refusal>,
}

impl Loading<'_> {
    fn make<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.meter.make(bytes).map_err(|refusal| {
            self.refusal = Some(refusal);
            E::custom("too much")
        })
    }
}

impl<'de> DeserializeSeed<'de> for &mut Loading<'_> {
    type Value = Value<'static>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Loading<'_> {
    type Value = Value<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.make(ITEM + text.len())?;
        Ok(Value::from(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        self.make(LIST)?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(&mut *self)? {
            self.make(ITEM)?;
            items.push(item);
        }
        items.shrink_to_fit();
        Ok(Value::list_of_any_depth(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        self.make(MAP)?;
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            self.make(FIELD + key.len())?;
            fields.push((Text::from(key), map.next_value_seed(&mut *self)?));
        }
        Ok(Value::map_of_any_depth(fields))
    }
}
