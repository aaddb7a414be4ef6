//! The prose of `--help`.

use std::fmt::Write as _;

use crate::environment::VARIABLES;

/// Below the short help.
pub(super) const SHORT: &str = "\
Start with `runner init`, then `runner eval` in a folder that has a promptfooconfig.yaml.
`runner --help` says more: examples, exit codes, where things are kept, environment variables.";

/// Below the help of `eval`.
pub(super) const EVAL: &str = "\
Examples:
  runner eval                                   run promptfooconfig.yaml of this folder
  runner eval -c tests/qa.yaml -o results.json  run another config, write a file too
  runner eval -c base.yaml -c more.yaml         two configs as one
  runner eval -j 20 --repeat 3                  at most 20 cases at once, each test three times
  runner eval --filter-pattern login -n 5       the first five tests whose description has it
  runner eval --filter-failing latest           what did not pass in the newest run
  runner eval --events events.jsonl             also keep what happened, for `tail -f` and jq
  runner eval --plugin ./grader.wasm            load a third-party provider or grader

The table and the summary go to standard output, everything else to standard error.
Ctrl-C stops: once to let cases in flight finish, twice to stop at once. What is done is kept.

Filters apply in this order: prompts and providers, metadata, an earlier run, pattern, range,
first, sample, shard; each sees what the one before it left. Rows get new numbers. The cases of an
earlier run are found by their variables and description. A filter that leaves nothing is an error.

The program learns from answers what servers allow and keeps to it, without -j or --delay.
If you know a limit, declare it with `limits:` in the config.

--max-cost, --max-tokens and --max-requests limit one session: when a limit is reached, the cases
that are left end as budget-exceeded. `runner eval --resume RUN` runs them with the same limit
again, or with the one that you give it. Cached answers cost nothing. Dollars need a price: the
API's own, or `cost` (per token) in the provider's config.

Exit codes: 0 all passed, 1 internal error, 2 usage or config error, or something was not agreed
to (nothing was run), 100 pass rate below the threshold or another threshold not held, 130
interrupted.";

/// Below the help of `view`.
pub(super) const VIEW: &str = "\
The server listens on this machine alone and lets in the one browser that opens the address, which
works only once. Ctrl-C ends it. Pages of a run that is still going on are updated. Nothing stored
changes except what you say of a run or a case, and the runs that you delete.";

/// Below the help of `doctor`.
pub(super) const DOCTOR: &str = "\
It sends nothing and makes nothing but folders. It does not show values of variables, so that you
can put its lines into a bug report.

Exit codes: 0 nothing stands in the way of a run, 2 something does.";

/// Below the help of `config schema`.
pub(super) const SCHEMA: &str = "\
Examples:
  runner config schema --write
  runner config schema --write ~/.config/runner/config.schema.json

Editors with a server for YAML complete keys, types of assertions and providers, and say what each
means, once the config's first line names the file:
  # yaml-language-server: $schema=./config.schema.json";

/// Below the help of `migrate`.
pub(super) const MIGRATE: &str = "\
Examples:
  runner migrate                   look at the config of this folder
  runner migrate ci.yaml --all     with what is different in every run
  runner migrate --list            all differences, variables of promptfoo's, and what is missing
  runner import --from-promptfoo   keep the results of earlier evals, to compare with

Nothing is sent. The signs are those of the config itself: files that it names are read only to
check whether it can be run.

Exit codes: 0 `runner eval` accepts the config, 2 it does not, or there is none.";

/// Below the help of `explain`.
pub(super) const EXPLAIN: &str = "\
Examples:
  runner explain C103             why a plugin's call was stopped
  runner explain rate-limited     what the word before an error's message means
  runner explain 100              an exit code";

/// Below the help of `completions`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  runner completions bash > ~/.local/share/bash-completion/completions/runner
  runner completions zsh > ~/.zfunc/_runner          (with ~/.zfunc in fpath)
  runner completions fish > ~/.config/fish/completions/runner.fish
  runner completions powershell >> $PROFILE";

/// Above the help of `trust`.
pub(super) const ABOUT_TRUST: &str = "\
A config may send a vendor's key to that vendor, use this machine's own servers, and read and write
files below its folder. What it asks for beyond that needs your agreement: an environment variable
for any other address, an address of a private network, a file outside, a component that somebody
else built. Rows of data files give values; you are asked separately about anything else that they
ask for. This command asks you without running anything, or shows, lists or forgets what was agreed
to.";

/// Below the help of `trust`.
pub(super) const TRUST: &str = "\
Examples:
  runner trust                      show what the config of this folder asks for, and ask
  runner trust --show               show it, and ask nothing
  runner trust ci.yaml --yes        agree to what --show shows now
  runner trust --list               what was agreed to, by folder
  runner trust --revoke             forget what was agreed to for this folder

