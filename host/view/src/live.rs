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
use runner_telling::figures;
use serde_json::{Value, json};

use crate::pages::lanes;
use crate::request::Body;
use crate::site::Site;

/// The time between two questions, at least.
const PAUSE: Duration = Duration::from_millis(700);

/// What has been told.
struct Teller {
    site: Arc<Site>,
    id: String,
    /// When the first question was answered, and how many cases had ended then.
    began: Option<(Instant, u64)>,
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
        began: None,
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
        let (site, id, began) = (self.site.clone(), self.id.clone(), self.began);
        let asked = Instant::now();
        let answer = tokio::task::spawn_blocking(move || state(&site, &id, began)).await;
        self.pause = PAUSE.max(asked.elapsed() * 4);
        let Ok(Ok((ended, done, state, lanes))) = answer else {
            self.over = true;
            return "event: end\ndata: {}\n\n".to_owned();
        };
        self.began.get_or_insert((Instant::now(), done));
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

/// Checks whether the run has ended, how many cases have, the figures, and the charts of the lanes.
fn state(
    site: &Site,
    id: &str,
    began: Option<(Instant, u64)>,
) -> Result<(bool, u64, Value, String), StoreError> {
    let run = site.store.run(id)?;
    let all = &site.sums(&run)?.all;
    let done = all.total();
    let total = site.planned(id)?.max(done);
    let left = began.and_then(|(at, before)| {
        let pace = done.saturating_sub(before) as f64 / at.elapsed().as_secs_f64().max(0.001);
        (pace > 0.0).then(|| figures::about(Duration::from_secs_f64((total - done) as f64 / pace)))
    });
    let of = |outcome| figures::count(all.of_outcome(outcome));
    let state = json!({
        "done": figures::count(done),
        "total": figures::count(total),
        "share": done as f64 / total.max(1) as f64,
        "passed": of(Outcome::Passed),
        "failed": of(Outcome::Failed),
        "errors": of(Outcome::Error),
        "cost": all.cost.map_or("–".to_owned(), figures::dollars),
        "left": left.unwrap_or_else(|| "–".to_owned()),
    });
    let ended = run.state != RunState::Running;
    let lanes = lanes::charts(&site.store.lane_moments(id)?, !ended).into_string();
    Ok((ended, done, state, lanes))
}
