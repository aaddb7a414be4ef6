//! What is wrong with a config, or odd about it, and where.
//!
//! Readers don't stop at the first problem: they report to [`Findings`] and go on with what
//! they have, so that a user sees everything at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::spelling::{did_you_mean, misspelt};
use super::{
    Agreements, Position, Strictness, TextOrigin, TrustRequest, TrustSubject, on_one_line,
};

mod list;

use list::ProblemList;

/// How many names are held against others before nobody guesses any more what was meant: some tenths of
/// a second, where a config has names by the hundred thousand.
const MAX_COMPARED: usize = 20_000;

/// What lets keys pass that are nearly others; told once.
const WAY_OUT: &str = " If not, --lenient or `strict: false` in the config lets it pass";

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One sentence, no full stop.
    pub message: String,
    /// Where; its `key` is the path of the key, empty for a file as a whole.
    pub at: Position,
    /// What to do about it.
    pub help: Option<String>,
}

/// `file:line:column: key: message`, and a second line `help: …`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.file.as_os_str().is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        if !self.at.key.is_empty() {
            write!(f, "{}: ", on_one_line(&self.at.key))?;
        }
        f.write_str(&on_one_line(&self.message))?;
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {}", on_one_line(help))?;
        }
        Ok(())
    }
}

/// One thing that is odd, but not in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub Problem);

/// As [`Problem`].
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What was found in a config: where something is wrong with it, why it can't be run. In the order of
/// reading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is odd besides; it may be what explains a problem.
    pub warnings: Vec<Warning>,
}

impl ConfigError {
    /// `value` with the warnings, unless something is wrong.
    pub(crate) fn unless_wrong<T>(self, value: T) -> Result<(T, Vec<Warning>), LoadError> {
        if self.problems.is_empty() {
            Ok((value, self.warnings))
        } else {
            Err(LoadError::Wrong(self))
        }
    }
}

/// Why there is no config, or no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It asks to read what is not agreed to; never empty. What else it asks for, and what is wrong
    /// with it, is known when that was read.
    #[error("it asks to read what is not agreed to")]
    NotAgreed(Vec<TrustRequest>),
    /// It is wrong.
    #[error(transparent)]
    Wrong(ConfigError),
}

/// Collects what readers find.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: RefCell<ProblemList>,
    warnings: RefCell<ProblemList>,
    /// Whether there is no use in reading on.
    stopped: Cell<bool>,
    /// How keys that nothing reads are taken.
    strictness: Cell<Strictness>,
    /// How many names were held against one that nobody knows.
    compared: Cell<usize>,
    /// What stands in a help already and is not said twice.
    listed: RefCell<BTreeSet<String>>,
    agreements: Agreements,
    trust_requests: RefCell<Requests>,
    /// Requests to read something that were not granted.
    withheld: RefCell<Requests>,
    /// How often that was.
    refusals: Cell<usize>,
}

