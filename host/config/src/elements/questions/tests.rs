//! What a set may say, what becomes of it, and what is wrong with it where.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::fixture::Folder;
use crate::plan::{Check, Plan};

const SET: &str = "\
version: 1
questions:
  - id: capital
    question: What is the capital of France?
    answers: [Paris, Rome]
    correct_answers: [paris]
  - question: What is 2 + 2?
    answers: [3, 4, four]
    correct_answers: [4, Four]
";

fn folder(set: &str) -> Folder {
    Folder::new("providers: [echo]\ntests: questions://set.yaml\n").file("set.yaml", set)
}

/// What is wrong with a set, without the files' names.
fn wrong(set: &str) -> Vec<String> {
    let cut = |problem: &String| {
        let first = problem.lines().next().unwrap();
        first.split_once("set.yaml:").unwrap().1.to_owned()
    };
    folder(set).problems().iter().map(cut).collect()
}

fn question(plan: &Plan, test: usize) -> Arc<Question> {
    plan.tests
        .get(test)
        .expect("a test")
        .question
        .clone()
        .unwrap()
}

#[test]
fn a_set_is_tests_with_the_built_in_prompt() {
    let folder = folder(SET);
    let plan = folder.plan();
    let names: Vec<_> = plan
        .tests
        .iter()
        .map(|test| test.description.clone())
        .collect();
    let expected = ["capital", "question 1"];
    assert_eq!(names, expected.map(|text| Some(text.to_owned())));
    assert_eq!(plan.columns[0].prompt.label, "question");
    assert_eq!(
        plan.tests.get(0).expect("a test").metadata["question"],
        "capital"
    );
    assert_eq!(
        plan.tests.get(1).expect("a test").metadata["question"],
        "question 1"
    );
    let two = question(&plan, 1);
    assert_eq!(
        (two.index, two.id.as_deref(), &*two.task),
        (1, None, "set.yaml")
    );
    assert_eq!(two.correct_answers, ["4", "Four"]);
    let Check::One(check) = &plan.tests.get(1).expect("a test").assertions[0] else {
        panic!("one assertion");
    };
    assert_eq!(check.value, Some(json!({ "correct": ["4", "Four"] })));
    let text = &folder.texts()[1];
    assert!(text.contains("Question: What is 2 + 2?\n\nAnswer choices:\n- 3\n- 4\n- four\n"));
    assert!(text.ends_with("<answer>...</answer>"), "{text}");
}

#[test]
fn every_form_of_the_source_is_read() {
    for (source, name) in [
        ("questions://set.yaml", "set.yaml"),
        ("['questions://set.yaml']", "set.yaml"),
        ("questions://a/b.json", "a/b.json"),
        ("file://x.questions.yaml", "x.questions.yaml"),
        ("x.questions.yml", "x.questions.yml"),
        ("['file://x.questions.json']", "x.questions.json"),
    ] {
        let set = "{ \"version\": 1, \"questions\": [{ \"question\": \"q\", \"answers\": [\"a\"], \"correct_answers\": [\"a\"] }] }";
        let folder = Folder::new(&format!("providers: [echo]\ntests: {source}\n")).file(name, set);
        let plan = folder.plan();
        assert_eq!(plan.tests.len(), 1, "{source}");
        assert_eq!(&*question(&plan, 0).task, name, "{source}");
    }
}

#[test]
fn a_prompt_of_the_users_has_question_and_answers() {
    let config = "prompts: ['{{question}} {{ answers | join(\"/\") }}']\nproviders: [echo]\n\
                  tests: questions://set.yaml\n";
    let folder = Folder::new(config).file("set.yaml", SET);
    let expected = [
        "What is the capital of France? Paris/Rome",
        "What is 2 + 2? 3/4/four",
    ];
    assert_eq!(folder.texts(), expected);
}

