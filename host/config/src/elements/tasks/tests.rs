//! What a task becomes in a plan, and what is wrong with it where.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::fixture::Folder;
use crate::plan::{CaseResource, LimitCounts, PlannedTask};

const SET: &str = "\
version: 1
questions:
  - { question: q0, answers: [a, b], correct_answers: [a] }
  - { question: q1, answers: [a, b], correct_answers: [b] }
";

fn folder(config: &str) -> Folder {
    Folder::new(config).file("set.yaml", SET)
}

/// A config with one task, whose last line is `more`.
fn task(more: &str) -> Folder {
    let task = "tasks:\n  - id: t\n    type: question_eval\n    provider: echo\n    questions_file: set.yaml\n";
    folder(&format!("{task}    {more}\n"))
}

#[test]
fn a_task_is_a_column_with_its_questions() {
    let folder = task("concurrency: 3");
    let plan = folder.plan();
    assert_eq!(plan.columns.len(), 1);
    let provider = &plan.columns[0].provider;
    assert_eq!(
        (&*provider.id, provider.label.as_deref()),
        ("echo", Some("t"))
    );
    let limit = &provider.limits[0];
    assert_eq!(
        (&*limit.name, limit.counts, limit.capacity),
        ("task 't' concurrency", LimitCounts::Concurrency, 3)
    );
    assert_eq!(folder.cases().len(), 2);
    assert!(plan.order.is_none(), "three at once wait for nobody");
    let tasks = [PlannedTask {
        task: "t".into(),
        prompt_idx: 0,
        questions: 2,
    }];
    assert_eq!(plan.tasks(), tasks);
}

#[test]
fn tasks_are_columns_beside_those_of_tests() {
    let folder = folder(
        "prompts: ['{{question}}']\nproviders: [echo, { id: 'echo:b', label: two }]\ntests: [{ vars: { question: plain } }]\n\
         tasks:\n  - { id: x, type: question_eval, provider: two, questions_file: set.yaml }\n\
         \x20 - { id: y, type: question_eval, provider: { id: 'echo:own' }, questions_file: set.yaml, concurrency: 2 }\n",
    );
    let places: Vec<_> = folder
        .cases()
        .iter()
        .map(|case| (case.id.test_idx, case.id.prompt_idx))
        .collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 2), (2, 2), (3, 3), (4, 3)]);
    let plan = folder.plan();
    let ids: Vec<&str> = plan
        .columns
        .iter()
        .map(|column| &*column.provider.id)
        .collect();
    assert_eq!(ids, ["echo", "echo:b", "echo:b", "echo:own"]);
    assert_eq!(
        plan.columns[1].provider.limits.len(),
        0,
        "the provider itself is as it was"
    );
    assert_eq!(plan.tasks().len(), 2);
}

#[test]
fn one_at_once_is_the_plain_loop() {
    let cases = task("concurrency: 1").cases();
    let turn = CaseResource::Turn {
        task: "t".into(),
        column: 0,
    };
    for case in &cases {
        let needs = case.needs.as_ref().unwrap();
        assert_eq!(
            (&needs.reads[..], &needs.writes[..]),
            (&[turn.clone()][..], &[turn.clone()][..])
        );
    }
    let order = task("concurrency: 1").plan().order.unwrap().to_string();
    assert!(
        order.contains("questions of t one after the other (concurrency: 1)"),
        "{order}"
    );
}

#[test]
fn a_budget_holds_for_each_question_and_zero_is_none() {
    let budget = |text: &str| {
        let plan = task(&format!("budget: {text}")).plan();
        let budget = plan
            .tests
            .get(0)
            .expect("a test")
            .question
            .as_ref()
            .unwrap()
            .budget;
        (budget.tokens, budget.time.map(|time| time.as_secs()))
    };
    assert_eq!(
        budget("{ max_tokens: 500, max_seconds: 30, max_steps: 4 }"),
        (Some(500), Some(30))
    );
    assert_eq!(
        budget("{ max_tokens: 0, max_seconds: 0, max_steps: 0 }"),
        (None, None)
    );
    assert_eq!(budget("{}"), (None, None));
}

