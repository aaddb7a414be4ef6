//! The model API of runs that are killed: it counts who is asked what, and says when something
//! has come about.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::answer::Answer;
use crate::model_api::ModelApi;

/// What a prompt is answered with.
pub(super) fn answer_to(prompt: &str) -> String {
    format!("heard: {prompt}")
}

/// The prompt that was answered so.
pub(super) fn prompt_of(answer: &str) -> Option<&str> {
    answer.strip_prefix("heard: ")
}

/// When a session is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The n-th request has arrived, from 1.
    Arrives(usize),
    /// The n-th answer has left the server, from 1.
    Answered(usize),
    /// So much time has passed since the start of the process.
    After(Duration),
}

/// What the one who kills waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The moment has come.
    Due,
    /// The process has ended by itself.
    Ended,
}

/// A server whose answers take from nothing to `latency`, each its own time.
pub(super) struct Server {
    pub(super) api: ModelApi,
    book: Book,
}

/// What happened in this session. Clones are the same.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    calls: HashMap<String, u32>,
    arrived: usize,
    answered: usize,
    awaited: Option<(Moment, Sender<News>)>,
}

impl Server {
    pub(super) fn start(latency: Duration) -> Self {
        let api = ModelApi::start();
        let book = Book::default();
        let theirs = book.clone();
        api.rule(move |seen| {
            let prompt = seen.last_user_message()?;
            let number = theirs.arrives(prompt);
            // Neighbours take different times, so that they end in another order.
            let share = (number * 7 % 11) as u32;
            let answer = Answer::text(&answer_to(prompt)).after(latency * share / 10);
            Some(answer.holding(Answered(theirs.clone())))
        });
        Self { api, book }
    }

    /// Begins a session: counts from nothing, and tells when the moment has come.
    pub(super) fn begin(&self, moment: Option<Moment>, news: &Sender<News>) {
        let mut entries = self.book.entries();
        *entries = Entries {
            awaited: moment.map(|moment| (moment, news.clone())),
            ..Entries::default()
        };
    }

    /// Calls of this session by prompt.
    pub(super) fn calls(&self) -> HashMap<String, u32> {
        self.book.entries().calls.clone()
    }
}

/// Is dropped when an answer was given.
struct Answered(Book);

impl Drop for Answered {
    fn drop(&mut self) {
        let mut entries = self.0.entries();
        entries.answered += 1;
        entries.tell();
    }
}

impl Book {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrives(&self, prompt: &str) -> usize {
        let mut entries = self.entries();
        *entries.calls.entry(prompt.to_owned()).or_default() += 1;
        entries.arrived += 1;
        entries.tell();
        entries.arrived
    }
}

impl Entries {
    fn tell(&mut self) {
        let (arrived, answered) = (self.arrived, self.answered);
        let due = self.awaited.take_if(|(moment, _)| match moment {
            Moment::Arrives(nth) => arrived >= *nth,
            Moment::Answered(nth) => answered >= *nth,
            Moment::After(_) => false,
        });
        if let Some((_, news)) = due {
            // Nobody listens any more when the process has ended meanwhile.
            let _ = news.send(News::Due);
        }
    }
}
