//! `runner plugin build`, and what is said of the component that comes of it.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, guest};

fn brief() -> Vec<u8> {
    std::fs::read(guest("outside/brief")).expect("it was built")
}

/// A program of the folder `bin` of the project, which is all that is on the PATH beside the system's own.
fn program(run: &Run, name: &str, text: &str) {
    let file = run.project().join("bin").join(name);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
        .expect("made executable");
}

fn build(run: &Run, folder: &str) -> Finished {
    let bin = run.project().join("bin");
    let run = run
        .clone()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    run.args(["plugin", "build", folder]).finish()
}

/// Sizes and fuel differ from compiler to compiler.
fn told(finished: &Finished, name: &str) -> String {
    let told = finished.told_as(name);
    let lines = told.lines().map(|line| match line.split_once("  ") {
        Some(("size", _)) => "size        […]",
        Some(("memory", _)) => "memory      […]",
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_folder_is_built_as_its_language_does_and_looked_at() {
    let run = Run::new()
        .file("made.wasm", brief())
        .file("rust/Cargo.toml", "[package]\nname = \"brief\"\n")
        .file("js/package.json", "{\"scripts\":{\"build\":\"…\"}}")
        .file(
            "own/plugin.json",
            "{\"build\":[\"maker\",\"one\",\"two words\"]}",
        );
    let target = run.project().join("rust/target/brief.wasm");
    let made = run.project().join("made.wasm");
    let libraries = run.project().join("bin");
    program(&run, "rustc", &format!("echo '{}'", libraries.display()));
    let artifact = format!(
        "{{\"reason\":\"compiler-artifact\",\"filenames\":[\"{}\"]}}",
        target.display()
    );
    let copy = |to: &str| format!("cp '{}' {to}", made.display());
    program(
        &run,
        "cargo",
        &format!(
            "echo \"cargo: $*\" >&2\nmkdir -p target\n{}\necho '{artifact}'",
            copy("target/brief.wasm")
        ),
    );
    program(
        &run,
        "npm",
        &format!("echo \"npm: $*\"\n{}", copy("mine.wasm")),
    );
    program(&run, "maker", "false");
    let own = run.project().join("own/.venv/bin");
    std::fs::create_dir_all(&own).expect("made");
    let text = format!("#!/bin/sh\necho \"$1, $2\"\n{}\n", copy("own.wasm"));
    std::fs::write(own.join("maker"), text).expect("written");
    std::fs::set_permissions(own.join("maker"), std::fs::Permissions::from_mode(0o755))
        .expect("made executable");
    let all = ["rust", "js", "own"].map(|folder| told(&build(&run, folder), folder));
    assert_snapshot!(all.concat());
}

#[test]
fn what_stands_in_the_way_of_a_build_is_told_with_what_to_do() {
    let run = Run::new()
        .file("empty/notes.txt", "")
        .file("rust/Cargo.toml", "[package]\nname = \"brief\"\n")
        .file(
            "js/package.json",
            "{\"scripts\":{\"build\":\"…\"},\"devDependencies\":{}}",
        )
        .file("rust/lib/bin/wasm-component-ld", "")
        .file("plain/package.json", "{}")
        .file("own/plugin.json", "{\"build\":[\"no-such-maker\"]}")
        .file("fails/plugin.json", "{\"build\":[\"false\"]}")
        .file("nothing/plugin.json", "{\"build\":[\"true\"]}")
        .file(
            "bad/plugin.json",
            "{\"build\":[\"cp\",\"plugin.json\",\"a.wasm\"]}",
        );
    program(&run, "rustc", "echo /no/such/folder");
    let folders = [
        "empty", "rust", "js", "plain", "own", "fails", "nothing", "bad",
    ];
    let mut all = folders
        .map(|folder| told(&build(&run, folder), folder))
        .concat();
    // One that has the bare target alone builds for that, with the linker that it brings.
    let rust = run.project().join("rust");
    program(
        &run,
        "rustc",
        &format!(
            "case $* in *wasip2) echo /no;; *) echo '{}/lib/lib';; esac",
            rust.display()
        ),
    );
    std::fs::create_dir_all(rust.join("lib/lib")).expect("made");
    program(
        &run,
        "cargo",
        "echo \"cargo: $*, linker ${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER##*/}\" >&2\nexit 101",
    );
    all += &told(&build(&run, "rust"), "rust, with the bare target");
    program(&run, "rustc", "echo /");
    program(&run, "cargo", "echo 'error: it is wrong' >&2\nexit 101");
    all += &told(&build(&run, "rust"), "rust, and it does not compile");
    program(&run, "cargo", "true");
    all += &told(&build(&run, "rust"), "rust, and there is no cdylib");
    assert_snapshot!(all);
}

/// `--plugin` takes the folder of a plugin as the other commands do: its component is where its tools put it.
#[test]
fn a_folder_that_has_built_a_component_is_one_for_a_run() {
    Run::new()
        .config("prompts: [one two]\nproviders: [echo]\ntests: [{ assert: [{ type: brief, value: 2 }] }]\n")
        .file("mine/target/wasm32-wasip2/release/brief.wasm", brief())
        .args(["eval", "--plugin", "mine"])
        .finish()
        .expect_code(0);
}

/// A plain word is the program's plugin, whatever lies about; `./` makes it a path.
#[test]
fn a_plugin_is_named_as_a_file_a_folder_or_a_word_of_the_programs() {
    let run = Run::new()
        .file("echo/brief.wasm", brief())
        .file("dist/brief.wasm", brief());
    let word = run
        .clone()
        .args(["plugin", "call", "echo", "--prompt", "hello"])
        .finish();
    word.expect_code(0);
    assert!(word.stdout.starts_with("hello\n"), "{}", word.stdout);
    let path = run.clone().args([
        "plugin", "call", "./echo", "--output", "hello", "--value", "1",
    ]);
    path.finish().expect_code(0);

    let inspect = |named: &str| {
        let run = run.clone().args(["plugin", "inspect", named, "--json"]);
        let finished = run.finish();
        finished.expect_code(0);
        finished.stdout_json()
    };
    assert_eq!(inspect("echo")["plugin"]["providerPrefixes"][0], "echo");
    for named in ["./echo", "dist", "dist/brief.wasm"] {
        let said = inspect(named);
        assert_eq!(said["plugin"]["name"], "brief");
        assert!(Path::new(said["file"].as_str().expect("a file")).ends_with("brief.wasm"));
        let kind = &said["plugin"]["assertionTypes"][0];
        assert_eq!(kind["reads"], serde_json::json!([]));
        assert_eq!(kind["valueSchema"]["minimum"], 1);
        assert_eq!(said["limits"]["memory"], 128 << 20);
    }
    let none = run.args(["plugin", "inspect", "ecko"]).finish();
    assert_snapshot!(none.told());
}
