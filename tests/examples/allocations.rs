//! How often a case takes memory, and how much: `cargo xtask bench allocations`.
//!
//! Counted by `heaptrack` in the real binary, one case at a time, as the difference of two runs, so
//! that what a run takes by itself is left out. Counts are steady to one allocation on any machine;
//! bytes are less so, since the store writes cases in groups.
//!
//! What was counted is held against `allocations.txt` beside this file: a case that takes more than
//! that, beyond a tolerance, is a failure. `--write` puts what was counted there.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use runner_tests::{Answer, ModelApi, Run, target_folder, workspace_root};

/// Cases of the two runs.
const FEW: usize = 500;
const MANY: usize = 1_000;

/// By how much a case may exceed the baseline, in hundredths: what other versions of libraries and
/// other machines make of the same program.
const COUNT_TOLERANCE: f64 = 2.0;
const BYTES_TOLERANCE: f64 = 10.0;

const CONTAINS: &str = "{ type: contains, value: '{{name}}' }";
const CODE: &str = "{ type: javascript, value: 'output.length > 3 && context.vars.n >= 0' }";

/// What is measured: its name, the provider, the assertions.
const CASES: [(&str, &str, &str); 5] = [
    ("echo", "echo", ""),
    ("echo, contains", "echo", CONTAINS),
    ("echo, javascript", "echo", CODE),
    ("chat from the cache", "openai:chat:m", ""),
    ("chat from the cache, contains", "openai:chat:m", CONTAINS),
];

/// What a case takes.
#[derive(Clone, Copy)]
struct Taken {
    count: f64,
    kib: f64,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}, {:.0} KiB", self.count, self.kib)
    }
}

impl Taken {
    /// What [`Display`](fmt::Display) wrote.
    fn read(text: &str) -> Option<Self> {
        let (count, kib) = text.strip_suffix(" KiB")?.split_once(", ")?;
        Some(Self {
            count: count.parse().ok()?,
            kib: kib.parse().ok()?,
        })
    }

    /// Whether it is more than this allows.
    fn exceeds(self, baseline: Self) -> bool {
        let above = |taken: f64, allowed: f64, tolerance: f64| {
            taken.round() > allowed * (1.0 + tolerance / 100.0)
        };
        above(self.count, baseline.count, COUNT_TOLERANCE)
            || above(self.kib, baseline.kib, BYTES_TOLERANCE)
    }
}

fn main() -> ExitCode {
    if Command::new("heaptrack").arg("--version").output().is_err() {
        eprintln!("there is no `heaptrack` here, which counts; Debian has it as a package");
        return ExitCode::FAILURE;
    }
    let writes = std::env::args().any(|argument| argument == "--write");
    let baseline = std::fs::read_to_string(baseline_file()).unwrap_or_default();
    let of_before = |name: &str| {
        let mut lines = baseline.lines().filter_map(|line| line.split_once(": "));
        lines.find_map(|(of, taken)| Taken::read(taken).filter(|_| of == name))
    };
    println!("allocations of a case ({MANY} cases less {FEW}, by heaptrack):");
    let (mut counted, mut too_much) = (String::new(), false);
    for (name, provider, assertion) in CASES {
        let taken = taken(provider, assertion);
        writeln!(counted, "{name}: {taken}").expect("a string takes everything");
        let Some(before) = of_before(name) else {
            println!("  {name}: {taken}");
            continue;
        };
        let exceeds = taken.exceeds(before);
        too_much |= exceeds;
        let verdict = if exceeds { "; too much" } else { "" };
        println!("  {name}: {taken}; the baseline has {before}{verdict}");
    }
    if writes {
        std::fs::write(baseline_file(), counted).expect("the repository can be written to");
    } else if too_much {
        eprintln!(
            "a case takes more memory than before; if it must, write the new baseline: --write"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn baseline_file() -> PathBuf {
    workspace_root().join("tests/examples/allocations.txt")
}

/// What a case takes: the difference of the two runs.
fn taken(provider: &str, assertion: &str) -> Taken {
    let [few, many] = [FEW, MANY].map(|cases| counted(cases, provider, assertion));
    let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
    Taken {
        count: each(few.0, many.0),
        kib: each(few.1, many.1) / 1024.0,
    }
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
