//! Records for tests.

use serde_json::json;

use super::CaseRecord;

/// The record of a case that passed, in row `test_idx`.
pub(crate) fn record(test_idx: u32) -> CaseRecord {
    let tokens = json!({ "total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 1 });
    let value = json!({
        "id": format!("case-{test_idx}"), "promptIdx": 0, "testIdx": test_idx, "repeatIndex": 0,
        "promptId": "abc", "provider": { "id": "echo" },
        "prompt": { "raw": "hello", "label": "l" }, "vars": { "n": test_idx },
        "testCase": { "vars": { "n": test_idx } },
        "response": { "output": "hello", "cached": false, "tokenUsage": tokens },
        "namedScores": {}, "score": 1.0, "success": true, "failureReason": 0,
        "outcome": "passed", "latencyMs": 1, "tokenUsage": tokens, "metadata": {},
    });
    serde_json::from_value(value).expect("a record")
}