The flags are those of `runner eval` that change what is asked for; give them as for the run.

What you agree to is remembered in trust.json, for configs of the same folder and for exactly that:
if a config asks for more, you are asked again. On Linux the file is
~/.local/share/runner/trust.json, or $RUNNER_HOME/trust.json where that is set. Configs of two
folders that are run as one have agreements of their own. Where no one can be asked, the run ends
with exit code 2 and nothing is sent. In CI, if you trust everything it checks out, set
RUNNER_TRUST=config or give --trust-config; RUNNER_TRUST=data and --trust-data trust the rows of
its data files as well. Nothing else grants trust; CI=true doesn't either.

Exit codes: 0 all is agreed to, 2 something is not, or the config can't be used, 130 interrupted.";

/// Below the help of `plugin new`.
pub(super) const NEW: &str = "\
Examples:
  runner plugin new my-grader --lang python --kind assertion
  runner plugin new acme --lang rust --kind provider

It makes the folder NAME, with source, tests, fixtures and a README that says how to build it.
Nothing is fetched and nothing is built.";

/// Below the help of `plugin add`.
pub(super) const ADD: &str = "\
Examples:
  runner plugin add ./acme.wasm
  runner plugin add https://acme.example/acme-1.0.wasm --sha256 9f2c…

It is copied to RUNNER_HOME if it can be loaded; nothing else of it is run, and no config uses it
unless it names it: source: acme@sha256:9f2c… The entry for the config is printed, with what the
component wants. A config that names it works without a network, and on another machine once it is
added there.

Exit codes: 0 it is there, 2 it is not.";

/// Below the help of `plugin build`.
pub(super) const BUILD: &str = "\
A folder with a Cargo.toml is built by cargo for wasm32-wasip2 (for wasm32-unknown-unknown where Rust has
that alone), one with a package.json by its script `build`, and any other by the command that its plugin.json says: { \"build\": [\"PROGRAM\", \"ARGUMENT\"] }.
A program of the folder's .venv comes before those of PATH. The component is then looked at as
`runner plugin inspect` does it.

Exit codes: 0 it is built and can be loaded, 2 it is not.";

/// Below the help of `plugin test`.
pub(super) const TEST: &str = "\
A fixture is a file in the folder `fixtures` (.yaml, .yml, .json): what is asked (`request`), what
servers answer (`exchanges`, so that nothing is sent), and the expected result (`expect`; what it
does not name is not compared). `runner plugin call --record FILE` writes one from a real call.

Exit codes: 0 all came out as expected, 100 some did not, 2 they could not be run.";

/// Below the help of `plugin call`.
pub(super) const CALL: &str = "\
Examples:
  runner plugin call ./shouting.wasm --output HELLO
  runner plugin call json --type is-json --output '{\"a\": 1}' --json
  runner plugin call ./acme.wasm --provider acme:small --prompt 'Say hi' \\
    --allow-host https://api.acme.com --allow-key acme-key=ACME_API_KEY

It works like a case of a run, with the same limits, grants, retries and masking. Nothing is kept,
and no answer is taken from the cache. A component may do nothing but what the flags allow; a
plugin that comes with the program may do what it may in a run. --value may use {{name}} from
--vars, as in a config.

Each call ends with the time spent in the plugin's own code, its fuel (about one per instruction,
the same on every machine) and the most memory that it used.

Exit codes: 0 it answered, or the grade passed, 100 it did not, 2 it could not be asked.";

/// Below the help of `list`.
pub(super) const LIST: &str = "\
Examples:
  runner list --since 7d --status failed      what did not pass in the last week
  runner list --tag branch=main -n 1 --json   the newest run with that tag, for programs";

/// Below the help of `delete`.
pub(super) const DELETE: &str = "\
Examples:
  runner delete run-202                       the run whose id begins so, if it is the only one
  runner list --status interrupted --json | jq -r '.[].id' | xargs runner delete --yes

Their results, and what people said of them, are gone for good. Answers that are remembered stay
(`runner cache`). A run that is still going on is not deleted. The database file keeps its size,
and its free space is used again.";

/// Below the help of `show`.
pub(super) const SHOW: &str = "\
Examples:
  runner show                        the newest run
  runner show run-202 --failed       what did not pass in the run whose id begins so
  runner show --test 7 --column 1    one case: prompt, full answer, every assertion
  runner show --grep refund          the tests that contain the word
  runner show --metrics              the metrics of each column
  runner show --json > results.json  the whole run as a file";

