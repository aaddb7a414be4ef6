//! Assertions that ask a model: which one, what it is shown, and what its failure means.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

const KEY: &str = "sk-test-key-of-a-test";

fn run(api: &ModelApi, rest: &str) -> Run {
    Run::new()
        .config(&format!(
            "prompts: ['Say {{{{word}}}}']\nproviders: ['openai:answers']\n{rest}"
        ))
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "--no-table", "-o", "out.json"])
}

/// The model `answers` says what it is asked for; judges say this.
fn judging(api: &ModelApi, verdict: &str) {
    let verdict = verdict.to_owned();
    api.rule(move |seen| (seen.json["model"] != "answers").then(|| Answer::text(&verdict)));
}

/// Verdict, score and reason of each assertion of the first row.
fn components(finished: &Finished) -> Vec<Value> {
    let document = finished.json("out.json");
    let row = &document["results"]["results"][0];
    let components = row["gradingResult"]["componentResults"].as_array();
    components
        .expect("graded")
        .iter()
        .map(|one| json!([one["pass"], one["score"], one["reason"]]))
        .collect()
}

/// Models in the order in which they were asked.
fn asked(api: &ModelApi) -> Vec<String> {
    let model = |value: &Value| value.as_str().expect("a model").to_owned();
    api.requests()
        .iter()
        .map(|it| model(&it.json["model"]))
        .collect()
}

#[test]
fn the_judge_that_the_config_names_gets_rubric_and_answer() {
    let api = ModelApi::start();
    judging(
        &api,
        r#"{"reason": "kind words", "pass": true, "score": 0.8}"#,
    );
    let finished = run(
        &api,
        "defaultTest: { options: { provider: 'openai:careful' } }\n\
         tests: [{ vars: { word: please }, assert: [{ type: llm-rubric, value: 'Is it kind about {{word}}?' }] }]",
    )
    .finish();
    finished.expect_code(0);
    assert_eq!(asked(&api), ["answers", "careful"]);
    let question = api.requests()[1].json["messages"].to_string();
    assert!(question.contains("Is it kind about please?"), "{question}");
    assert!(question.contains("Say please"), "{question}");
    assert_eq!(components(&finished), [json!([true, 0.8, "kind words"])]);
    let row = finished.json("out.json")["results"]["results"][0].clone();
    assert_eq!(row["gradingResult"]["tokensUsed"]["numRequests"], 1);
}

/// Answers and judges have prices; with the cache nothing of them is paid again.
#[test]
fn a_run_says_what_its_judges_cost_and_what_the_cache_saved() {
    let api = ModelApi::start();
    judging(&api, r#"{"reason": "kind", "pass": true, "score": 1}"#);
    let config = "prompts: ['Say {{word}}']\n\
         providers: [{ id: 'openai:answers', config: { inputCost: 0, outputCost: 0.25 } }]\n\
         defaultTest: { options: { provider: { id: 'openai:careful', config: { inputCost: 0, outputCost: 0.5 } } } }\n\
         tests: [{ vars: { word: please }, assert: [{ type: llm-rubric, value: kind }, { type: cost, threshold: 0.5 }] }]";
    let eval = ["eval", "--no-table", "-o", "out.json", "--max-cost", "10"];
    let run = |run: Run| run.config(config).args(eval).finish();
    let first = run(Run::new()
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url())));
    first.expect_code(0);
    let of = |finished: &Finished| {
        let results = finished.json("out.json")["results"].clone();
        let row = &results["results"][0];
        let answer = row["cost"].as_f64().expect("a price");
        let judge = row["gradingResult"]["cost"].as_f64().expect("a price");
        assert!(answer > 0.0 && judge > answer, "{row}");
        let metrics = results["prompts"][0]["metrics"].clone();
        assert_eq!(metrics["cost"], json!(answer));
        let spent = results["stats"]["budgets"][0]["spent"].clone();
        (
            answer,
            judge,
            results["stats"]["cost"].clone(),
            metrics,
            spent,
        )
    };
    let (answer, judge, cost, metrics, spent) = of(&first);
    let paid = answer + judge;
    assert_eq!(
        cost,
        json!({ "paid": paid, "grading": judge, "saved": 0.0 })
    );
    assert_eq!(
        (&metrics["incurredCost"], &spent),
        (&json!(paid), &json!(paid))
    );
    assert_eq!(metrics["gradingCost"], json!(judge));
    assert!(first.stdout.contains("for grading"), "{}", first.stdout);

    let second = run(first.again());
    second.expect_code(0);
    assert_eq!(api.requests().len(), 2, "all of it was in the cache");
    let (_, _, cost, metrics, spent) = of(&second);
    assert_eq!(cost, json!({ "paid": 0.0, "grading": 0.0, "saved": paid }));
    assert_eq!(
        (&metrics["incurredCost"], &spent),
        (&json!(0.0), &json!(0.0))
    );
    assert!(second.stdout.contains("saved"), "{}", second.stdout);
}

