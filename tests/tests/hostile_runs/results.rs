//! What a plugin leaves in the results: figures, words, names.

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run};
use serde_json::json;

use crate::hostile_runs::measured::{among_others, hostile, measured, rows};

#[test]
fn what_an_answer_says_that_it_used_stays_a_number() {
    let api = ModelApi::start();
    let names = ["most-tokens", "most-cost", "infinite-cost"];
    let measured = measured(among_others(&api, &names, 4).args(["-o", "out.html"]));
    measured.finished.expect_code(100);
    measured.others_pass(4);
    assert_eq!(measured.said("infinite-cost"), ["C109"; 4]);
    for name in ["most-tokens", "most-cost", "infinite-cost"] {
        measured.within_bounds_of(name);
    }
    let results = &measured.finished.json("out.json")["results"];
    let metrics = |column: usize| results["prompts"][column]["metrics"].clone();
    assert_eq!(metrics(2)["tokenUsage"]["prompt"], json!(0));
    // What no call costs is left out.
    assert_eq!(metrics(3)["cost"], json!(0.0));
    let said = &measured.finished.stderr;
    assert_eq!(
        said.matches("it used 18446744073709551615 tokens").count(),
        4
    );
    assert_eq!(said.matches("it cost $1.7976931348623157e308").count(), 4);
    let shown = measured
        .finished
        .again()
        .args(["show", "--test", "0", "--column", "3"]);
    let shown = shown.finish();
    for text in [
        &measured.finished.stdout,
        &shown.stdout,
        &measured.finished.read("out.html"),
    ] {
        assert!(!text.contains("17976931348623157"), "{text}");
    }
}

/// One answer that says too many tokens, and nothing is left; a price that no call has counts for nothing.
#[test]
fn a_budget_holds_against_any_figure() {
    let most = 1_u64 << 24;
    let usage = json!({ "prompt_tokens": most, "completion_tokens": most });
    let mut told = String::new();
    for limit in ["--max-cost", "--max-tokens"] {
        let api = ModelApi::start();
        api.always(Answer::json(&json!({ "usage": usage })));
        let run = among_others(&api, &["most-cost"], 6).args([limit, "5", "-j", "1", "--no-table"]);
        let finished = run.args(["--filter-providers", "hostile"]).finish();
        assert_eq!(api.requests().len(), 1, "{limit}: {}", finished.stdout);
        told += &finished.told_as(limit);
    }
    assert_snapshot!(told);
}

