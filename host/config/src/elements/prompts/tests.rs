//! The forms of prompts.

use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::fixture::Folder;

fn prompts(folder: &Folder) -> Vec<(String, String)> {
    let plan = folder.plan();
    plan.columns
        .iter()
        .map(|column| (column.prompt.label.clone(), column.prompt.raw.clone()))
        .collect()
}

fn folder(prompts: &str) -> Folder {
    Folder::new(&format!("providers: [echo]\n{prompts}"))
        .file("p.txt", "one {{x}}\n---\n\n---\n  two\n")
        .file("single.txt", "\u{feff}only\n")
        .file(
            "chat.json",
            "[{\"role\": \"user\", \"content\": \"{{x}} \\ud83d\\ude00\"}]",
        )
        .file("chat.yaml", "- role: user\n  content: file://single.txt\n")
        .file(
            "loose.json",
            "[{\"role\": \"user\", \"content\": {{ x | dump }}}]",
        )
        .file("lines.jsonl", "[1]\n\n[2]\n")
        .file("table.csv", "label,prompt\nA,\"first, {{x}}\"\n,second\n")
        .file("plain.csv", "prompt\nhello {{x}}\nbye\n")
        .file("whole.md", "# T\n---\nx\n")
        .file("sub/a.txt", "A")
        .file("sub/b.txt", "B")
}

fn check(yaml: &str, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(l, r)| ((*l).to_owned(), (*r).to_owned()))
        .collect();
    assert_eq!(prompts(&folder(yaml)), expected, "{yaml}");
}

#[test]
fn inline_prompts_and_objects() {
    check("", &[("{{prompt}}", "{{prompt}}")]);
    check("prompts: hello {{x}}", &[("hello {{x}}", "hello {{x}}")]);
    check("prompts: [a, b]", &[("a", "a"), ("b", "b")]);
    check(
        "prompts: [\"a\\nfile.txt\"]",
        &[("a\nfile.txt", "a\nfile.txt")],
    );
    check(
        "prompts: [{ raw: 'hi', label: greeting }]",
        &[("greeting", "hi")],
    );
    check(
        "prompts: [{ raw: 'hi', id: greeting }]",
        &[("greeting", "hi")],
    );
    check("prompts: [{ raw: hi }]", &[("hi", "hi")]);
    check("prompts: { raw: hi, label: l }", &[("l", "hi")]);
}

