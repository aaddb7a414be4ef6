//! Guesses and settlements, API by API.

use proptest::prelude::*;

use super::*;

fn estimate(path: &str, body: &[u8]) -> QuotaUse {
    guess(path, body).cost()
}

fn cost(input_tokens: u64, output_tokens: u64) -> QuotaUse {
    QuotaUse {
        input_tokens,
        output_tokens,
    }
}

fn output_of(body: &str) -> u64 {
    estimate("/v1/chat/completions", body.as_bytes()).output_tokens
}

#[test]
fn a_prompt_is_guessed_from_its_length_and_rounded_up() {
    for (bytes, tokens) in [(2, 1), (400, 115), (401, 116), (4000, 1150)] {
        let body = format!("{{{}}}", " ".repeat(bytes - 2));
        let guess = estimate("/v1", body.as_bytes());
        assert_eq!(guess.input_tokens, tokens, "{bytes}");
    }
}

#[test]
fn an_answer_is_guessed_from_the_limit_that_the_request_sets() {
    let cases = [
        (r#"{"max_tokens":100}"#, 100),
        (r#"{"max_completion_tokens":200,"max_tokens":100}"#, 200),
        (r#"{"max_output_tokens":300}"#, 300),
        (r#"{"generationConfig":{"maxOutputTokens":400}}"#, 400),
        (r#"{"inferenceConfig":{"maxTokens":500}}"#, 500),
        (r#"{"options":{"num_predict":600}}"#, 600),
        (r#"{"max_tokens":12.0}"#, 12),
        (r#"{"max_tokens":0}"#, 0),
        (r#"{"options":{"num_predict":-1}}"#, USUAL_OUTPUT),
        (r#"{"max_tokens":"many"}"#, USUAL_OUTPUT),
        (r#"{"max_tokens":null}"#, USUAL_OUTPUT),
        (r#"{"messages":[{"max_tokens":7}]}"#, USUAL_OUTPUT),
        (r#"{"max_tokens":1"#, USUAL_OUTPUT),
        (r#"{"max_tokens":1e300}"#, MOST_TOKENS),
        (r#"{"max_tokens":18446744073709551615}"#, MOST_TOKENS),
    ];
    for (body, expected) in cases {
        assert_eq!(output_of(body), expected, "{body}");
    }
}

#[test]
fn vectors_and_what_is_no_json_are_not_counted() {
    for path in [
        "/v1/embeddings",
        "/api/embed",
        "/v1beta/models/x:embedContent",
    ] {
        assert_eq!(estimate(path, b"{}").output_tokens, 0, "{path}");
    }
    for body in ["", "--boundary\r\n", "[1]", "max_tokens=5"] {
        assert_eq!(estimate("/v1", body.as_bytes()), cost(0, 0), "{body}");
    }
}

#[test]
fn an_image_costs_an_image_and_not_its_bytes() {
    let text = r#"{"text":"what is this?","url":"data:image/png;base64,"#;
    let image = "iVBORw0KGgo/+AA1".repeat(100_000);
    let body = format!("{text}{image}\"}}");
    let guess = estimate("/v1/chat/completions", body.as_bytes()).input_tokens;
    assert!(
        (MEDIA_TOKENS..MEDIA_TOKENS + 100).contains(&guess),
        "{guess}"
    );
}

#[test]
fn every_api_says_in_its_own_words_what_it_used() {
    let cases = [
        // OpenAI: chat, responses, embeddings.
        (
            r#"{"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}"#,
            Some((10, 20)),
        ),
        (
            r#"{"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":20}}"#,
            Some((10, 20)),
        ),
        (
            r#"{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":8,"total_tokens":8}}"#,
            Some((8, 0)),
        ),
        // Anthropic: what is written to the cache counts, what is read from it doesn't.
        (
            r#"{"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":1000,"output_tokens":20}}"#,
            Some((15, 20)),
        ),
        // Gemini.
        (
            r#"{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":7}}"#,
            Some((10, 27)),
        ),
        // Cohere, both versions.
        (
            r#"{"meta":{"billed_units":{"input_tokens":10.0,"output_tokens":20.0},"tokens":{"input_tokens":99}}}"#,
            Some((10, 20)),
        ),
        (
            r#"{"usage":{"billed_units":{"input_tokens":10,"output_tokens":20},"tokens":{"input_tokens":99}}}"#,
            Some((10, 20)),
        ),
        // Ollama and Bedrock.
        (
            r#"{"response":"x","prompt_eval_count":10,"eval_count":20}"#,
            Some((10, 20)),
        ),
        (
            r#"{"usage":{"inputTokens":10,"outputTokens":20}}"#,
            Some((10, 20)),
        ),
        ("data: {\"usage\":{\"prompt_tokens\":10}}", Some((10, 0))),
        // Nothing that counts.
        (r#"{"usage":null}"#, None),
        (r#"{"usage":{"prompt_tokens":"10"}}"#, None),
        (r#"{"usage":{"prompt_tokens":-10}}"#, None),
        (r#"{"message":{"usage":{"prompt_tokens":10}}}"#, None),
        ("", None),
    ];
    for (body, expected) in cases {
        let expected = expected.map(|(input, output)| cost(input, output));
        assert_eq!(usage(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn absurd_numbers_say_nothing() {
    let body = r#"{"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":1e308}}"#;
    assert_eq!(usage(body.as_bytes()), None);
    let body = r#"{"usage":{"prompt_tokens":16777217,"completion_tokens":16777216}}"#;
    assert_eq!(usage(body.as_bytes()), Some(cost(0, MOST_TOKENS)));
}

proptest! {
    #[test]
    fn no_body_makes_a_guess_or_a_settlement_absurd(body in prop::collection::vec(any::<u8>(), 0..2000), json in any::<bool>()) {
        let mut body = body;
        if json {
            body.insert(0, b'{');
        }
        let guess = estimate("/v1", &body);
        prop_assert!(guess.input_tokens <= body.len() as u64 + MEDIA_TOKENS);
        prop_assert!(guess.output_tokens <= MOST_TOKENS);
        let used = usage(&body).unwrap_or_default();
        prop_assert!(used.input_tokens <= 2 * MOST_TOKENS && used.output_tokens <= 2 * MOST_TOKENS);
    }
}

#[test]
fn an_answer_in_pieces_used_what_they_say_together() {
    let chat = "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n";
    let claude = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n\
                  event: message_delta\ndata: {\"usage\":{\"output_tokens\":4}}\n\n";
    let responses = "data: {\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}}\n";
    let ollama = "{\"done\":false}\n{\"done\":true,\"prompt_eval_count\":3,\"eval_count\":4}\n";
    for body in [chat, claude, responses, ollama] {
        assert_eq!(usage(body.as_bytes()), Some(cost(3, 4)), "{body}");
    }
    assert_eq!(usage(b"data: {\"choices\":[]}\n"), None);
}
