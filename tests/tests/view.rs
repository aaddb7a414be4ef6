//! `runner view`: the program serves what a run left, to whoever opens the address it printed, until
//! Ctrl-C. What the pages show is tested beside them.

use runner_tests::{Answer, Gate, ModelApi, Run, Viewed};

const CONFIG: &str = "
description: greetings
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada }] }
";

/// The id of the one run that is listed.
fn only_run(viewed: &Viewed) -> String {
    let list = viewed.page("/");
    let id = list
        .split("/runs/")
        .nth(1)
        .and_then(|it| it.split('"').next());
    id.expect("a run is listed").to_owned()
}

#[test]
fn a_run_is_served_to_whoever_opens_the_address_until_it_is_interrupted() {
    let evaluated = Run::new().config(CONFIG).arg("eval").finish();
    evaluated.expect_code(0);
    let viewed = Viewed::of(&evaluated.again());
    assert!(viewed.refusal("/").starts_with("HTTP/1.1 403"));
    assert!(viewed.page("/").contains("greetings"));
    viewed.end().expect_code(0);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let finished = Run::new()
        .args(["view", "--no-open", "--port", &port])
        .finish();
    finished.expect_code(2);
    let said = format!("error: port {port} of 127.0.0.1 can't be listened on");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}

/// Only the process that runs knows how its lanes stand: it writes that down, and the server of another
/// process shows it while the run goes on and when it has ended.
#[test]
fn the_lanes_of_a_run_are_seen_while_it_goes_on_and_afterwards() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    api.always(Answer::text("late").behind(&gate));
    let run = Run::new()
        .config("prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n")
        .numbered_tests(9)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    let running = run.clone().args(["eval", "-j", "3"]).start();
    api.wait_until(|view| view.in_flight == 3);
    let viewed = Viewed::of(&run);
    let list = viewed.page("/");
    let id = list
        .split("/runs/")
        .nth(1)
        .and_then(|it| it.split('"').next());
    let id = id.expect("a run that goes on is listed").to_owned();
    let told = viewed.hears(&format!("/runs/{id}/live"), "3 at most, of");
    assert!(told.contains("event: lanes"), "{told}");
    assert!(!told.contains("sk-test-key"), "{told}");
    gate.open();
    running.finish().expect_code(0);
    let page = viewed.page(&format!("/runs/{id}"));
    assert!(
        page.contains("<summary>Lanes over time</summary>"),
        "{page}"
    );
    assert!(page.contains("127.0.0.1"), "{page}");
    viewed.end().expect_code(0);
}

/// A case whose first attempt was refused shows both, and what it waited; one that went well at once shows
/// nothing of it, and its row has nothing of it.
#[test]
fn the_attempts_of_a_case_are_seen_where_there_was_more_than_one() {
    let api = ModelApi::start();
    let refuse = std::sync::atomic::AtomicBool::new(true);
    api.rule(move |seen| {
        let first = seen.last_user_message()? == "0"
            && refuse.swap(false, std::sync::atomic::Ordering::Relaxed);
        first.then(|| Answer::status(429).header("retry-after-ms", "20"))
    });
    let finished = Run::new()
        .config("prompts: ['{{n}}']\nproviders: [openai:m]\ntests: tests.csv\n")
        .numbered_tests(2)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "-j", "1", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    let rows = finished.json("out.json")["results"]["results"].take();
    let attempts = rows[0]["attempts"].as_array().expect("attempts");
    let told: Vec<_> = attempts
        .iter()
        .map(|it| {
            (
                it["attempt"].as_u64(),
                it["status"].as_u64(),
                it["ended"].as_str(),
            )
        })
        .collect();
    let expected = [
        (Some(1), Some(429), Some("throttled")),
        (Some(2), Some(200), Some("ok")),
    ];
    assert_eq!(told, expected);
    assert!(rows[1].get("attempts").is_none(), "{}", rows[1]);
    let viewed = Viewed::of(&finished.again());
    let id = only_run(&viewed);
    let page = viewed.page(&format!("/runs/{id}/cases/0/0"));
    assert!(page.contains("<h2>Attempts and waits</h2>"), "{page}");
    assert!(page.contains("429 throttled"), "{page}");
    let other = viewed.page(&format!("/runs/{id}/cases/1/0"));
    assert!(!other.contains("Attempts and waits"), "{other}");
    viewed.end().expect_code(0);
}

