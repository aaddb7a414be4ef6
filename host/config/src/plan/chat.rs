//! A rendered prompt as chat messages.
//!
//! A text that is a JSON list of `{role, content}`, or a YAML list that begins with `- role:`,
//! is a chat; any other text is what one user says.

use serde_json::{Map, Value};

use super::ChatMessage;
use crate::read::yaml;
use crate::template::{PromptContent, RenderError, YAML_CHAT};

/// The messages of a prompt.
pub(crate) fn messages(
    text: &str,
    content: PromptContent,
) -> Result<Vec<ChatMessage>, RenderError> {
    let start = text.trim_start();
    let chat = match content {
        PromptContent::Json(json) => chat(json),
        PromptContent::Open if start.starts_with('[') => {
            serde_json::from_str(text).ok().and_then(chat)
        }
        PromptContent::Open if start.starts_with(YAML_CHAT) => {
            let node = yaml::parse(text).map_err(|malformed| RenderError::Chat {
                line: malformed.mark.line,
                reason: malformed.message,
            })?;
            chat(node.json())
        }
        PromptContent::Open | PromptContent::Text => None,
    };
    Ok(chat.unwrap_or_else(|| vec![user(text)]))
}

fn user(text: &str) -> ChatMessage {
    ChatMessage {
        role: "user".to_owned(),
        name: None,
        content: Value::from(text),
        rest: Map::new(),
    }
}

/// The messages, if that is what `json` is.
fn chat(json: Value) -> Option<Vec<ChatMessage>> {
    let Value::Array(items) = json else {
        return None;
    };
    let messages: Option<Vec<ChatMessage>> = items.into_iter().map(message).collect();
    messages.filter(|messages| !messages.is_empty())
}

fn message(json: Value) -> Option<ChatMessage> {
    let Value::Object(mut rest) = json else {
        return None;
    };
    let Some(Value::String(role)) = rest.shift_remove("role") else {
        return None;
    };
    let content = rest.shift_remove("content").unwrap_or_default();
    let name = match rest.shift_remove("name") {
        Some(Value::String(name)) => Some(name),
        Some(other) => {
            rest.insert("name".to_owned(), other);
            None
        }
        None => None,
    };
    Some(ChatMessage {
        role,
        name,
        content,
        rest,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn roles(text: &str) -> Vec<(String, Value)> {
        let messages = messages(text, PromptContent::Open).expect("no broken YAML here");
        messages
            .into_iter()
            .map(|message| (message.role, message.content))
            .collect()
    }

    #[test]
    fn chats_in_json_and_yaml_are_recognised_and_other_texts_are_one_user_message() {
        let user = |text: &str| vec![("user".to_owned(), json!(text))];
        let pair = vec![
            ("system".to_owned(), json!("be brief")),
            ("user".to_owned(), json!("hi")),
        ];
        let cases = [
            ("hello", user("hello")),
            (
                r#"[{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]"#,
                pair.clone(),
            ),
            (
                "- role: system\n  content: be brief\n- role: user\n  content: hi\n",
                pair,
            ),
            ("[1, 2]", user("[1, 2]")),
            ("[]", user("[]")),
            ("[not json", user("[not json")),
            (r#"{"role": "user"}"#, user(r#"{"role": "user"}"#)),
            ("- a list\n- of things", user("- a list\n- of things")),
        ];
        for (text, expected) in cases {
            assert_eq!(roles(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_message_has_besides_is_kept() {
        let text = r#"[{"role": "tool", "content": [{"type": "text"}], "name": "f", "tool_call_id": "1"}]"#;
        let message = messages(text, PromptContent::Open).expect("JSON").remove(0);
        assert_eq!(message.name.as_deref(), Some("f"));
        assert_eq!(message.content, json!([{"type": "text"}]));
        assert_eq!(Value::Object(message.rest), json!({"tool_call_id": "1"}));
    }

    #[test]
    fn a_chat_in_broken_yaml_is_an_error_with_the_line() {
        let error = messages("- role: user\n  content: a: b: c\n", PromptContent::Open)
            .expect_err("not YAML");
        assert!(
            matches!(error, RenderError::Chat { line: 2, .. }),
            "{error}"
        );
    }
}
