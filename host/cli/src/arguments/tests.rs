//! Command lines and what becomes of them.

use super::*;

fn parsed(line: &str) -> Result<Arguments, Refusal> {
    parse(line.split_whitespace().map(OsString::from))
}

fn refused(line: &str) -> String {
    match parsed(line) {
        Ok(arguments) => panic!("{line} was taken: {arguments:?}"),
        Err(Refusal::Refused(failure)) => failure.render(),
        Err(Refusal::Parser(error)) => error.to_string(),
    }
}

pub(super) fn eval(line: &str) -> Eval {
    match parsed(line).map(|arguments| arguments.command) {
        Ok(Some(Command::Eval(eval))) => *eval,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn an_eval_line() {
    let eval = eval(
        "runner eval -c a.yaml -o x.json -o y.csv -j 20 --repeat 2 --delay 5 --plugin p.wasm --plugin dir --no-table --events e.jsonl",
    );
    assert_eq!(eval.inputs.config, [PathBuf::from("a.yaml")]);
    assert_eq!(
        eval.output,
        [PathBuf::from("x.json"), PathBuf::from("y.csv")]
    );
    assert_eq!(eval.events, Some(PathBuf::from("e.jsonl")));
    assert_eq!(
        eval.inputs.plugin,
        [PathBuf::from("p.wasm"), PathBuf::from("dir")]
    );
    assert_eq!(
        (
            eval.max_concurrency.map(NonZeroUsize::get),
            eval.repeat.map(NonZeroU32::get),
            eval.delay
        ),
        (Some(20), Some(2), Some(Duration::from_millis(5)))
    );
    assert!(eval.no_table && !eval.table);
}

#[test]
fn the_last_of_two_wishes_about_the_table_counts() {
    assert!(!eval("runner eval --no-table --table").no_table);
    assert!(eval("runner eval --no-table").no_table);
    assert!(!eval("runner eval").no_table);
}

#[test]
fn global_flags_go_anywhere() {
    let arguments = parsed("runner eval --env-file a,b -v").expect("taken");
    assert!(arguments.global.verbose);
    assert_eq!(
        arguments.global.env_file,
        [PathBuf::from("a"), PathBuf::from("b")]
    );
}

#[test]
fn no_command_is_a_wish_for_help() {
    assert!(parsed("runner").is_ok_and(|arguments| arguments.command.is_none()));
    assert!(long_help().contains("Exit codes:"));
    assert!(long_help().contains("RUNNER_HOME"));
}

#[test]
fn what_promptfoo_has_and_we_have_not_is_refused_by_name() {
    let table = [
        (
            "runner eval --suggest-prompts 3",
            "error: --suggest-prompts is not supported yet: this setting as a flag\nhelp: set it in the config, where it is supported",
        ),
        (
            "runner validate",
            "error: validate is not supported yet: this command\nhelp: `runner config check` says what is wrong with a config",
        ),
    ];
    for (line, message) in table {
        assert_eq!(refused(line), message, "{line}");
    }
}

#[test]
fn flags_of_another_command_are_refused_with_a_way_out_and_are_not_shown() {
    let refused_by = [
        (
            "retry old",
            &["--resume", "--retry-errors", "--dry-run", "--watch"][..],
        ),
        (
            "config check",
            &[
                "--resume",
                "--retry-errors",
                "--force",
                "--dry-run",
                "--watch",
            ],
        ),
    ];
    for (command, flags) in refused_by {
        let name = command.strip_suffix(" old").unwrap_or(command);
        let help = refused(&format!("runner {name} --help"));
        for flag in flags {
            let told = refused(&format!("runner {command} {flag}"));
            let beginning = format!("error: {flag} is not a flag of `runner {name}`\nhelp: ");
            assert!(told.starts_with(&beginning), "{told}");
            let lists = |line: &str| {
                let line = line.trim_start();
                line.starts_with(flag) || line.contains(&format!(", {flag}"))
            };
            assert!(!help.lines().any(lists), "{flag}: {help}");
        }
    }
    assert!(parsed("runner retry old --force --no-cache").is_ok());
    assert!(parsed("runner config check --strict -n 3").is_ok());
    let kept = ["retry", "old", "--watch"].map(OsString::from);
    assert!(parse_eval(kept.into_iter()).is_some_and(|eval| eval.watch));
}

#[test]
fn a_typo_is_answered_with_the_nearest_flag() {
    let message = refused("runner eval --max-concurency 3");
    assert!(message.contains("--max-concurrency"), "{message}");
    assert!(refused("runner evall").contains("eval"));
}

#[test]
fn a_variable_has_a_name_and_a_value() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        eval("runner eval --var a=1=2 --var b=").inputs.var,
        [pair("a", "1=2"), pair("b", "")]
    );
    assert!(refused("runner eval --var a").contains("not of the form NAME=VALUE"));
    assert!(refused("runner eval --var =a").contains("not of the form NAME=VALUE"));
}

