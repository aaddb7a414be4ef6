//! What the README shows is what there is.

use runner_tests::workspace_root;

fn read(path: &str) -> String {
    let path = workspace_root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The README's grader is the one that is built apart from the workspace and run by the tests.
#[test]
fn the_readme_shows_the_grader_from_outside() {
    let grader = read("tests/outside/grader/src/lib.rs");
    let code = grader
        .split_once("\n\n")
        .expect("a head, then code")
        .1
        .trim();
    assert!(
        read("README.md").contains(code),
        "copy tests/outside/grader/src/lib.rs into the README, without its first line"
    );
    assert!(code.lines().count() <= 25, "a grader fits in 25 lines");
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = read("README.md");
    for command in ["cargo xtask quickstart", "cargo xtask test"] {
        assert!(readme.contains(command), "{command}");
    }
    assert!(
        read(".ci/run").contains("cargo xtask test"),
        "CI runs the README's test command"
    );
}