#[test]
fn files_of_every_kind() {
    check(
        "prompts: file://p.txt",
        &[("p.txt: one {{x}}", "one {{x}}"), ("p.txt: two", "two")],
    );
    check(
        "prompts: [p.txt]",
        &[("p.txt: one {{x}}", "one {{x}}"), ("p.txt: two", "two")],
    );
    check(
        "prompts: [{ id: file://single.txt, label: s }]",
        &[("s", "only")],
    );
    check("prompts: [{ raw: single.txt, label: s }]", &[("s", "only")]);
    check("prompts: { single.txt: s }", &[("s", "only")]);
    check(
        "prompts: { p.txt: s }",
        &[
            ("s: p.txt: one {{x}}", "one {{x}}"),
            ("s: p.txt: two", "two"),
        ],
    );
    check(
        "prompts: [whole.md]",
        &[("whole.md: # T\n---\nx\n", "# T\n---\nx\n")],
    );
    check(
        "prompts: [lines.jsonl]",
        &[("lines.jsonl: [1]", "[1]"), ("lines.jsonl: [2]", "[2]")],
    );
    check(
        "prompts: [table.csv]",
        &[("A", "first, {{x}}"), ("table.csv: second", "second")],
    );
    check(
        "prompts: [plain.csv]",
        &[
            ("plain.csv: hello {{x}}", "hello {{x}}"),
            ("plain.csv: bye", "bye"),
        ],
    );
    check(
        "prompts: ['sub/*.txt']",
        &[("sub/a.txt: A", "A"), ("sub/b.txt: B", "B")],
    );
    let chat = r#"[{"role":"user","content":"{{x}} 😀"}]"#;
    check("prompts: [{ id: chat.json, label: c }]", &[("c", chat)]);
    check(
        "prompts: [{ id: chat.yaml, label: c }]",
        &[("c", r#"[{"role":"user","content":"only\n"}]"#)],
    );
    let loose = r#"[{"role": "user", "content": {{ x | dump }}}]"#;
    check("prompts: [{ id: loose.json, label: c }]", &[("c", loose)]);
}

#[test]
fn a_line_in_words_is_a_prompt_even_if_it_looks_like_a_path() {
    check(
        "prompts: ['yes and/or no']",
        &[("yes and/or no", "yes and/or no")],
    );
    check(
        "prompts: ['Say *{{x}}*']",
        &[("Say *{{x}}*", "Say *{{x}}*")],
    );
    check(
        "prompts: ['{{a}}/{{b}}']",
        &[("{{a}}/{{b}}", "{{a}}/{{b}}")],
    );
    check(
        "prompts: ['What is it?']",
        &[("What is it?", "What is it?")],
    );
    check("prompts: ['a*b']", &[("a*b", "a*b")]);
    check(
        "prompts: ['I like the U.S.']",
        &[("I like the U.S.", "I like the U.S.")],
    );
}

#[test]
fn the_id_is_the_digest_of_the_label() {
    let plan = Folder::new("prompts: [hello]\nproviders: [echo]").plan();
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(plan.columns[0].prompt.id, digest);
}

#[test]
fn config_goes_with_the_prompt() {
    let plan =
        Folder::new("prompts: [{ raw: hi, config: { temperature: 0 } }]\nproviders: [echo]").plan();
    assert_eq!(
        json!(plan.columns[0].prompt.config),
        json!({"temperature": 0})
    );
}

#[test]
fn what_is_wrong_is_said() {
    let at = "promptfooconfig.yaml:2:11: prompts[0]: ";
    let other = "help: code can be javascript (.js, .cjs, .mjs)";
    let cases = [
        (
            "prompts: [file://none.txt]",
            format!("{at}'none.txt': there is no such file"),
        ),
        (
            "prompts: [none.txt]",
            format!("{at}'none.txt': there is no such file"),
        ),
        (
            "prompts: [a/b]",
            format!("{at}'a/b': there is no such file"),
        ),
        (
            "prompts: ['file://x*.txt']",
            format!("{at}'file://x*.txt' matches no file"),
        ),
        (
            "prompts: [file://p.rb:f]",
            format!("{at}'p.rb': no plugin runs code of this kind\n{other}"),
        ),
        (
            "prompts: [p.js]",
            format!("{at}'p.js': there is no such file"),
        ),
        (
            "prompts: ['langfuse://x']",
            format!(
                "{at}prompts from 'langfuse://' are not supported yet\nhelp: write the text, or save it as a file"
            ),
        ),
        (
            "prompts: [5]",
            format!("{at}must be text or a map with `raw` or `id`, not a number"),
        ),
        (
            "prompts: [{ label: x }]",
            format!("{at}has neither `raw` nor `id`\nhelp: raw: the text, or id: file://path"),
        ),
        (
            "prompts: [{ id: short, file: p.txt }]",
            "promptfooconfig.yaml:2:30: prompts[0].file: a prompt has no `file`: its text would be 'short'\n\
             help: label: short, and id: file://p.txt"
                .to_owned(),
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(folder(yaml).problems(), [expected], "{yaml}");
    }
}

#[test]
fn texts_that_can_t_be_prompts_are_said() {
    let cases = [
        (
            "prompts: []",
            "promptfooconfig.yaml:2:10: prompts: there are no prompts\n\
             help: write at least one, for example: prompts: [\"{{question}}\"]",
        ),
        (
            "prompts: ['{{ a b }}']",
            "promptfooconfig.yaml:2:11: prompts[0]: template '{{ a b }}': unexpected identifier, expected end of variable block\n\
             help: text that is not meant as a template goes between {% raw %} and {% endraw %}",
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(folder(yaml).problems(), [expected], "{yaml}");
    }
}

#[test]
fn a_broken_template_in_a_file_names_the_file_and_line() {
    let folder =
        Folder::new("providers: [echo]\nprompts: p.txt").file("p.txt", "fine\n---\n{% if x %}");
    let expected = "p.txt:3:1: template '{% if x %}': unexpected end of input, expected end of block\n\
                    help: text that is not meant as a template goes between {% raw %} and {% endraw %}";
    assert_eq!(folder.problems(), [expected]);
}

#[test]
fn an_opening_that_is_never_closed_is_warned_of() {
    let warnings = folder("prompts: ['Hello {{name']").warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("a `{{` is never closed"),
        "{warnings:?}"
    );
    assert!(
        folder("prompts: ['{\"a\": {\"b\": 1}}']")
            .warnings()
            .is_empty()
    );
}

#[test]
fn the_id_of_a_prompt_is_no_digest_of_a_secret() {
    let id = |key: &str| {
        let folder = Folder::new(
            "env: { KEY: }\nprompts: [{ raw: hi, label: 'for {{ env.KEY }}' }]\nproviders: [echo]",
        );
        folder.env("KEY", key).plan().columns[0].prompt.id.clone()
    };
    assert_eq!(id("one-secret"), id("another-secret"));
    assert_eq!(
        id("one-secret"),
        HEXLOWER.encode(&Sha256::digest("for [hidden]"))
    );
}

/// It would say what there is outside before anybody agreed to that.
#[cfg(unix)]
#[test]
fn what_a_link_of_a_command_leads_to_outside_is_not_looked_at() {
    let folder = |outside: bool| {
        let folder = Folder::new("prompts: ['exec:link a']\nproviders: [echo]");
        let target = folder.path().with_extension("outside");
        std::os::unix::fs::symlink(&target, folder.path().join("link")).expect("a link");
        if outside {
            std::fs::write(&target, "").expect("written");
        }
        let said = folder.requests().join(" ");
        std::fs::remove_file(&target).ok();
        said.replace(&folder.path().display().to_string(), "FOLDER")
    };
    assert_eq!(folder(true), folder(false));
    assert!(folder(true).contains("link a"));
}