/// Below the help of `export`.
pub(super) const EXPORT: &str = "\
Examples:
  runner export -o results.html             the newest run as a page to read and to send
  runner export run-202 -o x.junit.xml -o x.csv
  runner export -o pr.md --baseline run-202 a comment for a pull request, with what got worse
  runner export --static pages              a folder of pages, of any size, for a web server
  runner export latest > results.json       as JSON, in the shape of `runner eval -o results.json`

A page (.html) needs no network and no server. .md is a summary, .xml is JUnit as well,
.txt has every case in words.";

/// Below the help of `import`.
pub(super) const IMPORT: &str = "\
Examples:
  runner import results.json                what `runner eval -o` or promptfoo wrote
  runner import results.jsonl               rows alone: the run gets a new id
  runner import --from-promptfoo            all that promptfoo kept on this machine
  runner import --into RUN annotations.json   what people said, as `runner view` saves it
  runner import --into latest graded.csv    what people said, from a spreadsheet: columns test, column, thumb (up, down), score, label, comment

The run's id is import- followed by the id in the file. An imported run can be shown, compared,
exported and used in filters; it can't be resumed. promptfoo's database is only read (where it has a
log, SQLite puts a -shm file beside it); runs of it that were imported before are passed over, unless
--force is given.";

/// Below the help of `merge`.
pub(super) const MERGE: &str = "\
Examples:
  runner eval --shard 1/2 -o part-1.json      in one job
  runner eval --shard 2/2 -o part-2.json      in another
  runner merge part-*.json -o results.html    in a third: the table, the files and the exit code of all

The parts must be all the parts of one run, with one config. What was not run counts as not passed.

Exit codes: those of `eval`; 2 also where a part is missing.";

/// Below the help of `diff`.
pub(super) const DIFF: &str = "\
Examples:
  runner diff run-20261120                  that run and the newest
  runner diff run-1 run-2 --json            for programs: every changed case
  runner diff latest --columns 0,2          two columns of the newest run
  runner diff run-1 latest --fail-on regression:2%   a job fails if more than 2 % of the cases got worse

Cases are paired by description, variables and repeat, columns by provider and prompt, and
then by either of them: an edited prompt or another model is compared with what it was.

Exit codes: 0 whatever changed; with --fail-on 100 if too many cases that are in both runs passed
before but not now, or if B has cases that were not run, and 2 if no case is in both.";

/// Below the long help.
pub(super) fn long() -> String {
    let mut text = LONG.to_owned();
    let ours = VARIABLES
        .iter()
        .map(|variable| (variable.name.to_owned(), variable.about.to_owned()));
    let of_configs = runner_config::VARIABLES.iter().map(|variable| {
        let name = format!("RUNNER_{}", variable.name);
        (
            name,
            format!("{} (default {}) *", variable.meaning, variable.default),
        )
    });
    for (name, about) in ours.chain(of_configs) {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {name}\n      {about}");
    }
    text.push_str("\n  * also under promptfoo's name, PROMPTFOO_…, which is read second");
    text
}

const LONG: &str = "\
A first run:
  runner init                                   a small config, which needs no key
  runner eval

  A config in promptfoo's format runs as it is; you are told what is not supported before
  anything is spent. Each prompt × provider is a column, each test with its variables a row, and
  each cell a case: one call of the provider, graded by the test's assertions.
  Providers and graders are WebAssembly components in a sandbox: they reach only the network
  origins that are granted, and never your files, environment or keys.

Examples:
  runner eval -c config.yaml -o results.json    run a config, write the results to a file
  runner list                                   the runs that are kept
  runner show latest --failed                   what did not pass in the newest run
  runner show latest --test 3 --column 0        one case in full
  runner diff run-1 latest                      what changed between two runs
  runner export latest -o results.html          a run as a page
  runner explain C103                           what a code of a message means

Exit codes:
  0    all cases passed, or enough of them (--min-pass-rate, `thresholds` of the config,
       RUNNER_PASS_RATE_THRESHOLD)
  1    internal error; also a results or events file that could not be written
  2    usage or config error, or something was not agreed to: nothing was run
  100  pass rate below the threshold, or another threshold not held; failed, errored and not-run
       cases count against it; also `runner diff --fail-on`
  130  interrupted; what was done is kept

Where things are kept:
  Results are in runs.db in the platform's data folder, compiled plugins in its cache folder: on
  Linux ~/.local/share/runner and ~/.cache/runner. With RUNNER_HOME everything is below that
  one folder: runs.db, trust.json and cache/. Nothing is sent anywhere but to the
  providers and data sets you name.

Environment variables:
";