#[test]
fn questions_stand_beside_other_tests_where_there_are_prompts() {
    let tests =
        "providers: [echo]\ntests: [{ vars: { question: plain } }, 'questions://set.yaml']\n";
    let mixed =
        Folder::new(&format!("prompts: ['{{{{question}}}}']\n{tests}")).file("set.yaml", SET);
    assert_eq!(mixed.texts()[0], "plain");
    assert_eq!(mixed.texts().len(), 3);
    let without = Folder::new(tests).file("set.yaml", SET);
    let problems = without.problems();
    assert!(
        problems[0].contains("need prompts of its own"),
        "{problems:?}"
    );
}

#[test]
fn what_default_test_says_holds_for_questions() {
    let config = "providers: [echo]\ntests: questions://set.yaml\n\
                  defaultTest: { assert: [{ type: contains, value: x }], metadata: { m: 1 } }\n";
    let plan = Folder::new(config).file("set.yaml", SET).plan();
    assert_eq!(plan.tests.get(0).expect("a test").assertions.len(), 2);
    assert_eq!(plan.tests.get(0).expect("a test").metadata["m"], 1);
}

#[test]
fn a_question_is_what_it_says_whatever_default_test_says() {
    let text = "{{ x | shout }} {{ question }} file://f.js";
    let set = json!({ "version": 1, "questions": [
        { "question": text, "answers": ["a"], "correct_answers": ["a"] }
    ] });
    for raw in [true, false] {
        let config = format!(
            "prompts: ['{{{{question}}}}']\nproviders: [echo]\ntests: questions://set.json\n\
             nunjucksFilters: {{ shout: file://f.js }}\n\
             defaultTest: {{ options: {{ rawVars: {raw} }}, vars: {{ x: y, of: 'so: {{{{ question }}}}' }} }}\n"
        );
        let folder = Folder::new(&config).file("set.json", set.to_string());
        let folder = folder.file("f.js", "1");
        let case = &folder.cases()[0];
        assert_eq!(case.test.vars["question"], text, "as written");
        assert_eq!(case.vars["question"], text);
        assert!(!case.has_late_vars());
        let of = if raw {
            "so: {{ question }}".to_owned()
        } else {
            format!("so: {text}")
        };
        assert_eq!(case.vars["of"], of);
        assert_eq!(folder.texts(), [text]);
    }
}

/// Each correct answer was looked for among all answers.
#[test]
fn a_question_may_have_as_many_answers_as_its_file_has_room_for() {
    let answers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let correct: Vec<&String> = answers.iter().rev().collect();
    let set = json!({ "version": 1, "questions": [
        { "question": "q", "answers": answers, "correct_answers": correct }
    ] });
    assert_eq!(folder(&set.to_string()).plan().tests.len(), 1);
}

#[test]
fn whatever_is_wrong_has_its_place() {
    let one = |question: &str| format!("version: 1\nquestions:\n  - {question}\n");
    let cases = [
        (
            "[]",
            "1:1: error/invalid_questions_file: must be a map, not a list",
        ),
        (
            "questions: [{ question: q, answers: [a], correct_answers: [a] }]",
            "1:1: error/invalid_questions_file: has no `version`; the one that is read is 1",
        ),
        (
            "version: 1",
            "1:1: error/invalid_questions_file: has no `questions`",
        ),
        (
            "version: 1\nquestions: []",
            "2:12: questions: error/no_questions: there are no questions in the list",
        ),
        (
            "version: 1\nquestions: q",
            "2:12: questions: error/invalid_questions_file: must be a list, not text",
        ),
        (
            &one("q"),
            "3:5: questions[0]: error/invalid_questions_file: must be a map, not text",
        ),
        (
            &one("{ answers: [a], correct_answers: [a] }"),
            "3:5: questions[0]: error/invalid_questions_file: has no `question`",
        ),
        (
            &one("{ question: ' ', answers: [a], correct_answers: [a] }"),
            "3:17: questions[0].question: error/invalid_questions_file: must not be empty",
        ),
        (
            &one("{ question: q, correct_answers: [a] }"),
            "3:5: questions[0]: error/invalid_questions_file: has no `answers`",
        ),
        (
            &one("{ question: q, answers: [], correct_answers: [a] }"),
            "3:29: questions[0].answers: error/invalid_questions_file: must be a list with at least one text",
        ),
        (
            &one("{ question: q, answers: [a, [b]], correct_answers: [a] }"),
            "3:33: questions[0].answers[1]: error/invalid_questions_file: must be text, not a list",
        ),
        (
            &one("{ question: q, answers: [a], correct_answers: [] }"),
            "3:51: questions[0].correct_answers: error/invalid_questions_file: must be a list with at least one text",
        ),
        (
            &one("{ question: q, answers: [a], correct_answers: [A, c] }"),
            "3:55: questions[0].correct_answers[1]: error/invalid_questions_file: 'c' is none of the `answers`",
        ),
    ];
    for (set, expected) in cases {
        assert_eq!(wrong(set), [expected], "{set}");
    }
}