#[test]
fn what_is_no_number_is_refused_in_words() {
    let table = [
        (
            "eval -j 0",
            "invalid value '0' for '--max-concurrency <N>': not a whole number from 1, for example 8",
        ),
        (
            "eval --repeat two",
            "invalid value 'two' for '--repeat <N>': not a whole number from 1, for example 8",
        ),
        (
            "eval --timeout-ms 5s",
            "invalid value '5s' for '--timeout-ms <MS>': not a whole number of milliseconds, for example 5000",
        ),
        (
            "list -n many",
            "invalid value 'many' for '--limit <N>': not a whole number, for example 20",
        ),
    ];
    for (line, expected) in table {
        let told = refused(&format!("runner {line}"));
        assert!(told.starts_with(&format!("error: {expected}\n")), "{told}");
    }
}

/// A flag of `eval` with a value if it takes one, and with what it must not stand without.
pub(super) fn with_value(flag: &clap::Arg) -> String {
    let name = flag.get_long().expect("every flag has a long name");
    let value = match name {
        _ if !flag.get_action().takes_values() => "",
        "var" | "tag" | "filter-metadata" => "=a=b",
        "min-metric" => "=a=0.5",
        "filter-range" => "=1:",
        "filter-test" => "=run:1",
        "shard" => "=1/2",
        _ => "=2",
    };
    let beside = match name {
        "filter-sample-seed" => " --filter-sample 5",
        "model-outputs" => " -a a.yaml",
        "assertions" => " --model-outputs o.json",
        _ => "",
    };
    format!("--{name}{value}{beside}")
}

/// Every flag of `eval`, as clap has it: given to a run, it holds when the run goes on, but for
/// those of one session.
#[test]
fn a_run_that_goes_on_has_the_flags_that_it_was_begun_with() {
    const OF_A_SESSION: [&str; 19] = [
        "cache",
        "dry-run",
        "events",
        "force",
        "json",
        "locked",
        "no-csv-raw",
        "no-progress-bar",
        "no-require-assertions",
        "no-share",
        "no-strict",
        "no-table",
        "resume",
        "retry-errors",
        "table",
        "table-cell-max-length",
        "trust-config",
        "trust-data",
        "watch",
    ];
    let shown = |eval: Eval| format!("{eval:?}");
    let command = Eval::augment_args(clap::Command::new("eval"));
    for flag in command.get_arguments() {
        let name = flag.get_long().expect("every flag has a long name");
        let line = format!("runner eval {}", with_value(flag));
        let before = eval(&line);
        let kept = shown(eval("runner eval").over(before.clone()));
        if OF_A_SESSION.contains(&name) {
            assert_eq!(kept, shown(eval("runner eval")), "{line}");
        } else {
            assert_eq!(kept, shown(before), "{line}");
        }
        // What is given twice is what it was given last.
        assert_eq!(shown(eval(&line).over(eval(&line))), shown(eval(&line)));
    }
}

