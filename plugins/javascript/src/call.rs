//! What belongs to one call: the files that were handed over, console lines, randomness.
//!
//! The engine calls back without a place to carry it, so it lies beside the machine, one per
//! thread, from the beginning of a call to its end.

use std::cell::RefCell;
use std::collections::HashMap;

use runner_plugin::script::{Form, Level, Line, Position, Program};

use crate::shape::Added;

/// Console lines that are kept; the host keeps no more either.
const MAX_LINES: usize = 256;

/// Bytes of one console line that are kept, likewise.
const MAX_LINE_BYTES: usize = 8 << 10;

thread_local! {
    static CALL: RefCell<Call> = RefCell::default();
}

/// The call that runs.
#[derive(Default)]
pub(crate) struct Call {
    /// What messages call the program.
    pub(crate) name: String,
    /// Source by path. Holds the program too if it is a file.
    pub(crate) sources: HashMap<String, String>,
    /// What was put into a file's text before it was compiled.
    pub(crate) added: HashMap<String, Added>,
    /// A module did not compile.
    pub(crate) broken: bool,
    /// The path of an ES module that is about to be imported because it was required: the
    /// engine asks for its resolution too.
    pub(crate) required: Option<String>,
    /// The import that was looked at last.
    pub(crate) import_at: Option<Position>,
    /// The code may send requests.
    pub(crate) may_ask: bool,
    /// The requests that it waits for, as JSON: it is run again with their answers.
    pub(crate) asked: Option<String>,
    console: Vec<Line>,
    dropped: usize,
    random: u64,
}

impl Call {
    /// Makes `program` the call that runs.
    pub(crate) fn begin(program: &Program, call_id: &str) {
        let files = program.modules.iter();
        let mut sources: HashMap<_, _> = files
            .map(|module| (module.path.clone(), module.source.clone()))
            .collect();
        if program.form == Form::File {
            sources.insert(program.name.clone(), program.source.clone());
        }
        CALL.replace(Self {
            name: program.name.clone(),
            sources,
            random: hash(call_id),
            ..Self::default()
        });
    }

    /// Ends it and gives its console lines.
    pub(crate) fn end() -> Vec<Line> {
        let Self {
            mut console,
            dropped,
            ..
        } = CALL.take();
        if dropped > 0 {
            console.push(Line {
                level: Level::Warn,
                text: format!("{dropped} more lines dropped"),
            });
        }
        console
    }

    /// Looks at the call or changes it. Not to be held while the engine runs.
    pub(crate) fn with<T>(act: impl FnOnce(&mut Self) -> T) -> T {
        CALL.with_borrow_mut(act)
    }

    /// Keeps a console line.
    pub(crate) fn emit(&mut self, level: Level, mut text: String) {
        if self.console.len() == MAX_LINES {
            self.dropped += 1;
            return;
        }
        text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
        self.console.push(Line { level, text });
    }

    /// Draws the next pseudo-random number, at least 0 and below 1 (SplitMix64).
    pub(crate) fn random(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 * 2.0_f64.powi(-53)
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