#[test]
fn another_version_is_refused() {
    let version = "version: 2\nquestions: [{ question: q, answers: [a], correct_answers: [a] }]";
    let told = wrong(version);
    assert_eq!(
        told,
        ["1:10: version: error/invalid_questions_file: must be 1, not 2"]
    );
}

#[test]
fn ids_are_unique_and_all_problems_are_told_together() {
    let question = |id: &str, more: &str| {
        format!("  - {{ id: {id}, question: q, answers: [a], correct_answers: [{more}] }}\n")
    };
    let set = [
        "version: 1\nquestions:\n",
        &question("x", "a"),
        &question("y", "b"),
        &question("x", "a"),
    ];
    let told = wrong(&set.concat());
    assert_eq!(
        told,
        [
            "4:59: questions[1].correct_answers[0]: error/invalid_questions_file: 'b' is none of the `answers`",
            "5:11: questions[2].id: error/invalid_questions_file: 'x' is the id of questions[0] too",
        ]
    );
}

#[test]
fn a_file_that_is_not_there_is_told_where_it_is_named() {
    let problems = Folder::new("providers: [echo]\ntests: questions://none.yaml\n").problems();
    assert!(
        problems[0].contains("promptfooconfig.yaml:2:8: tests: "),
        "{problems:?}"
    );
    assert!(problems[0].contains("none.yaml"), "{problems:?}");
}

#[test]
fn a_key_that_nothing_reads_is_a_warning() {
    let set = SET.replace("version: 1\n", "version: 1\nauthor: me\n");
    let warnings = folder(&set).warnings();
    assert!(warnings[0].contains("unknown key 'author'"), "{warnings:?}");
}

proptest! {
    /// Questions are data, whatever they look like: templates, names of files, tags.
    #[test]
    fn the_prompt_has_a_question_and_its_choices_as_they_stand(
        question in "[ -~ä]{0,12}(\\{\\{|\\{%|\\{#|\\}\\}|env\\.X|file://set\\.yaml)?[ -~]{1,12}x",
        answers in proptest::collection::vec("(\\{\\{ question \\}\\}|file://set.yaml|[ -~]{0,9})x", 1..4),
    ) {
        let set = json!({ "version": 1, "questions": [
            { "question": question, "answers": answers, "correct_answers": [answers[0]] }
        ] });
        let config = "prompts: ['<{{question}}>{% for a in answers %}<{{a}}>{% endfor %}']\n\
                      providers: [echo]\ntests: questions://set.json\n";
        let folder = Folder::new(config).file("set.json", set.to_string());
        let texts = folder.texts();
        let choices: Vec<String> = answers.iter().map(|answer| format!("<{answer}>")).collect();
        let choices = choices.concat();
        prop_assert_eq!(&texts, &[format!("<{question}>{choices}")]);
    }
}
