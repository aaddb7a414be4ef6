//! What is written, where, and who may read it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, Gate, ModelApi, Run, built_program, target_folder};
use serde_json::json;

const CONFIG: &str =
    "prompts: ['Hello {{name}}']\nproviders: [echo]\ntests: [{ vars: { name: Ada } }]\n";

/// Everything below a folder, links not followed, sorted.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in entries.map(|entry| entry.expect("read").path()) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
        if is_folder {
            paths.extend(below(&path));
        }
        paths.push(path);
    }
    paths.sort();
    paths
}

fn named(path: &Path, folder: &Path) -> String {
    let name = path.strip_prefix(folder).expect("it is below");
    name.display().to_string()
}

#[test]
fn a_config_makes_an_end_of_no_file_but_results() {
    let run = Run::new()
        .config(&format!("{CONFIG}outputPath: notes.txt\n"))
        .file("notes.txt", "alias ls='rm -r /'\n");
    let finished = run.clone().arg("eval").finish();
    finished.expect_code(2);
    let shown = run.project().join("notes.txt");
    assert_eq!(
        (&*finished.stdout, finished.stderr.clone()),
        (
            "",
            format!(
                "error: can't write {}: the existing file holds no results\n\
             help: the config's outputPath replaces results only: name another file there, remove this one, \
             or name it yourself with -o\n",
                shown.display()
            ),
        )
    );
    assert_eq!(finished.read("notes.txt"), "alias ls='rm -r /'\n");
    // Results of a run before are replaced, and the person may name anything.
    for arguments in [&["eval", "-o", "notes.txt"][..], &["eval"], &["eval"]] {
        run.clone().args(arguments).finish().expect_code(0);
        assert!(finished.read("notes.txt").starts_with("run-"));
    }
}

#[test]
fn a_config_writes_through_no_link_and_above_no_folder() {
    let victims = tempfile::tempdir().expect("a folder");
    let victim = victims.path().join("settings.json");
    fs::write(&victim, "{ \"mine\": true }").expect("written");
    fs::write(victims.path().join(".bashrc"), "# mine").expect("written");
    let new = victims.path().join("new/o.json");
    for output in [
        "link.json".to_owned(),
        "linked/settings.json".to_owned(),
        "bashrc.txt".to_owned(),
        victim.display().to_string(),
    ] {
        let run = Run::new().config(&format!("{CONFIG}outputPath: {output}\n"));
        symlink(&victim, run.project().join("link.json")).expect("linked");
        symlink(victims.path(), run.project().join("linked")).expect("linked");
        let bashrc = victims.path().join(".bashrc");
        symlink(bashrc, run.project().join("bashrc.txt")).expect("linked");
        for command in [&["eval"][..], &["config", "check"]] {
            run.clone().args(command).finish().expect_code(2);
        }
        // The person's own word suffices.
        if output != "bashrc.txt" {
            let finished = run
                .args(["eval", "-o", output.as_str(), "-o"])
                .arg(&new)
                .finish();
            finished.expect_code(0);
            assert!(finished.read(&victim).contains("\"evalId\""), "{output}");
            fs::write(&victim, "{ \"mine\": true }").expect("written");
            fs::remove_dir_all(victims.path().join("new")).expect("it was made");
        }
        let names: Vec<String> = below(victims.path())
            .iter()
            .map(|path| named(path, victims.path()))
            .collect();
        assert_eq!(names, [".bashrc", "settings.json"], "{output}");
    }
    let bashrc = fs::read_to_string(victims.path().join(".bashrc"));
    assert_eq!(bashrc.expect("it is there"), "# mine");
}

#[test]
fn a_check_makes_no_folder_and_a_run_makes_it_with_its_file() {
    let run = Run::new().config(&format!("{CONFIG}outputPath: new/er/o.json\n"));
    let names = || -> Vec<String> {
        let paths = below(run.project());
        paths.iter().map(|it| named(it, run.project())).collect()
    };
    let checked = run.clone().args(["config", "check"]).finish();
    checked.expect_code(0);
    assert_eq!(
        checked.stdout,
        "fine: 1 column × 1 test = 1 case, at most 256 at once\n"
    );
    assert_eq!(names(), ["promptfooconfig.yaml"]);
    run.clone().arg("eval").finish().expect_code(0);
    assert_eq!(
        names(),
        ["new", "new/er", "new/er/o.json", "promptfooconfig.yaml"]
    );
}

#[test]
fn recordings_and_events_go_through_no_link() {
    let mut told = String::new();
    for flag in ["--events", "--record"] {
        let run = Run::new().config(CONFIG).file("victim.txt", "");
        symlink("victim.txt", run.project().join("trace.jsonl")).expect("linked");
        let finished = run.args(["eval", flag, "trace.jsonl"]).finish();
        told += &finished.told_as(flag);
        assert_eq!(finished.read("victim.txt"), "", "{flag}");
    }
    assert_snapshot!(told);
}

