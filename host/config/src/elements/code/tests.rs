//! What code brings along, and what is wrong with it.

use std::sync::Arc;

use crate::AbsentLanguage;
use crate::fixture::Folder;
use crate::model::{Code, Script};
use crate::plan::Check;

fn graded_by(value: &str) -> Folder {
    Folder::new(&format!(
        "prompts: [p]\nproviders: [echo]\ntests: [{{ assert: [{{ type: javascript, value: '{value}' }}] }}]"
    ))
}

fn script(folder: &Folder) -> Arc<Script> {
    let plan = folder.plan();
    let Check::One(assertion) = &plan.tests.get(0).expect("a test").assertions[0] else {
        panic!("no set here");
    };
    assertion.script.clone().expect("a file of code")
}

/// The path of the file, those of its modules, and the entry.
fn paths(folder: &Folder) -> (String, Vec<String>, Option<String>) {
    match &script(folder).code {
        Code::File { files, entry } => (
            files.main.path.clone(),
            files.modules.iter().map(|file| file.path.clone()).collect(),
            entry.clone(),
        ),
        Code::Inline { .. } => panic!("no file"),
    }
}

#[test]
fn a_file_brings_what_it_imports_directly_or_through_others() {
    let folder = graded_by("file://checks/a.js:grade")
        .file(
            "checks/a.js",
            "import b from './lib/b'; require('../data.json')",
        )
        .file("checks/lib/b.js", "import '../a.js'; import './c.mjs'")
        .file("checks/lib/c.mjs", "import './b.js'")
        .file("data.json", "{\"require('./no')\": 1}");
    let (main, modules, entry) = paths(&folder);
    assert_eq!(main, "checks/a.js");
    assert_eq!(
        modules,
        ["checks/lib/b.js", "data.json", "checks/lib/c.mjs"]
    );
    assert_eq!(entry.as_deref(), Some("grade"));
    assert!(folder.warnings().is_empty());
}

#[test]
fn paths_begin_in_the_lowest_folder_that_has_all_files() {
    let folder = graded_by("file://deep/er/a.js")
        .file("deep/er/a.js", "import '../b.js'")
        .file("deep/b.js", "1");
    let (main, modules, entry) = paths(&folder);
    assert_eq!(
        (main.as_str(), modules),
        ("er/a.js", vec!["b.js".to_owned()])
    );
    assert_eq!(entry, None);
}

#[test]
fn code_that_changes_is_other_code() {
    let folder = graded_by("file://a.js")
        .file("a.js", "import './b.js'")
        .file("b.js", "1");
    let before = script(&folder).content();
    assert_eq!(before, script(&folder).content());
    // Thousands of entries may name one file of a megabyte.
    assert!(before.to_string().len() < 100, "{before}");
    let folder = folder.file("b.js", "2");
    assert_ne!(before, script(&folder).content());
}

