//! A whole config, and findings across keys.

use serde_json::json;

use crate::elements::{assertions, providers, test_case};
use crate::fixture::Folder;
use crate::model::{Strictness, misspelt};
use crate::planning::KNOWN;

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
    assert_eq!(wrong.problems().len(), 51);
    let names = each(&|n| format!("g{n}, "));
    let bound = Folder::new(&format!(
        "prompts: [p]\nproviders: [{{ id: echo, limits: [{names}] }}]\n{groups}"
    ));
    assert_eq!(bound.problems().len(), 1);
    let prompts = each(&|n| format!("  - {{ raw: 'p{n}', label: l{n} }}\n"));
    let tests = each(&|n| format!("  - {{ prompts: [l{n}], assert: [] }}\n"));
    // Each prompt's label is kept without each of them.
    let secrets = each(&|n| format!("  S{n}_KEY: secret-{n}\n"));
    let right = Folder::new(&format!(
        "env:\n{secrets}providers: [{{ id: echo, limits: [g0, g1] }}]\nprompts:\n{prompts}tests:\n{tests}{groups}"
    ));
    let plan = right.plan();
    assert_eq!(plan.case_count(), MANY as u64);
    assert_eq!(plan.columns[0].provider.limits.len(), 2);
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
fn what_the_config_declares_and_what_rows_of_data_say_are_told_apart() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ndefaultTest: { assert: [{ type: equals, value: a, metric: own }] }\n\
         tests: [rows.jsonl, { vars: { a: 1 }, options: { runSerially: true } }, { assert: [{ type: equals, value: c, metric: m1 }] }, \
         { assert: [{ type: equals, value: d, metric: m2 }] }]",
    )
    .file(
        "rows.jsonl",
        r#"{"vars": {"a": 2}, "options": {"runSerially": true}, "assert": [{"type": "equals", "value": "b", "metric": "theirs"}]}"#,
    );
    let plan = folder.plan();
    let declared: Vec<String> = plan.declared_metrics().into_iter().collect();
    assert_eq!(declared, ["m1", "m2", "own"]);
    // A row that wants the run for itself asks for it.
    assert_eq!(
        folder.requests(),
        ["rows.jsonl:1:47: options.runSerially: set `runSerially` of its request to true"]
    );
}

#[test]
fn parts_of_a_scenario_declare_their_metrics_over_rows_of_data() {
    let part = |n: u32| {
        format!("{{ vars: {{ a: {n} }}, assert: [{{ type: equals, value: x, metric: part{n} }}] }}")
    };
    let folder = Folder::new(&format!(
        "prompts: [p]\nproviders: [echo]\nscenarios: [{{ config: [{}], tests: rows.jsonl }}]",
        [1, 2, 3].map(part).join(", ")
    ));
    let row =
        r#"{"vars": {"b": 1}, "assert": [{"type": "equals", "value": "b", "metric": "theirs"}]}"#;
    let plan = folder.file("rows.jsonl", format!("{row}\n{row}\n")).plan();
    let declared: Vec<String> = plan.declared_metrics().into_iter().collect();
    assert_eq!(declared, ["part1", "part2", "part3"]);
}

#[test]
fn unknown_keys_warn() {
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\noutputs: x\nsharing: true");
    assert_eq!(
        folder.warnings(),
        [
            "promptfooconfig.yaml:3:1: outputs: unknown key 'outputs' is ignored",
            "promptfooconfig.yaml:4:10: sharing: results are never shared: 'sharing' is ignored",
        ]
    );
}

/// What is said of keys that nothing reads, errors first.
fn said(strict: &str, flag: Option<Strictness>) -> Vec<String> {
    let mut folder = Folder::new(&format!(
        "prompts: [p]\nproviders: [echo]\ndefault_test: {{}}\nown: 1\ntests: [{{ vars: {{}}, asserts: [] }}]\n{strict}"
    ));
    folder.overrides.strictness = flag;
    let (problems, warnings) = match folder.try_plan() {
        Ok((_, warnings)) => (Vec::new(), warnings),
        Err(error) => (error.problems, error.warnings),
    };
    let errors = problems.iter().map(|it| format!("error: {it}"));
    errors
        .chain(warnings.iter().map(ToString::to_string))
        .collect()
}

