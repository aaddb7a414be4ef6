//! Ends the program before the machine has no memory left.
//!
//! What strangers write has bounds where it is read, and cases share what they may take
//! (`docs/security.md`). Each of these bounds counts one thing; this one counts all of them as the
//! system does, so that what nobody thought of costs the run and not the machine. It is far beyond
//! what the others allow together, and no way to run with less memory: `-j` is.
//!
//! No limit of the system does it: that on address space (`RLIMIT_AS`) counts what the sandbox
//! reserves and never uses, that on data fails one allocation, somewhere, without a word. So the
//! program looks by itself. What it kept is in the database, as when it is killed.

use std::process;
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// The limit where the machine has more, in bytes. All that a run may take by the other bounds
/// together is some 10 GiB: 4 for its tests, half for its prompts, 4 for cases in flight, 1 for
/// answers that wait for others.
const USUAL: u64 = 12 << 30;

/// Between two looks. What can be allocated in between is less than the rest of the machine.
const PAUSE: Duration = Duration::from_millis(20);

/// What a config's own programs take is looked at each so many looks: it is in as many files of the
/// system as there are processes.
const PROGRAMS: u32 = 10;

/// Looks from now on whether the program takes more than `limit` bytes; by default, three quarters
/// of the machine or [`USUAL`]. Where the system doesn't say what it takes (not on Linux), nobody
/// looks.
///
/// # Errors
/// When it takes more already.
pub(crate) fn watch(limit: Option<u64>) -> Result<(), Failure> {
    let Some(limit) = limit.or_else(of_machine) else {
        return Ok(());
    };
    look(limit, 0)?;
    let looking = move || {
        let mut programs = 0;
        for looks in (0..PROGRAMS).cycle() {
            if looks == 0 {
                programs = runner_process::memory_of_all();
            }
            if let Err(failure) = look(limit, programs) {
                let code = failure.code();
                failure.print();
                process::exit(code.into());
            }
            thread::sleep(PAUSE);
        }
    };
    // Without a thread to spare there is no run either, and that is said where it fails.
    drop(thread::Builder::new().name("memory".into()).spawn(looking));
    Ok(())
}

/// Compares memory with the limit; `programs` is what the programs take that it has started.
fn look(limit: u64, programs: u64) -> Result<(), Failure> {
    let used = figures_of("/proc/self/status", &["RssAnon:", "VmSwap:"]);
    match used {
        Some(used) if used + programs > limit => Err(too_much(limit)),
        _ => Ok(()),
    }
}

fn too_much(limit: u64) -> Failure {
    let mib = limit >> 20;
    let error = anyhow::anyhow!(
        "the program takes more than {mib} MiB of memory, with what it has started, so it has ended"
    );
    Failure::from(error).help(
        "results that were stored are kept, see `runner list` and `eval --resume`; a smaller -j takes less; RUNNER_MEMORY_LIMIT sets another limit, in MiB",
    )
}

/// Three quarters of the memory that the machine or its container has, at most [`USUAL`].
pub(crate) fn of_machine() -> Option<u64> {
    let machine = figures_of("/proc/meminfo", &["MemTotal:"])?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok());
    let there = container.map_or(machine, |container: u64| container.min(machine));
    Some((there / 4 * 3).min(USUAL))
}

/// The sum of some lines of a file of the system: `name   number kB`. In bytes.
fn figures_of(path: &str, names: &[&str]) -> Option<u64> {
    sum_of(&std::fs::read_to_string(path).ok()?, names)
}

fn sum_of(text: &str, names: &[&str]) -> Option<u64> {
    let figure = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    };
    names.iter().map(figure).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_added_if_all_are_there() {
        let text = "Name:\tx\nRssAnon:\t    40 kB\nRssFile:\t 9 kB\nVmSwap:\t 2 kB\n";
        assert_eq!(sum_of(text, &["RssAnon:", "VmSwap:"]), Some(42 << 10));
        assert_eq!(sum_of(text, &["RssAnon:", "VmLck:"]), None);
        assert_eq!(sum_of("RssAnon: 4 pages", &["RssAnon:"]), None);
    }
}
