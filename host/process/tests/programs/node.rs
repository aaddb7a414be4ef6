//! Node.js: calls side by side in one process.

use runner_process::{Fault, NODE_DRIVER, Program, Service, Workers};
use serde_json::{Value, json};

use crate::world::{Code, SHORT, function, gone, supervisor, value};

const NODE: &str = r"
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { name } from './beside.mjs';
export default class {
  constructor(options) { this.options = options; }
  id() { return 'mine'; }
  async callApi(prompt, context) {
    context.logger.info('asked', prompt);
    return { output: name + prompt + this.options.config.suffix };
  }
}
export const add = async (a, b) => { console.log('adding', a); return a + b; };
export const wait = (ms, value) => new Promise((done) => setTimeout(() => { console.log('waited', value); done(value); }, ms));
export const fails = (what) => { throw new TypeError(`no ${what}`); };
export const pid = () => process.pid;
export const dies = () => process.exit(4);
export const never = () => new Promise(() => {});
export const hangs = (path) => {
  const child = spawn('sleep', ['1000']);
  writeFileSync(path, JSON.stringify([process.pid, child.pid]));
  for (;;);
};
";

fn node() -> Code {
    Code::new(&[
        ("x.mjs", NODE),
        ("beside.mjs", "export const name = 'beside ';"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn node_runs_calls_side_by_side_and_knows_whose_lines_are_whose() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    let add = function(&path, "add", &[json!(1), json!(2)]);
    assert_eq!(value(code.call(&workers, &add).await), 3);
    assert_eq!(code.printed(), ["adding 1"]);
    let wait = |ms: u64, name: &str| function(&path, "wait", &[json!(ms), json!(name)]);
    let (slow, quick) = (wait(300, "slow"), wait(1, "quick"));
    let (one, other) = tokio::join!(code.call(&workers, &slow), code.call(&workers, &quick));
    assert_eq!((value(one), value(other)), (json!("slow"), json!("quick")));
    assert_eq!(code.printed(), ["waited quick", "waited slow"]);
    let provider = json!({ "form": "file", "role": "provider", "path": path, "entry": null,
        "setup": { "config": { "suffix": "!" } }, "arguments": [["prompt", "p"], ["context", {}]] });
    assert_eq!(
        value(code.call(&workers, &provider).await),
        json!({ "output": "beside p!" })
    );
    assert_eq!(code.printed(), ["asked p"]);
    let report = code
        .call(&workers, &function(&path, "fails", &[json!("way")]))
        .await;
    let report = report.expect("an answer").expect_err("a failure");
    assert_eq!(report.message, "TypeError: no way");
    assert_eq!(
        (report.file.as_deref(), report.line),
        (path.to_str(), Some(15))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_never_settles_costs_its_own_call_and_no_other() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    let pid = value(code.call(&workers, &function(&path, "pid", &[])).await);
    let never = function(&path, "never", &[]);
    let hung = code
        .within(SHORT, &workers, &never)
        .await
        .expect_err("it hangs");
    assert!(matches!(hung, Fault::TimedOut { .. }), "{hung}");
    assert_eq!(
        value(code.call(&workers, &function(&path, "pid", &[])).await),
        pid
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn those_beside_one_that_ends_the_process_are_made_again() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    value(code.call(&workers, &function(&path, "pid", &[])).await);
    let wait = function(&path, "wait", &[json!(200), json!("done")]);
    let ends = function(&path, "dies", &[]);
    let (waited, ended, also) = tokio::join!(
        code.call(&workers, &wait),
        code.call(&workers, &ends),
        code.call(&workers, &wait),
    );
    assert_eq!((value(waited), value(also)), (json!("done"), json!("done")));
    let ended = ended.expect_err("it died").to_string();
    assert_eq!(
        ended,
        "node: ended with exit code 4 in the middle of the call"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_blocks_the_process_ends_with_its_children_and_the_others_are_made_again() {
    let code = node();
    let (workers, path) = (code.node(), code.path("x.mjs"));
    value(code.call(&workers, &function(&path, "pid", &[])).await);
    let told = code.path("pids");
    let hangs = function(&path, "hangs", &[json!(told)]);
    let wait = function(&path, "wait", &[json!(200), json!("done")]);
    let (waited, hung) = tokio::join!(
        code.call(&workers, &wait),
        code.within(SHORT, &workers, &hangs),
    );
    assert_eq!(value(waited), "done");
    assert!(matches!(hung, Err(Fault::TimedOut { .. })), "{hung:?}");
    let pids: Value = serde_json::from_slice(&std::fs::read(told).expect("it ran")).expect("JSON");
    assert!(gone(&pids[0]).await && gone(&pids[1]).await);
}

/// A driver of the shape of Node's that counts its starts and never answers.
const BLOCKED: &str = r#"
read -r hello
token=${hello#*:\"}
echo started >> starts
echo "${token%%\"*}{\"ready\":true}"
exec cat > /dev/null
"#;

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_pass_their_limits_in_a_blocked_process_both_are_made_again() {
    let code = Code::new(&[]);
    let workers = Code::workers(code.program("sh", &["-c", BLOCKED]), None);
    let call = function(&code.path("x"), "hangs", &[]);
    let (one, other) = tokio::join!(
        code.within(SHORT, &workers, &call),
        code.within(2 * SHORT, &workers, &call),
    );
    for hung in [one, other] {
        assert!(matches!(hung, Err(Fault::TimedOut { .. })), "{hung:?}");
    }
    let starts = std::fs::read_to_string(code.path("starts")).expect("it ran");
    assert_eq!(starts.lines().count(), 3, "together, and each alone");
}

/// `tsx` runs TypeScript with all rights: it is the project's own, or none.
#[tokio::test(flavor = "multi_thread")]
async fn a_tsx_is_taken_from_the_project_and_from_no_folder_that_others_may_write() {
    use std::os::unix::fs::PermissionsExt as _;

    const API: &str = "exports.register = () => { globalThis.ranBy = 'tsx'; };";
    // What `require` gets of the one for modules is broken in some versions.
    const PACKAGE: &str = r#"{"name":"tsx","exports":{"./esm/api":{"import":{"default":"./api.mjs"},"require":"./no.cjs"},"./cjs/api":"./api.cjs"}}"#;
    let ran_by = async |tsx_in: &str, manifest: bool, mode: u32| {
        let outer = Code::new(&[]);
        let project = outer.path("project");
        std::fs::create_dir(&project).expect("a folder");
        let code = "export const by = () => globalThis.ranBy ?? 'node';";
        std::fs::write(project.join("x.mjs"), code).expect("a file");
        let folder = outer.path(tsx_in);
        let tsx = folder.join("node_modules/tsx");
        std::fs::create_dir_all(&tsx).expect("a folder");
        std::fs::write(tsx.join("package.json"), PACKAGE).expect("a file");
        std::fs::write(tsx.join("api.cjs"), API).expect("a file");
        std::fs::write(tsx.join("api.mjs"), "export const register = () => {};").expect("a file");
        if manifest {
            std::fs::write(folder.join("package.json"), "{}").expect("a file");
        }
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&folder, rights).expect("it is ours");
        let arguments = ["--input-type=module", "-e", NODE_DRIVER];
        let program = Program {
            folder: project.clone(),
            ..outer.program("node", &arguments)
        };
        let workers = Workers::new(Service {
            program,
            supervisor: supervisor(),
            workers: None,
            setup: r#"{"typed":{},"hooks":""}"#.into(),
        });
        let by = function(&project.join("x.mjs"), "by", &[]);
        value(outer.call(&workers, &by).await)
    };
    for (place, manifest, mode, expected) in [
        ("project", false, 0o755, "tsx"),
        ("project", false, 0o775, "tsx"),
        ("project", false, 0o777, "node"),
        (".", true, 0o755, "tsx"),
        (".", false, 0o755, "node"),
        (".", true, 0o1777, "node"),
    ] {
        let found = ran_by(place, manifest, mode).await;
        assert_eq!(found, expected, "{place} {manifest} {mode:o}");
    }
}