#[test]
fn a_file_that_many_tests_name_is_read_once() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ntests:\n- { assert: [{ type: javascript, value: file://a.js }] }\n- { assert: [{ type: javascript, value: 'file://./a.js:f' }] }",
    )
    .file("a.js", "1");
    let plan = folder.plan();
    let files = plan.tests.iter().map(|test| {
        let script = test.assertions[0].members()[0].script.clone();
        match &script.expect("a file").code {
            Code::File { files, .. } => files.clone(),
            Code::Inline { .. } => panic!("no file"),
        }
    });
    let files: Vec<_> = files.collect();
    assert!(Arc::ptr_eq(&files[0], &files[1]));
}

#[test]
fn an_import_that_leads_nowhere_is_a_warning() {
    let folder = graded_by("file://a.js").file("a.js", "import './gone'; import './x.go'");
    let folder = folder.file("x.go", "1");
    let at = "promptfooconfig.yaml:3:47: tests[0].assert[0].value";
    assert_eq!(
        folder.warnings(),
        [
            format!("{at}: 'a.js' imports './gone', and there is no such file"),
            format!("{at}: 'a.js' imports './x.go', and there is no such file"),
        ]
    );
}

#[test]
fn code_that_can_t_be_had_is_said() {
    let at = "promptfooconfig.yaml:3:47: tests[0].assert[0].value";
    let large = graded_by("file://a.js").file("a.js", " ".repeat(super::gathering::MAX_CODE + 1));
    assert_eq!(
        large.problems(),
        [format!("{at}: 'a.js': is larger than 4 MiB")]
    );
    let together = graded_by("file://a.js")
        .file("a.js", "import './b.js'")
        .file("b.js", " ".repeat(super::gathering::MAX_CODE - 1));
    assert_eq!(
        together.problems(),
        [format!(
            "{at}: 'b.js': a script's files hold more than 4 MiB"
        )]
    );
    let imports = |n: usize| format!("import './{}.js'", n + 1);
    let mut many = graded_by("file://0.js");
    for n in 0..super::gathering::MAX_FILES {
        many = many.file(&format!("{n}.js"), imports(n));
    }
    let last = super::gathering::MAX_FILES;
    let many = many.file(&format!("{last}.js"), "1");
    assert_eq!(
        many.problems(),
        [format!(
            "{at}: '{last}.js': a script has more than {last} files"
        )]
    );
    // What runs outside the sandbox finds its files itself.
    let outside = many.file("0.js", "import fs from 'fs'; import './1.js'");
    assert_eq!(outside.problems(), [""; 0]);
}

#[test]
fn keys_that_take_code_say_what_they_take() {
    let problems = |test: &str| {
        let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {test} }}]");
        Folder::new(&config).problems()
    };
    let at = "promptfooconfig.yaml:3:";
    assert_eq!(
        problems("options: { transform: ' ' }"),
        [format!("{at}33: tests[0].options.transform: holds no code")]
    );
    assert_eq!(
        problems("vars: { a: 1 }, assertScoringFunction: a + b"),
        [format!(
            "{at}50: tests[0].assertScoringFunction: must name a file of code\n\
             help: assertScoringFunction: file://score.js, or file://score.js:function"
        )]
    );
}

#[test]
fn rows_of_data_may_hold_code_and_ask_before_they_name_it() {
    let folder = |cell: &str| {
        Folder::new("prompts: [p]\nproviders: [echo]\ntests: t.csv")
            .file("t.csv", format!("a,__expected\n1,{cell}\n"))
            .file("a.js", "1")
    };
    assert!(folder("javascript: output > 1").requests().is_empty());
    assert_eq!(
        folder("file://a.js").requests(),
        ["t.csv:2:1: assert[0].value: run the code of ~/a.js in the sandbox"]
    );
}

#[test]
fn code_of_options_providers_and_prompts_is_read() {
    let folder = Folder::new(
        "prompts: [{ id: 'file://a.js:p', label: made }]\n\
         providers: [{ id: echo, transform: output.a }]\n\
         defaultTest: { options: { transform: one, transformVars: two } }\n\
         tests: [{ vars: { v: 1 }, assertScoringFunction: 'file://a.js:s', options: { postprocess: three } }]",
    )
    .file("a.js", "exports.p = () => '{{'");
    let plan = folder.plan();
    let inline = |script: &Option<Arc<Script>>| match script.as_deref() {
        Some(Script {
            code: Code::Inline { text },
            ..
        }) => text.clone(),
        _ => panic!("no inline code"),
    };
    let test = &plan.tests.get(0).expect("a test");
    assert_eq!(inline(&test.transform), "three");
    assert_eq!(inline(&test.transform_vars), "two");
    assert!(test.scoring.is_some());
    let column = &plan.columns[0];
    assert_eq!(inline(&column.provider.transform), "output.a");
    assert_eq!(column.prompt.label, "made");
    assert_eq!(column.prompt.raw, "exports.p = () => '{{'");
    assert!(column.prompt.code.is_some());
}

