//! What a config may not learn of folders that are hidden, nor by a path that is made of a key.

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

#[test]
fn of_what_signs_the_key_alone_is_a_credential() {
    let requests = |key: &str| {
        let config = format!(
            "prompts: [p]\nproviders: [{{ id: 'openai:m', config: {{ signatureAuth: {{ {key} }} }} }}]"
        );
        Folder::new(&config)
            .env("A_SECRET", "s3cret-value")
            .requests()
    };
    assert_eq!(requests("privateKey: '{{ env.A_SECRET }}'"), [""; 0]);
    let path = requests("privateKeyPath: 'x/{{ env.A_SECRET }}/k.pem'");
    assert!(path.len() == 1 && path[0].contains("A_SECRET"), "{path:?}");
}
