//! Figures of whole runs, by the real binary: `cargo xtask bench`.
//!
//! Three questions: what does a case cost, how close to the ideal does a run over a slow server
//! come, and how much memory does length cost. CPU time is the process's own accounting and
//! fairly steady on a busy machine; wall times are given as a ratio to the ideal. Nothing is
//! asserted here: a figure is for reading, and for a commit's message.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use runner_tests::{Answer, ModelApi, Run, target_folder};

const ROUNDS: usize = 5;

fn main() {
    println!(
        "cases through echo with 3 assertions each (CPU of the whole process, median of {ROUNDS}):"
    );
    let start = median(|| cpu_of_echo(1));
    println!("  start-up and 1 case: {:.0} ms", start.as_secs_f64() * 1e3);
    for cases in [1_000, 10_000] {
        let cpu = median(|| cpu_of_echo(cases));
        let whole = cpu.as_secs_f64() * 1e6 / cases as f64;
        let beyond = cpu.saturating_sub(start).as_secs_f64() * 1e6 / cases as f64;
        println!("  {cases} cases: {whole:.0} µs a case, {beyond:.0} µs beyond start-up");
    }
    let with_code = median(|| cpu_of(1_000, CODE));
    let without = median(|| cpu_of(1_000, ""));
    let each = with_code.saturating_sub(without).as_secs_f64() * 1e6 / 1e3;
    println!("  1000 inline javascript assertions: {each:.0} µs each beyond a case without");
    println!("cases over a server that takes 200 ms, -j 100 (wall, median of {ROUNDS}):");
    let one = median(|| wall_of_slow(1, 100));
    let start = one.saturating_sub(Duration::from_millis(200));
    println!("  start-up: {:.0} ms", start.as_secs_f64() * 1e3);
    let many = median(|| wall_of_slow(1_000, 100));
    let ratio = many.saturating_sub(start).as_secs_f64() / 2.0;
    println!(
        "  1000 cases: {:.0} ms, {ratio:.3} of the ideal 2000 ms beyond start-up",
        many.as_secs_f64() * 1e3
    );
}

fn median(mut measure: impl FnMut() -> Duration) -> Duration {
    let mut figures: Vec<Duration> = (0..ROUNDS).map(|_| measure()).collect();
    figures.sort_unstable();
    figures[ROUNDS / 2]
}

/// Three assertions of plugins.
const PLAIN: &str = "    - { type: contains, value: '{{name}}' }\n    \
    - { type: regex, value: '^Case \\d+' }\n    - { type: not-equals, value: nothing }\n";

/// One assertion that is code.
const CODE: &str =
    "    - { type: javascript, value: 'output.length > 3 && context.vars.n >= 0' }\n";

/// CPU time (user and system) of one run through `echo`.
fn cpu_of_echo(cases: usize) -> Duration {
    cpu_of(cases, PLAIN)
}

/// CPU time of one run through `echo` with these assertions, lines of YAML; perhaps none.
fn cpu_of(cases: usize, assertions: &str) -> Duration {
    let default = if assertions.is_empty() {
        String::new()
    } else {
        format!("defaultTest:\n  assert:\n{assertions}")
    };
    let run = Run::new()
        .config(&format!(
            "prompts: ['Case {{{{n}}}} says hello to {{{{name}}}}']\nproviders: [echo]\n\
             tests: tests.csv\n{default}"
        ))
        .file("tests.csv", rows(cases));
    // The shell's `times` gives the times of its children, which the standard library can't.
    let output = Command::new("/bin/sh")
        .args(["-c", r#""$0" eval --no-table >/dev/null 2>&1; times"#])
        .arg(target_folder().join("release/runner"))
        .current_dir(run.project())
        .env_clear()
        .env("RUNNER_HOME", run.home())
        .output()
        .expect("every Unix has a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let children = text.lines().nth(1).expect("`times` prints two lines");
    children.split_whitespace().map(seconds).sum()
}

/// `0m1.23s`
fn seconds(text: &str) -> Duration {
    let (minutes, seconds) = text
        .trim_end_matches('s')
        .split_once('m')
        .expect("minutes and seconds");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    Duration::from_secs_f64(number(minutes) * 60.0 + number(seconds))
}

/// Wall time of one run over a server that takes 200 ms.
fn wall_of_slow(cases: usize, concurrency: usize) -> Duration {
    let api = ModelApi::start();
    api.always(Answer::text("fine").after(Duration::from_millis(200)));
    let run = Run::new()
        .config("prompts: ['Case {{n}} {{name}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
        .file("tests.csv", rows(cases))
        .env("OPENAI_API_KEY", "sk-bench-bench-bench")
        .env("OPENAI_BASE_URL", api.url())
        .args(["eval", "--no-table", "-j"])
        .arg(concurrency.to_string());
    let begun = Instant::now();
    run.finish().expect_code(0);
    begun.elapsed()
}

fn rows(cases: usize) -> String {
    (0..cases).fold("n,name\n".to_owned(), |mut text, n| {
        writeln!(text, "{n},name{n}").expect("a string takes everything");
        text
    })
}
