//! Requests: what code asks when it waits, and what it makes of the answers.

use super::*;

/// Runs a text as code that may send requests, with the answers that there are.
fn asked(source: &str, answers: &Value) -> Outcome {
    let arguments = [
        testing::argument("url", &json!("https://a.example/x")),
        testing::argument("$answers", answers),
    ];
    let program = testing::code("javascript", source);
    JavaScript::run(&program, &arguments, &testing::context())
}

/// What it waits for at first.
fn requests(source: &str) -> Value {
    let outcome = asked(source, &json!([]));
    let text = outcome.result.expect("it asks").expect("it asks");
    let mut asked: Value = serde_json::from_str(&text).expect("it is JSON");
    asked["requests"].take()
}

/// What it gives in the end, each address answered with its own path.
fn value(source: &str) -> Value {
    let answer = |request: &Value| {
        let path = request["url"].as_str().expect("an address");
        let path = path.trim_start_matches("https://a.example");
        let headers = json!([["content-type", "application/json"], ["x-n", "1"]]);
        let body = json!({ "path": path, "method": request["method"] }).to_string();
        json!({ "url": request["url"], "status": 200, "headers": headers, "text": body })
    };
    let mut answers = Vec::new();
    loop {
        let outcome = asked(source, &json!(answers));
        let text = outcome
            .result
            .expect("it goes on")
            .expect("it says something");
        let mut said: Value = serde_json::from_str(&text).expect("it is JSON");
        match said["requests"].as_array() {
            Some(requests) => answers.extend(requests.iter().map(answer)),
            None => return said["value"].take(),
        }
    }
}

#[test]
fn what_code_waits_for_is_what_it_asks() {
    let plain = json!([{ "method": "GET", "url": "https://a.example/x", "headers": [] }]);
    assert_eq!(requests("await fetch(url)"), plain);
    assert_eq!(
        requests("fetch(new Request(url)).then((r) => r.text())"),
        plain
    );
    let posted = requests(
        "await fetch(new URL('/y?q=1#z', url), { method: 'post', headers: { 'X-A': 1, accept: 'a' }, \
         body: JSON.stringify({ é: 1 }), signal: AbortSignal.timeout(5000) })",
    );
    let expected = json!([{
        "method": "POST", "url": "https://a.example/y?q=1",
        "headers": [["accept", "a"], ["content-type", "text/plain;charset=UTF-8"], ["x-a", "1"]],
        "text": "{\"é\":1}", "timeoutMs": 5000,
    }]);
    assert_eq!(posted, expected);
    let both = requests("await Promise.all(['a', 'b'].map((p) => fetch(new URL(p, url))))");
    assert_eq!(both.as_array().map(Vec::len), Some(2));
}

#[test]
fn bodies_are_texts_forms_and_bytes() {
    let sent = |body: &str| {
        let mut all = requests(&format!(
            "await fetch(url, {{ method: 'PUT', body: {body} }})"
        ));
        let type_of = all.pointer("/0/headers/0/1").cloned().unwrap_or_default();
        (all[0]["text"].take(), all[0]["base64"].take(), type_of)
    };
    let form = "application/x-www-form-urlencoded;charset=UTF-8";
    assert_eq!(
        sent("new URLSearchParams({ a: 'b c' })"),
        (json!("a=b+c"), Value::Null, json!(form))
    );
    assert_eq!(
        sent("new Uint8Array([1, 255])"),
        (Value::Null, json!("Af8="), Value::Null)
    );
    let many = "(() => { const f = new FormData(); f.append('a', 'x\\ny'); \
                f.append('b', new Blob(['1'], { type: 'text/plain' }), 'n.txt'); return f; })()";
    let (_, bytes, type_of) = sent(many);
    assert_eq!(
        type_of,
        json!("multipart/form-data; boundary=runner-form-0")
    );
    let text = value_of_base64(bytes.as_str().expect("bytes"));
    assert_eq!(
        text,
        "--runner-form-0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\ny\r\n\
         --runner-form-0\r\nContent-Disposition: form-data; name=\"b\"; filename=\"n.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n1\r\n--runner-form-0--\r\n"
    );
}