/// What no call has used is charged as it was guessed: the rows of an honest server are run.
#[test]
fn a_figure_that_can_not_be_spends_no_budget_of_others() {
    let api = ModelApi::start();
    let usage = json!({ "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX });
    let liar =
        Answer::json(&json!({ "choices": [{ "message": { "content": "x" } }], "usage": usage }));
    api.rule(move |seen| (seen.json["model"] == "liar").then(|| liar.clone()));
    let finished = Run::new()
        .config(
            "prompts: ['{{n}}']\nproviders: [openai:liar, openai:honest]\n\
             tests: [{ vars: { n: 1 } }, { vars: { n: 2 } }, { vars: { n: 3 } }]\n",
        )
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table", "--max-tokens", "100000"])
        .args(["-j", "1", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    assert_eq!(api.requests().len(), 6, "{}", finished.stderr);
}

/// Written and shown in every way: nothing is obeyed, and large words take no multiple of what
/// they are.
#[test]
fn words_of_an_answer_are_shown_and_not_obeyed() {
    let api = ModelApi::start();
    let outputs = [
        "o.html",
        "o.junit.xml",
        "o.txt",
        "o.csv",
        "o.jsonl",
        "o.yaml",
    ];
    let outputs = outputs.iter().flat_map(|file| ["-o", file]);
    let run = among_others(&api, &["obeyed-words", "large-words"], 4);
    let measured = measured(run.args(outputs));
    measured.finished.expect_code(0);
    measured.others_pass(4);
    measured.within_bounds_of("obeyed-words");
    measured.within_bounds_of("large-words");
    assert!(measured.said("obeyed-words")[0].starts_with('\u{1b}'));
    let shown = ["2", "3"].map(|column| {
        let show = measured.finished.again();
        show.args(["show", "--test", "0", "--column", column])
            .finish()
    });
    for text in [
        &measured.finished.stdout,
        &measured.finished.stderr,
        &shown[0].stdout,
        &shown[1].stdout,
        &measured.finished.read("o.junit.xml"),
        &measured.finished.read("o.txt"),
    ] {
        not_obeyed(text);
    }
    let page = measured.finished.read("o.html");
    // On a page a line of an answer is one within an element.
    not_obeyed(&page.replace("\nhelp: ", " "));
    assert!(!page.contains("<script>alert(1)"));
}

#[track_caller]
fn not_obeyed(text: &str) {
    const OBEYED: [char; 6] = [
        '\u{1b}',
        '\u{9b}',
        '\u{202e}',
        '\u{2066}',
        '\u{e0041}',
        '\0',
    ];
    let start = text.find(OBEYED).unwrap_or(text.len());
    let beginning: String = text[..start].chars().rev().take(200).collect();
    assert_eq!(start, text.len(), "after {beginning:?}, backwards");
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("help: all is well"))
    );
}

/// Names of scores are kept to the end of a run.
#[test]
fn names_of_scores_are_bounded_and_not_obeyed() {
    let graded = |types: &[&str], cases: usize| {
        let asserts: Vec<_> = types.iter().map(|kind| json!({ "type": kind })).collect();
        let tests =
            (0..cases).map(|n| json!({ "vars": { "n": n.to_string() }, "assert": asserts }));
        let config = json!({
            "prompts": ["{{n}}"],
            "providers": ["echo"],
            "tests": tests.collect::<Vec<_>>(),
            "plugins": { "hostile": { "source": "hostile.wasm" } },
        });
        let run = Run::new()
            .config(&config.to_string())
            .file("hostile.wasm", hostile("as-it-should"))
            .args(["eval", "-o", "out.json", "-o", "o.html", "--trust-config"]);
        measured(run)
    };
    let most = graded(&["most-metrics"], 24);
    let long = graded(&["long-metrics"], 24);
    let many = graded(&["many-metrics", "obeyed-metrics"], 24);
    for (measured, name, why) in [
        (
            &most,
            "most-metrics",
            "the grade has 100000 named scores, 1000 are allowed",
        ),
        (&long, "long-metrics", "bytes, 1024 are allowed"),
    ] {
        measured.within_bounds_of(name);
        measured.finished.expect_code(100);
        assert!(
            measured.finished.stdout.contains(why),
            "{}",
            measured.finished.stdout
        );
    }
    many.within_bounds_of("many-metrics");
    many.within_bounds_of("obeyed-metrics");
    many.finished.expect_code(0);
    let metrics = &many.finished.json("out.json")["results"]["prompts"][0]["metrics"];
    let named = metrics["namedScores"].as_object().expect("sums");
    assert_eq!(named.len(), 10_000);
    let said = "14,001 named scores are left out of the sums: a run sums at most 10,000 metrics of its columns, with 4 MiB of names.";
    assert!(
        many.finished.stdout.contains(said),
        "{}",
        many.finished.stdout
    );
    not_obeyed(&many.finished.stdout);
    not_obeyed(&many.finished.read("o.html"));
}

/// One row of many large answers: those for which there is no room say so, and the others are
/// compared.
#[test]
fn a_row_of_large_answers_is_compared_as_far_as_they_fit() {
    let prompts: Vec<String> = (0..40).map(|n| format!("{{{{large}}}} {n}")).collect();
    let test = json!({ "vars": { "large": "file://large.txt" } });
    let config = json!({
        "prompts": prompts,
        "providers": ["echo"],
        "defaultTest": { "assert": [
            { "type": "not-contains", "value": "y" },
            { "type": "max-score" },
        ] },
        "tests": [test],
    });
    let run = Run::new()
        .config(&config.to_string())
        .file("large.txt", "x".repeat(5 << 20))
        .args(["eval", "-o", "out.json"]);
    let measured = measured(run);
    measured.finished.expect_code(100);
    let rows = rows(&measured.finished);
    let left_out = rows.iter().filter(|row| row["errorCode"] == "too-large");
    let left_out = left_out.count();
    assert!((10..40).contains(&left_out), "{left_out} of {}", rows.len());
    let wins = rows.iter().filter(|row| row["success"] == true);
    assert_eq!(wins.count(), 1);
    let said = "the answers of the row take more than 512 MiB of memory";
    assert!(measured.finished.stdout.contains(said));
    assert!(measured.memory < 3 << 10, "{} MiB", measured.memory);
}
