//! Assertion types of promptfoo that are not served here, each with a way out.

/// What to do instead of a type that nothing serves.
pub(super) fn way_out(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "pi" => {
            "that is a service of its own; type: llm-rubric asks a model of yours, type: webhook any service"
        }
        "agent-rubric" => {
            "type: llm-rubric judges the answer; a judge with tools can stand behind type: webhook"
        }
        "search-rubric" => {
            "type: llm-rubric with a `provider` whose model searches by itself, for example openai:responses with a web search tool"
        }
        "ruby" => "write the same check as type: javascript or python",
        "rouge-l" | "rouge-s" => "type: rouge-n is there",
        _ if kind.starts_with("trace-") || kind.starts_with("trajectory:") => {
            "nothing records traces here; type: tool-call-f1, is-valid-openai-tools-call and skill-used look at the calls in the answer, type: javascript at its metadata"
        }
        _ => return None,
    })
}
