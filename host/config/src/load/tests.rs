//! Finding a config, and what is wrong with the file as a whole.

use super::*;
use crate::fixture::Folder;

fn error(request: &LoadRequest) -> String {
    load(request).expect_err("it can't be loaded").to_string()
}

#[test]
fn default_names_are_looked_for_in_order() {
    let folder =
        Folder::new("description: yaml").file("promptfooconfig.json", r#"{"description": "json"}"#);
    assert_eq!(
        load(&folder.request()).expect("a config").0.path,
        Path::new("promptfooconfig.yaml")
    );
    let empty = Folder::new("");
    std::fs::remove_file(empty.path().join("promptfooconfig.yaml")).expect("it is there");
    assert_eq!(
        error(&empty.request()),
        "there is no promptfooconfig.yaml here\nhelp: name a config with -c, or run in a folder that has one"
    );
    let program = empty.file("promptfooconfig.js", "");
    assert_eq!(
        error(&program.request()),
        "promptfooconfig.js: a config written as a program is not supported\n\
         help: print it once as JSON, for example with `node -p \"JSON.stringify(require('./promptfooconfig.js'))\" > promptfooconfig.json`; prompts, variables, assertions and transforms in JavaScript can stay files"
    );
}

#[test]
fn a_config_can_be_a_file_a_folder_or_a_pattern() {
    let folder = Folder::new("")
        .file("evals/promptfooconfig.yaml", "description: x")
        .file("c.json", "{}");
    let request = |files: &[&str]| LoadRequest {
        config_files: files.iter().map(PathBuf::from).collect(),
        ..folder.request()
    };
    assert_eq!(
        load(&request(&["evals"])).expect("a config").0.path,
        Path::new("evals/promptfooconfig.yaml")
    );
    assert_eq!(
        load(&request(&["c.json"])).expect("a config").0.path,
        Path::new("c.json")
    );
    assert_eq!(
        error(&request(&["none.yaml"])),
        "none.yaml: there is no such file"
    );
    assert_eq!(
        error(&request(&["c.json", "evals", "c.json"])),
        "c.json: is named twice as a config\nhelp: name each config once"
    );
    let paths = |files: &[&str]| {
        let config = load(&request(files)).expect("a config").0;
        let paths = config.sources.iter().map(|source| source.path.clone());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&["c.json", "*/*.yaml"]),
        [Path::new("c.json"), Path::new("evals/promptfooconfig.yaml")]
    );
    assert_eq!(
        error(&request(&["x*.yaml"])),
        "x*.yaml: matches no file\nhelp: name the config itself"
    );
}

#[test]
fn a_file_that_is_no_config_says_where() {
    let cases = [
        (
            "",
            "promptfooconfig.yaml:1:1: a config is a map with `prompts`, `providers` and `tests`, not nothing",
        ),
        (
            "- a",
            "promptfooconfig.yaml:1:1: a config is a map with `prompts`, `providers` and `tests`, not a list",
        ),
        (
            "a: 1\na: 2",
            "promptfooconfig.yaml:2:1: the key 'a' is already on line 1",
        ),
        (
            "prompts: {{x}}",
            "promptfooconfig.yaml:1:11: a key must be text\n\
             help: a value that begins with '{' needs quotes, for example \"{{name}}\"",
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(error(&Folder::new(yaml).request()), expected, "{yaml}");
    }
}