#[test]
fn what_a_run_was_begun_with_can_be_undone() {
    let table = [
        ("--no-cache", "--cache"),
        ("--csv-raw", "--no-csv-raw"),
        ("--strict", "--no-strict"),
        ("--strict", "--lenient"),
        ("--lenient", "--strict"),
        ("--require-assertions", "--no-require-assertions"),
    ];
    for (flag, undone) in table {
        let line = format!("runner eval {undone}");
        let goes_on = eval(&line).over(eval(&format!("runner eval {flag}")));
        assert_eq!(
            format!("{goes_on:?}"),
            format!("{:?}", eval(&line)),
            "{flag}"
        );
        let last = eval(&format!("runner eval {flag} {undone}"));
        assert_eq!(format!("{last:?}"), format!("{:?}", eval(&line)), "{flag}");
    }
}

#[test]
fn several_configs_are_named_by_one_flag_or_by_several() {
    let eval = eval("runner eval -c a.yaml b.yaml -c c.yaml -n 3");
    assert_eq!(
        eval.inputs.config,
        ["a.yaml", "b.yaml", "c.yaml"].map(PathBuf::from)
    );
}

#[test]
fn filters_are_understood_when_they_are_typed() {
    let eval = eval(
        "runner eval --filter-pattern ^a -n 3 --filter-range 0:5 --filter-sample 2 --filter-sample-seed s \
         --filter-metadata a=b --filter-metadata c=d --filter-targets gpt --filter-prompts p",
    );
    let filters = eval.inputs.filtering.filters();
    let shown =
        |pattern: &Option<runner_config::Pattern>| pattern.as_ref().map(ToString::to_string);
    assert_eq!(shown(&filters.pattern), Some("^a".to_owned()));
    assert_eq!(shown(&filters.providers), Some("gpt".to_owned()));
    assert_eq!(shown(&filters.prompts), Some("p".to_owned()));
    assert_eq!(filters.first, Some(3));
    assert_eq!(filters.metadata.len(), 2);
    let (range, sample) = (
        filters.range.expect("a range"),
        filters.sample.expect("a sample"),
    );
    assert_eq!(range.to_string(), "--filter-range 0:5");
    assert_eq!(
        sample.to_string(),
        "--filter-sample 2 --filter-sample-seed s"
    );
}

#[test]
fn a_sample_without_a_seed_gets_one_that_can_be_typed() {
    let sample = eval("runner eval --filter-sample 2")
        .inputs
        .filtering
        .filters()
        .sample;
    let seed = sample.expect("a sample").seed;
    assert!(
        seed.parse::<u32>().is_ok_and(|seed| seed < 1_000_000),
        "{seed}"
    );
}

#[test]
fn a_filter_that_means_nothing_is_refused_before_anything_is_read() {
    let cases = [
        ("--filter-pattern (", "not a regular expression"),
        ("--filter-providers [", "not a regular expression"),
        ("--filter-range 5", "not of the form START:END"),
        ("--filter-range 5:2", "nothing is in it"),
        ("--filter-first-n 0", "invalid value '0'"),
        ("--filter-sample 0", "invalid value '0'"),
        ("--filter-sample-seed 1", "--filter-sample <N>"),
        ("--filter-metadata area", "not of the form KEY=VALUE"),
        (
            "--filter-failing a --filter-errors-only b",
            "cannot be used with",
        ),
    ];
    for (flags, expected) in cases {
        let told = refused(&format!("runner eval {flags}"));
        assert!(told.contains(expected), "{flags}: {told}");
    }
}