/// The rights of everything below a home, by name; what the sandbox keeps is its own business.
fn open_to_others(home: &Path) -> Vec<String> {
    let metadata = |path: &PathBuf| fs::symlink_metadata(path).expect("it is there");
    let mut paths = below(home);
    paths.push(home.to_owned());
    paths.retain(|path| {
        let compiled = path
            .parent()
            .is_some_and(|it| it.ends_with("cache/plugins"));
        !compiled && metadata(path).permissions().mode() & 0o077 != 0
    });
    paths.iter().map(|it| it.display().to_string()).collect()
}

#[test]
fn nobody_else_can_read_what_is_kept_whatever_the_umask() {
    for umask in ["000", "077"] {
        let api = ModelApi::start();
        let gate = Gate::closed();
        let behind = gate.clone();
        api.rule(move |seen| Some(Answer::text(seen.last_user_message()?).behind(&behind)));
        let run = Run::new()
            .config("prompts: ['word {{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
            .numbered_tests(3);
        let plugins = run.project().join("plugins");
        fs::create_dir(&plugins).expect("the project is new");
        let openai = target_folder().join("release/plugins/openai.wasm");
        fs::copy(openai, plugins.join("openai.wasm")).expect("`cargo xtask plugins` made it");
        let home = run.project().join("state/home");
        let line = format!("umask {umask}; exec \"$0\" \"$@\"");
        let running = run
            .program("/bin/sh")
            .args(["-c", &line])
            .arg(built_program())
            .args(["eval", "--no-table", "--record", "r.jsonl"])
            .env("RUNNER_HOME", &home)
            .env("RUNNER_BUNDLED_PLUGINS", &plugins)
            .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
            .env("OPENAI_BASE_URL", api.url())
            .start();
        api.wait_for_requests(3);
        assert!(below(&home).len() > 6, "the run is under way");
        assert_eq!(open_to_others(&home), [""; 0], "{umask}, during the run");
        gate.open();
        let finished = running.finish();
        finished.expect_code(0);
        assert_eq!(open_to_others(&home), [""; 0], "{umask}");
        let recording = fs::metadata(finished.again().project().join("r.jsonl"));
        let mode = recording.expect("recorded").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{umask}");
    }
}

/// A copy of the program with two plugins beside it.
fn unpacked(folder: &Path) -> PathBuf {
    let program = folder.join("runner");
    fs::copy(built_program(), &program).expect("copied");
    fs::create_dir(folder.join("plugins")).expect("made");
    for name in ["echo.wasm", "text.wasm"] {
        let plugin = target_folder().join("release/plugins").join(name);
        fs::copy(plugin, folder.join("plugins").join(name)).expect("copied");
    }
    program
}

#[test]
fn a_component_beside_the_program_is_known_by_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = unpacked(folder.path());
    let run = Run::new().config(CONFIG).program(&program).arg("eval");
    run.clone().finish().expect_code(0);

    // Somebody else's, in the bundle's folder.
    let other = target_folder().join("guests/outside/grader.wasm");
    let beside = folder.path().join("plugins/x.wasm");
    fs::copy(other, &beside).expect("copied");
    let finished = run.clone().arg("--no-table").finish();
    finished.expect_code(0);
    let shown = beside.display();
    let warning = format!(
        "warning: {shown}: this component did not come with the program and is left out: to use it, \
         name it: --plugin {shown}\n"
    );
    assert!(finished.stderr.contains(&warning), "{}", finished.stderr);
    fs::remove_file(&beside).expect("it is there");

    // One that says the same as the program's own, and is another: a custom section more.
    let echo = folder.path().join("plugins/echo.wasm");
    let mut bytes = fs::read(&echo).expect("it is there");
    bytes.extend([0, 2, 1, b'x']);
    fs::write(&echo, bytes).expect("written");
    let refused = run.clone().finish();
    refused.expect_code(2);
    assert_eq!(
        refused.stderr,
        format!(
            "error: {}: this component is of another version than the program\n\
             help: install program and plugins together (from the sources: `cargo xtask quickstart`); \
             RUNNER_BUNDLED_PLUGINS names the folder of others that you trust\n",
            echo.display()
        )
    );
    // Whoever names the folder vouches for it.
    let plugins = folder.path().join("plugins");
    let named = run.env("RUNNER_BUNDLED_PLUGINS", plugins);
    named.finish().expect_code(0);
}

