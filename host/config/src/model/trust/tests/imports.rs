//! What code imports from outside the config's folder.

use crate::fixture::Folder;

#[test]
fn imports_of_code_are_files_that_its_namer_names() {
    let mut folder = Folder::new("")
        .file("evals/c.yaml", "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: javascript, value: 'file://a.js' }] }]")
        .file("evals/a.js", "import x from '../lib/b.js'; export default () => x")
        .file("lib/b.js", "export default 1");
    folder.configs = vec!["evals/c.yaml".into()];
    let requests = folder.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0].ends_with("read the file ~/lib/b.js"),
        "{requests:?}"
    );
}

#[test]
fn typescript_outside_is_found_by_the_name_that_it_has_once_compiled() {
    let mut folder = Folder::new("")
        .file("evals/c.yaml", "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: javascript, value: 'file://a.ts' }] }]")
        .file("evals/a.ts", "import x from '../lib/b.js'; export default () => x")
        .file("lib/b.ts", "export default 1");
    folder.configs = vec!["evals/c.yaml".into()];
    // Nothing outside is looked at before that is agreed to.
    let withheld = folder.withheld();
    assert_eq!(withheld.len(), 1, "{withheld:?}");
    assert!(withheld[0].ends_with("~/lib/b*"), "{withheld:?}");
    let requests = folder.requests();
    assert!(
        requests
            .iter()
            .any(|it| it.ends_with("read the file ~/lib/b.ts")),
        "{requests:?}"
    );
    assert_eq!(folder.warnings(), [""; 0]);
}