#[test]
fn a_judge_beside_the_assertion_wins_and_a_rubric_of_ones_own_is_asked() {
    let api = ModelApi::start();
    judging(&api, r#"{"pass": false, "reason": "no"}"#);
    let finished = run(
        &api,
        "defaultTest: { options: { provider: 'openai:careful', rubricPrompt: 'file://ask.txt' } }\n\
         tests: [{ vars: { word: a }, assert: [{ type: not-llm-rubric, value: v, provider: 'openai:own', votes: 3 }] }]",
    )
    .file("ask.txt", "Judge {{output}} by {{rubric}}\n")
    .finish();
    finished.expect_code(0);
    let mut models = asked(&api);
    models.sort();
    assert_eq!(models, ["answers", "own", "own", "own"]);
    let last = api.requests()[1].last_user_message().map(str::to_owned);
    assert!(last.expect("a question").starts_with("Judge Say a by v"));
}

#[test]
fn vectors_come_from_a_provider_that_makes_them() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let inputs = seen.json["input"].as_array()?;
        let vector = |(index, text): (usize, &Value)| {
            let length = text.as_str().map_or(0, str::len);
            json!({ "index": index, "embedding": [length, 1] })
        };
        let data: Vec<Value> = inputs.iter().enumerate().map(vector).collect();
        let usage = json!({ "prompt_tokens": 5, "total_tokens": 5 });
        Some(Answer::json(&json!({ "data": data, "usage": usage })))
    });
    let finished = run(
        &api,
        "tests: [{ vars: { word: a }, assert: [{ type: similar, value: 'Say b', threshold: 0.99 }, { type: 'not-similar:euclidean', value: 'much longer than that', threshold: 2 }] }]",
    )
    .finish();
    finished.expect_code(0);
    let paths: Vec<String> = api.requests().iter().map(|it| it.path.clone()).collect();
    assert_eq!(paths[1..], ["/v1/embeddings", "/v1/embeddings"]);
    assert_eq!(api.requests()[1].json["model"], "text-embedding-3-large");
    let row = finished.json("out.json")["results"]["results"][0].clone();
    assert_eq!(row["gradingResult"]["tokensUsed"]["total"], 10);
}

