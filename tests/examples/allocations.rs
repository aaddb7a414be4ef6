//! How often a case takes memory, and how much: `cargo xtask bench`.
//!
//! Counted by `heaptrack` in the real binary, one case at a time, as the difference of two runs, so
//! that what a run takes by itself is left out. Counts are steady to one allocation on any machine;
//! bytes are less so, since the store writes cases in groups. Where there is no `heaptrack`, it says
//! so and counts nothing.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use runner_tests::{Answer, ModelApi, Run, target_folder};

/// Cases of the two runs.
const FEW: usize = 500;
const MANY: usize = 1_000;

const CONTAINS: &str = "{ type: contains, value: '{{name}}' }";
const CODE: &str = "{ type: javascript, value: 'output.length > 3 && context.vars.n >= 0' }";

fn main() {
    if Command::new("heaptrack").arg("--version").output().is_err() {
        println!("allocations: not counted, there is no `heaptrack` here");
        return;
    }
    println!("allocations of a case ({MANY} cases less {FEW}, by heaptrack):");
    tell("echo", "echo", "");
    tell("echo, contains", "echo", CONTAINS);
    tell("echo, javascript", "echo", CODE);
    tell("chat from the cache", "openai:chat:m", "");
    tell("chat from the cache, contains", "openai:chat:m", CONTAINS);
}

fn tell(name: &str, provider: &str, assertion: &str) {
    let [few, many] = [FEW, MANY].map(|cases| counted(cases, provider, assertion));
    let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
    let (count, bytes) = (each(few.0, many.0), each(few.1, many.1));
    println!("  {name}: {count:.0}, {:.0} KiB", bytes / 1024.0);
}

/// Allocations of a run and their bytes. A run before it fills the cache.
fn counted(cases: usize, provider: &str, assertion: &str) -> (u64, u64) {
    let api = ModelApi::start();
    api.rule(|seen| seen.last_user_message().map(Answer::text));
    let rows = (0..cases).fold("n,name\n".to_owned(), |mut text, n| {
        writeln!(text, "{n},name{n}").expect("a string takes everything");
        text
    });
    let run = Run::new()
        .config(&format!(
            "prompts: ['Case {{{{n}}}} says hello to {{{{name}}}}']\nproviders: ['{provider}']\n\
             tests: tests.csv\ndefaultTest: {{ assert: [{assertion}] }}\n"
        ))
        .file("tests.csv", rows)
        .env("OPENAI_API_KEY", "sk-bench-bench-bench")
        .env("OPENAI_BASE_URL", api.url());
    let eval = ["eval", "--no-table", "-j", "1"];
    run.clone().args(eval).finish().expect_code(0);
    let asked = api.requests().len();
    let track = run.project().join("track");
    let tracked = run
        .program("/usr/bin/env")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .args(["heaptrack", "--raw", "-o"])
        .arg(&track)
        .arg(target_folder().join("release/runner"))
        .args(eval);
    tracked.clone().finish().expect_code(0);
    assert_eq!(api.requests().len(), asked, "the cache answers");
    sum(tracked.project())
}

/// What heaptrack wrote: a line of each allocation is `+ SIZE …`, in hex.
fn sum(folder: &Path) -> (u64, u64) {
    let read = "zstd -dc track*.zst 2>/dev/null || gzip -dc track*.gz";
    let output = Command::new("/bin/sh")
        .args(["-c", read])
        .current_dir(folder)
        .output()
        .expect("every Unix has a shell");
    let sizes = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"+ "))
        .map(|line| {
            let size = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            let size = std::str::from_utf8(size).expect("heaptrack writes text");
            u64::from_str_radix(size, 16).expect("heaptrack writes hex")
        });
    sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
}
