//! The scripted host: it plays what it was told, keeps what it saw, and fails what departs.

use std::panic::{UnwindSafe, catch_unwind};
use std::time::Duration;

use runner_plugin::json::json;
use runner_plugin::log::{self, Level};
use runner_plugin::testing::{Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Request, http, llm};

const URL: &str = "https://api.test/x";

/// What a plugin that departs from its script is told.
fn panic_of(play: impl FnOnce() + UnwindSafe) -> String {
    let panic = catch_unwind(play).expect_err("a panic");
    panic
        .downcast::<String>()
        .map_or_else(|_| "no text".to_owned(), |text| *text)
}

#[test]
fn a_request_is_built_and_recorded() {
    let script = Script::new()
        .exchange(
            "PUT",
            URL,
            Reply::text(201, "made").header("X-Id", "7").cached(),
        )
        .exchange(
            "GET",
            URL,
            Reply::refused(Error::new(ErrorCode::Denied, "no")),
        );
    let played = script.play(|| {
        let first = http::request("PUT", URL)
            .header("accept", "text/plain")
            .body("body")
            .credential("key")
            .bucket("m1")
            .timeout(Duration::from_millis(250))
            .uncached()
            .send();
        (first, http::get(URL).send())
    });
    let (first, second) = played.result;
    let first = first.expect("a response");
    assert_eq!(
        (first.status, first.text().as_str(), first.cached),
        (201, "made", true)
    );
    assert_eq!(first.header("X-ID"), Some("7"));
    assert_eq!(second.map_err(|error| error.code), Err(ErrorCode::Denied));
    let [put, get] = &played.requests[..] else {
        panic!("two requests")
    };
    assert_eq!(put.header_value("Accept"), Some("text/plain"));
    assert_eq!(put.body.as_deref(), Some(&b"body"[..]));
    assert_eq!(put.credential.as_deref(), Some("key"));
    assert_eq!(put.bucket.as_deref(), Some("m1"));
    assert_eq!(put.timeout, Some(Duration::from_millis(250)));
    assert_eq!(put.cache, http::CacheMode::Bypass);
    assert_eq!((get.body_json(), get.cache), (None, http::CacheMode::Auto));
}

#[test]
fn several_requests_keep_their_order() {
    let script = Script::new()
        .exchange("GET", "https://api.test/1", Reply::text(200, "one"))
        .exchange("GET", "https://api.test/2", Reply::text(500, "two"));
    let played = script.play(|| {
        let requests = ["https://api.test/1", "https://api.test/2"].map(http::get);
        http::send_all(requests.into())
    });
    let answers: Vec<_> = played
        .result
        .into_iter()
        .map(|result| result.and_then(http::Response::ok))
        .collect();
    assert_eq!(
        answers[0].as_ref().map(http::Response::text),
        Ok("one".to_owned())
    );
    assert_eq!(
        answers[1].as_ref().map_err(|error| error.code),
        Err(ErrorCode::Transient)
    );
}

#[test]
fn a_response_that_is_not_json_is_a_bad_response() {
    let script = Script::new().exchange("GET", URL, Reply::text(200, "<html>"));
    let played = script.play(|| http::get(URL).send()?.json::<Vec<u8>>());
    assert_eq!(
        played.result.map_err(|error| error.code),
        Err(ErrorCode::BadResponse)
    );
}

#[test]
fn models_are_asked_by_name() {
    let script = Script::new()
        .answer("grader", Completion::text("yes"))
        .refuse("grader", Error::new(ErrorCode::Budget, "spent"))
        .embed("vectors", Ok(vec![vec![0.5]]));
    let played = script.play(|| {
        let answers = llm::complete_all("grader", &[Request::new("a"), Request::new("b")]);
        (answers, llm::embed("vectors", &["x".to_owned()]))
    });
    let (answers, vectors) = played.result;
    let texts: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.map(|answer| answer.completion.message.text()))
        .collect();
    assert_eq!(texts[0], Ok("yes".to_owned()));
    assert_eq!(
        texts[1].as_ref().map_err(|error| error.code),
        Err(ErrorCode::Budget)
    );
    assert_eq!(vectors, Ok(vec![vec![0.5]]));
    let asked: Vec<&str> = played
        .asked
        .iter()
        .map(|(_, request)| &*request.prompt)
        .collect();
    assert_eq!(asked, ["a", "b"]);
}

#[test]
fn lines_of_the_log_are_kept() {
    let played = Script::new().play(|| {
        log::info("begun");
        log::line(Level::Warn, "slow").field("ms", 12).emit();
    });
    let lines: Vec<(Level, &str)> = played
        .log
        .iter()
        .map(|line| (line.level, line.message.as_str()))
        .collect();
    assert_eq!(lines, [(Level::Info, "begun"), (Level::Warn, "slow")]);
    assert_eq!(played.log[1].fields, [("ms".to_owned(), "12".to_owned())]);
}

#[test]
fn a_plugin_that_departs_from_the_script_fails() {
    let ok = || Reply::json(200, &json!({}));
    for (text, script, urls) in [
        (
            "the plugin left out: GET https://api.test/x",
            Script::new().exchange("GET", URL, ok()),
            vec![],
        ),
        (
            "the script expects no further GET https://api.test/x request",
            Script::new().exchange("GET", URL, ok()),
            vec![URL, URL],
        ),
        (
            "another request was expected",
            Script::new().exchange("POST", URL, ok()),
            vec![URL],
        ),
    ] {
        let said = panic_of(move || {
            script.play(|| {
                for url in urls {
                    assert!(http::get(url).send().is_ok());
                }
            });
        });
        assert!(said.contains(text), "{said}");
    }
    let said = panic_of(|| drop(http::get(URL).send()));
    assert!(said.contains("outside a script"), "{said}");
    let again = Script::new()
        .exchange("GET", URL, ok())
        .play(|| http::get(URL).send());
    assert!(
        again.result.is_ok(),
        "a failed script leaves nothing behind"
    );
}
