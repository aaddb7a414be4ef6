//! What cases leave to later ones: the turns of conversations, the values of registers.
//!
//! Each entry is kept with the place of its case in a sequential run, and a case is given what
//! comes before its own place, so that which one ended first changes nothing. A case that gave
//! no output leaves nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use runner_config::plan::{CONVERSATION, CaseId, CaseResource, Needs};
use serde_json::{Map, Value, json};

use crate::record::{CaseRecord, ResponseRecord};

/// Where a case stands in a sequential run: those that run alone come first.
type SequentialPlace = (bool, CaseId);

/// What one case leaves to later ones.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedOutputs {
    /// Whether it ran alone, before the others.
    alone: bool,
    /// `None`: there was no room for it.
    values: Vec<(CaseResource, Option<Value>)>,
}

impl CarriedOutputs {
    /// What a case that is tied by `needs` leaves whose row is `record`; `None` if that is
    /// nothing.
    pub fn of(needs: &Needs, record: &CaseRecord) -> Option<Self> {
        let response = record.response.as_ref()?;
        let value = |strand: &CaseResource| match strand {
            CaseResource::Conversation { .. } => Some(turn(record, response)),
            CaseResource::Register(_) | CaseResource::RowRegister(..) => {
                is_truthy(&response.output).then(|| response.output.clone())
            }
            CaseResource::Turn { .. } => None,
        };
        let writes = needs.writes.iter();
        let values: Vec<_> = writes
            .filter_map(|strand| Some((strand.clone(), Some(value(strand)?))))
            .collect();
        (!values.is_empty()).then_some(Self {
            alone: needs.alone,
            values,
        })
    }

    /// What stays in memory.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().filter_map(|(_, value)| value.as_ref())
    }

    /// Where there was no room for the values: those that read them are told so.
    pub(crate) fn lost(mut self) -> Self {
        self.values.iter_mut().for_each(|(_, value)| *value = None);
        self
    }
}

/// What a case is given, by the name by which it reads it. Values are shared until the case makes
/// its own of them: many may be given the same, long before they begin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CarriedInputs(Vec<(String, Shared)>);

#[derive(Debug, Clone, PartialEq)]
enum Shared {
    Turns(Vec<Arc<Value>>),
    Register(Arc<Value>),
    /// Some of it was there, and could not be kept.
    Lost,
}

impl CarriedInputs {
    /// One register alone.
    #[cfg(test)]
    pub(crate) fn of_register(name: &str, value: Value) -> Self {
        Self(vec![(name.to_owned(), Shared::Register(Arc::new(value)))])
    }

    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some of it was there, and could not be kept.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.iter().any(|(_, shared)| *shared == Shared::Lost)
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let values = self.0.iter().flat_map(|(_, shared)| match shared {
            Shared::Turns(turns) => &**turns,
            Shared::Register(value) => std::slice::from_ref(value),
            Shared::Lost => &[],
        });
        values.map(|value| &**value)
    }

    /// The variables of a case.
    pub(crate) fn to_vars(&self) -> Map<String, Value> {
        let value = |shared: &Shared| match shared {
            Shared::Turns(turns) => turns.iter().map(|turn| (**turn).clone()).collect(),
            Shared::Register(value) => (**value).clone(),
            Shared::Lost => Value::Null,
        };
        let vars = self.0.iter();
        vars.map(|(name, shared)| (name.clone(), value(shared)))
            .collect()
    }
}

/// Everything that was left so far.
#[derive(Debug, Default)]
pub(super) struct CarriedValues(
    HashMap<CaseResource, BTreeMap<SequentialPlace, Option<Arc<Value>>>>,
);

impl CarriedValues {
    /// Gives what earlier cases left to the case `id`, by the name by which it reads each.
    pub(super) fn give(&self, id: CaseId, needs: Option<&Needs>) -> CarriedInputs {
        let given = |needs: &Needs| {
            let place = (!needs.alone, id);
            let reads = needs.reads.iter();
            reads.filter_map(|it| self.before(it, place)).collect()
        };
        CarriedInputs(needs.map(given).unwrap_or_default())
    }

    /// The name by which a case at `place` reads the strand, and what stands there.
    fn before(&self, strand: &CaseResource, place: SequentialPlace) -> Option<(String, Shared)> {
        let before = self.0.get(strand).map(|left| left.range(..place));
        match strand {
            CaseResource::Conversation { .. } => {
                let turns = before.into_iter().flatten().map(|(_, turn)| turn.clone());
                let turns: Option<Vec<_>> = turns.collect();
                Some((
                    CONVERSATION.to_owned(),
                    turns.map_or(Shared::Lost, Shared::Turns),
                ))
            }
            CaseResource::Turn { .. } => None,
            CaseResource::Register(name) | CaseResource::RowRegister(name, _) => {
                let (_, value) = before?.next_back()?;
                let value = value.clone().map_or(Shared::Lost, Shared::Register);
                Some((name.to_string(), value))
            }
        }
    }

    /// Keeps what the case `id` leaves.
    pub(super) fn keep(&mut self, id: CaseId, left: CarriedOutputs) {
        let place = (!left.alone, id);
        for (strand, value) in left.values {
            let strand = self.0.entry(strand).or_default();
            strand.insert(place, value.map(Arc::new));
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
