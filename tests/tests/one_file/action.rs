//! The step for GitHub Actions, run as GitHub runs it: each script of its file, in order, with what the one
//! before it has said. What is others' (the cache, the artefact) is not run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use runner_tests::workspace_root;
use tempfile::TempDir;

use crate::one_file::one_file;

/// A job with an archive and a config in its workspace.
struct Job(TempDir);

impl Job {
    fn new(config: &str) -> Self {
        let job = Self(TempDir::new().expect("the system has a folder for temporary files"));
        for folder in ["temp", "workspace", "runner-0.1.0"] {
            fs::create_dir(job.path(folder)).expect("made");
        }
        fs::copy(one_file(), job.path("runner-0.1.0/runner")).expect("copied");
        let mut tar = Command::new("tar");
        tar.current_dir(job.0.path()).args([
            "-I",
            "gzip -1",
            "-cf",
            "workspace/a.tar.gz",
            "runner-0.1.0",
        ]);
        assert!(tar.status().expect("every Linux has it").success());
        fs::write(job.path("workspace/promptfooconfig.yaml"), config).expect("written");
        job
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Runs a script of the action, with these variables.
    fn step(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let mut bash = Command::new("bash");
        bash.arg(workspace_root().join("action").join(script));
        bash.current_dir(self.path("workspace")).env_clear();
        bash.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        bash.env("RUNNER_TEMP", self.path("temp"));
        bash.env("GITHUB_OUTPUT", self.path("output"));
        bash.env("GITHUB_ACTIONS", "true");
        for file in ["STEP_SUMMARY", "PATH", "ENV"] {
            bash.env(format!("GITHUB_{file}"), self.path(&file.to_lowercase()));
        }
        bash.envs(variables.iter().copied());
        bash.output().expect("every CI has bash")
    }

    /// What the steps have said so far.
    fn outputs(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path("output")).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn eval(&self, arguments: &str) -> Output {
        let said = self.outputs();
        self.step(
            "eval.sh",
            &[
                ("RUNNER", &said["program"]),
                ("RUNNER_HOME", &said["home"]),
                ("RUNNER_TRUST", ""),
                ("CONFIG", "promptfooconfig.yaml"),
                ("ARGUMENTS", arguments),
                ("RESULTS", &said["results"]),
                ("PAGE", &said["page"]),
            ],
        )
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const CONFIG: &str = "\
prompts: ['::error::{{word}} <b>']
providers: [echo]
tests:
  - { vars: { word: one }, assert: [{ type: contains, value: one }] }
  - { vars: { word: two }, assert: [{ type: contains, value: one }] }
";

#[test]
fn a_job_gets_the_table_the_results_and_the_exit_code() {
    let job = Job::new(CONFIG);
    let installed = job.step("install.sh", &[("ARCHIVE", "a.tar.gz"), ("SHA256", "")]);
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let failed = job.eval("-j 2");
    assert_eq!(failed.status.code(), Some(100), "{}", text(&failed.stdout));
    let log = text(&failed.stdout);
    let said = job.outputs();
    for file in ["results", "page"] {
        assert!(Path::new(&said[file]).is_file(), "{file}: {log}");
    }
    // Of the lines that come first the program's own commands are obeyed, and no others.
    let begin = log.find("::stop-commands::").expect("it says so first");
    let commands: Vec<&str> = log[..begin]
        .lines()
        .filter(|line| line.contains("::"))
        .collect();
    assert_eq!(
        commands,
        [
            "::error title=runner::pass rate 50.0 %25 is below 100 %25",
            "::error title=test 1%2C column 0%3A FAIL (word=two)::Expected output to contain \"one\"",
        ]
    );
    // The answers are where none is obeyed.
    let token = log[begin..]
        .lines()
        .next()
        .expect("a line")
        .trim_start_matches("::stop-commands::");
    let answer = log.find("::error::{").or_else(|| log.find("::error::two"));
    let answer = answer.expect("the answer is there");
    let end = log.find(&format!("::{token}::")).expect("it ends");
    assert!(begin < answer && answer < end && token.len() == 32, "{log}");
    let summary = fs::read_to_string(job.path("step_summary")).expect("written");
    assert!(
        summary.contains("\n### 1 of 2 cases passed (50.0 %)\n"),
        "{summary}"
    );
    assert!(
        summary.contains("&lt;b&gt;") && !summary.contains("<b>"),
        "{summary}"
    );
    // A run that could not begin is in the summary, too.
    let refused = job.eval("--min-pass-rate most");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
    let summary = fs::read_to_string(job.path("step_summary")).expect("written");
    assert!(summary.ends_with("### runner: exit code 2\n"), "{summary}");

    let passed = job.eval("--filter-first-n 1");
    assert_eq!(passed.status.code(), Some(0), "{}", text(&passed.stdout));
}

#[test]
fn another_archive_than_the_one_that_was_meant_is_not_run() {
    let job = Job::new(CONFIG);
    let refused = |archive: &str, sha256: &str| {
        let output = job.step("install.sh", &[("ARCHIVE", archive), ("SHA256", sha256)]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(job.outputs().is_empty());
        text(&output.stdout)
    };
    let other = refused("a.tar.gz", &"0".repeat(64));
    assert!(other.contains("not the one that sha256 names"), "{other}");
    let unnamed = refused("https://127.0.0.1:1/a.tar.gz", "");
    assert!(unnamed.contains("needs its digest"), "{unnamed}");
}

/// The hook for commits, run as pre-commit runs it: its words, then the files.
#[test]
fn a_commit_of_a_config_with_a_mistake_is_refused() {
    let folder = TempDir::new().expect("the system has a folder for temporary files");
    fs::write(folder.path().join("good.yaml"), CONFIG).expect("written");
    let wrong = CONFIG.replace("contains", "contians");
    fs::write(folder.path().join("wrong.yaml"), wrong).expect("written");
    let hooks = fs::read_to_string(workspace_root().join(".pre-commit-hooks.yaml"));
    let hooks = hooks.expect("it is there");
    let entry = hooks
        .lines()
        .find_map(|line| line.strip_prefix("  entry: "));
    let entry = entry.expect("a hook has one");
    let programs = one_file().parent().expect("a folder").display();
    let hook = |files: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {entry} {files}")]);
        shell.current_dir(folder.path()).env_clear();
        shell.env("PATH", format!("{programs}:/usr/bin:/bin"));
        shell.env("RUNNER_HOME", folder.path().join("home"));
        shell.output().expect("every Linux has it")
    };
    let good = hook("good.yaml good.yaml");
    assert!(good.status.success(), "{}", text(&good.stderr));
    let refused = hook("wrong.yaml good.yaml");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(
        text(&refused.stderr).contains("wrong.yaml:4"),
        "{}",
        text(&refused.stderr)
    );
}

/// Whoever writes a variable into the file of the action writes it where the scripts read it.
#[test]
fn what_the_scripts_read_the_file_of_the_action_gives() {
    let action = workspace_root().join("action");
    let read = |name: &str| fs::read_to_string(action.join(name)).expect("it is there");
    let file = read("action.yml");
    for (script, names) in [
        ("install.sh", &["ARCHIVE", "SHA256"][..]),
        (
            "eval.sh",
            &[
                "RUNNER",
                "RUNNER_HOME",
                "RUNNER_TRUST",
                "CONFIG",
                "ARGUMENTS",
                "RESULTS",
                "PAGE",
            ],
        ),
    ] {
        let (_, step) = file.split_once(&format!("/{script}\"")).expect("it is run");
        let step = step.split("\n    - ").next().expect("a step");
        for name in names {
            assert!(
                step.contains(&format!("\n        {name}: ")),
                "{script}: {name}"
            );
        }
        // What an input says is never a part of a script.
        assert!(!read(script).contains("${{"), "{script}");
    }
    for line in file
        .lines()
        .filter(|line| line.trim_start().starts_with("run:"))
    {
        assert!(!line.contains("${{"), "{line}");
    }
}
