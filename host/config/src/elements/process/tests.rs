//! Where code runs, and what is asked before it does.

use std::time::Duration;

use crate::fixture::Folder;
use crate::model::{Engine, Process};
use crate::plan::{Plan, Provider, ProviderProgram};

/// A config with this provider, beside files that programs may be.
fn provided(provider: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [{provider}]"))
        .file("pure.py", "def call_api(p, o, c): return {'output': p}")
        .file("rag.py", "import numpy\nfrom openai import OpenAI")
        .file(
            "agent.mjs",
            "import A from '@anthropic-ai/sdk'; import './b.mjs'",
        )
        .file("b.mjs", "process.env.MY_TOKEN")
        .file("typed.ts", "export default (p: string) => p")
        .file("run.sh", "echo $MY_TOKEN")
        .with_python()
        .env("OPENAI_API_KEY", "sk-1")
        .env("ANTHROPIC_API_KEY", "sk-2")
        .env("MY_TOKEN", "sk-3")
}

fn first(plan: &Plan) -> &Provider {
    &plan.columns[0].provider
}

/// What runs a provider outside the sandbox.
fn process(folder: &Folder) -> Option<Process> {
    match first(&folder.plan()).program.clone().expect("a program") {
        ProviderProgram::Code(script) => script.process.as_deref().cloned(),
        ProviderProgram::Command(process) => Some((*process).clone()),
    }
}

#[test]
fn code_runs_in_the_sandbox_where_that_suffices_and_is_asked_for_where_it_does_not() {
    assert_eq!(process(&provided("file://pure.py")), None);
    assert!(provided("file://pure.py").requests().is_empty());
    let asks = |provider: &str| provided(provider).requests();
    let at = "promptfooconfig.yaml:2:13: providers[0]: run";
    let with = "in ~ with the code there, outside the sandbox: it can do what you can, with your environment's";
    assert_eq!(
        asks("'python:rag.py:answer'"),
        [format!("{at} 'python3' {with} NUMPY_*, OPENAI_*")]
    );
    assert_eq!(
        asks("file://agent.mjs"),
        [format!("{at} 'node' {with} ANTHROPIC_*, MY_TOKEN, SDK_*")]
    );
    assert_eq!(
        asks("'exec: ./run.sh --a \"b c\"'"),
        [format!(r#"{at} './run.sh --a "b c"' {with} MY_TOKEN"#)]
    );
    assert_eq!(
        asks("'exec: ./run.sh'"),
        [format!("{at} './run.sh' {with} MY_TOKEN")]
    );
    let plain = "in ~ with the code there, outside the sandbox: it can do what you can";
    assert_eq!(asks("file://typed.ts"), [format!("{at} 'node' {plain}")]);
}

/// In a pipeline's log, whose code it is would read there which variables are set.
#[test]
fn the_question_does_not_tell_which_variables_are_set() {
    let code = "import openai, os\nos.environ['A']; os.environ['B']; os.getenv('C'); MY_KEY";
    let asks = |set: &[&str]| {
        let config = "prompts: [p]\nproviders: [file://x.py]";
        let folder = Folder::new(config).file("x.py", code).with_python();
        let folder = set
            .iter()
            .fold(folder, |folder, name| folder.env(name, "some-value"));
        folder.requests()
    };
    let none = asks(&[]);
    assert!(
        none[0].ends_with("environment's A, B, C, MY_KEY, OPENAI_*"),
        "{none:?}"
    );
    assert_eq!(asks(&["A", "MY_KEY", "OPENAI_API_KEY", "OTHER_KEY"]), none);
}

#[test]
fn what_one_command_runs_is_asked_for_once() {
    let folder = provided("file://rag.py, { id: file://rag.py, label: b }, file://agent.mjs");
    let folder = folder.file("other.py", "import numpy, os; os.environ['MY_TOKEN']");
    let config = "prompts: [p, file://other.py:f]\nproviders: [file://rag.py, { id: 'python:rag.py:g', label: b }]";
    let requests = folder.file("promptfooconfig.yaml", config).requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0].ends_with("MY_TOKEN, NUMPY_*, OPENAI_*"),
        "{requests:?}"
    );
}

#[test]
fn the_config_may_say_where_code_runs_and_how() {
    let forced = provided(
        "{ id: file://pure.py, config: { runtime: process, pythonExecutable: ./py, workers: 3, timeout: 500, memoryMb: 64, inheritEnv: true, k: 1 } }",
    );
    let process = process(&forced).expect("a process");
    let executable = Some("./py".to_owned());
    assert_eq!(process.engine, Engine::Python { executable });
    assert_eq!((process.workers, process.memory_mb), (Some(3), Some(64)));
    assert_eq!(process.timeout, Some(Duration::from_millis(500)));
    let plan = forced.plan();
    assert_eq!(first(&plan).config.keys().collect::<Vec<_>>(), ["k"]);
    assert_eq!(
        forced.requests(),
        [
            "promptfooconfig.yaml:2:19: providers[0].id: run './py' in ~ with the code there, outside the sandbox: it can do what you can, with all your environment variables"
        ]
    );
    let kept = provided("{ id: file://rag.py, config: { runtime: sandbox } }");
    assert!(kept.requests().is_empty());
    assert_eq!(
        kept.warnings(),
        [
            "promptfooconfig.yaml:2:19: providers[0].id: the code imports numpy, which the sandbox doesn't have\nhelp: without `runtime: sandbox` it runs on your machine, once you agree"
        ]
    );
    let wrong = provided("{ id: file://pure.py, config: { runtime: cloud } }");
    assert_eq!(
        wrong.problems(),
        [
            "promptfooconfig.yaml:2:54: providers[0].config.runtime: must be `sandbox` or `process`\nhelp: runtime: sandbox, or runtime: process"
        ]
    );
}