#[test]
fn python_brings_the_files_that_it_imports() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: python, value: file://checks/a.py }] }]";
    let folder = Folder::new(config)
        .with_python()
        .file(
            "checks/a.py",
            "import json, b\nfrom lib import c\nfrom . import b as d\n",
        )
        .file("checks/b.py", "import a")
        .file("checks/lib/c.py", "from .e import x\nfrom .gone import y")
        .file("checks/lib/e.py", "x = 1");
    let (main, modules, entry) = paths(&folder);
    assert_eq!(main, "a.py");
    assert_eq!(modules, ["b.py", "lib/c.py", "lib/e.py"]);
    assert_eq!(entry.as_deref(), Some("get_assert"));
    assert_eq!(
        folder.warnings(),
        [
            "promptfooconfig.yaml:3:43: tests[0].assert[0].value: 'checks/lib/c.py' imports '.gone', and there is no such file"
        ]
    );
    let languages = folder.plan().languages;
    assert!(languages.contains("python") && !languages.contains("javascript"));
}

#[test]
fn a_python_file_means_the_function_of_its_use() {
    let config = "prompts: [file://f.py, 'file://f.py:make']\n\
         providers: [{ id: echo, transform: file://f.py }]\n\
         tests:\n\
         - vars: { v: file://f.py }\n\
         \x20 options: { transform: file://f.py, transformVars: 'file://f.py:own' }\n\
         \x20 assertScoringFunction: file://f.py\n\
         \x20 assert: [{ type: contains, value: file://f.py, transform: file://f.py }]";
    let plan = Folder::new(config).with_python().file("f.py", "").plan();
    let entry = |script: Option<&Arc<Script>>| match &script.expect("code").code {
        Code::File { entry, .. } => entry.clone(),
        Code::Inline { .. } => panic!("no file"),
    };
    let test = &plan.tests.get(0).expect("a test");
    let assertion = &test.assertions[0].members()[0];
    let entries = [
        entry(plan.columns[0].prompt.code.as_ref()),
        entry(plan.columns[1].prompt.code.as_ref()),
        entry(plan.columns[0].provider.transform.as_ref()),
        entry(plan.var_files.scripts.get("file://f.py")),
        entry(test.transform.as_ref()),
        entry(test.transform_vars.as_ref()),
        entry(test.scoring.as_ref()),
        entry(assertion.script.as_ref()),
        entry(assertion.transform.as_ref()),
    ];
    let expected = [
        "",
        "make",
        "get_transform",
        "get_var",
        "get_transform",
        "own",
        "func",
        "get_assert",
        "get_transform",
    ];
    assert_eq!(entries.map(Option::unwrap_or_default), expected);
}

#[test]
fn a_plugin_that_is_not_installed_is_named_with_the_command() {
    let missing = |test: &str| {
        let config =
            format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {test} }}]\nruntime: sandbox");
        let mut folder = Folder::new(&config).file("f.py", "");
        let absent = AbsentLanguage {
            extensions: vec!["py".to_owned()],
            help: "run this".to_owned(),
        };
        let absent_languages = [("python".to_owned(), absent)].into();
        folder.catalog.absent_languages = absent_languages;
        folder.problems()
    };
    let at = "promptfooconfig.yaml:3:";
    let what = "P018 the plugin that runs python (.py) is not installed\nhelp: run this";
    assert_eq!(
        missing("assert: [{ type: not-python, value: x }]"),
        [format!("{at}28: tests[0].assert[0].type: {what}")]
    );
    assert_eq!(
        missing("options: { transform: file://f.py }"),
        [format!(
            "{at}33: tests[0].options.transform: 'f.py': {what}"
        )]
    );
}

/// Every part of a path was looked at by itself, each with all before it.
#[test]
fn a_path_that_no_file_has_is_not_looked_for() {
    let path = "a/".repeat(1 << 20);
    let folder = graded_by("file://a.js").file("a.js", format!("import './{path}b.js'"));
    let warnings = folder.warnings();
    assert!(warnings[0].ends_with("there is no such file"));
    let problems = graded_by(&format!("file:///{path}b.js")).problems();
    assert!(problems[0].ends_with("is a longer name than any file has"));
    let vars = format!(
        "prompts: [p]\nproviders: [echo]\ntests: [{{ vars: {{ q: 'file://{path}q.txt' }} }}]"
    );
    let problems = Folder::new(&vars).problems();
    assert!(problems[0].ends_with("is a longer name than any file has"));
}

