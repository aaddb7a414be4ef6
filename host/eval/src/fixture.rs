//! Plans for the tests of this crate.

use runner_config::plan::{Case, Plan};
use runner_config::{Agreements, Catalog, Level, LoadRequest, load};

/// The plan of a config whose provider is `echo` and whose assertions are `equals`, `llm-rubric` or `max-score`.
pub(crate) fn plan(config: &str) -> Plan {
    plan_with(config, &[])
}

/// The plan of a config that may read these variables, under any agreement.
pub(crate) fn plan_with(config: &str, env: &[(&str, &str)]) -> Plan {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("promptfooconfig.yaml"), config).expect("written");
    let request = LoadRequest {
        cwd: folder.path().to_owned(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        agreements: Agreements {
            level: Level::Config,
            ..Agreements::default()
        },
        ..LoadRequest::default()
    };
    let catalog = Catalog {
        provider_prefixes: [("echo".to_owned(), "echo".to_owned())].into(),
        assertion_types: ["equals", "llm-rubric", "max-score"]
            .map(|name| (name.to_owned(), "grader".to_owned()))
            .into(),
        asking_types: ["llm-rubric".to_owned()].into(),
        ..Catalog::default()
    };
    let config = load(&request).expect("it loads").0;
    config.plan(&catalog).expect("it is fine").0
}

/// The first case of a config.
pub(crate) fn case(config: &str) -> Case {
    plan(config).cases().next().expect("a case")
}
