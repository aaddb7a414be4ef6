//! What ties cases together, and what does not.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::fixture::Folder;
use crate::plan::{Case, CaseResource, Plan};

fn plan(prompts: &str, tests: &str) -> Plan {
    let config = format!("providers: [echo, 'echo:b']\nprompts: {prompts}\ntests: {tests}\n");
    Folder::new(&config).plan()
}

/// `test_idx`.`prompt_idx`, then `<` what it reads and `>` what it writes.
fn shown(case: &Case) -> String {
    let needs = case.needs.as_deref().cloned().unwrap_or_default();
    let strand = |strand: &CaseResource| match strand {
        CaseResource::Conversation {
            column,
            id,
            repeat,
            of_data,
        } => {
            let whose = if of_data.is_some() { "row's " } else { "" };
            format!("{whose}{column}:{}:{repeat}", id.as_deref().unwrap_or("-"))
        }
        CaseResource::Register(name) => name.to_string(),
        CaseResource::RowRegister(name, _) => format!("row's {name}"),
        CaseResource::Turn { task, column } => format!("{task} in {column}"),
    };
    let list = |strands: &[CaseResource]| strands.iter().map(strand).collect::<Vec<_>>().join(",");
    format!(
        "{}.{}{} <{} >{}",
        case.id.test_idx,
        case.id.prompt_idx,
        if needs.alone { "!" } else { "" },
        list(&needs.reads),
        list(&needs.writes)
    )
}

fn cases(prompts: &str, tests: &str) -> Vec<String> {
    let plan = plan(prompts, tests);
    plan.cases().map(|case| shown(&case)).collect()
}

#[test]
fn a_plan_without_ties_has_no_order() {
    let plan = plan("['{{q}}']", "[{ vars: { q: 1 } }]");
    assert!(plan.order.is_none());
    assert!(plan.cases().all(|case| case.needs.is_none()));
}

#[test]
fn a_conversation_is_found_in_the_syntax_tree_only() {
    let talks = [
        "{{ _conversation | length }}",
        "{% for turn in _conversation %}{{ turn.output }}{% endfor %}",
        r#"[{"role": "user", "content": "{{ _conversation[0].input }}"}]"#,
        "{% if _conversation %}x{% endif %}",
    ];
    let silent = [
        "_conversation",
        "{# {{ _conversation }} #}",
        "{{ '_conversation' }}",
        "{{ my_conversation }}",
        "{% raw %}{{ _conversation }}{% endraw %}",
        "{% set _conversation = 1 %}{{ _conversation }}",
    ];
    let order = |prompt: &str| {
        let prompt = serde_json::Value::from(prompt);
        plan(&format!("[{prompt}]"), "[{ vars: { q: 1 } }]").order
    };
    for prompt in talks {
        assert!(order(prompt).is_some(), "{prompt}");
    }
    for prompt in silent {
        assert!(order(prompt).is_none(), "{prompt}");
    }
}

#[test]
fn conversations_differ_by_column_id_and_repeat() {
    let tests = "[{ vars: { q: 1 }, metadata: { conversationId: a }, options: { repeat: 2 } }, \
                 { vars: { q: 2 } }, { vars: { q: 3 }, options: { disableConversationVar: true } }]";
    assert_eq!(
        cases("['{{q}}{{_conversation}}', '{{q}}']", tests),
        [
            "0.0 <0:a:0 >0:a:0",
            "0.1 < >",
            "0.2 <2:a:0 >2:a:0",
            "0.3 < >",
            "1.0 <0:a:1 >0:a:1",
            "1.1 < >",
            "1.2 <2:a:1 >2:a:1",
            "1.3 < >",
            "2.0 <0:-:0 >0:-:0",
            "2.1 < >",
            "2.2 <2:-:0 >2:-:0",
            "2.3 < >",
            "3.0 < >",
            "3.1 < >",
            "3.2 < >",
            "3.3 < >",
        ]
    );
}

#[test]
fn a_suffix_can_make_a_conversation() {
    let tests = "[{ vars: { q: 1 }, options: { suffix: '{{_conversation}}' } }]";
    assert_eq!(
        cases("['{{q}}']", tests),
        ["0.0 <0:-:0 >0:-:0", "0.1 <1:-:0 >1:-:0"]
    );
}