fn value_of_base64(text: &str) -> String {
    let source = format!("atob('{text}')");
    let outcome = inline(&source).result.expect("a text").expect("a text");
    serde_json::from_str(&outcome).expect("a text")
}

#[test]
fn answers_come_to_where_they_are_waited_for() {
    for (source, expected) in [
        ("(await (await fetch(url)).json()).path", json!("/x")),
        (
            "const r = await fetch(url); [r.ok, r.status, r.statusText, r.headers.get('X-N'), r.url]",
            json!([true, 200, "OK", "1", "https://a.example/x"]),
        ),
        (
            "const r = await fetch(url); [(await r.clone().text()).length, (await r.arrayBuffer()).byteLength]",
            json!([28, 28]),
        ),
        (
            "const seen = [];\nfor (const p of ['/1', '/2', '/3']) {\n  const r = await fetch(new URL(p, url));\n  \
             seen.push((await r.json()).path);\n}\nreturn seen;",
            json!(["/1", "/2", "/3"]),
        ),
        (
            // The second of a pair asks once more before the first.
            "const deep = async (p) => (await (await fetch(new URL(p, url))).json()).path;\n\
             const twice = async (p) => deep(await deep(p) + 'again');\n\
             return Promise.all([deep('/a'), twice('/b'), Promise.resolve(1)]);",
            json!(["/a", "/bagain", 1]),
        ),
        (
            "const c = new AbortController(); const t = setTimeout(() => c.abort(), 10); \
             const r = await fetch(url, { signal: c.signal }); clearTimeout(t); r.status",
            json!(200),
        ),
        (
            "const c = new AbortController(); const p = fetch(url, { signal: c.signal }).catch((e) => e.name); \
             c.abort(); p",
            json!("AbortError"),
        ),
        ("(await Response.json({ a: 1 }).json()).a", json!(1)),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
}

#[test]
fn a_request_that_failed_throws() {
    let late = json!([{ "url": "https://a.example/x", "failed": "no answer", "isLate": true }]);
    let name = "await fetch(url, { signal: AbortSignal.timeout(1) }).catch((e) => e.name)";
    let text = asked(name, &late).result;
    assert_eq!(text, Ok(Some(r#"{"value":"TimeoutError"}"#.to_owned())));
    let denied = json!([{ "url": "https://a.example/x", "failed": "may not" }]);
    check(
        "uncaught",
        &asked("await fetch(url)", &denied),
        &Bad(Exception, "TypeError: fetch failed: may not"),
    );
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (source, words) in [
        ("await fetch('ftp://a')", "`fetch of ftp:`"),
        (
            "await fetch(url, { redirect: 'manual' })",
            "redirect: 'manual'",
        ),
        ("new Response('x').body", "`body as a stream`"),
        ("new WebSocket(url)", "`WebSocket`"),
    ] {
        check(source, &asked(source, &json!([])), &Bad(Unsupported, words));
    }
    for (source, words) in [
        ("await fetch('/x')", "Failed to parse URL from /x"),
        (
            "await fetch('https://u:p@a.example/')",
            "includes credentials",
        ),
        ("await fetch(url, { body: 'x' })", "cannot have body"),
    ] {
        check(source, &asked(source, &json!([])), &Bad(Exception, words));
    }
    check(
        "without a grant",
        &inline("await fetch('https://a.example')"),
        &Bad(Unsupported, "`fetch` does not exist in the sandbox"),
    );
}

#[test]
fn answers_that_belong_to_other_requests_are_given_to_none() {
    let other = json!([{ "url": "https://b.example/", "status": 200, "headers": [], "text": "" }]);
    let words = "not those of these requests";
    check(
        "other",
        &asked("await fetch(url)", &other),
        &Bad(Exception, words),
    );
}