#[test]
fn a_key_that_is_nearly_another_is_an_error_unless_that_is_let_pass() {
    let usual = [
        "error: promptfooconfig.yaml:3:1: default_test: unknown key 'default_test'\nhelp: did you mean 'defaultTest'? If not, --lenient or `strict: false` in the config lets it pass",
        "error: promptfooconfig.yaml:5:21: tests[0].asserts: unknown key 'asserts'\nhelp: did you mean 'assert'?",
        "promptfooconfig.yaml:4:1: own: unknown key 'own' is ignored",
    ];
    let lenient = [
        "promptfooconfig.yaml:3:1: default_test: unknown key 'default_test' is ignored\nhelp: did you mean 'defaultTest'?",
        "promptfooconfig.yaml:4:1: own: unknown key 'own' is ignored",
        "promptfooconfig.yaml:5:21: tests[0].asserts: unknown key 'asserts' is ignored\nhelp: did you mean 'assert'?",
    ];
    let strict = [
        "error: promptfooconfig.yaml:3:1: default_test: unknown key 'default_test'\nhelp: did you mean 'defaultTest'?",
        "error: promptfooconfig.yaml:4:1: own: unknown key 'own'",
        "error: promptfooconfig.yaml:5:21: tests[0].asserts: unknown key 'asserts'\nhelp: did you mean 'assert'?",
    ];
    let cases = [
        ("", None, usual),
        ("strict: false", None, lenient),
        ("strict: true", None, strict),
        ("strict: true", Some(Strictness::Lenient), lenient),
        ("strict: false", Some(Strictness::Strict), strict),
    ];
    for (config, flag, expected) in cases {
        assert_eq!(said(config, flag), expected, "{config} {flag:?}");
    }
}

/// The keys of promptfoo 0.123, by its published schema, beside those that are read here.
#[test]
fn no_key_of_promptfoo_is_a_misspelling() {
    let theirs: [(&[&str], &str); 5] = [
        (
            &KNOWN,
            "tags description providers prompts tests scenarios defaultTest outputPath sharing nunjucksFilters env derivedMetrics extensions metadata redteam writeLatestResults tracing evaluateOptions commandLineOptions targets",
        ),
        (
            &test_case::KNOWN,
            "description vars provider providers prompts providerOutput assert assertScoringFunction options threshold metadata",
        ),
        (
            &assertions::KNOWN,
            "type value config threshold weight provider rubricPrompt metric transform contextTransform",
        ),
        (
            &assertions::KNOWN_IN_SET,
            "type assert weight metric threshold config",
        ),
        (
            &providers::KNOWN,
            "id label config prompts transform delay env inputs callApi callEmbeddingApi callClassificationApi",
        ),
    ];
    for (ours, keys) in theirs {
        for key in keys.split(' ').filter(|key| !ours.contains(key)) {
            assert_eq!(misspelt(key, ours.iter().copied()), None, "{key}");
        }
    }
    let written = [
        ("prompts", "id raw template display label function config"),
        (
            "evaluateOptions",
            "cache delay generateSuggestions suggestionsCount interactiveProviders maxConcurrency progressCallback repeat showProgressBar timeoutMs maxEvalTimeMs isRedteam silent filterRange eventSource",
        ),
        (
            "commandLineOptions",
            "description prompts providers output maxConcurrency repeat delay vars tests config assertions modelOutputs verbose grader tableCellMaxLength write cache table share noShare progressBar watch filterErrorsOnly filterFailing filterFailingOnly filterFirstN filterMetadata filterPattern filterPrompts filterProviders filterRange filterSample filterTargets var tags generateSuggestions suggestionsCount promptPrefix promptSuffix retryErrors envPath extension",
        ),
    ];
    for (key, theirs) in written {
        let nulls = theirs.replace(' ', ": null, ");
        let folder = match key {
            "prompts" => Folder::new(&format!(
                "providers: [echo]\nprompts: [{{ {nulls}: null }}, p]"
            )),
            _ => Folder::new(&format!(
                "providers: [echo]\nprompts: [p]\n{key}: {{ {nulls}: null }}"
            )),
        };
        let unknown = folder
            .problems()
            .into_iter()
            .find(|it| it.contains("unknown"));
        assert_eq!(unknown, None);
    }
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
    assert!(error.problems[1].message.contains("there are no providers"));
    let problem = error.problems[0].to_string();
    let expected = "unknown key 'provider'\nhelp: did you mean 'providers'?";
    assert!(problem.contains(expected), "{problem}");
}