#[test]
fn registers_are_read_by_prompts_variables_assertions_and_scripts() {
    let reads = |test: &str| {
        let tests = format!("[{{ vars: {{ q: 1 }}, options: {{ storeOutputAs: reg }} }}, {test}]");
        let plan = plan("['{{q}}']", &tests);
        let case = plan.cases().find(|case| case.id.test_idx == 1).unwrap();
        let needs = case.needs.unwrap();
        !needs.reads.is_empty()
    };
    let reading = [
        "{ vars: { q: 'about {{ reg }}' } }",
        "{ vars: { q: 1 }, assert: [{ type: equals, value: '{{reg}}' }] }",
        "{ vars: { q: 1 }, assert: [{ type: equals, value: ['a', '{{ reg | upper }}'] }] }",
        "{ vars: { q: 1 }, options: { prefix: '{{reg}}' } }",
    ];
    let silent = [
        "{ vars: { q: reg } }",
        "{ vars: { q: 'the reg is {{ regs }}' } }",
        "{ vars: { q: 1 }, description: reg, assert: [{ type: equals, value: reg }] }",
    ];
    for test in reading {
        assert!(reads(test), "{test}");
    }
    for test in silent {
        assert!(!reads(test), "{test}");
    }
}

#[test]
fn a_prompt_that_reads_a_register_ties_its_columns_only() {
    let tests = "[{ vars: { q: 1 }, options: { storeOutputAs: reg } }, { vars: { q: 2 } }]";
    assert_eq!(
        cases("['{{q}}', '{{q}}{{reg}}']", tests),
        [
            "0.0 < >reg",
            "0.1 <reg >reg",
            "0.2 < >reg",
            "0.3 <reg >reg",
            "1.0 < >",
            "1.1 <reg >",
            "1.2 < >",
            "1.3 <reg >",
        ]
    );
}

#[test]
fn the_line_says_what_waits_and_why() {
    let tests = "[{ vars: { q: 1 }, options: { runSerially: true } }, \
                 { vars: { q: 2 }, metadata: { conversationId: b }, options: { storeOutputAs: reg } }]";
    let plan = plan("['{{q}}{{_conversation}}', '{{q}}']", tests);
    assert_eq!(
        plan.order.as_ref().unwrap().to_string(),
        "in order: 1 test run first and alone (runSerially); in 2 columns a prompt reads \
         _conversation: 2 conversations in each column, turn by turn; tests that read reg wait for those \
         that set it (storeOutputAs); everything else runs in parallel"
    );
    let alone: Vec<u32> = plan.cases_alone().map(|case| case.id.test_idx).collect();
    assert_eq!(alone, [0, 0, 0, 0]);
    let beside: Vec<u32> = plan.cases_beside().map(|case| case.id.test_idx).collect();
    assert_eq!(beside, [1, 1, 1, 1]);
}

#[test]
fn what_a_row_stores_is_seen_by_rows_and_not_by_tests_of_the_config() {
    let config =
        "providers: [echo]\nprompts: ['{{q}}']\ntests: [file://r.jsonl, { vars: { q: mine } }]";
    let rows = "{ \"vars\": { \"q\": 1 }, \"options\": { \"storeOutputAs\": \"q\" } }\n{ \"vars\": { \"r\": 2 } }";
    let plan = Folder::new(config).file("r.jsonl", rows).plan();
    let cases: Vec<String> = plan.cases().map(|case| shown(&case)).collect();
    assert_eq!(cases, ["0.0 <q >row's q", "1.0 <q,row's q >", "2.0 <q >",]);
}

#[test]
fn each_row_may_store_what_it_says_under_a_name_of_its_own() {
    let row = |number: u32| {
        format!(
            "{{\"vars\":{{\"n\":\"{{{{o{number}}}}}\"}},\"options\":{{\"storeOutputAs\":\"o{number}\"}}}}\n"
        )
    };
    let rows: String = (0..100_000).map(row).collect();
    let config = "providers: [echo]\nprompts: ['{{n}}']\ntests: t.jsonl";
    let plan = Folder::new(config).file("t.jsonl", rows).plan();
    let last = plan.cases().last().unwrap();
    assert_eq!(shown(&last), "99999.0 <o99999,row's o99999 >row's o99999");
}

