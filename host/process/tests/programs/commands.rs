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

/// A terminal's Ctrl-C reaches all of its group, and a program that is just being started has no other yet.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_of_the_group_ends_no_program_that_is_being_started() {
    use std::os::unix::process::CommandExt as _;
    const OF_ITS_OWN: &str = "RUNNER_TEST_GROUP";
    const NAME: &str = "commands::an_interrupt_of_the_group_ends_no_program_that_is_being_started";
    if std::env::var_os(OF_ITS_OWN).is_none() {
        let test = std::env::current_exe().expect("this program has a path");
        let output = std::process::Command::new(test)
            .args(["--exact", NAME, "--nocapture"])
            .env(OF_ITS_OWN, "yes")
            .process_group(0)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let programs = async {
        let mut heard = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
            .expect("signals can be caught");
        let code = Code::new(&[]);
        let (supervisor, program) = (supervisor(), code.program("sh", &["-c", "echo done"]));
        let (ended, mut all) = tokio::sync::oneshot::channel::<()>();
        let interrupts = std::thread::spawn(move || {
            use tokio::sync::oneshot::error::TryRecvError;
            while all.try_recv() == Err(TryRecvError::Empty) {
                let group = rustix::process::getpgrp();
                rustix::process::kill_process_group(group, rustix::process::Signal::INT)
                    .expect("the group is ours");
            }
        });
        for _ in 0..10 {
            let programs = (0..20).map(|_| once(&supervisor, &program, &[], LONG));
            for output in futures_util::future::join_all(programs).await {
                let output = output.expect("it is started");
                assert_eq!(output.failed, None);
                assert_eq!(output.stdout, b"done\n");
            }
        }
        heard.recv().await.expect("we are interrupted");
        drop(ended);
        interrupts.join().expect("it ends with us");
    };
    runtime.block_on(programs);
}