#[test]
fn what_the_config_s_env_takes_in_is_asked_for_with_each_program() {
    let config = "env: { FOO: 'a {{ env.MY_TOKEN }}' }\nprompts: [p]\nproviders: ['exec: cat']";
    let folder = Folder::new(config).env("MY_TOKEN", "t");
    let requests = folder.requests();
    assert!(
        requests
            .iter()
            .any(|it| it.contains("'\"FOO=a {{ env.MY_TOKEN }}\" cat'") && it.ends_with("MY_TOKEN")),
        "{requests:?}"
    );
}

#[test]
fn a_variable_of_env_without_a_value_is_the_environment_s() {
    let folder =
        Folder::new("prompts: [p]\nproviders: [{ id: 'exec: cat', env: { MY_TOKEN: , B: b } }]");
    let requests = folder.requests();
    assert!(
        requests[0].contains("'B=b cat'") && requests[0].ends_with("environment's MY_TOKEN"),
        "{requests:?}"
    );
}

/// Whatever it is called: a later config that says something else is another one to agree to.
#[test]
fn all_that_env_says_stands_in_front_of_the_command() {
    let config = |env: &str, own: &str| {
        format!(
            "env: {{ {env} }}\nprompts: [p]\nproviders: [{{ id: 'exec: cat', env: {{ {own} }} }}]"
        )
    };
    for (env, own, command) in [
        (
            "PATH: /elsewhere, NODE_OPTIONS: '{{ env.MY_TOKEN }}'",
            "LD_PRELOAD: ./x.so",
            "LD_PRELOAD=./x.so \"NODE_OPTIONS={{ env.MY_TOKEN }}\" PATH=/elsewhere cat",
        ),
        (
            "'BASH_FUNC_cat%%': '() { x; }', HTTPS_PROXY: 'http://evil'",
            "A: own",
            "A=own \"BASH_FUNC_cat%%=() { x; }\" HTTPS_PROXY=http://evil cat",
        ),
        // One variable is not taken for two, nor a key shown.
        (
            "A: '1 B=2'",
            "SOME_KEY: k",
            "\"A=1 B=2\" SOME_KEY=…2dbc3ae2f8ccf537 cat",
        ),
        ("A: 1", "A: 'x y'", "\"A=x y\" cat"),
        // As it is written: what stands around a variable decides, too. One alone is asked for by its name.
        (
            "PATH: './evil:{{env.PATH}}', MY_TOKEN: ",
            "GIT_ASKPASS: '{{env.MY_TOKEN}}'",
            "GIT_ASKPASS={{env.MY_TOKEN}} PATH=./evil:{{env.PATH}} cat",
        ),
    ] {
        let folder = Folder::new(&config(env, own)).env("MY_TOKEN", "t");
        let requests = folder.requests();
        let is_said = |it: &String| it.contains(&format!("run '{command}' in"));
        assert!(requests.iter().any(is_said), "{command}: {requests:?}");
    }
}

#[test]
fn another_value_of_a_key_is_another_thing_to_agree_to() {
    let requests = |value: &str| {
        let env = format!("env: {{ GIT_ASKPASS: {value} }}");
        Folder::new(&format!("{env}\nprompts: [p]\nproviders: ['exec: cat']")).requests()
    };
    assert_ne!(requests("x"), requests("y"));
    assert_eq!(requests("x"), requests("x"));
    assert!(!requests("a-key-of-a-test").join("").contains("of-a-test"));
}

#[test]
fn a_name_in_env_is_one_name() {
    for config in [
        "env: { 'PATH=./bin:': /bin }\nprompts: [p]\nproviders: ['exec: cat']",
        "prompts: [p]\nproviders: [{ id: 'exec: cat', env: { 'BASH_ENV=./b': '' } }]",
        "env: { '': x }\nprompts: [p]\nproviders: [echo]",
    ] {
        let problems = Folder::new(config).problems().join("\n");
        assert!(problems.contains("is no name of a variable"), "{problems}");
    }
}