fn ids(finished: &Finished) -> Vec<String> {
    let listed = finished.again().args(["list", "--json"]).finish();
    let listed = listed.stdout_json();
    let runs = listed.as_array().expect("runs").iter();
    let mut ids: Vec<String> = runs
        .map(|run| run["id"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn an_imported_file_names_no_run_of_this_machine_and_no_flag() {
    let finished = Run::new()
        .config(CONFIG)
        .args(["eval", "-o", "o.json"])
        .finish();
    finished.expect_code(0);
    let own = ids(&finished).remove(0);
    let import = |arguments: &[&str]| finished.again().arg("import").args(arguments).finish();
    let imported = import(&["o.json", "--force"]);
    imported.expect_code(0);
    assert_eq!(
        imported.stdout,
        format!("imported: import-{own}, 1 result\nnext: runner show import-{own}\n")
    );
    assert_eq!(ids(&finished), [format!("import-{own}"), own.clone()]);
    // Again in its place: the run that it was made from stays.
    import(&["o.json"]).expect_code(2);
    import(&["o.json", "--force"]).expect_code(0);
    let mut results = finished.json("o.json");
    results["evalId"] = "--json".into();
    let path = finished.again().project().join("flag.json");
    fs::write(path, results.to_string()).expect("written");
    let flag = import(&["flag.json"]);
    flag.expect_code(0);
    assert_eq!(
        ids(&finished),
        ["import---json".to_owned(), format!("import-{own}"), own]
    );
}

#[test]
fn json_on_standard_output_holds_nothing_that_a_terminal_obeys() {
    let hostile = "\u{9b}2J\u{202e}cba\u{2066}\u{e0041}\u{7f}";
    let config = json!({
        "description": hostile,
        "prompts": [{ "raw": "say {{q}}", "label": hostile }],
        "providers": ["echo"],
        "tests": [{ "vars": { "q": hostile } }],
    });
    let evaluated = Run::new().config(&config.to_string()).arg("eval").finish();
    evaluated.expect_code(0);
    evaluated.again().arg("eval").finish().expect_code(0);
    let listed = evaluated.again().args(["list", "--json"]).finish();
    let listed = listed.stdout_json();
    let first = listed[1]["id"].as_str().expect("the run before");
    let grader = target_folder().join("guests/outside/grader.wasm");
    let grader = grader.display().to_string();
    let commands: [&[&str]; 6] = [
        &["list", "--json"],
        &["show", "--json"],
        &["export"],
        &["diff", first, "--json"],
        &["config", "check", "--show"],
        &["plugin", "inspect", "--json", &grader],
    ];
    for arguments in commands {
        let told = evaluated.again().args(arguments).finish();
        told.expect_code(0);
        let obeyed = |c: char| hostile.contains(c) && !c.is_ascii_graphic();
        assert!(
            !told.stdout.contains(obeyed),
            "{arguments:?}: {}",
            told.stdout
        );
    }
    let shown = evaluated.again().args(["show", "--json"]).finish();
    let row = &shown.stdout_json()["results"]["results"][0];
    assert_eq!(row["response"]["output"], format!("say {hostile}"));
}

#[test]
fn an_answer_is_no_formula_of_a_spreadsheet_unless_asked_for() {
    let config = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: '=HYPERLINK(\"http://x\")' } }, { vars: { q: -5 } }]\n";
    let finished = Run::new()
        .config(config)
        .args(["eval", "-o", "o.csv", "--no-table"])
        .finish();
    finished.expect_code(0);
    let head = "q,[echo] {{q}},Status,Score,Named Scores,Grader Reason,Comment\n";
    let cell = "\"'=HYPERLINK(\"\"http://x\"\")\"";
    let safe =
        format!("{head}{cell},{cell},PASS,1.00,,No assertions,\n-5,-5,PASS,1.00,,No assertions,\n");
    assert_eq!(finished.read("o.csv"), safe);
    let raw = finished
        .again()
        .args(["export", "--csv-raw", "-o", "raw.csv"]);
    raw.finish().expect_code(0);
    assert_eq!(finished.read("raw.csv"), safe.replace("\"'=", "\"="));
}

#[test]
fn the_help_says_what_is_read_of_a_file_that_nobody_named() {
    let help = Run::new().args(["eval", "--help"]).finish();
    let words: Vec<&str> = help.stdout.split_whitespace().collect();
    let said = "only keys are read from a `.env` in this folder (names that end in _KEY, _KEY_ID, _TOKEN or _SECRET)";
    assert!(words.join(" ").contains(said), "{}", help.stdout);
}

/// The name is the config's, and a terminal would obey it.
#[test]
fn the_name_of_a_results_file_is_shown_as_text() {
    let name = "a\u{1b}[31mX\u{202e}b.json";
    let config = format!("{CONFIG}outputPath: {}\n", json!(name));
    let run = Run::new().config(&config);
    let project = run.project().to_owned();
    let finished = run
        .args(["eval", "--no-table", "--no-progress-bar"])
        .finish();
    finished.expect_code(0);
    assert!(project.join(name).is_file());
    let told = finished
        .stderr
        .lines()
        .find(|line| line.starts_with("written: "));
    let told = told.expect("the file is named");
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told:?}");
    assert!(told.ends_with("b.json"), "{told:?}");
    let exported = finished.again().args(["export", "-o", name]).finish();
    exported.expect_code(0);
    assert!(
        !exported.stderr.contains(['\u{1b}', '\u{202e}']),
        "{:?}",
        exported.stderr
    );
}
