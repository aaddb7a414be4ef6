//! The test of a case as its record has it: shared with the case, not copied.
//!
//! A row shows the test as written with the variables of this one case in it. Both are there
//! already, so that a record keeps them side by side, and only its JSON has one in the other.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use runner_config::plan::Case;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

const VARS: &str = "vars";
const PROVIDER: &str = "provider";
const ASSERT: &str = "assert";

/// What says of an assertion what it is.
const SHOWN: [&str; 5] = ["type", "metric", "weight", "threshold", ASSERT];

/// Leaves of the assertions of a test or a set what they are.
fn summarize(of: &mut Map<String, Value>) {
    let assertions = of.get_mut(ASSERT).and_then(Value::as_array_mut);
    for assertion in assertions.into_iter().flatten() {
        match assertion {
            Value::Object(members) => {
                members.retain(|name, _| SHOWN.contains(&&**name));
                summarize(members);
            }
            // Text names code or an address.
            other => *other = Value::Null,
        }
    }
}

/// The test, `defaultTest` merged in. As a value it is the test as written; its JSON has the
/// variables of the case.
#[derive(Debug, Clone)]
pub struct TestCase {
    test: Arc<Value>,
    /// `None`: they stand in the test.
    vars: Option<Arc<Map<String, Value>>>,
}

impl TestCase {
    pub(crate) fn of(case: &Case) -> Self {
        Self {
            test: case.test.json.clone(),
            vars: Some(case.vars.clone()),
        }
    }

    /// All of it as one value.
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("maps have string keys only")
    }

    /// What a stranger's grader sees: of assertions what they are, not what they hold for graders of their own
    /// (an address with a token, settings), and no provider's settings.
    pub(crate) fn for_strangers(&self) -> Value {
        let mut test = self.to_value();
        if let Some(test) = test.as_object_mut() {
            test.shift_remove(PROVIDER);
            if let Some(options) = test.get_mut("options").and_then(Value::as_object_mut) {
                options.shift_remove(PROVIDER);
            }
            summarize(test);
        }
        test
    }
}

impl From<Value> for TestCase {
    fn from(test: Value) -> Self {
        Self {
            test: Arc::new(test),
            vars: None,
        }
    }
}

impl Deref for TestCase {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.test
    }
}

impl DerefMut for TestCase {
    fn deref_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.test)
    }
}

impl PartialEq for TestCase {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Serialize for TestCase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Value::Object(test), Some(vars)) = (&*self.test, &self.vars) else {
            return self.test.serialize(serializer);
        };
        let mut fields = serializer.serialize_map(None)?;
        for (name, value) in test {
            if name == VARS {
                fields.serialize_entry(VARS, &**vars)?;
            } else {
                fields.serialize_entry(name, value)?;
            }
        }
        if !test.contains_key(VARS) {
            fields.serialize_entry(VARS, &**vars)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for TestCase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

/// What a record shares with its case.
pub(super) mod shared {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        shared: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        shared.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    #[test]
    fn its_json_is_the_test_with_the_variables_of_the_case_in_their_place() {
        let case = fixture::case(
            "prompts: [p]\nproviders: [echo]\ntests: [{ vars: { a: [x, y] }, threshold: 1 }]",
        );
        let mut test = TestCase::of(&case);
        assert!(Arc::ptr_eq(&test.test, &case.test.json));
        let names = |value: &Value| -> Vec<String> {
            value.as_object().expect("a test").keys().cloned().collect()
        };
        assert_eq!(names(&test.to_value()), names(&case.test.json));
        assert_eq!(test.to_value()[VARS], json!({ "a": "x" }));
        test["description"] = json!("d");
        assert_eq!(test.to_value()["description"], "d");
        assert_eq!(case.test.json.get("description"), None);
        let read: TestCase = serde_json::from_value(test.to_value()).expect("a test");
        assert_eq!(read, test);
        *test = json!({});
        assert_eq!(test.to_value(), json!({ VARS: { "a": "x" } }));
    }

    #[test]
    fn strangers_see_of_other_assertions_what_they_are() {
        let test = TestCase::of(&fixture::case(
            "prompts: [p]\nproviders: [echo]\ntests: [{ vars: { a: x }, metadata: { m: 1 }, options: { provider: { id: echo, config: { k: s3cret } }, rubricPrompt: r }, assert: [{ type: equals, value: s3cret, metric: w }, { type: assert-set, threshold: 1, assert: [{ type: equals, value: s3cret, config: { t: s3cret } }] }] }]",
        ));
        assert!(test.to_value().to_string().contains("s3cret"));
        assert_eq!(
            test.for_strangers(),
            json!({
                "vars": { "a": "x" },
                "metadata": { "m": 1 },
                "options": { "rubricPrompt": "r" },
                "assert": [
                    { "type": "equals", "metric": "w" },
                    { "type": "assert-set", "threshold": 1, "assert": [{ "type": "equals" }] },
                ],
            })
        );
    }
}
