//! A component that runs code: what it says of itself, and the call through its exports.

use runner_plugin::json::{Value, json};
use runner_plugin::script::{Argument, Failure, FailureKind, Outcome, Program};
use runner_plugin::wire::meta::exports::runner::plugin::meta::Guest as _;
use runner_plugin::wire::script::exports::runner::plugin::script::Guest as _;
use runner_plugin::{CallContext, Info, Script, export, testing};

/// A language whose programs name the argument that is their result.
struct Named;

impl Script for Named {
    fn describe() -> Info {
        Info::new("named", "1.0.0", "Names an argument.")
            .script_language("named", &["nm"])
            .script_language("other", &["o1", "o2"])
    }

    fn run(program: &Program, arguments: &[Argument], _: &CallContext) -> Outcome {
        let meant = |argument: &&Argument| argument.name == program.source;
        match arguments.iter().find(meant) {
            Some(argument) => Outcome {
                result: Ok(Some(argument.value_json.clone())),
                ..Outcome::nothing()
            },
            None => Outcome::failed(Failure::new(FailureKind::NotFound, "no such argument")),
        }
    }
}

runner_plugin::export_script!(Named);

type Exported = export::OfScript<Named>;

#[test]
fn the_languages_are_in_the_metadata() {
    let metadata = Exported::describe().metadata_json.unwrap_or_default();
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let expected = json!({ "script-languages": [
        { "name": "named", "extensions": ["nm"] },
        { "name": "other", "extensions": ["o1", "o2"] },
    ] });
    assert_eq!(metadata, expected);
    assert_eq!(Exported::check_config("{}".to_owned()), []);
}

#[test]
fn a_program_gets_its_arguments_and_gives_an_outcome() {
    let arguments = [("a", json!(1)), ("b", json!([2]))];
    let arguments = arguments.map(|(name, value)| testing::argument(name, &value));
    let run = |source| {
        let program = testing::code("named", source);
        Exported::run(program, arguments.to_vec(), testing::context())
    };
    assert_eq!(run("b"), Outcome::value(&json!([2])));
    let failed = run("c").result.expect_err("no such argument");
    assert_eq!(failed.kind, FailureKind::NotFound);
    assert_eq!(failed.position, None);
}