/// Each import takes a few bytes, and a dozen looks at the disk where it leads nowhere.
#[test]
fn names_that_code_asks_for_are_counted_for_each_piece_and_for_all() {
    let at = "promptfooconfig.yaml:3:47: tests[0].assert[0].value";
    let imports = |from: usize, to: usize| {
        let lines = (from..to).map(|n| format!("import './{n}';\n"));
        lines.collect::<String>()
    };
    let too_many = |of: &str| format!("names more files than are looked for: {of}");
    let many = graded_by("file://a.js").file("a.js", imports(0, 3000));
    let one = too_many("10000 for one piece of code");
    assert_eq!(many.problems(), [format!("{at}: 'a.js': {one}")]);
    let python = (0..11_000).map(|n| format!("import a{n}\n"));
    let many = Folder::new("prompts: [p]\nproviders: [file://a.py]")
        .file("a.py", python.collect::<String>())
        .with_python();
    assert_eq!(
        many.problems(),
        [format!(
            "promptfooconfig.yaml:2:13: providers[0]: 'a.py': {one}"
        )]
    );
    // What others asked for before costs nothing.
    let all = |imports: &dyn Fn(usize) -> String| {
        let names =
            (0..150).map(|n| format!("{{ id: echo, label: l{n}, transform: file://f{n}.js }}"));
        let names: Vec<String> = names.collect();
        let folder = Folder::new(&format!("prompts: [p]\nproviders: [{}]", names.join(", ")));
        let files = 0..150;
        files.fold(folder, |folder, n| {
            folder.file(&format!("f{n}.js"), imports(n))
        })
    };
    assert_eq!(all(&|_| imports(0, 100)).problems(), [""; 0]);
    let apart = all(&|n| imports(n * 100, n * 100 + 100)).problems();
    let of_all = too_many("100000 for all code of a config");
    assert!(apart[0].contains(&of_all), "{apart:?}");
}

#[test]
fn files_of_code_are_told_by_their_digest_and_not_by_their_text() {
    let folder = graded_by("file://a.js").file("a.js", " ".repeat(super::gathering::MAX_CODE));
    let script = script(&folder);
    assert!(format!("{script:?}").len() < 1000);
}

/// Who agreed to an interpreter for the config's code has not seen what a file says that the config
/// vouches for, nor what a hook fetches.
#[test]
fn inline_code_that_is_not_in_the_config_stays_in_the_sandbox_whatever_vouches_for_it() {
    let outside = |tests: &str, rows: &str| {
        let config = format!("prompts: [p]\nproviders: [echo]\ntests: {tests}");
        let folder = Folder::new(&config)
            .file("t.yaml", rows)
            .file("t.json", rows)
            .file("a.js", "require('fs')");
        let processes = folder.plan().processes.len();
        processes > 0
    };
    let inline = r#"[{"assert": [{"type": "javascript", "value": "require('fs')"}]}]"#;
    let file = r#"[{"assert": [{"type": "javascript", "value": "file://a.js"}]}]"#;
    let transform = r#"[{"vars": {"a": 1}, "options": {"transform": "require('fs')"}}]"#;
    assert!(outside("t.yaml", inline));
    assert!(outside(inline, ""));
    let vouched = "[{ path: t.json, trust: config }]";
    assert!(!outside(vouched, inline));
    assert!(!outside(vouched, transform));
    // A file is named, and asked for as one.
    assert!(outside(vouched, file));
    assert!(!outside("t.json", inline));
}

/// A piece of code, the command that runs it, and to how many hosts it may send requests.
type Placed = (String, Option<String>, usize);