#[test]
fn providers_are_only_named_where_there_are_tasks_alone() {
    let folder = folder(
        "providers: [{ id: echo, label: model, limits: { concurrency: 9 } }]\n\
         tasks: [{ id: t, type: question_eval, provider: model, questions_file: set.yaml, concurrency: 2 }]\n",
    );
    let plan = folder.plan();
    assert_eq!((plan.columns.len(), plan.providers.len()), (1, 2));
    assert_eq!(plan.columns[0].provider.limits.len(), 2);
}

#[test]
fn what_is_wrong_with_a_task_is_told() {
    let cases = [
        (
            "type: agent_eval",
            "there is no task type 'agent_eval'\nhelp: the only one is: question_eval",
        ),
        (
            "concurrency: 0",
            "tasks[0].concurrency: must be a whole number from 1 to",
        ),
        (
            "concurrency: 1.5",
            "tasks[0].concurrency: must be a whole number from 1 to",
        ),
        (
            "budget: { max_tokens: -1 }",
            "tasks[0].budget.max_tokens: must be a whole number from 0",
        ),
        (
            "budget: { max_steps: x }",
            "tasks[0].budget.max_steps: must be a whole number from 0",
        ),
        ("budget: 5", "tasks[0].budget: must be a map"),
    ];
    for (more, expected) in cases {
        let mut config =
            "tasks:\n  - id: t\n    provider: echo\n    questions_file: set.yaml\n".to_owned();
        if !more.starts_with("type") {
            config += "    type: question_eval\n";
        }
        let problems = folder(&format!("{config}    {more}\n")).problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expected), "{more}: {problems:?}");
    }
    for (config, expected) in [
        ("tasks: [{}]", "a task needs `id`"),
        ("tasks: []", "there are no tasks in the list"),
        ("tasks: x", "must be a list of tasks"),
        ("tasks: [x]", "must be a map with `id`"),
        (
            "tasks: [{ id: t, type: question_eval, provider: echo, questions_file: none.yaml }]",
            "none.yaml",
        ),
        (
            "tasks: [{ id: t, type: question_eval, provider: nope, questions_file: set.yaml }]",
            "no plugin serves the provider 'nope'",
        ),
        (
            "providers: [{ id: echo, label: model }]\ntasks: [{ id: t, type: question_eval, provider: modle, questions_file: set.yaml }]",
            "did you mean 'model'?",
        ),
    ] {
        let problems = folder(config).problems();
        assert!(
            problems.iter().any(|it| it.contains(expected)),
            "{config}: {problems:?}"
        );
    }
}

#[test]
fn ids_of_tasks_are_unique() {
    let one = "{ id: t, type: question_eval, provider: echo, questions_file: set.yaml }";
    let problems = folder(&format!("tasks: [{one}, {one}]")).problems();
    assert!(
        problems[0].contains("tasks[1].id: there is a task 't' already"),
        "{problems:?}"
    );
}

#[test]
fn filters_apply_to_tasks_as_to_tests() {
    let mut folder = folder(
        "tasks:\n  - { id: x, type: question_eval, provider: echo, questions_file: set.yaml }\n\
         \x20 - { id: y, type: question_eval, provider: echo, questions_file: set.yaml }\n",
    );
    folder.overrides.filters.first = Some(3);
    let tasks = folder.plan().tasks();
    let counts: Vec<_> = tasks
        .iter()
        .map(|task| (&*task.task, task.questions))
        .collect();
    assert_eq!(counts, [("x", 2), ("y", 1)]);
}

#[test]
fn tests_of_a_task_share_the_list_of_its_columns() {
    let plan = task("concurrency: 3").plan();
    let columns = |test: usize| plan.tests.get(test).unwrap().columns.clone().unwrap();
    assert!(std::sync::Arc::ptr_eq(&columns(0), &columns(1)));
}
