//! A whole config, and findings across keys.

use serde_json::json;

use crate::fixture::Folder;

#[test]
fn a_whole_config_becomes_a_plan() {
    let folder = Folder::new(
        "description: d\ntags: { team: a }\nprompts: ['{{q}}', '{{q}}!']\nproviders: [echo, { id: 'openai:gpt', label: l }]\n\
         outputPath: out/r.json\nsharing: false\ntests: [{ vars: { q: [a, b] } }]",
    );
    let plan = folder.plan();
    assert_eq!(plan.description.as_deref(), Some("d"));
    assert_eq!(json!(plan.tags), json!({"team": "a"}));
    assert_eq!(plan.output_paths[0].path, folder.path().join("out/r.json"));
    assert_eq!(plan.output_paths.len(), 1);
    assert_eq!(
        (plan.columns.len(), plan.tests.len(), plan.case_count()),
        (4, 1, 8)
    );
    assert_eq!(plan.config_json["prompts"], json!(["{{q}}", "{{q}}!"]));
    assert_eq!(folder.texts(), ["a", "a!", "a", "a!", "b", "b!", "b", "b!"]);
    assert_eq!(folder.warnings(), Vec::<String>::new());
}

/// So many of everything that time by the square of it would be longer than a test may take.
#[test]
fn many_of_everything_are_read_in_linear_time() {
    const MANY: usize = 40_000;
    let each = |line: &dyn Fn(usize) -> String| (0..MANY).map(line).collect::<String>();
    let groups = format!(
        "limits:\n{}",
        each(&|n| format!("  g{n}: {{ concurrency: 2 }}\n"))
    );
    let asked = each(&|n| format!("h{n}, "));
    let wrong = Folder::new(&format!(
        "prompts: [p]\nproviders: [{{ id: echo, limits: [{asked}] }}]\n{groups}"
    ));
    assert_eq!(wrong.problems().len(), 101);
    let names = each(&|n| format!("g{n}, "));
    let prompts = each(&|n| format!("  - {{ raw: 'p{n}', label: l{n} }}\n"));
    let tests = each(&|n| format!("  - {{ prompts: [l{n}], assert: [] }}\n"));
    // Each prompt's label is kept without each of them.
    let secrets = each(&|n| format!("  S{n}_KEY: secret-{n}\n"));
    let right = Folder::new(&format!(
        "env:\n{secrets}providers: [{{ id: echo, limits: [{names}] }}]\nprompts:\n{prompts}tests:\n{tests}{groups}"
    ));
    let plan = right.plan();
    assert_eq!(plan.case_count(), MANY as u64);
    assert_eq!(plan.columns[0].provider.limits.len(), MANY);
    let outside = each(&|n| format!("  - file://../{n}.txt\n"));
    let outside = Folder::new(&format!("providers: [echo]\nprompts:\n{outside}"));
    assert_eq!(outside.withheld().len(), MANY);
}

#[test]
fn a_flag_replaces_the_description() {
    let mut folder = Folder::new("description: d\nprompts: [p]\nproviders: [echo]");
    folder.overrides.description = Some("flag".to_owned());
    assert_eq!(folder.plan().description.as_deref(), Some("flag"));
}

#[test]
fn all_problems_are_reported_together() {
    let folder = Folder::new(
        "prompts: [none.txt]\nproviders: ['x:y']\nevaluateOptions: { repeat: -1 }\ntests:\n  - vars: { a: 1 }\n    assert: [{ type: nope }, { type: is-json, threshold: x }]",
    );
    let problems = folder.problems();
    let expected = [
        "promptfooconfig.yaml:3:28: evaluateOptions.repeat: must be",
        "promptfooconfig.yaml:1:11: prompts[0]: 'none.txt': there is no such file",
        "promptfooconfig.yaml:2:13: providers[0]: no plugin serves the provider 'x:y'",
        "promptfooconfig.yaml:6:22: tests[0].assert[0].type: no plugin serves",
        "promptfooconfig.yaml:6:58: tests[0].assert[1].threshold: must be a number",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}");
    }
}

#[test]
fn what_is_not_there_yet_is_said_by_name() {
    for key in ["redteam", "strategies", "tracing"] {
        let folder = Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{key}: [x]"));
        let problems = folder.problems();
        let expected =
            format!("promptfooconfig.yaml:3:1: {key}: '{key}' is not supported yet\nhelp: ");
        assert!(
            problems.len() == 1 && problems[0].starts_with(&expected),
            "{problems:?}"
        );
        let tested = Folder::new(&format!(
            "prompts: [p]\nproviders: [echo]\n{key}: [x]\ntests: [{{ vars: {{ a: 1 }} }}]"
        ));
        let warning = format!(
            "promptfooconfig.yaml:3:1: {key}: '{key}' is not supported yet; the rest runs without it"
        );
        assert_eq!(tested.warnings(), [warning]);
    }
}

#[test]
fn tests_and_providers_name_prompts_by_id_label_or_beginning() {
    let columns = |names: &str| {
        let config = format!(
            "prompts: [{{ raw: p, id: one, label: first }}, {{ raw: q, id: other }}]\n\
             providers: [echo]\ntests: [{{ vars: {{ a: 1 }}, prompts: [{names}] }}]"
        );
        Folder::new(&config).plan().case_count()
    };
    for (names, count) in [("one", 1), ("first", 1), ("other", 1), ("o*", 2), ("f*", 1)] {
        assert_eq!(columns(names), count, "{names}");
    }
}

#[test]
fn unknown_keys_warn_with_a_guess() {
    let folder =
        Folder::new("prompts: [p]\nprovider: x\nproviders: [echo]\noutputs: x\nsharing: true");
    assert_eq!(
        folder.warnings(),
        [
            "promptfooconfig.yaml:2:1: provider: unknown key 'provider' is ignored\nhelp: did you mean 'providers'?",
            "promptfooconfig.yaml:4:1: outputs: unknown key 'outputs' is ignored",
            "promptfooconfig.yaml:5:10: sharing: results are never shared: 'sharing' is ignored",
        ]
    );
}

#[test]
fn more_rows_than_fit_are_refused() {
    let list = format!("[{}]", vec!["x"; 2000].join(", "));
    let folder = Folder::new(&format!(
        "prompts: [p]\nproviders: [echo]\ntests: [{{ vars: {{ a: {list}, b: {list}, c: {list} }} }}]"
    ));
    assert_eq!(
        folder.problems(),
        [
            "promptfooconfig.yaml:3:9: tests[0]: the variables and repeats make more than 4294967295 rows\n\
          help: `options: { disableVarExpansion: true }` keeps a list as one value"
        ]
    );
}

#[test]
fn a_misspelt_key_is_told_beside_the_error_that_it_causes() {
    let folder = Folder::new("prompts: [p]\nprovider: echo");
    let error = folder.try_plan().expect_err("there are no providers");
    assert!(error.problems[0].message.contains("there are no providers"));
    let warning = error.warnings[0].to_string();
    assert!(
        warning.contains("unknown key 'provider' is ignored\nhelp: did you mean 'providers'?"),
        "{warning}"
    );
}