#[test]
fn one_former_run_is_named_with_what_is_wanted_of_it() {
    let cases = [
        ("", None),
        (
            "--filter-failing a",
            Some(("--filter-failing", FormerRows::NotPassed, "a")),
        ),
        (
            "--filter-failing-only a",
            Some(("--filter-failing-only", FormerRows::Failed, "a")),
        ),
        (
            "--filter-errors-only a",
            Some(("--filter-errors-only", FormerRows::Errors, "a")),
        ),
        (
            "--filter-test a:b:17",
            Some(("--filter-test", FormerRows::Test(17), "a:b")),
        ),
    ];
    for (flags, expected) in cases {
        let eval = eval(&format!("runner eval {flags}"));
        assert_eq!(eval.inputs.filtering.former(), expected, "{flags}");
    }
}

/// The flags of `Eval` before this version refuses some of them.
fn typed(line: &str) -> Result<Eval, String> {
    let words = line.split_whitespace();
    match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
        Ok(Some(Command::Eval(eval))) => Ok(*eval),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn what_a_run_takes_from_before_is_put_into_words() {
    use persistence::{Beginning, Exchanges};
    let folder = tempfile::tempdir().expect("a folder");
    let cwd = folder.path();
    std::fs::write(cwd.join("kept.jsonl"), "").expect("it can be written");
    let latest = || "latest".to_owned();
    let cases = [
        ("", Beginning::New, Exchanges::Live),
        ("--resume", Beginning::Resume(latest()), Exchanges::Live),
        (
            "--resume run-1",
            Beginning::Resume("run-1".to_owned()),
            Exchanges::Live,
        ),
        (
            "--retry-errors",
            Beginning::RetryErrors(latest()),
            Exchanges::Live,
        ),
        (
            "--record new.jsonl",
            Beginning::New,
            Exchanges::Record(cwd.join("new.jsonl")),
        ),
        (
            "--replay kept.jsonl",
            Beginning::New,
            Exchanges::Replay(cwd.join("kept.jsonl")),
        ),
    ];
    for (flags, beginning, exchanges) in cases {
        let eval = typed(&format!("runner eval {flags}")).expect("taken");
        let persistence = eval.persistence.persistence(cwd).expect("fine");
        assert_eq!(
            (eval.persistence.beginning(), persistence.exchanges),
            (beginning, exchanges)
        );
        assert!(persistence.cache);
    }
    let eval = typed("runner eval --no-cache").expect("taken");
    assert!(!eval.persistence.persistence(cwd).expect("fine").cache);
}

#[test]
fn flags_that_exclude_each_other_or_name_no_file_are_refused() {
    for flags in ["--resume --retry-errors", "--record a --replay b"] {
        let told = typed(&format!("runner eval {flags}")).expect_err("refused");
        assert!(told.contains("cannot be used with"), "{told}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (flags, expected) in [
        (
            "--replay none",
            "error: can't replay none: there is no such file",
        ),
        ("--record /dev/null/x", "the folder /dev/null can't be made"),
    ] {
        let eval = typed(&format!("runner eval {flags}")).expect("taken");
        let told = eval
            .persistence
            .persistence(folder.path())
            .expect_err("refused");
        assert!(told.render().contains(expected), "{}", told.render());
    }
}

#[test]
fn money_is_read_in_dollars_and_kept_in_millionths() {
    let cases = [
        ("2.50", Ok(2_500_000)),
        ("$0.000001", Ok(1)),
        ("0", Ok(0)),
        ("-1", Err(())),
        ("much", Err(())),
        ("NaN", Err(())),
        ("1e10", Err(())),
    ];
    for (text, expected) in cases {
        let typed = typed(&format!("runner eval --max-cost={text}"));
        let cost = typed.map(|eval| eval.spending.budget().cost_microusd);
        assert_eq!(cost.map_err(|_| ()), expected.map(Some), "{text}");
    }
    let eval = typed("runner eval --max-tokens 5 --max-requests 0").expect("taken");
    let budget = eval.spending.budget();
    assert_eq!((budget.tokens, budget.requests), (Some(5), Some(0)));
}
