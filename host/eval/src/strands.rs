//! What cases leave to later ones: the turns of conversations, the values of registers.
//!
//! Each entry is kept with the place of its case in a sequential run, and a case is given what
//! comes before its own place, so that which one ended first changes nothing. A case that gave
//! no output leaves nothing.

use std::collections::{BTreeMap, HashMap};

use runner_config::plan::{CONVERSATION, Case, CaseId, Needs, Strand};
use serde_json::{Map, Value, json};

use crate::record::{CaseRecord, ResponseRecord};

/// Where a case stands in a sequential run: those that run alone come first.
type Place = (bool, CaseId);

/// Everything that was left so far.
#[derive(Debug, Default)]
pub(crate) struct Strands(HashMap<Strand, BTreeMap<Place, Value>>);

impl Strands {
    /// Gives `case` what earlier ones left to it.
    pub(crate) fn give(&self, case: &mut Case) {
        let Some(needs) = case.needs.clone() else {
            return;
        };
        let place = (!needs.alone, case.id);
        let left: Map<String, Value> = needs
            .reads
            .iter()
            .filter_map(|strand| self.left(strand, place))
            .collect();
        if !left.is_empty() {
            case.follow(&left);
        }
    }

    /// The name by which a case at `place` reads the strand, and what stands there.
    fn left(&self, strand: &Strand, place: Place) -> Option<(String, Value)> {
        let before = self.0.get(strand).map(|left| left.range(..place));
        match strand {
            Strand::Conversation { .. } => {
                let turns = before.into_iter().flatten().map(|(_, turn)| turn.clone());
                Some((CONVERSATION.to_owned(), turns.collect()))
            }
            Strand::Turn { .. } => None,
            Strand::Register(name) => {
                let (_, value) = before?.next_back()?;
                Some((name.to_string(), value.clone()))
            }
        }
    }

    /// Keeps what a case leaves whose row is `record`.
    pub(crate) fn keep(&mut self, id: CaseId, needs: &Needs, record: &CaseRecord) {
        let Some(response) = &record.response else {
            return;
        };
        let place = (!needs.alone, id);
        for strand in &needs.writes {
            let value = match strand {
                Strand::Conversation { .. } => turn(record, response),
                Strand::Register(_) if is_truthy(&response.output) => response.output.clone(),
                Strand::Register(_) | Strand::Turn { .. } => continue,
            };
            let left = self.0.entry(strand.clone()).or_default();
            left.insert(place, value);
        }
    }
}

/// A turn as templates read it.
fn turn(record: &CaseRecord, response: &ResponseRecord) -> Value {
    let text = &record.prompt.raw;
    let prompt: Value = serde_json::from_str(text)
        .ok()
        .filter(Value::is_array)
        .unwrap_or_else(|| text.as_str().into());
    let last = prompt.as_array().and_then(|messages| messages.last());
    let input = last.and_then(|message| message.get("content"));
    let input = input.unwrap_or(&prompt).clone();
    json!({
        "prompt": prompt,
        "input": input,
        "output": response.output,
        "metadata": response.metadata,
    })
}

/// JavaScript's truth, by which promptfoo decides whether a register is set.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests;