/// What a config is refused for that grants JavaScript a host, or where its code runs.
fn granted(config: &str) -> (String, Vec<Placed>) {
    let grant = "plugins: { javascript: { permissions: { hosts: ['https://a.b'] } } }\n";
    let fetches = "module.exports = (x) => fetch(x)";
    let folder = Folder::new(&format!("{grant}{config}"))
        .file("ask.js", fetches)
        .file("more.js", "const fs = require('fs'); fetch(1)")
        .file(
            "rows.jsonl",
            r#"{"assert": [{"type": "javascript", "value": "fetch(1)"}]}"#,
        );
    match folder.try_plan() {
        Err(error) => (error.to_string(), Vec::new()),
        Ok((plan, _)) => {
            let each = plan.code_places.into_iter();
            let each = each.map(|it| (it.code, it.command, it.reaches.len()));
            (String::new(), each.collect())
        }
    }
}

#[test]
fn code_that_sends_requests_stays_in_the_sandbox_where_they_are_granted() {
    let one = |code: &str, command: Option<&str>, reaches: usize| {
        vec![(code.to_owned(), command.map(str::to_owned), reaches)]
    };
    let node = Some("node");
    let over = |rest: &str| format!("prompts: [p]\nproviders: [echo]\ntests: [{{ {rest} }}]");
    let asserted = |value: &str| over(&format!("assert: [{{ type: javascript, value: {value} }}]"));
    let table = [
        (
            "prompts: [p]\nproviders: ['file://ask.js']".to_owned(),
            one("ask.js", None, 1),
        ),
        (asserted("file://ask.js"), one("ask.js", None, 1)),
        (
            asserted("'await fetch(1)'"),
            one("inline javascript", None, 1),
        ),
        (
            over("options: { transform: 'await fetch(1)' }"),
            one("inline javascript", None, 1),
        ),
        // What it wants beside requests, and whoever says `process`, decides as before.
        (asserted("file://more.js"), one("more.js", node, 0)),
        (
            format!("runtime: process\n{}", asserted("file://ask.js")),
            one("ask.js", node, 0),
        ),
        // Code that asks nothing has no use for the grant.
        (asserted("'output > 1'"), one("inline javascript", None, 0)),
        (
            "prompts: [p]\nproviders: [echo]\ntests: file://rows.jsonl".to_owned(),
            one("inline javascript", None, 0),
        ),
        (
            "prompts: [p]\nproviders: [echo]\ntests: [{ path: rows.jsonl, trust: config }]"
                .to_owned(),
            one("inline javascript", None, 0),
        ),
        (
            format!(
                "nunjucksFilters: {{ f: file://ask.js }}\n{}",
                over("vars: { n: 1 }")
            ),
            one("ask.js", node, 0),
        ),
    ];
    for (config, expected) in table {
        assert_eq!(granted(&config).1, expected, "{config}");
    }
    // What is filled in may be anybody's words, so that it is refused as without the grant.
    let filled = granted(&asserted("'fetch(\"{{x}}\")'")).0;
    assert!(filled.contains("can't have 'x' filled in"), "{filled}");
}

#[test]
fn without_a_grant_code_that_sends_requests_runs_where_it_did() {
    let grade = "tests: [{ assert: [{ type: javascript, value: 'await fetch(1)' }] }]";
    let folder =
        |first: &str| Folder::new(&format!("{first}prompts: [p]\nproviders: [echo]\n{grade}"));
    let plan = folder("").plan();
    assert_eq!(plan.code_places[0].reason.as_deref(), Some("uses fetch"));
    assert_eq!(plan.processes.len(), 1);
    // Nor does a grant to another language's code help.
    let other = "plugins: { python: { permissions: { hosts: ['https://a.b'] } } }\n";
    assert_eq!(folder(other).plan().processes.len(), 1);
    let kept = folder("runtime: sandbox\n").warnings().join("\n");
    assert!(
        kept.contains("uses fetch, which the sandbox doesn't have"),
        "{kept}"
    );
}
