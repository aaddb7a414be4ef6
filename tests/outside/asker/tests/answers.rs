//! What `asker` makes of which replies.

use asker::Asker;
use runner_plugin::json::json;
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Provider, Request};

#[test]
fn the_answer_is_what_the_server_says() {
    let target = testing::target("asker:small", &json!({}));
    let (request, context) = (Request::new("What is 2 + 2?"), testing::context());
    let reply = Reply::json(200, &json!({ "answer": "4" }));
    let played = Script::new()
        .exchange("POST", "https://api.example.com/ask", reply)
        .play(|| Asker::complete(&target, &request, &context));
    let said = played.result.map(|answer| answer.message.text());
    assert_eq!(said, Ok("4".to_owned()));
    let sent = json!({ "model": "small", "prompt": "What is 2 + 2?" });
    assert_eq!(played.requests[0].body_json(), Some(sent));
}
