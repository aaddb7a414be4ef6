//! Where the results of a run go: the store, and who reads the events.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{Either, select};
use runner_store::Store;

use super::{Interrupts, notices};
use crate::error::RunError;
use crate::event::{Consumer, Event};
use crate::recorder::{Recorder, Unsaved};
use crate::rescue::rescue;
use crate::state::StoreState;
use crate::summary::Summary;

/// Where the results of a run go.
pub(crate) struct Outlets {
    pub(crate) recorder: Recorder,
    /// What it does not take is rescued beside it.
    pub(crate) store: Store,
    pub(crate) consumers: Vec<Box<dyn Consumer>>,
}

impl Outlets {
    /// Whether results can be taken. A consumer that is behind holds the run up as the store does.
    pub(super) fn state(&self) -> StoreState {
        let is_behind = self.consumers.iter().any(|consumer| consumer.is_behind());
        match self.recorder.state() {
            StoreState::Ready if is_behind => StoreState::Behind,
            state => state,
        }
    }

    /// Waits until something that was behind has room again.
    pub(super) async fn have_room(&mut self) {
        let consumers = self.consumers.iter_mut();
        let behind = consumers.filter(|consumer| consumer.is_behind());
        let mut behind: Vec<_> = behind.collect();
        let caught_up = poll_fn(|context| {
            let mut all = behind
                .iter_mut()
                .map(|consumer| consumer.poll_room(context));
            if all.any(|room| room.is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        select(pin!(self.recorder.has_room()), caught_up).await;
    }

    /// Tells all of an event.
    pub(super) fn emit(&mut self, event: &Event) {
        for consumer in &mut self.consumers {
            consumer.on_event(event);
        }
    }

    /// Waits until everything is kept, and was told to those who read the events.
    ///
    /// # Errors
    /// When results could not be stored, or those of before not be read.
    pub(super) async fn close(
        mut self,
        summary: &Arc<Summary>,
        unread: Option<RunError>,
        interrupts: &Interrupts,
    ) -> Result<(), RunError> {
        {
            let mut closed = pin!(self.recorder.close(summary));
            while let Either::Left(((), _)) = select(pin!(interrupts.next()), &mut closed).await {
                for consumer in &mut self.consumers {
                    consumer.on_event(&notices::closing());
                }
            }
        }
        let kept = kept(self.recorder, &self.store, summary, unread);
        for consumer in &mut self.consumers {
            if kept.is_ok() {
                consumer.on_event(&Event::RunFinished(summary.clone()));
            }
            poll_fn(|context| consumer.poll_ended(context)).await;
        }
        kept
    }
}

/// Whether everything is kept, once the store was closed; what is not is rescued beside it.
fn kept(
    recorder: Recorder,
    store: &Store,
    summary: &Summary,
    unread: Option<RunError>,
) -> Result<(), RunError> {
    if let Err(Unsaved { error, records }) = recorder.finish() {
        let has_room =
            |file: &Path, bytes| store.check_rescue(file, bytes).map_err(io::Error::other);
        let place = rescue(store.path(), &summary.run_id, &records, has_room);
        return Err(RunError::Unsaved {
            rows: records.len(),
            place,
            source: error,
        });
    }
    unread.map_or(Ok(()), Err)
}