/// A row could put words into it that no model said.
#[test]
fn rows_of_data_hold_conversations_of_their_own() {
    let config = "prompts: ['{{q}}{{_conversation}}']\nproviders: [echo]\n\
                  tests: [{ vars: { q: 1 } }, file://rows.jsonl]";
    let folder = Folder::new(config).file("rows.jsonl", r#"{"vars":{"q":2}}"#);
    let shown: Vec<String> = folder.plan().cases().map(|case| shown(&case)).collect();
    assert_eq!(
        shown,
        ["0.0 <0:-:0 >0:-:0", "1.0 <row's 0:-:0 >row's 0:-:0"]
    );
}

/// Of every row which earlier ones leave something that it reads, by its place.
fn follows(config: &str, files: &[(&str, &str)]) -> Vec<Vec<u32>> {
    let folder = files
        .iter()
        .fold(Folder::new(config), |folder, (name, rows)| {
            folder.file(name, *rows)
        });
    let plan = folder.plan();
    let cases: Vec<Case> = plan.cases().collect();
    let needs = |case: &Case| case.needs.as_deref().cloned().unwrap_or_default();
    let leaves = |one: &Case, to: &Case| {
        let reads = needs(to).reads;
        needs(one)
            .writes
            .iter()
            .any(|strand| reads.contains(strand))
    };
    let before = |at: usize| {
        let earlier = cases[..at].iter();
        let leaving = earlier.filter(|one| leaves(one, &cases[at]));
        leaving.map(|one| one.id.test_idx).collect()
    };
    (0..cases.len()).map(before).collect()
}

/// One file of rows is not another's word: it could make all of its assertions true.
#[test]
fn rows_of_one_file_leave_nothing_to_those_of_another() {
    let stores = r#"{"vars":{"q":1},"options":{"storeOutputAs":"gold"}}"#;
    let rows = "{\"vars\":{\"q\":2}}\n{\"vars\":{\"q\":3}}";
    let of = |prompt: &str, second: &str| {
        let config = format!(
            "prompts: ['{prompt}']\nproviders: [echo]\ntests: [file://a.jsonl, {second}]\n"
        );
        let both = format!("{stores}\n{rows}");
        follows(&config, &[("a.jsonl", &both), ("b.jsonl", rows)])
    };
    for prompt in ["{{q}}{{gold}}", "{{q}}{{_conversation}}"] {
        let follows = of(prompt, "file://b.jsonl");
        assert!(follows[1].contains(&0), "{prompt}: {follows:?}");
        for after in &follows[3..] {
            assert!(!after.iter().any(|it| *it < 3), "{prompt}: {follows:?}");
        }
    }
}

#[test]
fn what_rows_store_never_stands_over_a_variable_that_a_row_has() {
    let rows = concat!(
        r#"{"vars":{"q":1},"options":{"storeOutputAs":"gold"}}"#,
        "\n",
        r#"{"vars":{"q":2}}"#,
        "\n",
        r#"{"vars":{"q":3,"gold":"mine"}}"#,
    );
    let config = "prompts: ['{{q}}{{gold}}']\nproviders: [echo]\ntests: file://a.jsonl\n";
    let follows = follows(config, &[("a.jsonl", rows)]);
    assert_eq!(follows, [vec![], vec![0], vec![]]);
}

/// It made all tests of the config wait for each other, and carry what the earlier ones answered.
#[test]
fn a_row_whose_prefix_converses_makes_a_conversation_of_its_file_alone() {
    let own = "prompts: ['{{q}}']\nproviders: [echo]\n\
               tests: [{ vars: { q: 1 } }, { vars: { q: 2 } }, file://a.jsonl, file://b.jsonl]\n";
    let framed = r#"{"vars":{"q":3},"options":{"prefix":"{{_conversation}}"}}"#;
    let plain = "{\"vars\":{\"q\":4}}\n{\"vars\":{\"q\":5}}";
    let rows = format!("{framed}\n{plain}");
    let follows = follows(own, &[("a.jsonl", &rows), ("b.jsonl", plain)]);
    let none: Vec<u32> = Vec::new();
    let of_file = [none.clone(), vec![2], vec![2, 3]];
    let expected = [vec![none.clone(); 2], of_file.into(), vec![none; 2]].concat();
    assert_eq!(follows, expected);
}
