//! What `echo` answers.

use plugin_echo::Echo;
use runner_plugin::json::json;
use runner_plugin::testing::{self, Script};
use runner_plugin::{Message, Provider, Request, Usage};

#[test]
fn the_answer_is_the_rendered_prompt() {
    let chat = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"Hi\"\n  }\n]";
    for (id, prompt) in [("echo", "Hello, Ann!"), ("echo:loud", ""), ("echo", chat)] {
        let mut request = Request::new(prompt);
        if prompt == chat {
            request.messages = vec![Message::user("Hi")];
        }
        let target = testing::target(id, &json!({ "any": "thing" }));
        let played = Script::new().play(|| Echo::complete(&target, &request, &testing::context()));
        let completion = played.result.expect("an answer");
        assert_eq!(completion.message.text(), prompt);
        assert_eq!(completion.output_json, None);
        assert_eq!(completion.usage, Usage::default());
        assert_eq!(completion.cost_usd, Some(0.0));
        assert!(played.requests.is_empty() && played.log.is_empty());
    }
}

#[test]
fn it_wants_nothing() {
    let info = Echo::describe();
    assert_eq!(info.provider_prefixes, ["echo"]);
    assert!(info.wants.hosts.is_empty() && info.wants.credentials.is_empty());
}
