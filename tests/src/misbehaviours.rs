//! The list of what the hostile guest does (`guests/hostile/README.md`), as its tests read it.

use std::time::Duration;

const LIST: &str = include_str!("../guests/hostile/README.md");

/// A line of the list's tables.
#[derive(Debug, Clone, Copy)]
pub struct Misbehaviour {
    /// What the guest does.
    pub name: &'static str,
    /// File and function of the test that runs it.
    pub test: &'static str,
    /// Most memory that the process may take for it.
    mebibytes: u64,
    /// Most CPU time, of all threads.
    time: Duration,
}

impl Misbehaviour {
    /// All that are listed.
    pub fn listed() -> impl Iterator<Item = Self> {
        let lines = LIST.lines().filter(|line| line.starts_with("| `"));
        lines.map(Self::read)
    }

    /// The one of this name.
    #[track_caller]
    pub fn named(name: &str) -> Self {
        let row = Self::listed().find(|row| row.name == name);
        row.unwrap_or_else(|| panic!("`{name}` is not listed"))
    }

    /// Asserts that no more was taken than the list allows.
    #[track_caller]
    pub fn allows(&self, mebibytes: u64, time: Duration) {
        let Self {
            name,
            mebibytes: most,
            time: longest,
            ..
        } = self;
        println!("{name}: {mebibytes} MiB at most, {time:?} of CPU");
        assert!(
            mebibytes <= *most,
            "{name}: {mebibytes} MiB, at most {most}"
        );
        assert!(
            time <= *longest,
            "{name}: {time:?} of CPU, at most {longest:?}"
        );
    }

    fn read(line: &'static str) -> Self {
        let cells: Vec<&str> = line
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let bounds = cells[5].strip_suffix(" s");
        let bounds = bounds.and_then(|bounds| bounds.split_once(" MiB, "));
        let (memory, time) = bounds.unwrap_or_else(|| panic!("no bounds: {line}"));
        Self {
            name: cells[1],
            test: cells[4],
            mebibytes: memory.parse().expect("a number of mebibytes"),
            time: Duration::from_secs(time.parse().expect("a number of seconds")),
        }
    }
}
