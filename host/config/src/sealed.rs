//! What there is to say about texts that may not have been agreed to read.
//!
//! A problem may quote the file that has it, or the variable that a text takes in. Whoever reads a
//! terminal or the log of a workflow would see what nobody agreed to show. So messages leave this
//! crate sealed together with the requests that they may quote from, and there is no way to them
//! but [`Sealed::open`], which wants an answer to each.

use std::fmt;

use crate::trust::TrustRequest;

/// Something that may quote what these requests are about.
#[derive(Clone)]
pub struct Sealed<T> {
    inside: T,
    requests: Vec<TrustRequest>,
}

impl<T> Sealed<T> {
    /// Seals what may quote from any of `requests`: those of them that a message can quote count,
    /// in the order of their places.
    pub fn new(inside: T, requests: &[TrustRequest]) -> Self {
        let quoted = requests.iter().filter(|it| it.subject.is_quoted());
        let mut requests: Vec<TrustRequest> = quoted.cloned().collect();
        requests.sort_by(|one, other| one.at.cmp(&other.at));
        Self { inside, requests }
    }

    /// What has to be agreed to.
    pub fn requests(&self) -> &[TrustRequest] {
        &self.requests
    }

    /// What is inside, if every request is agreed to.
    ///
    /// # Errors
    /// Itself, when one is not.
    pub fn open(self, is_agreed: impl FnMut(&TrustRequest) -> bool) -> Result<T, Self> {
        if self.requests.iter().all(is_agreed) {
            Ok(self.inside)
        } else {
            Err(self)
        }
    }

    /// The same of something that is made of what is inside.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Sealed<U> {
        Sealed {
            inside: make(self.inside),
            requests: self.requests,
        }
    }
}

impl<T> Sealed<Vec<T>> {
    /// How many there are inside.
    pub fn count(&self) -> usize {
        self.inside.len()
    }
}

/// What is inside, where nothing has to be agreed to.
impl<T: fmt::Display> fmt::Display for Sealed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            self.inside.fmt(f)
        } else {
            f.write_str("what is wrong can be told once what was asked for is agreed to")
        }
    }
}

impl<T: std::error::Error> std::error::Error for Sealed<T> {}

/// What is inside, where nothing has to be agreed to.
impl<T: fmt::Debug> fmt::Debug for Sealed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            self.inside.fmt(f)
        } else {
            write!(f, "sealed until agreed to: {:?}", self.requests)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Position;
    use crate::trust::{Origin, TrustSubject};

    fn request(subject: TrustSubject) -> TrustRequest {
        TrustRequest {
            subject,
            origin: Origin::Config,
            at: Position::default(),
        }
    }

    fn read(path: &str) -> TrustRequest {
        request(TrustSubject::Read { path: path.into() })
    }

    #[test]
    fn it_opens_when_all_that_it_may_quote_is_agreed_to_and_shows_nothing_before() {
        let sealed = Sealed::new("secret", &[read("/a"), read("/b")]);
        let half = sealed.open(|request| *request == read("/a"));
        let sealed = half.expect_err("one is not agreed to");
        assert!(!format!("{sealed:?}").contains("secret"));
        assert_eq!(sealed.map(str::len).open(|_| true).expect("agreed"), 6);
    }

    #[test]
    fn what_no_message_can_quote_holds_nothing_back() {
        let address = request(TrustSubject::Address {
            origin: "http://10.0.0.1".to_owned(),
        });
        let sealed = Sealed::new("told", &[address]);
        assert_eq!(format!("{sealed:?}"), "\"told\"");
        assert_eq!(sealed.open(|_| false).expect("nothing to agree to"), "told");
    }
}