/// A case that a person has to look at is green for nobody before; the thumb decides it, in every file and page.
#[test]
fn a_human_assertion_waits_for_the_thumb_that_decides_it() {
    let config = "
prompts: ['Hello {{name}}']
providers: [echo]
tests:
  - { vars: { name: Ada }, assert: [{ type: contains, value: Ada }, { type: human, value: Is it polite?, metric: tone }] }
  - { vars: { name: Bob }, assert: [{ type: contains, value: Ada }, { type: human }] }
";
    let evaluated = Run::new().config(config).arg("eval").finish();
    evaluated.expect_code(100);
    for said in [
        "1 failed, 1 waits for a person; ",
        "1 case waits for a person's verdict, a thumb or a score: runner view",
    ] {
        assert!(
            evaluated.stdout.contains(said),
            "{said}: {}",
            evaluated.stdout
        );
    }
    for told in ["[WAITS]", "✗ Expected output to contain"] {
        assert!(evaluated.stdout.contains(told), "{}", evaluated.stdout);
    }
    let viewed = Viewed::of(&evaluated.again());
    let run = only_run(&viewed);
    let case = |test: u32| format!("/runs/{run}/cases/{test}/0");
    let page = viewed.page(&case(0));
    assert!(
        page.contains("WAITS") && page.contains("This case waits for your verdict"),
        "{page}"
    );
    let row = |page: &str| {
        let (_, rest) = page.split_once("name=\"row\" value=\"").expect("a form");
        rest.split('"').next().expect("an id").to_owned()
    };
    let say = |test: u32, said: &str| {
        let form = format!("row={}&{said}", row(&viewed.page(&case(test))));
        let answer = viewed.post(&case(test), &form);
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        viewed.page(&case(test))
    };
    let figures = || viewed.page(&format!("/runs/{run}/figures"));
    assert!(!figures().contains("<th scope=\"row\">tone</th>"));
    assert!(say(0, "thumb=up&comment=kind").contains("a person says that it is good: kind"));
    assert!(
        figures().contains("<th scope=\"row\">tone</th>") && figures().contains("50.0 % passed")
    );
    // What another assertion refused no thumb makes good.
    assert!(say(1, "thumb=up").contains("<span class=\"badge FAIL\">FAIL</span>"));
    assert!(say(0, "").contains("WAITS"));
    say(0, "score=0.8");
    viewed.end().expect_code(0);
    let shown = evaluated.again().args(["show", "--json"]).finish();
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let first = &shown["results"]["results"][0];
    assert_eq!(
        (&first["success"], &first["namedScores"]["tone"]),
        (&true.into(), &0.8.into())
    );
    assert_eq!(first["annotation"]["score"], 0.8);
}

