//! What a plugin says of itself can't take the host's memory or time, nor write lines of ours.

use runner_sandbox::MessageCode;

use crate::load::{Files, refusal};
use crate::world::{Measured, describing, sandbox};

/// Each is refused at load, with one code and one help line.
#[test]
fn each_description_has_its_code() {
    let sandbox = sandbox();
    let files = Files::new();
    for (kind, code, says) in [
        ("looping", MessageCode::P011, "CPU budget"),
        ("allocating", MessageCode::P011, "out of memory"),
        ("panicking", MessageCode::P011, "crashed"),
        ("flooding", MessageCode::P011, "out of memory"),
        ("doubling-schema", MessageCode::P012, "references multiply"),
        ("endless-schema", MessageCode::P012, "without end"),
        ("large-schema", MessageCode::P012, "larger than 64 KiB"),
        ("deep-schema", MessageCode::P012, "JSON"),
        ("many-schemas", MessageCode::P012, "more than 512 KiB"),
        (
            "patterns-everywhere",
            MessageCode::P012,
            "more than 128 patterns",
        ),
        ("many-patterns", MessageCode::P012, "64 patterns"),
        ("large-pattern", MessageCode::P012, "no JSON Schema"),
        ("backtracking", MessageCode::P012, "no JSON Schema"),
        ("far-reference", MessageCode::P012, "`$ref`"),
        ("lines-in-a-name", MessageCode::P011, "kebab"),
        ("lines-in-a-reason", MessageCode::P011, "not printed"),
        (
            "quotes-in-a-variable",
            MessageCode::P011,
            "no name of a variable",
        ),
        ("escape-in-a-version", MessageCode::P011, "not printed"),
        ("host-with-a-path", MessageCode::P011, "no origin"),
        ("many-types", MessageCode::P011, "5000 assertion types"),
        ("twice", MessageCode::P011, "twice"),
        ("large-metadata", MessageCode::P011, "metadata-json"),
        ("deep-metadata", MessageCode::P011, "metadata-json"),
    ] {
        let path = files.write("acme.wasm", &describing(kind));
        let measured = Measured::begin();
        let (found, text) = refusal(&sandbox, &path);
        measured.within_bounds_of(&format!("describe:{kind}"));
        assert_eq!(found, code, "{kind}: {text}");
        assert!(text.contains(says), "{kind}: {text}");
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("help"))
            .collect();
        assert_eq!(lines.len(), 1, "{kind}: {text}");
        assert!(
            text.len() < 2_000 && !text.contains('\u{1b}'),
            "{kind}: {text}"
        );
    }
}

#[test]
fn a_description_that_sleeps_is_given_up() {
    let sandbox = sandbox();
    let files = Files::new();
    let path = files.write("acme.wasm", &describing("sleeping"));
    let measured = Measured::begin();
    let (code, text) = refusal(&sandbox, &path);
    assert_eq!(code, MessageCode::P011);
    assert!(text.contains("did not end within 5 s"), "{text}");
    measured.within_bounds_of("describe:sleeping");
}

#[test]
fn the_word_in_its_data_is_what_is_changed() {
    let files = Files::new();
    let path = files.write("acme.wasm", &describing("as-it-should"));
    let sandbox = sandbox();
    let measured = Measured::begin();
    let plugin = sandbox.load(&path, None);
    measured.within_bounds_of("describe:as-it-should");
    assert_eq!(plugin.expect("it loads").info().name, "hostile");
}
