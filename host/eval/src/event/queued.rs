//! A consumer that may take its time, on a thread of its own: what it is told waits in a queue.
//!
//! The queue has an end. What comes once it is full waits here, and the run begins no new case until
//! there is room again: so a slow disk costs time, and neither memory nor an answer to Ctrl-C.

use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::PollSender;

use super::{Consumer, Event};

/// Events that wait for the consumer. So many may be untold, at most, of what the store has when the
/// process is killed, beside those of cases in flight.
const WAITING: usize = 128;

/// A consumer behind a queue.
pub struct QueuedConsumer {
    events: PollSender<Event>,
    /// What the queue has no room for, in order.
    backlog: VecDeque<Event>,
    ended: oneshot::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl QueuedConsumer {
    /// Starts the thread on which `consumer` is told of events, in their order.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(name: &str, mut consumer: impl Consumer + 'static) -> io::Result<Self> {
        let (events, mut queue) = mpsc::channel(WAITING);
        let (end, ended) = oneshot::channel();
        let tell = move || {
            while let Some(event) = queue.blocking_recv() {
                consumer.on_event(&event);
            }
            // A run that was given up listens no more.
            let _ = end.send(());
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(tell)?;
        Ok(Self {
            events: PollSender::new(events),
            backlog: VecDeque::new(),
            ended,
            thread: Some(thread),
        })
    }
}

impl Consumer for QueuedConsumer {
    fn on_event(&mut self, event: &Event) {
        self.backlog.push_back(event.clone());
        // Whoever waits for room is woken by a waker of his own.
        let _ = self.poll_room(&mut Context::from_waker(Waker::noop()));
    }

    fn is_behind(&self) -> bool {
        !self.backlog.is_empty()
    }

    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.backlog.is_empty() {
            let place = ready!(self.events.poll_reserve(context));
            let event = self.backlog.pop_front();
            // Once the thread has ended there is nobody to tell.
            if let (Ok(()), Some(event)) = (place, event) {
                let _ = self.events.send_item(event);
            }
        }
        Poll::Ready(())
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_room(context));
        self.events.close();
        if self.thread.is_none() {
            return Poll::Ready(());
        }
        let ended = ready!(Pin::new(&mut self.ended).poll(context));
        if let (Err(_), Some(thread)) = (ended, self.thread.take())
            && let Err(panic) = thread.join()
        {
            resume_unwind(panic);
        }
        self.thread = None;
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Takes an event when it is let.
    struct Slow(Receiver<()>, Sender<String>);

    impl Consumer for Slow {
        fn on_event(&mut self, event: &Event) {
            self.0.recv().expect("it is let go on");
            if let Event::Notice { message } = event {
                self.1.send(message.clone()).expect("the test listens");
            }
        }
    }

    fn notice(number: usize) -> Event {
        Event::Notice {
            message: number.to_string(),
        }
    }

    #[tokio::test]
    async fn whoever_is_slow_is_behind_and_misses_nothing() {
        let (go, let_go) = channel();
        let (seen, heard) = channel();
        let slow = Slow(let_go, seen);
        let mut queued = QueuedConsumer::start("slow", slow).expect("a thread");
        let many = WAITING + 3;
        // One is with the consumer, or not yet.
        for number in 0..many {
            queued.on_event(&notice(number));
        }
        assert!(queued.is_behind());
        for _ in 0..many {
            go.send(()).expect("it listens");
        }
        poll_fn(|context| queued.poll_room(context)).await;
        assert!(!queued.is_behind());
        poll_fn(|context| queued.poll_ended(context)).await;
        let heard: Vec<String> = heard.try_iter().collect();
        let all: Vec<String> = (0..many).map(|number| number.to_string()).collect();
        assert_eq!(heard, all);
    }

    #[tokio::test]
    #[should_panic(expected = "on purpose")]
    async fn a_panic_is_the_runs_own() {
        struct Broken;
        impl Consumer for Broken {
            fn on_event(&mut self, _: &Event) {
                panic!("on purpose");
            }
        }
        let mut queued = QueuedConsumer::start("broken", Broken).expect("a thread");
        queued.on_event(&notice(0));
        poll_fn(|context| queued.poll_ended(context)).await;
    }
}
