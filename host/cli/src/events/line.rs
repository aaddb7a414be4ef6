//! What a line of the events file says.
//!
//! `at` and every other point in time are milliseconds since the run began; a span's name ends
//! in `Ms`. Both have fractions, to the microsecond: a lane sends hundreds of calls a second.
//! What is not known is left out. The names of a lane's events are the scheduler's, which are
//! published; the run's own are made like them. The crate's README lists them all.
//!
//! Of texts only what plugins log, which has no other place while a run goes on: prompts and answers are in the
//! results, and the labels of columns are left out because a prompt's label may be its text.

use std::time::{Duration, Instant};

use runner_config::plan::CaseId;
use runner_eval::beginning::{ResumeScope, Resumption};
use runner_eval::event::{
    Event, LaneEvent, LaneNotice, LaneStanding, LogLine, RunHead, Stage, WaitReason,
};
use runner_eval::record::CaseRecord;
use runner_telling::visible;
use serde_json::{Map, Value, json};

use crate::output::instant;
use crate::progress::lanes::unit;

/// The most of a logged line, in characters: each case may log some hundred.
const LOGGED_CHARS: usize = 1000;

/// An event that is told `now` after the run `began`.
pub(super) fn of(event: &Event, began: Instant, now: Duration) -> Value {
    match event {
        Event::RunStarted(head) => line("run:started", now, started(head)),
        Event::CaseStarted { id } => line("case:started", now, case(*id)),
        Event::Question { id, stage } => line(
            &format!("question:{}", stage.word()),
            now,
            question(*id, stage),
        ),
        Event::CaseFinished(record) => line("case:finished", now, finished(record)),
        Event::CaseKept(record) => line("case:kept", now, finished(record)),
        Event::Resumed(resumption) => line("run:resumed", now, resumed(resumption)),
        Event::Log(log) => line("log", now, logged(log)),
        Event::Lane(notice) => lane(notice),
        Event::LaneWaits(standing) => waits(standing, began, now),
        Event::Notice { message } | Event::Ordered { message } => {
            line("notice", now, json!({ "message": message }))
        }
        Event::Draining { in_flight, grace } => {
            let fields = json!({ "inFlight": in_flight.len(), "graceMs": ms(*grace) });
            line("run:draining", now, fields)
        }
        Event::RunFinished(summary) => {
            let fields = json!({ "run": summary.run_id, "summary": summary.to_json() });
            line("run:finished", now, fields)
        }
    }
}

fn resumed(resumption: &Resumption) -> Value {
    json!({
        "run": resumption.run_id,
        "errorsOnly": resumption.which == ResumeScope::Errors,
        "kept": resumption.kept,
        "moved": resumption.moved,
        "dropped": resumption.dropped,
        "new": resumption.new,
    })
}

/// `at`, `event`, and those of the fields that are known.
fn line(name: &str, at: Duration, fields: Value) -> Value {
    let mut line = Map::new();
    line.insert("at".to_owned(), ms(at));
    line.insert("event".to_owned(), name.into());
    if let Value::Object(fields) = fields {
        line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(line)
}

/// Milliseconds, to the microsecond.
fn ms(span: Duration) -> Value {
    (span.as_micros() as f64 / 1_000.0).into()
}

/// A point of the scheduler's time, which begins with the run; nothing for "never".
fn point(nanos: u64) -> Value {
    match nanos {
        u64::MAX => Value::Null,
        nanos => ms(Duration::from_nanos(nanos)),
    }
}

fn started(head: &RunHead) -> Value {
    let providers = head.columns.iter().map(|column| column.provider.as_str());
    json!({
        "run": head.run_id,
        "startedAt": instant(head.started_at_ms),
        "total": head.total,
        "maxConcurrency": head.concurrency,
        "providers": providers.collect::<Vec<_>>(),
    })
}

fn case(id: CaseId) -> Value {
    json!({ "testIdx": id.test_idx, "promptIdx": id.prompt_idx })
}

/// Which question it is stands at its first stage.
fn question(id: CaseId, stage: &Stage) -> Value {
    let mut fields = case(id);
    match stage {
        Stage::Queued(question) => {
            fields["task"] = (*question.task).into();
            fields["question"] = question.index.into();
        }
        Stage::Reserved { attempt } | Stage::Running { attempt } => {
            fields["attempt"] = (*attempt).into();
        }
        Stage::Remembered | Stage::Parsing | Stage::Ended(_) => {}
    }
    fields
}

fn finished(record: &CaseRecord) -> Value {
    json!({
        "testIdx": record.test_idx,
        "promptIdx": record.prompt_idx,
        "outcome": record.conclusion.outcome(),
        "errorCode": record.conclusion.code(),
        "latencyMs": record.latency_ms,
        "cached": record.response.as_ref().map(|response| response.cached),
    })
}

fn logged(log: &LogLine) -> Value {
    json!({
        "plugin": log.plugin,
        "testIdx": log.case.test_idx,
        "promptIdx": log.case.prompt_idx,
        "level": log.level.as_str().to_ascii_lowercase(),
        "message": visible::cut(&log.message, LOGGED_CHARS),
    })
}

fn lane(notice: &LaneNotice) -> Value {
    let mut fields = json!({ "lane": &*notice.lane });
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, happened(&notice.event)) {
        fields.extend(more);
    }
    line(notice.event.name(), notice.at, fields)
}

