//! A command that is started anew for each call.

use std::ffi::OsString;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::command::{Program, Supervisor};
use crate::ended::{Fault, fault, how, last_words};
use crate::group::Group;
use crate::printed::printed;
use crate::worker::MOST_BYTES;

/// Most that is kept of standard error.
const STDERR_KEPT: u64 = 256 << 10;

/// What a command wrote until it ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// The beginning of standard error.
    pub stderr: Vec<u8>,
    /// How it failed, in words; `None`: it said that all is well.
    pub failed: Option<String>,
}

/// Starts a command with `further` arguments and waits for its end. Safe to drop: it is ended with
/// all that it started.
///
/// # Errors
/// It can't be started, took too long, too much memory, or wrote too much.
pub async fn once(
    supervisor: &Supervisor,
    program: &Program,
    further: &[OsString],
    limit: Duration,
) -> Result<Output, Fault> {
    let mut child = supervisor.start(program, further)?;
    let group = Group::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    drop(stdin);
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        unreachable!("each was asked for as a pipe")
    };
    let shown = || program.shown.clone();
    let ended = async {
        let most = MOST_BYTES as u64;
        let (stdout, stderr, status) = tokio::join!(
            beginning(stdout, most + 1),
            beginning(stderr, STDERR_KEPT),
            async {
                let status = child.wait().await.ok();
                // Who holds its pipes longer is a background process that nobody asked for.
                group.kill_rest();
                status
            }
        );
        if stdout.len() as u64 > most {
            return Err(Fault::TooLarge {
                program: shown(),
                limit: MOST_BYTES,
            });
        }
        let stderr = whole_lines(stderr);
        let said = printed(&stderr);
        let failed = match status {
            Some(status) if status.success() => None,
            status => match fault(&program.shown, program.memory, status, &said) {
                Fault::Crashed { .. } => {
                    let words = last_words(&said);
                    let colon = if words.is_empty() { "" } else { ": " };
                    Some(format!("{} {}{colon}{words}", program.shown, how(status)))
                }
                other => return Err(other),
            },
        };
        Ok(Output {
            stdout,
            stderr,
            failed,
        })
    };
    let ended = tokio::time::timeout(limit, ended).await;
    ended.unwrap_or_else(|_| {
        Err(Fault::TimedOut {
            program: shown(),
            limit,
        })
    })
}

/// What was kept of standard error, without a line that was cut: a secret in it would not be known
/// for one.
fn whole_lines(mut stderr: Vec<u8>) -> Vec<u8> {
    if stderr.len() as u64 == STDERR_KEPT {
        let end = stderr.iter().rposition(|byte| *byte == b'\n');
        stderr.truncate(end.unwrap_or_default());
    }
    stderr
}

/// Reads the first `most` bytes of a pipe; the rest is read and dropped, so that nobody waits for us.
async fn beginning(mut pipe: impl AsyncRead + Unpin, most: u64) -> Vec<u8> {
    let mut kept = Vec::new();
    // What can't be read is as if it were not written.
    let _ = (&mut pipe).take(most).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    kept
}
