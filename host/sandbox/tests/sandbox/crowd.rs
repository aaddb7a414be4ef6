//! Many misbehaviours at once, and other plugins that go on beside them.

use std::time::Duration;

use runner_sandbox::{InputOf, MessageCode};

use crate::hostile::{grade, reason};
use crate::world::{Measured, Recorder, call, hostile, sandbox};

/// Each of these takes what it can get. Eight instances at once may have 128 MiB each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_pass_while_many_misbehave_at_once() {
    let sandbox = sandbox();
    let good = hostile(&sandbox);
    let host = Recorder::new();
    let measured = Measured::begin();
    let mut crowd = Vec::new();
    for kind in [
        "sleep",
        "spin",
        "hog",
        "flood",
        "handles",
        "wide-json",
        "stdout-lines",
        "empty-fields",
        "random-often",
        "panic",
        "copy",
        "http-all",
    ] {
        // Each is a plugin of its own, as it would be in a run.
        let bad = hostile(&sandbox);
        for _ in 0..4 {
            let (bad, mut call) = (bad.clone(), call(&host));
            call.limits.guest_time = Duration::from_millis(300);
            crowd.push(tokio::spawn(async move {
                grade(&bad, call, kind)
                    .await
                    .result
                    .map_err(|error| error.code())
            }));
        }
    }
    for _ in 0..60 {
        assert_eq!(reason(&good, call(&host), "fine").await, "fine");
    }
    for one in crowd {
        let result = one.await.expect("it ends");
        assert_ne!(
            result.err(),
            Some(MessageCode::C110),
            "everybody found an instance"
        );
    }
    assert!(!good.disabled(InputOf::default()));
    measured.within(1_400, Duration::from_mins(2));
}
