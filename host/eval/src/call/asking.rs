//! What somebody else's plugin may ask a model for that it was granted to ask: anything that is said
//! to the model, and how it answers. Not where the request goes, which model is paid for, what stands
//! in headers and body, or what the vendor opens and runs for it.

use runner_config::is_of_the_answer;
use runner_sandbox::abi::{Part, Request};
use serde_json::{Map, Value};

/// What of the request is not the plugin's to choose, in words; `None`: nothing is.
pub(super) fn steers(request: &Request) -> Option<String> {
    let option = || {
        let options = request.options_json.as_deref()?;
        let options: Map<String, Value> = serde_json::from_str(options).unwrap_or_default();
        let key = options.keys().find(|key| !is_of_the_answer(key))?;
        Some(format!("'{key}'"))
    };
    let content = || {
        let mut parts = request.messages.iter().flat_map(|message| &message.content);
        parts.find_map(|part| match part {
            Part::Url(url) if !url.starts_with("data:") => {
                Some("an address that the model's server opens".to_owned())
            }
            Part::Other(_) => Some("a message in the vendor's own form".to_owned()),
            _ => None,
        })
    };
    option().or_else(|| tool(request)).or_else(content)
}

/// A tool that is more than a function, which the model can only name: the vendor's own cost money,
/// read what is stored with the account, or ask an address.
fn tool(request: &Request) -> Option<String> {
    let tools = serde_json::from_str(request.tools_json.as_deref()?).unwrap_or_default();
    let Value::Array(tools) = tools else {
        return Some("'tools' that is no list".to_owned());
    };
    let other = tools.iter().find(|tool| !is_function(tool))?;
    let kind = match (other.get("type"), other.as_object()) {
        (Some(Value::String(kind)), _) => kind,
        (None, Some(fields)) => fields.keys().next().map_or("unknown", String::as_str),
        _ => "unknown",
    };
    Some(format!("a tool of the type '{kind}'"))
}

/// Whether a tool is a function in one of the forms that APIs have for it, and nothing else: vendors' own tools may
/// stand beside it, and need no `type` (Google's `urlContext`, Bedrock's `systemTool`).
fn is_function(tool: &Value) -> bool {
    const PARTS: [&str; 6] = [
        "type",
        "name",
        "description",
        "parameters",
        "input_schema",
        "strict",
    ];
    let Some(fields) = tool.as_object() else {
        return false;
    };
    let is_of_parts = |fields: &Map<String, Value>| {
        fields.contains_key("name") && fields.keys().all(|key| PARTS.contains(&key.as_str()))
    };
    let is_typed = fields.get("type").is_none_or(|kind| kind == "function");
    let inner = fields.get("function").and_then(Value::as_object);
    let only_wraps = |fields: &Map<String, Value>| {
        fields
            .keys()
            .all(|key| ["type", "function"].contains(&key.as_str()))
    };
    is_typed
        && inner.map_or_else(
            || is_of_parts(fields),
            |inner| only_wraps(fields) && is_of_parts(inner),
        )
}

#[cfg(test)]
mod tests {
    use runner_sandbox::abi::{Message, Role};

    use super::*;

    fn request() -> Request {
        Request::new(vec![Message::text(Role::User, "Which is better?")], "")
    }

    fn of(part: Part) -> Option<String> {
        let mut request = request();
        request.messages[0].content.push(part);
        steers(&request)
    }

    #[test]
    fn what_is_said_and_how_it_is_answered_is_the_plugins() {
        let functions =
            r#"[{"type":"function","function":{"name":"f"}},{"name":"g","input_schema":{}}]"#;
        let request = Request {
            options_json: Some(r#"{"temperature":0.5}"#.to_owned()),
            tools_json: Some(functions.to_owned()),
            ..request()
        };
        assert_eq!(steers(&request), None);
        assert_eq!(of(Part::Url("data:image/png;base64,AA==".to_owned())), None);
    }

    #[test]
    fn where_it_goes_and_what_is_opened_for_it_is_not() {
        let options = Request {
            options_json: Some(r#"{"apiBaseUrl":"http://evil.example"}"#.to_owned()),
            ..request()
        };
        assert_eq!(steers(&options).as_deref(), Some("'apiBaseUrl'"));
        let url = of(Part::Url("http://169.254.169.254/x.png".to_owned()));
        assert_eq!(
            url.as_deref(),
            Some("an address that the model's server opens")
        );
        let file = of(Part::Other(r#"{"type":"file","file_id":"x"}"#.to_owned()));
        assert_eq!(file.as_deref(), Some("a message in the vendor's own form"));
        for (tools, told) in [
            (
                r#"[{"type":"mcp","server_url":"http://evil.example"}]"#,
                "a tool of the type 'mcp'",
            ),
            (
                r#"[{"type":"function","name":"f"},{"type":"web_search"}]"#,
                "a tool of the type 'web_search'",
            ),
            (
                r#"[{"googleSearch":{}},{"name":"f"}]"#,
                "a tool of the type 'googleSearch'",
            ),
            (
                r#"[{"name":"f","urlContext":{}}]"#,
                "a tool of the type 'name'",
            ),
            (
                r#"[{"type":"function","function":{"name":"f"},"googleSearch":{}}]"#,
                "a tool of the type 'function'",
            ),
            (
                r#"[{"type":"function","name":"f","mcpServers":[]}]"#,
                "a tool of the type 'function'",
            ),
            ("[{}]", "a tool of the type 'unknown'"),
            (r#"[{"type":7}]"#, "a tool of the type 'unknown'"),
            (r#"["web_search"]"#, "a tool of the type 'unknown'"),
            (r#"{"type":"mcp"}"#, "'tools' that is no list"),
            ("nothing", "'tools' that is no list"),
        ] {
            let request = Request {
                tools_json: Some(tools.to_owned()),
                ..request()
            };
            assert_eq!(steers(&request).as_deref(), Some(told), "{tools}");
        }
    }
}
