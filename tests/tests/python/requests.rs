//! Requests of Python from the sandbox, to the hosts that the config grants.

use runner_tests::{Answer, ModelApi};

use super::*;

/// A run of `ask.py` as the provider, which is granted the server and a key that it does not see.
fn asking(api: &ModelApi, source: &str) -> Finished {
    let config = json!({
        "prompts": ["hi"],
        "providers": [{ "id": "file://ask.py", "config": { "url": api.url() } }],
        "tests": [{ "vars": { "n": 1 } }],
        "plugins": { "python": { "permissions": {
            "hosts": [api.url()],
            "credentials": { "acme": { "env": "ACME_KEY" } },
        } } },
    });
    let run = python().config(&config.to_string()).file("ask.py", source);
    evaluated(run.env("ACME_KEY", "acme-secret-0123456789"))
}

fn output(finished: &Finished) -> Value {
    let row = rows(finished)[0].clone();
    let output = row["response"]["output"].clone();
    assert!(!output.is_null(), "{row}");
    output
}

#[test]
fn the_library_s_own_code_asks() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let key = seen.header("authorization").unwrap_or_default();
        match seen.path.as_str() {
            "/none" => Some(Answer::error(404, "missing", "there is none")),
            "/chat" => Some(Answer::text(&format!(
                "{} {key}",
                seen.last_user_message()?
            ))),
            path => Some(Answer::json(
                &json!({ "path": path, "method": seen.method, "body": seen.json }),
            )),
        }
    });
    let source = r#"
import http.client
import json
from urllib import error, parse, request

def chat(url, prompt):
    body = json.dumps({"messages": [{"role": "user", "content": prompt}]}).encode()
    headers = {"Content-Type": "application/json", "runner-credential": "acme"}
    with request.urlopen(request.Request(url + "/chat", data=body, headers=headers)) as response:
        return json.load(response)["choices"][0]["message"]["content"]

def missing(url):
    try:
        request.urlopen(url + "/none")
    except error.HTTPError as failed:
        return [failed.code, json.loads(failed.read())["error"]["message"]]

def direct(url):
    connection = http.client.HTTPConnection(parse.urlsplit(url).netloc, timeout=20)
    seen = []
    for method in ("PUT", "GET"):
        connection.request(method, "/x?q=1", body=b"[1]" if method == "PUT" else None)
        response = connection.getresponse()
        seen.append([response.status, json.load(response)])
    return seen

def call_api(prompt, options, context):
    url = options["config"]["url"]
    return {"output": [chat(url, prompt), missing(url), direct(url)]}
"#;
    let finished = asking(&api, source);
    let answer = |method: &str, body: Value| json!([200, { "path": "/x?q=1", "method": method, "body": body }]);
    let direct = [answer("PUT", json!([1])), answer("GET", Value::Null)];
    let expected = json!(["hi Bearer [redacted]", [404, "there is none"], direct]);
    let output = output(&finished);
    assert_eq!(output[1], expected[1]);
    assert_eq!(output[2], expected[2]);
    let text = output[0].as_str().expect("a text");
    assert!(
        text.starts_with("hi Bearer ") && !text.contains("acme-secret"),
        "{text}"
    );
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_request_that_is_not_answered_says_why() {
    let (api, other) = (ModelApi::start(), ModelApi::start());
    let source = format!(
        "import urllib.request\n\ndef call_api(prompt, options, context):\n    \
         return {{'output': urllib.request.urlopen('{}/x').read()}}\n",
        other.url()
    );
    let finished = asking(&api, &source);
    let error = rows(&finished)[0]["error"].clone();
    let error = error.as_str().expect("an error");
    assert!(
        error.contains("`plugins.python.permissions`: hosts: "),
        "{error}"
    );
    assert!(error.contains("ask.py:4"), "{error}");
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn whatever_code_makes_of_waiting_it_waits() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "n": 7 })));
    let source = "import asyncio\nimport json\nimport urllib.request\n\n\
        async def ask(url):\n    await asyncio.sleep(1)\n    \
        try:\n        return json.load(urllib.request.urlopen(url))['n']\n    \
        except:\n        return 'caught'\n\n\
        async def both(url):\n    return await asyncio.gather(ask(url + '/1'), ask(url + '/2'))\n\n\
        def call_api(prompt, options, context):\n    \
        return {'output': asyncio.run(both(options['config']['url']))}\n";
    assert_eq!(output(&asking(&api, source)), json!([7, 7]));
    assert_eq!(api.requests().len(), 2);
}

#[test]
fn code_without_a_grant_has_none_of_it() {
    let grade = "import urllib.parse\nreturn urllib.request.urlopen('http://127.0.0.1:1/')";
    let value = json!([{ "type": "python", "value": grade }]);
    let components = components(asserting(&value));
    let reason = reason(&components[0]).to_owned();
    assert!(reason.contains("does not exist in the sandbox"), "{reason}");
}