/// What waits for a person has not failed: no figure and no file counts it so.
#[test]
fn a_case_that_waits_is_counted_apart() {
    let config = "prompts: [Hello]\nproviders: [echo]\ntests:\n\
        - { assert: [{ type: human }] }\n- { assert: [{ type: contains, value: Bye }] }\n";
    let evaluated = Run::new().config(config);
    let evaluated = evaluated
        .args(["eval", "-o", "x.junit.xml", "-o", "x.md", "-o", "x.json"])
        .finish();
    evaluated.expect_code(100);
    let junit = evaluated.read("x.junit.xml");
    for part in [
        " tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\" ",
        "<skipped message=\"waits for a person",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    let outcome =
        |test: usize| evaluated.json("x.json")["results"]["results"][test]["outcome"].take();
    assert_eq!(
        (outcome(0), outcome(1)),
        ("waiting".into(), "failed".into())
    );
    assert!(!evaluated.read("x.md").contains("WAITS"));
    let listed = evaluated
        .again()
        .args(["list", "--json"])
        .finish()
        .stdout_json();
    assert_eq!(
        (&listed[0]["failed"], &listed[0]["waiting"]),
        (&1.into(), &1.into())
    );
}

/// A command of a case's page runs that case and no other, whatever chose and wrote the results of its run.
#[test]
fn a_case_is_run_again_by_the_command_of_its_page() {
    let config = "
prompts: ['Hello {{name}}', 'Bye {{name}}']
providers: [{ id: echo, label: one }, { id: echo, label: two }]
tests:
  - { vars: { name: [Ada, Bob, Cy] } }
  - { vars: { name: Di } }
";
    let flags = [
        "eval",
        "--filter-range",
        "0:1",
        "--tag",
        "build=1",
        "--no-table",
        "-o",
        "x.json",
    ];
    let evaluated = Run::new().config(config).args(flags).finish();
    evaluated.expect_code(0);
    let viewed = Viewed::of(&evaluated.again());
    let run = only_run(&viewed);
    let page = viewed.page(&format!("/runs/{run}/cases/1/2"));
    viewed.end().expect_code(0);
    let command = format!(
        "runner eval --filter-test {run}:1 --filter-providers '^two$' --filter-prompts '^Hello "
    );
    assert!(page.contains(&command), "{command}: {page}");
    let number = format!("{run}:1");
    let again = [
        "eval",
        "--filter-test",
        &number,
        "--filter-providers",
        "^two$",
        "--filter-prompts",
        r"^Hello \{\{name\}\}$",
        "-o",
        "y.json",
    ];
    let again = evaluated.again().args(again).finish();
    again.expect_code(0);
    let rows = again.json("y.json")["results"]["results"].take();
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    assert_eq!(rows[0]["response"]["output"], "Hello Bob");
    let unknown = evaluated
        .again()
        .args(["eval", "--filter-test", "latest:99"])
        .finish();
    unknown.expect_code(2);
    let why = "--filter-test";
    assert!(unknown.stderr.contains(why), "{}", unknown.stderr);
}

/// Whose verdicts a file changes is the person's word.
#[test]
fn a_file_of_what_people_said_does_not_choose_its_run() {
    let said = r#"{"evalId":"latest","annotations":[{"testIdx":0,"promptIdx":0,"thumb":"up"}]}"#;
    let other = said.replace("\"thumb\"", "\"id\":\"another\",\"thumb\"");
    let run = Run::new().config("prompts: [p]\nproviders: [echo]\n");
    let run = run.file("said.json", said).file("other.json", other);
    let evaluated = run.arg("eval").finish();
    let refused = evaluated.again().args(["import", "said.json"]).finish();
    refused.expect_code(2);
    let help = "to keep it: runner import --into latest said.json";
    assert!(refused.stderr.contains(help), "{}", refused.stderr);
    // Nor the case that it is about, where it names one.
    let line = ["import", "--into", "latest", "other.json"];
    let refused = evaluated.again().args(line).finish();
    refused.expect_code(2);
    let why = "annotations[0]: it is about the answer of another run, and not that of the run run-";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
}

/// What the viewer saves, and a spreadsheet, are read back into the run; all of it, or nothing.
#[test]
fn what_people_said_is_imported_into_its_run() {
    let config = "prompts: ['Hello {{name}}']\nproviders: [echo]\ntests:\n\
        - { vars: { name: Ada }, assert: [{ type: human }] }\n- { vars: { name: Bob } }\n";
    let run = Run::new()
        .config(config)
        .file(
            "graded.csv",
            "test,column,thumb,score,label,comment\n0,0,up,,kind,\"so, so\"\n1,0,,0.25,,\n",
        )
        .file("wrong.csv", "test,column,thumb\n0,0,down\n7,0,up\n")
        .file("unclear.csv", "test,column,score\n0,0,5\n");
    let evaluated = run.arg("eval").finish();
    evaluated.expect_code(100);
    let import = |arguments: &[&str]| evaluated.again().arg("import").args(arguments).finish();
    let kept = import(&["--into", "latest", "graded.csv"]);
    kept.expect_code(0);
    assert!(
        kept.stdout
            .starts_with("kept: what people said of 2 cases of run-"),
        "{}",
        kept.stdout
    );
    for (file, why) in [
        ("wrong.csv", "row 3: the run run-"),
        ("unclear.csv", "row 2: the score is from 0 to 1, not 5"),
    ] {
        let refused = import(&["--into", "latest", file]);
        refused.expect_code(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let viewed = Viewed::of(&evaluated.again());
    let saved = viewed.page(&format!("/runs/{}/annotations.json", only_run(&viewed)));
    viewed.end().expect_code(0);
    let (_, saved) = saved.split_once("\r\n\r\n").expect("an answer");
    let saved: serde_json::Value = serde_json::from_str(saved).expect("JSON");
    assert_eq!(saved["annotations"][0]["comment"], "so, so");
    let shown = || {
        let shown = evaluated.again().args(["show", "--json"]).finish();
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
        shown["results"]["results"].clone()
    };
    let before = shown();
    assert_eq!(
        (&before[0]["success"], &before[1]["annotation"]["score"]),
        (&true.into(), &0.25.into())
    );
    // Saved, changed, and read back.
    let mut changed = saved;
    changed["annotations"][0]["thumb"] = "down".into();
    let back = evaluated
        .again()
        .file("annotations.json", changed.to_string());
    back.args(["import", "--into", "latest", "annotations.json"])
        .finish()
        .expect_code(0);
    let after = shown();
    assert_eq!(
        (&after[0]["success"], &after[0]["annotation"]["comment"]),
        (&false.into(), &"so, so".into())
    );
}