#[test]
fn a_judge_that_fails_never_passes_and_the_answer_is_kept() {
    let api = ModelApi::start();
    judging(&api, "I would rather not say");
    let tests = "defaultTest: { options: { provider: 'openai:careful' } }\n\
                 tests: [{ vars: { word: a }, assert: [{ type: llm-rubric, value: v, metric: tone }, { type: not-llm-rubric, value: v }, { type: contains, value: Say }] }]";
    let finished = run(&api, tests).finish();
    finished.expect_code(100);
    let verdicts: Vec<Value> = components(&finished)
        .iter()
        .map(|one| one[0].clone())
        .collect();
    assert_eq!(verdicts, [json!(false), json!(false), json!(true)]);
    let row = finished.json("out.json")["results"]["results"][0].clone();
    assert_eq!(row["response"]["output"], "Say a");

    // A key that is refused is told as what it is.
    let api = ModelApi::start();
    api.rule(|seen| {
        (seen.json["model"] != "answers").then(|| Answer::error(401, "invalid_api_key", "bad key"))
    });
    let finished = run(&api, tests).finish();
    finished.expect_code(100);
    let reason = components(&finished)[0][2].to_string();
    assert!(reason.contains("401"), "{reason}");
    // It is no score of the model's; the file has promptfoo's figure, and says so.
    let told = "  tone    – (1 not graded)\n";
    assert!(finished.stdout.contains(told), "{}", finished.stdout);
    let row = finished.json("out.json")["results"]["results"][0].clone();
    assert_eq!(row["namedScores"], json!({ "tone": 0.0 }));
    assert_eq!(row["gradingResult"]["notGraded"], json!(["tone"]));
}

/// Who could silence a judge would choose the mean.
#[test]
fn a_threshold_is_not_held_by_what_a_judge_failed_to_grade() {
    let api = ModelApi::start();
    api.rule(|seen| {
        let asked = seen.json["messages"].to_string();
        let verdict = if asked.contains("Say nothing") {
            "I would rather not say"
        } else {
            r#"{"pass": true, "score": 1}"#
        };
        (seen.json["model"] != "answers").then(|| Answer::text(verdict))
    });
    let run = run(
        &api,
        "defaultTest: { options: { provider: 'openai:careful' }, assert: [{ type: llm-rubric, value: v, metric: tone }] }\n\
         tests: [{ vars: { word: a } }, { vars: { word: b } }, { vars: { word: c } }, { vars: { word: nothing } }]",
    );
    let finished = run
        .args(["--min-pass-rate", "50", "--min-metric", "tone=0.8"])
        .finish();
    finished.expect_code(100);
    let found = "1 in column 0, 0.75 at worst (1 not graded)";
    let held = finished.json("out.json")["results"]["stats"]["thresholds"][1].clone();
    assert_eq!(
        (&held["holds"], &held["found"]),
        (&json!(false), &json!(found))
    );
    let enough = finished.again().args([
        "eval",
        "--no-table",
        "--min-pass-rate",
        "50",
        "--min-metric",
        "tone=0.75",
    ]);
    let finished = enough.finish();
    finished.expect_code(0);
}

#[test]
fn a_judge_that_cannot_do_what_is_asked_is_said_before_anything_is_sent() {
    let api = ModelApi::start();
    let mut told = String::new();
    for assertion in [
        "{ type: similar, value: v, provider: { embedding: echo } }",
        "{ type: classifier, value: v }",
        "{ type: llm-rubric, value: v, provider: 'nope:x' }",
    ] {
        let tests = format!("tests: [{{ vars: {{ word: a }}, assert: [{assertion}] }}]");
        told += &run(&api, &tests).finish().told_as(assertion);
    }
    assert_snapshot!(told);
    assert_eq!(api.requests().len(), 0);
}

#[test]
fn a_budget_that_ends_while_grading_is_no_verdict() {
    let api = ModelApi::start();
    judging(&api, r#"{"pass": true}"#);
    let finished = run(
        &api,
        "defaultTest: { options: { provider: 'openai:careful' } }\n\
         tests: [{ vars: { word: a }, assert: [{ type: not-llm-rubric, value: v }] }]",
    )
    .args(["--max-requests", "1"])
    .finish();
    finished.expect_code(100);
    let row = finished.json("out.json")["results"]["results"][0].clone();
    assert_eq!(row["outcome"], "budget-exceeded");
    assert_eq!(row["response"]["output"], "Say a");
}
