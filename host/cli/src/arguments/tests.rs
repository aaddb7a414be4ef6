//! Command lines and what becomes of them.

use super::*;

fn parsed(line: &str) -> Result<Arguments, Refusal> {
    parse(line.split_whitespace().map(OsString::from))
}

fn refused(line: &str) -> String {
    match parsed(line) {
        Ok(arguments) => panic!("{line} was taken: {arguments:?}"),
        Err(Refusal::Later(failure)) => failure.render(),
        Err(Refusal::Parser(error)) => error.to_string(),
    }
}

fn eval(line: &str) -> Eval {
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
    assert_eq!(eval.config, [PathBuf::from("a.yaml")]);
    assert_eq!(
        eval.output,
        [PathBuf::from("x.json"), PathBuf::from("y.csv")]
    );
    assert_eq!(eval.events, Some(PathBuf::from("e.jsonl")));
    assert_eq!(eval.plugin, [PathBuf::from("p.wasm"), PathBuf::from("dir")]);
    assert_eq!(
        (
            eval.max_concurrency.map(NonZeroUsize::get),
            eval.repeat.map(NonZeroU32::get),
            eval.delay
        ),
        (Some(20), Some(2), Some(5))
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
            "runner eval --resume",
            "error: --resume is not supported yet: going on with an interrupted run\nhelp: run the config again",
        ),
        (
            "runner eval --resume=abc",
            "error: --resume is not supported yet: going on with an interrupted run\nhelp: run the config again",
        ),
        (
            "runner eval -t tests.csv",
            "error: -t is not supported yet: prompts, providers, tests and assertions as flags\nhelp: name them in a config and give it with -c",
        ),
        (
            "runner view",
            "error: view is not supported yet: the viewer\nhelp: use `runner show`, or write a file with -o",
        ),
        (
            "runner eval -w",
            "error: -w is not supported yet: running again when a file changes\nhelp: run the config again",
        ),
    ];
    for (line, message) in table {
        assert_eq!(refused(line), message, "{line}");
    }
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
        eval("runner eval --var a=1=2 --var b=").var,
        [pair("a", "1=2"), pair("b", "")]
    );
    assert!(refused("runner eval --var a").contains("not of the form NAME=VALUE"));
    assert!(refused("runner eval --var =a").contains("not of the form NAME=VALUE"));
}

#[test]
fn zero_is_no_number_of_slots() {
    assert!(refused("runner eval -j 0").contains("invalid value '0'"));
    assert!(refused("runner eval --repeat 0").contains("invalid value '0'"));
}
