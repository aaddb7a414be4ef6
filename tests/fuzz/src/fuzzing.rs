//! The loop: make an input, try it, keep it if it led to something new.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::corpus;
use crate::mutation::{Chance, change};
use crate::targets::Target;

/// Inputs that are changed further; beyond it new ones take the place of old ones.
const MAX_INPUTS: usize = 2000;

/// How long one input may take: a thousand times what the slowest takes.
const MAX_TIME: Duration = Duration::from_secs(30);

/// An input that broke a promise.
#[derive(Debug)]
pub struct Found {
    /// What was broken.
    pub what: String,
    /// Where the input was written.
    pub file: PathBuf,
}

/// What is known while a target is tried.
pub struct Fuzzing<'a> {
    target: &'a Target,
    chance: Chance,
    inputs: Vec<Vec<u8>>,
    seen: HashSet<u64>,
    /// The input that is tried.
    file: PathBuf,
    /// How many were tried.
    tried: Arc<AtomicU64>,
}

impl<'a> Fuzzing<'a> {
    /// Begins with what is kept. The input that is tried is written to `work`, so that it is
    /// there after a crash.
    ///
    /// # Panics
    /// If the folder can't be made.
    pub fn new(target: &'a Target, seed: u64, work: &Path) -> Self {
        fs::create_dir_all(work).expect("a folder for the inputs that are tried");
        Self {
            target,
            chance: Chance::new(seed),
            inputs: Vec::new(),
            seen: HashSet::new(),
            file: work.join(target.name),
            tried: Arc::default(),
        }
    }

    /// Tries every input that is kept.
    ///
    /// # Errors
    /// The first one that breaks a promise.
    pub fn replay(&mut self) -> Result<(), Found> {
        for (_, input) in corpus::kept(self.target.name) {
            self.attempt(&input)?;
            self.inputs.push(input);
        }
        Ok(())
    }

    /// Tries new inputs for so long.
    ///
    /// # Errors
    /// The first one that breaks a promise.
    pub fn run(&mut self, time: Duration) -> Result<(), Found> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let mut input = self.pick();
            let other = self.pick();
            change(&mut input, self.target.words, &other, &mut self.chance);
            input.truncate(self.target.longest);
            if self.attempt(&input)? {
                if self.inputs.len() < MAX_INPUTS {
                    self.inputs.push(input);
                } else {
                    let place = self.chance.below(MAX_INPUTS);
                    self.inputs[place] = input;
                }
            }
        }
        Ok(())
    }

    /// How many different things the inputs led to.
    pub fn outcomes(&self) -> usize {
        self.seen.len()
    }

    /// How many inputs were tried.
    pub fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Ends the process when an input takes for ever, and says which.
    pub fn watch(&self) {
        let (tried, file) = (Arc::downgrade(&self.tried), self.file.clone());
        std::thread::spawn(move || {
            let mut last = 0;
            // Until it is over.
            while let Some(tried) = tried.upgrade() {
                let now = tried.load(Ordering::Relaxed);
                drop(tried);
                if now == last && now > 0 {
                    let seconds = MAX_TIME.as_secs();
                    eprintln!("an input takes more than {seconds} s: {}", file.display());
                    std::process::abort();
                }
                last = now;
                std::thread::sleep(MAX_TIME);
            }
        });
    }

    fn pick(&mut self) -> Vec<u8> {
        match self.inputs.len() {
            0 => Vec::new(),
            len => self.inputs[self.chance.below(len)].clone(),
        }
    }

    /// Tries one input; says whether it led to something new.
    fn attempt(&mut self, input: &[u8]) -> Result<bool, Found> {
        self.tried.fetch_add(1, Ordering::Relaxed);
        // Before it is tried: a stack that overflows leaves no time for it.
        fs::write(&self.file, input).expect("the input can be written");
        let found = |what: String| {
            let mut hasher = DefaultHasher::new();
            input.hash(&mut hasher);
            let name = format!("{}-{:016x}", self.target.name, hasher.finish());
            let file = self.file.with_file_name(name);
            fs::write(&file, input).expect("the input can be written");
            Found { what, file }
        };
        let run = AssertUnwindSafe(|| (self.target.run)(input));
        let (result, peak) = runner_tests::peak(|| panic::catch_unwind(run));
        let outcome = result.map_err(|panicked| {
            let text = panicked.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panicked.downcast_ref::<&str>().map(ToString::to_string));
            found(text.unwrap_or_default())
        })?;
        let bound = self.target.base + self.target.times * input.len();
        if peak > bound {
            let len = input.len();
            return Err(found(format!(
                "{peak} bytes of memory for {len}; {bound} are promised"
            )));
        }
        let mut hasher = DefaultHasher::new();
        // Numbers and names would make everything new.
        let words = outcome.split(|c: char| !c.is_alphabetic());
        words.for_each(|word| word.hash(&mut hasher));
        Ok(self.seen.insert(hasher.finish()))
    }
}