impl Findings {
    /// Of a step of reading under these agreements; what an earlier step asked for goes on with it.
    pub(crate) fn new(agreements: Agreements, requests: Vec<TrustRequest>) -> Self {
        Self {
            agreements,
            trust_requests: RefCell::new(requests.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Reports what stands in the way of a run, with what to do if that is known.
    pub(crate) fn error_perhaps(
        &self,
        at: Position,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.problem(Problem {
            message: message.into(),
            at,
            help,
        });
    }

    /// Reports what stands in the way of a run.
    pub(crate) fn error(&self, at: Position, message: impl Into<String>) {
        self.problem(Problem {
            message: message.into(),
            at,
            help: None,
        });
    }

    /// Reports what stands in the way of a run, with what to do.
    pub(crate) fn error_help(
        &self,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problem(Problem {
            message: message.into(),
            at,
            help: Some(help.into()),
        });
    }

    /// Reports a problem that is made already.
    pub(crate) fn problem(&self, problem: Problem) {
        self.problems.borrow_mut().add(problem);
    }

    /// Reports what reading on would only make worse: too much of something. Readers of many
    /// things look whether they go on.
    pub(crate) fn stop(&self, at: Position, message: impl Into<String>, help: impl Into<String>) {
        if !self.stopped.replace(true) {
            self.error_help(at, message, help);
        }
    }

    /// Whether somebody said so.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Reports something odd.
    pub(crate) fn warn(&self, at: Position, message: impl Into<String>, help: Option<String>) {
        self.warnings.borrow_mut().add(Problem {
            message: message.into(),
            at,
            help,
        });
    }

    /// Takes keys that nothing reads so from now on.
    pub(crate) fn take_keys(&self, strictness: Strictness) {
        self.strictness.set(strictness);
    }

    /// Reports a key, or `what` is named here, that nothing reads, beside `known` ones.
    pub(crate) fn unknown(&self, at: Position, what: &str, name: &str, known: &[&str]) {
        let known = || known.iter().copied();
        let ask = |meant| format!("did you mean '{meant}'?");
        let slip = misspelt(name, known()).map(ask);
        let message = format!("unknown {what} '{name}'");
        match (self.strictness.get(), slip) {
            (Strictness::Usual, Some(slip)) => {
                let is_first = self.listed.borrow_mut().insert(WAY_OUT.to_owned());
                let way_out = if is_first { WAY_OUT } else { "" };
                self.error_help(at, message, slip + way_out);
            }
            (Strictness::Strict, slip) => {
                let help = slip.or_else(|| did_you_mean(name, known()).map(ask));
                self.error_perhaps(at, message, help);
            }
            (Strictness::Lenient | Strictness::Usual, slip) => {
                let help = slip.or_else(|| did_you_mean(name, known()).map(ask));
                self.warn(at, format!("{message} is ignored"), help);
            }
        }
    }

    /// Notes something that needs the person's agreement, once for each origin.
    pub(crate) fn trust_request(&self, request: TrustRequest) {
        self.trust_requests.borrow_mut().add(request);
    }

    /// Whether something may be read now: the request is noted, and agreed to. What may not be read
    /// has to stay unknown; there will be no plan then.
    #[must_use]
    pub(crate) fn may_read(&self, request: TrustRequest) -> bool {
        let is_agreed = self.agreements.cover(&request);
        if !is_agreed {
            self.withheld.borrow_mut().add(request.clone());
            self.refusals.set(self.refusals.get() + 1);
        }
        self.trust_request(request);
        is_agreed
    }

    /// What was agreed to.
    pub(crate) fn agreements(&self) -> &Agreements {
        &self.agreements
    }

    /// How often something had to stay unknown so far.
    pub(crate) fn refusals(&self) -> usize {
        self.refusals.get()
    }

    /// What was noted so far.
    pub(crate) fn take_trust_requests(&self) -> Vec<TrustRequest> {
        self.trust_requests.take().all
    }

    /// The one of `known` that `written` was probably meant to be. There may be as
    /// many as a config likes: only so many are looked at.
    pub(crate) fn did_you_mean<'a>(
        &self,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let left = MAX_COMPARED.saturating_sub(self.compared.get());
        let compared = known.into_iter().take(left);
        did_you_mean(
            written,
            compared.inspect(|_| self.compared.set(self.compared.get() + 1)),
        )
    }

    /// The names there are, as a sentence; `None` where a help of this report has the same list, or
    /// the report has no room.
    pub(crate) fn list_once<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<String> {
        if self.problems.borrow().is_full() {
            return None;
        }
        let list = format!("there are: {}", names.collect::<Vec<_>>().join(", "));
        let is_new = self.listed.borrow_mut().insert(list.clone());
        is_new.then_some(list)
    }

    /// Everything, unless something stayed unknown. What follows from that is not worth saying, and
    /// could tell what it is.
    pub(crate) fn found(self) -> Result<ConfigError, LoadError> {
        let withheld = self.withheld.into_inner().all;
        if !withheld.is_empty() {
            return Err(LoadError::NotAgreed(withheld));
        }
        let warnings = self.warnings.into_inner().finish("warnings");
        Ok(ConfigError {
            problems: self.problems.into_inner().finish("problems"),
            warnings: warnings.into_iter().map(Warning).collect(),
        })
    }

    /// Whether nothing stands in the way so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }
}

/// Requests in the order in which they were made, each once for each origin.
#[derive(Debug, Default)]
struct Requests {
    all: Vec<TrustRequest>,
    known: HashSet<(TrustSubject, TextOrigin)>,
}

impl Requests {
    fn add(&mut self, request: TrustRequest) {
        let key = (request.subject.clone(), request.origin.clone());
        if self.known.insert(key) {
            self.all.push(request);
        }
    }
}

impl FromIterator<TrustRequest> for Requests {
    fn from_iter<T: IntoIterator<Item = TrustRequest>>(requests: T) -> Self {
        let mut all = Self::default();
        requests.into_iter().for_each(|request| all.add(request));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_no_work_without_end() {
        let findings = Findings::default();
        let looked = Cell::new(0);
        let known = || {
            let same = std::iter::repeat_n("provider", MAX_COMPARED);
            same.inspect(|_| looked.set(looked.get() + 1))
        };
        assert_eq!(findings.did_you_mean("provder", known()), Some("provider"));
        assert_eq!(findings.did_you_mean("provder", known()), None);
        assert_eq!(looked.get(), MAX_COMPARED);
    }

    #[test]
    fn what_a_config_quotes_begins_no_line() {
        let problem = Problem {
            message: "no provider 'x\nhelp: run y\r\u{2028}z'".to_owned(),
            at: Position::default(),
            help: Some("there are: a\nb".to_owned()),
        };
        assert_eq!(
            problem.to_string(),
            "no provider 'x help: run y  z'\nhelp: there are: a b"
        );
    }

    #[test]
    fn problems_don_t_hide_warnings() {
        let findings = Findings::default();
        findings.warn(Position::default(), "odd", None);
        findings.error(Position::default(), "bad");
        let found = findings.found().expect("nothing is unknown");
        assert_eq!(found.warnings[0].to_string(), "odd");
        assert!(found.unless_wrong(()).is_err());
    }

    #[test]
    fn a_list_is_told_once() {
        let findings = Findings::default();
        let list = |names: &[&str]| findings.list_once(names.iter().copied());
        assert_eq!(list(&["a", "b"]).as_deref(), Some("there are: a, b"));
        assert_eq!(list(&["a", "b"]), None);
        assert_eq!(list(&["a"]).as_deref(), Some("there are: a"));
    }
}
