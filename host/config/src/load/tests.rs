//! Finding a config, and what is wrong with the file as a whole.

use serde_json::json;

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

/// A folder whose config is `promptfooconfig.js`, which gives this.
fn program(gives: impl Fn() -> Result<Option<Value>, String> + 'static) -> Folder {
    let mut folder = Folder::new("").code("promptfooconfig.js", move |arguments| {
        assert!(
            arguments.is_empty(),
            "nothing is handed over: {arguments:?}"
        );
        gives()
    });
    folder.configs = vec!["promptfooconfig.js".into()];
    folder
}

#[test]
fn a_program_gives_the_config() {
    let folder = program(|| {
        Ok(Some(json!({
            "prompts": ["About {{topic}} for {{env.WHO}}"], "providers": ["echo"],
            "env": { "WHO": "all" }, "tests": [{ "vars": { "topic": "bees" } }],
        })))
    });
    assert_eq!(folder.texts(), ["About bees for all"]);
}

#[test]
fn what_is_wrong_with_a_program_is_said_with_its_file() {
    let help = "\nhelp: a program gives its config as data: JavaScript and TypeScript by their \
        default export, Python by a function `config`; code in it is named, for example \
        `value: 'file://check.js'`";
    let of = |gives: fn() -> Result<Option<Value>, String>| program(gives).problems();
    assert_eq!(
        of(|| Err("Error: no".to_owned())),
        [format!(
            "promptfooconfig.js: gave no config: Error: no{help}"
        )]
    );
    assert_eq!(
        of(|| Ok(None)),
        [format!("promptfooconfig.js: gives nothing{help}")]
    );
    let wrong = of(|| {
        Ok(Some(
            json!({ "prompts": ["x"], "providers": ["echo"], "tests": [{ "vrs": {} }] }),
        ))
    });
    assert!(
        wrong[0].starts_with("promptfooconfig.js: tests[0].vrs: "),
        "{wrong:?}"
    );
}

#[test]
fn programs_are_looked_for_after_files_and_need_something_that_runs_them() {
    let mut folder = program(|| Ok(None));
    folder.configs.clear();
    assert!(!folder.request().has_programs());
    std::fs::remove_file(folder.path().join("promptfooconfig.yaml")).expect("it is there");
    let request = folder.request();
    assert!(request.has_programs());
    assert_eq!(
        error(&request),
        "promptfooconfig.js: is a program, and no code is run here"
    );
}

/// What the sandbox lacks is asked for before it runs.
#[test]
fn a_program_that_wants_more_than_the_sandbox_is_asked_for() {
    let folder = program(|| panic!("nobody agreed to that"));
    let folder = folder.file("promptfooconfig.js", "require('fs').readFileSync('x')");
    assert_eq!(
        folder.withheld(),
        [
            "promptfooconfig.js: : run 'node' in ~ with the code there, outside the sandbox: it can do what you can"
        ]
    );
}
