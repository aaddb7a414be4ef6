//! A run that grows: what a page is told of it while it does.
//!
//! The process that writes a run is another one, so the file is asked again and again, less often
//! the longer an answer takes. How its lanes stand that process writes down about once a second.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use runner_store::{Outcome, RunState, StoreError};
use runner_telling::{figures, time_left};
use serde_json::{Value, json};

use crate::left::StoredSummary;
use crate::pages::lanes;
use crate::request::Body;
use crate::site::Site;
use crate::sums::Tally;

/// The time between two questions, at least.
const PAUSE: Duration = Duration::from_millis(700);

/// What has been told.
struct Teller {
    site: Arc<Site>,
    id: String,
    pause: Duration,
    told: String,
    /// The charts of its lanes, as they were told last.
    lanes: String,
    over: bool,
}

/// Events until the run has ended, or nobody listens.
pub(crate) fn stream(site: Arc<Site>, id: String) -> Body {
    let teller = Teller {
        site,
        id,
        pause: Duration::ZERO,
        told: String::new(),
        lanes: String::new(),
        over: false,
    };
    let events = stream::unfold(teller, |mut teller| async move {
        if teller.over {
            return None;
        }
        tokio::time::sleep(teller.pause).await;
        let event = teller.next().await;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), teller))
    });
    StreamBody::new(events).boxed_unsync()
}

impl Teller {
    /// Waits for the next event; a comment where there is nothing new, by which a connection that
    /// is gone is noticed.
    async fn next(&mut self) -> String {
        let (site, id) = (self.site.clone(), self.id.clone());
        let asked = Instant::now();
        let answer = tokio::task::spawn_blocking(move || state(&site, &id)).await;
        self.pause = PAUSE.max(asked.elapsed() * 4);
        let Ok(Ok((ended, state, lanes))) = answer else {
            self.over = true;
            return "event: end\ndata: {}\n\n".to_owned();
        };
        self.over = ended;
        let (state, mut events) = (state.to_string(), String::new());
        if lanes != self.lanes {
            let charts = json!({ "charts": lanes });
            let _ = write!(events, "event: lanes\ndata: {charts}\n\n");
            self.lanes = lanes;
        }
        if state != self.told || ended {
            let name = if ended { "end" } else { "grown" };
            let _ = write!(events, "event: {name}\ndata: {state}\n\n");
            self.told = state;
        }
        if events.is_empty() {
            events.push_str(": nothing new\n\n");
        }
        events
    }
}

/// Checks whether the run has ended, the figures, and the charts of the lanes.
fn state(site: &Site, id: &str) -> Result<(bool, Value, String), StoreError> {
    let run = site.store.run(id)?;
    let sums = site.sums(&run)?;
    let moments = site.store.lane_moments(id)?;
    let all = &sums.all;
    let done = all.total();
    let total = site.planned(id)?.max(done);
    // By what the run itself has written down, so that each page that is opened says what the terminal does.
    let worked = Duration::from_millis(moments.last().map_or(0, |it| it.at_ms));
    let (columns, _) = site.head(id)?;
    let ended = |column| sums.columns.get(column).map_or(0, Tally::total);
    let ended: Vec<u64> = (0..columns.len()).map(ended).collect();
    let left = time_left(total, &ended, &[], worked).filter(|_| !moments.is_empty());
    let of = |outcome| figures::count(all.of_outcome(outcome));
    let state = json!({
        "done": figures::count(done),
        "total": figures::count(total),
        "share": done as f64 / total.max(1) as f64,
        "passed": of(Outcome::Passed),
        "failed": of(Outcome::Failed),
        "errors": of(Outcome::Error),
        "cost": all.cost.map_or("–".to_owned(), figures::dollars),
        "left": left.map_or_else(|| "–".to_owned(), figures::about),
    });
    let ended = run.state != RunState::Running;
    let lanes = lanes::charts(&moments, &StoredSummary::of(site, &run)?, !ended).into_string();
    Ok((ended, state, lanes))
}
