//! A variable in a header of a provider (`X-Api-Key: '{{ env.KEY }}'`) is a credential like any other: no template works
//! on it, its requests are told from those with another key, and answers to it come whole.

use runner_tests::{Answer, Finished, ModelApi, Run, Seen};
use serde_json::{Value, json};

const KEYS: [(&str, &str); 2] = [
    ("A_SECRET", "aaaaaaa-secret-one-0123456789"),
    ("B_SECRET", "bbbbbbb-secret-two-9876543210"),
];

fn run(config: &str) -> Run {
    Run::new()
        .config(config)
        .envs(KEYS)
        .args(["eval", "--no-cache", "-o", "out.json"])
}

fn provider(url: &str, label: &str, headers: &str) -> String {
    format!(
        "{{ id: '{url}/x', label: {label}, config: {{ headers: {{ {headers} }}, body: {{ q: '{{{{prompt}}}}' }}, \
         transformResponse: json.answer }} }}"
    )
}

fn config(providers: &[String], tests: usize) -> String {
    let providers = providers.join(", ");
    let tests = (0..tests).map(|at| format!("{{ vars: {{ q: 'q{at}' }} }}"));
    let tests = tests.collect::<Vec<_>>().join(", ");
    format!("prompts: ['{{{{q}}}}']\nproviders: [{providers}]\ntests: [{tests}]\n")
}

fn answer(text: &str) -> Answer {
    Answer::json(&json!({ "answer": text }))
}

fn key_of(seen: &Seen) -> &str {
    seen.header("x-api-key").unwrap_or("none")
}

fn rows(finished: &Finished) -> Vec<Value> {
    let results = &finished.json("out.json")["results"]["results"];
    results.as_array().expect("rows").clone()
}

/// Label and output, or error, of each row.
fn told(finished: &Finished) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = rows(finished);
    let each = rows.iter().map(|row| {
        let said = &row["response"]["output"];
        (
            text(&row["provider"]["label"]),
            text(if said.is_string() {
                said
            } else {
                &row["error"]
            }),
        )
    });
    each.collect()
}

#[test]
fn the_server_gets_the_key_as_it_is() {
    let api = ModelApi::start();
    api.always(answer("yes"));
    let headers = "X-Api-Key: '{{ env.A_SECRET }}', X-Both: 'Bearer {{env.B_SECRET}} {{q}}', Openai-Organization: '{{env.A_SECRET}}'";
    let finished = run(&config(&[provider(&api.url(), "own", headers)], 1)).finish();
    finished.expect_code(0);
    let seen = &api.requests()[0];
    assert_eq!(key_of(seen), KEYS[0].1);
    assert_eq!(
        seen.header("x-both"),
        Some(format!("Bearer {} q0", KEYS[1].1).as_str())
    );
    assert_eq!(seen.header("openai-organization"), Some(KEYS[0].1));
}

#[test]
fn no_template_works_on_a_key() {
    let api = ModelApi::start();
    api.rule(|seen| Some(answer(seen.header("x-a").unwrap_or("none"))));
    let templates = [
        "{% set s %}{{env.A_SECRET}}{% endset %}{{ s | reverse }}",
        "{% filter upper %}{{env.A_SECRET}}{% endfilter %}",
        "{% macro m() %}{{env.A_SECRET}}{% endmacro %}{{ m() | length }}",
        "{% set s %}{{env.A_SECRET}}{% endset %}{{ s[0] }}{{ s[8] }}",
        "{% set s %}{{env.A_SECRET}}{% endset %}{% if \"secret\" in s %}it has that{% endif %}",
    ];
    let each = templates.iter().enumerate();
    let providers: Vec<String> = each
        .map(|(at, it)| provider(&api.url(), &format!("t{at}"), &format!("X-A: '{it}'")))
        .collect();
    let finished = run(&config(&providers, 1)).finish();
    finished.expect_code(0);
    let reversed: String = KEYS[0].1.chars().rev().collect();
    let upper = KEYS[0].1.to_uppercase();
    for seen in api.requests() {
        let got = seen.header("x-a").unwrap_or_default();
        assert!(!got.contains(&reversed) && !got.contains(&upper), "{got}");
        assert!(
            !got.contains(KEYS[0].1) && !got.contains("it has that"),
            "{got}"
        );
        assert_ne!(got, KEYS[0].1.len().to_string());
        assert_ne!(got, "as", "two letters of the key");
    }
}

