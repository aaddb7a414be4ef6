//! What a plugin says of itself can't take the host's memory or time, nor write lines of ours.

use runner_sandbox::Code;

use crate::load::{Files, refusal};
use crate::world::{Measured, describing, sandbox};

/// Each is refused at load, with one code and one help line.
#[test]
fn each_description_has_its_code() {
    let sandbox = sandbox();
    let files = Files::new();
    for (kind, code, says) in [
        ("looping", Code::P011, "CPU budget"),
        ("allocating", Code::P011, "out of memory"),
        ("panicking", Code::P011, "crashed"),
        ("flooding", Code::P011, "out of memory"),
        ("doubling-schema", Code::P012, "references multiply"),
        ("endless-schema", Code::P012, "without end"),
        ("large-schema", Code::P012, "larger than 64 KiB"),
        ("deep-schema", Code::P012, "JSON"),
        ("many-schemas", Code::P012, "more than 512 KiB"),
        ("patterns-everywhere", Code::P012, "more than 128 patterns"),
        ("many-patterns", Code::P012, "64 patterns"),
        ("large-pattern", Code::P012, "no JSON Schema"),
        ("backtracking", Code::P012, "no JSON Schema"),
        ("far-reference", Code::P012, "`$ref`"),
        ("lines-in-a-name", Code::P011, "kebab"),
        ("lines-in-a-reason", Code::P011, "not printed"),
        ("quotes-in-a-variable", Code::P011, "no name of a variable"),
        ("escape-in-a-version", Code::P011, "not printed"),
        ("host-with-a-path", Code::P011, "no origin"),
        ("many-types", Code::P011, "5000 assertion types"),
        ("twice", Code::P011, "twice"),
        ("large-metadata", Code::P011, "metadata-json"),
        ("deep-metadata", Code::P011, "metadata-json"),
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
    assert_eq!(code, Code::P011);
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
