//! What programs are given, and what of it may show.

use std::path::Path;

use super::*;

/// A command with these variables of the person's environment.
fn command(variables: &[&str], origin: TextOrigin) -> Arc<Process> {
    Arc::new(Process {
        engine: Engine::Command {
            line: "echo".to_owned(),
        },
        digest: String::new(),
        folder: "/evals".into(),
        origin,
        env: BTreeMap::new(),
        variables: variables.iter().map(ToString::to_string).collect(),
        workers: None,
        timeout: None,
        memory_mb: None,
        is_cached: false,
        typed: None,
    })
}

fn env(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    values.iter().map(owned).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_program_was_given_by_name_is_a_secret_unless_it_may_be_shown() {
    let person = env(&[
        ("DATABASE_URL", "postgres://me"),
        ("ACME_REGION", "north-01"),
        ("API_TOKEN", "tok-0123"),
        ("MODEL", "large-model"),
        ("NOTE", "private-note"),
        ("HOME", "/home/ada"),
    ]);
    let secrets = |variables: &[&str], taken_in: &[&str], shown: &[&str]| {
        let process = command(variables, TextOrigin::Config);
        let programs = Programs {
            taken_in: names(taken_in),
            shown: names(shown),
            ..Programs::of(&[process], &person, Typed::default())
        };
        let secrets: BTreeSet<Secret> = programs.secrets().collect();
        let is_secret = |value: &&str| secrets.contains(&Secret::new(*value));
        let values = person.values().map(String::as_str);
        values.filter(is_secret).collect::<Vec<_>>()
    };
    assert_eq!(secrets(&[], &[], &[]), [""; 0]);
    let given = ["DATABASE_URL", "ACME_*", "HOME"];
    assert_eq!(secrets(&given, &[], &[]), ["north-01", "postgres://me"]);
    assert_eq!(secrets(&given, &[], &["DATABASE_URL"]), ["north-01"]);
    // Of all that there is, what looks like a key.
    assert_eq!(secrets(&["*"], &[], &[]), ["tok-0123"]);
    assert_eq!(secrets(&[], &["NOTE"], &[]), ["private-note"]);
    assert_eq!(secrets(&["MODEL"], &[], &["*"]), [""; 0]);
}

/// Each is a line of the question.
#[test]
fn a_command_with_another_env_is_given_what_was_agreed_to_for_it_alone() {
    let person = env(&[("A_KEY", "a"), ("B_KEY", "b")]);
    let mut other = Process::clone(&command(&["B_KEY"], TextOrigin::Config));
    other.env = env(&[("X", "x")]);
    let both = [command(&["A_KEY"], TextOrigin::Config), Arc::new(other)];
    let programs = Programs::of(&both, &person, Typed::default());
    let given = both.map(|process| {
        let env = programs.environment(&Key::new(&process, None, &Map::new()));
        env.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    });
    assert_eq!(given, [["A_KEY"], ["B_KEY"]]);
}

#[test]
fn a_row_s_program_has_nothing_of_the_config_s_environment() {
    let row = TextOrigin::data(Path::new("rows.json"), "/evals/rows.json".into());
    let own = Map::from_iter([("OWN".to_owned(), Value::from("1"))]);
    let given = |origin: TextOrigin| {
        let process = command(&[], origin);
        let programs = Programs {
            declared: env(&[("TOKEN_OF_CONFIG", "t")]),
            ..Programs::of(std::slice::from_ref(&process), &env(&[]), Typed::default())
        };
        let key = Key::new(&process, None, &own);
        let env = programs.environment(&key);
        let names: Vec<OsString> = env.iter().map(|(name, _)| name.clone()).collect();
        (names, programs.surroundings(&key))
    };
    let ((of_config, by_config), (of_row, by_row)) = (given(TextOrigin::Config), given(row));
    assert_eq!(of_config, ["OWN", "TOKEN_OF_CONFIG"]);
    assert_eq!(of_row, ["OWN"]);
    assert_ne!(by_config, by_row);
}