#[test]
fn a_header_that_plugins_read_is_asked_for() {
    let api = ModelApi::start();
    api.always(answer("yes"));
    let headers = "Content-Type: '{% set s %}{{env.A_SECRET}}{% endset %}{{ s | reverse }}'";
    let finished = run(&config(&[provider(&api.url(), "own", headers)], 1)).finish();
    finished.expect_code(2);
    assert!(finished.stderr.contains("A_SECRET"), "{}", finished.stderr);
    assert!(api.requests().is_empty());
}

#[test]
fn a_wrong_key_ends_the_rows_of_its_own_column() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let is_wrong = key_of(seen) == KEYS[1].1;
        Some(if is_wrong {
            Answer::error(401, "invalid_api_key", "no")
        } else {
            answer("yes")
        })
    });
    let column = |label: &str, name: &str| {
        provider(
            &api.url(),
            label,
            &format!("X-Api-Key: '{{{{env.{name}}}}}'"),
        )
    };
    let finished = run(&config(
        &[column("wrong", "B_SECRET"), column("right", "A_SECRET")],
        40,
    ))
    .finish();
    finished.expect_code(100);
    let told = told(&finished);
    let of = |label: &str| {
        told.iter()
            .filter(|(it, _)| it == label)
            .map(|(_, said)| said.as_str())
            .collect::<Vec<_>>()
    };
    assert!(
        of("right").iter().all(|said| *said == "yes"),
        "{:?}",
        of("right")
    );
    let sent = api
        .requests()
        .iter()
        .filter(|it| key_of(it) == KEYS[1].1)
        .count();
    assert!(
        sent < 40,
        "the server said of this key that it is none, {sent} times"
    );
}

#[test]
fn a_recording_gives_nobody_the_answer_to_anothers_key() {
    let api = ModelApi::start();
    api.rule(|seen| {
        Some(answer(if key_of(seen) == KEYS[0].1 {
            "for A"
        } else {
            "for B"
        }))
    });
    let of = |name: &str| {
        let url = api.url();
        format!(
            "{{ id: '{url}/x', config: {{ headers: {{ X-Api-Key: '{{{{env.{name}}}}}' }}, body: {{ q: '{{{{prompt}}}}' }}, \
             transformResponse: json.answer }} }}"
        )
    };
    let recorded = run(&config(&[of("A_SECRET"), of("B_SECRET")], 1))
        .args(["--record", "tape.jsonl"])
        .finish();
    recorded.expect_code(0);
    let tape = recorded.read("tape.jsonl");
    assert!(
        KEYS.iter().all(|(_, key)| !tape.contains(key)) && !tape.contains("runner-header"),
        "{tape}"
    );

    let swapped = recorded
        .again()
        .config(&config(&[of("B_SECRET"), of("A_SECRET")], 1));
    let replayed = swapped
        .args(["eval", "--replay", "tape.jsonl", "-o", "out.json"])
        .finish();
    let said: Vec<String> = told(&replayed).into_iter().map(|(_, said)| said).collect();
    assert!(
        said.iter().all(|it| it.contains("is in the recording")),
        "{said:?}"
    );
}

#[test]
fn an_answer_to_a_key_comes_whole_and_is_remembered_for_it_alone() {
    let api = ModelApi::start();
    api.rule(|seen| {
        Some(answer(if key_of(seen) == KEYS[0].1 {
            "for A"
        } else {
            "for B"
        }))
    });
    let parts = provider(
        &api.url(),
        "parts",
        "X-Api-Key: '{{env.A_SECRET}}', Range: 'bytes=0-25'",
    );
    let refused = run(&config(&[parts], 1)).finish();
    refused.expect_code(100);
    assert!(
        told(&refused)[0]
            .1
            .contains("with a credential answers come whole"),
        "{:?}",
        told(&refused)
    );

    let of = |label: &str, name: &str| {
        config(
            &[provider(
                &api.url(),
                label,
                &format!("X-Api-Key: '{{{{env.{name}}}}}'"),
            )],
            1,
        )
    };
    let mut last = refused;
    for (label, name, expected) in [
        ("a", "A_SECRET", "for A"),
        ("b", "B_SECRET", "for B"),
        ("c", "A_SECRET", "for A"),
    ] {
        let run = last.again().config(&of(label, name));
        last = run.args(["eval", "-o", "out.json"]).finish();
        assert_eq!(told(&last)[0].1, expected, "{label}");
    }
    assert_eq!(api.requests().len(), 2, "the third was remembered");
}