#[test]
fn nothing_is_filled_into_code_on_the_machine() {
    let wrong = |value: &str| {
        let config = format!(
            "prompts: [p]\nproviders: [echo]\ntests: [{{ vars: {{ x: 1 }}, assert: [{{ type: javascript, value: \"{value}\" }}] }}]"
        );
        Folder::new(&config).problems()
    };
    let outside = wrong("require('fs') && output === '{{ x }}'");
    assert_eq!(outside.len(), 1, "{outside:?}");
    assert!(
        outside[0].contains("code that runs on your machine can't have 'x' filled in\nhelp: a value would be code there"),
        "{outside:?}"
    );
    assert_eq!(
        wrong("output === '{{ x }}'"),
        [""; 0],
        "the sandbox has nothing to give it"
    );
    assert_eq!(wrong("require('fs') && output === '{{ 1 + 1 }}'"), [""; 0]);
}

#[test]
fn a_command_is_known_by_its_words_and_the_files_that_it_names() {
    let digest = |line: &str, text: &str| {
        let folder = provided(&format!("'exec: {line}'")).file("run.sh", text);
        process(&folder).expect("a process").digest.clone()
    };
    let first = digest("./run.sh a", "echo");
    assert_eq!(first, digest("./run.sh a", "echo"));
    assert_ne!(first, digest("./run.sh b", "echo"));
    assert_ne!(first, digest("./run.sh a", "echo 1"));
}

#[test]
fn the_person_s_environment_chooses_interpreter_and_workers() {
    let folder = provided("file://rag.py")
        .env("PROMPTFOO_PYTHON", "/opt/py")
        .env("PROMPTFOO_PYTHON_WORKERS", "4");
    let process = process(&folder).expect("a process");
    let executable = Some("/opt/py".to_owned());
    assert_eq!(process.engine, Engine::Python { executable });
    assert_eq!(process.workers, Some(4));
}

#[test]
fn a_row_that_brings_a_program_asks_in_its_own_name() {
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\ntests: t.jsonl").file(
        "t.jsonl",
        r#"{"vars": {"a": 1}, "provider": "exec: rm -rf /"}"#,
    );
    let requests = folder.requests();
    let programs = requests.iter().filter(|it| it.contains("run 'rm -rf /'"));
    assert_eq!(programs.count(), 1, "{requests:?}");
    let agreements = crate::Agreements {
        level: crate::Level::Config,
        ..crate::Agreements::default()
    };
    let (plan, _) = folder.plan_under(agreements.clone()).expect("a plan");
    let mut open = plan
        .trust_requests
        .iter()
        .filter(|it| !agreements.cover(it));
    assert!(open.any(|it| it.subject.to_string().contains("rm -rf")));
}

#[test]
fn what_the_config_s_environment_says_is_no_row_s() {
    let config =
        "env: { L: lit, T: '{{ env.DB }}' }\nprompts: [p]\nproviders: ['exec: a']\ntests: t.jsonl";
    let row = r#"{"vars": {"a": 1}, "provider": "exec: b"}"#;
    let folder = Folder::new(config)
        .file("t.jsonl", row)
        .env("DB", "secret-1");
    let requests = folder.requests();
    let of = |command: &str| {
        let mut found = requests.iter().filter(|it| it.contains(command));
        found.next().cloned().unwrap_or_default()
    };
    assert!(
        of("run 'L=lit").contains("environment's DB"),
        "{requests:?}"
    );
    assert!(
        of("run 'b' in ~").ends_with("it can do what you can"),
        "{requests:?}"
    );
}

/// The config's `env` stands before each of its commands.
#[test]
fn what_is_asked_for_commands_and_their_environment_has_a_bound() {
    let config = |variables: usize, value: &str, commands: usize| {
        let env = (0..variables).map(|n| format!("E{n}: {value}"));
        let env: Vec<String> = env.collect();
        let commands = (0..commands).map(|n| format!("'exec: echo {n}'"));
        let commands: Vec<String> = commands.collect();
        let (env, commands) = (env.join(", "), commands.join(", "));
        let config = format!("prompts: [p]\nproviders: [{commands}]\nenv: {{ {env} }}");
        Folder::new(&config).problems()
    };
    assert_eq!(config(1000, "v", 100), [""; 0]);
    let refused = config(1000, "v", 800);
    let asked = "the commands of the config with the variables of its `env`, which each of them is given, take more than 4 MiB\nhelp: give fewer variables, or run the commands in parts";
    assert!(refused[0].ends_with(asked), "{refused:?}");
    // Names without a value are the environment's, and stand in the question, too.
    let refused = config(1000, "", 800);
    assert!(refused[0].ends_with(asked), "{refused:?}");
    let long = "v".repeat(300 << 10);
    let refused = config(1, &long, 1);
    assert!(refused[0].contains("more than 256 KiB"), "{refused:?}");
}

#[test]
fn a_command_line_has_a_bound_and_so_have_the_files_that_it_names() {
    let line = |words: usize| {
        let words: Vec<String> = (0..words).map(|n| format!("{n}")).collect();
        provided(&format!("'exec: echo {}'", words.join(" "))).problems()
    };
    assert_eq!(line(1000), [""; 0]);
    assert!(line(15_000)[0].contains("names more files than are looked for"));
    assert!(line(40_000)[0].contains("a command line has at most 128 KiB"));
}