fn happened(event: &LaneEvent) -> Value {
    match event {
        LaneEvent::SlotAcquired {
            job,
            queued,
            in_flight,
            window,
        } => {
            json!({ "job": job.ticket(), "queuedMs": ms(*queued), "inFlight": in_flight, "window": window })
        }
        LaneEvent::SlotReleased { job, in_flight } => {
            json!({ "job": job.ticket(), "inFlight": in_flight })
        }
        LaneEvent::RateLimitHit {
            job,
            retry_after,
            blocked_until,
        } => json!({
            "job": job.ticket(),
            "retryAfterMs": retry_after.map(ms),
            "blockedUntil": blocked_until.map(|until| point(until.as_nanos())),
        }),
        LaneEvent::RateLimitLearned {
            dimension,
            limit,
            window,
        } => {
            json!({ "dimension": dimension.map(unit), "limit": limit, "windowMs": window.map(ms) })
        }
        LaneEvent::RateLimitWarning {
            dimension,
            remaining,
            limit,
        } => json!({ "dimension": unit(*dimension), "remaining": remaining, "limit": limit }),
        LaneEvent::ConcurrencyIncreased { from, to }
        | LaneEvent::ConcurrencyDecreased { from, to } => json!({ "from": from, "to": to }),
        LaneEvent::RequestRetrying {
            job,
            retry,
            not_before,
        } => {
            let not_before = point(not_before.as_nanos());
            json!({ "job": job.ticket(), "retry": retry, "notBefore": not_before })
        }
        LaneEvent::BreakerOpened { until } => json!({ "until": point(until.as_nanos()) }),
        LaneEvent::BreakerClosed => json!({}),
    }
}

/// `lane:waiting` with the reason, or `lane:free`.
fn waits(standing: &LaneStanding, began: Instant, now: Duration) -> Value {
    let mut fields = json!({ "lane": &*standing.lane });
    let Some(wait) = &standing.wait else {
        return line("lane:free", now, fields);
    };
    let until = standing
        .until
        .map(|until| ms(until.saturating_duration_since(began)));
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, reason(&wait.why)) {
        fields.extend(more);
        fields.insert("until".to_owned(), until.unwrap_or_default());
    }
    line("lane:waiting", now, fields)
}

fn reason(why: &WaitReason) -> Value {
    match why {
        WaitReason::Learnt {
            dimension,
            used,
            limit,
        } => {
            json!({ "why": "learnt", "dimension": unit(*dimension), "used": used, "limit": limit })
        }
        WaitReason::Declared {
            name,
            used,
            capacity,
        } => json!({ "why": "declared", "name": name, "used": used, "limit": capacity }),
        WaitReason::Pace { interval } => json!({ "why": "pace", "intervalMs": ms(*interval) }),
        WaitReason::Blocked { asked } => json!({ "why": "blocked", "asked": asked }),
        WaitReason::Broken => json!({ "why": "broken" }),
        WaitReason::Backoff => json!({ "why": "backoff" }),
    }
}
