//! Commands of any kind: started, and ended.

use std::time::Duration;

use runner_process::{Fault, Program, once};
use serde_json::json;

use crate::world::{Code, LONG, SHORT, gone, supervisor};

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_said_to_be_so() {
    let code = Code::new(&[]);
    let workers = Code::workers(code.program("no-such-interpreter", &[]), Some(1));
    let fault = code
        .call(&workers, &json!({}))
        .await
        .expect_err("it is not there");
    let told = "no-such-interpreter: can't be started: no-such-interpreter: No such file or directory (os error 2)";
    assert_eq!(fault.to_string(), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_started_for_each_call_and_its_output_taken() {
    let code = Code::new(&[]);
    let command = |script: &str| code.program("sh", &["-c", script, "sh"]);
    let run = |program: Program, limit: Duration| async move {
        once(
            &supervisor(),
            &program,
            &["one".into(), "two".into()],
            limit,
        )
        .await
    };
    let output = run(command("cat; echo $2 $1; echo odd >&2"), LONG)
        .await
        .expect("it ends");
    assert_eq!(output.stdout, b"two one\n");
    assert_eq!(
        (output.stderr.as_slice(), output.failed),
        (&b"odd\n"[..], None)
    );
    let failed = run(command("echo why >&2; exit 3"), LONG)
        .await
        .expect("it ends")
        .failed;
    assert_eq!(failed.as_deref(), Some("sh ended with exit code 3: why"));
    let hung = run(command("sleep 1000 & echo $! > pid; wait"), SHORT)
        .await
        .expect_err("it hangs");
    assert!(matches!(hung, Fault::TimedOut { .. }), "{hung}");
    let pid = std::fs::read_to_string(code.path("pid")).expect("it ran");
    assert!(gone(&json!(pid.trim().parse::<u64>().expect("a number"))).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_makes_a_session_of_its_own_ends_with_the_command_all_the_same() {
    // Twice forked and in a session of its own: as daemons do.
    const LEAVES: &str = "(setsid sh -c 'echo $$ > left; exec sleep 1000' &) ; \
                          until test -s left; do sleep 0.01; done; ";
    for rest in ["echo done", "sleep 1000"] {
        let code = Code::new(&[]);
        let script = format!("{LEAVES}{rest}");
        let command = code.program("sh", &["-c", &script]);
        let left = async || loop {
            let left = std::fs::read_to_string(code.path("left")).unwrap_or_default();
            if left.ends_with('\n') {
                return json!(left.trim().parse::<u64>().expect("a number"));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        let (supervisor, ended) = (supervisor(), rest.starts_with("echo"));
        let run = once(&supervisor, &command, &[], LONG);
        if ended {
            let output = run.await.expect("it ends");
            assert_eq!(output.stdout, b"done\n", "who stays holds up nobody");
        } else {
            tokio::select! {
                output = run => panic!("{output:?}"),
                _ = left() => {}
            }
        }
        assert!(gone(&left().await).await);
    }
}
