//! What a config may not learn of folders that are hidden.

use crate::fixture::Folder;

/// Whether a line is a file or a prompt would tell.
#[test]
fn a_config_does_not_learn_by_a_pattern_what_hidden_folders_hold() {
    for pattern in [
        ".gi[t]/conf*",
        ".g?t/conf*",
        "file://.git/conf*",
        "**/.git/c*",
    ] {
        for name in ["config", "other"] {
            let folder = Folder::new(&format!("prompts: ['{pattern}']\nproviders: [echo]"))
                .file(&format!(".git/{name}"), "x");
            let withheld = folder.withheld();
            assert_eq!(withheld.len(), 1, "{pattern}: {withheld:?}");
            assert!(
                withheld[0].contains("find out which files match"),
                "{withheld:?}"
            );
        }
    }
}
