//! How an attempt ended: its class, what it says about limits, and what it used.

use std::time::SystemTime;

use runner_scheduler::{Hint, QuotaUse};

use crate::admission::budget::Used;
use crate::admission::tokens;
use crate::memory::cache::mask;
use crate::memory::remembered::StoredResponse;
use crate::policy::masker::Masker;
use crate::wire::attempt::Answer;
use crate::wire::bodies::Space;
use crate::wire::class::{Class, ErrorBody, classify};
use crate::wire::fault::WireFault;
use crate::wire::hint::HintSource;
use crate::wire::request;

/// How an attempt ended, with all that is said about it.
pub(super) struct AttemptOutcome {
    pub(super) result: Result<StoredResponse, WireFault>,
    /// Whether nothing was taken out of it.
    pub(super) is_whole: bool,
    pub(super) class: Class,
    pub(super) hint: Hint,
    pub(super) usage: Option<QuotaUse>,
    /// Of its body, if it has one.
    pub(super) space: Option<Space>,
}

impl AttemptOutcome {
    /// HTTP status, where there was a response.
    pub(super) fn status(&self) -> Option<u16> {
        let response = self.result.as_ref().ok();
        response.map(|response| response.status)
    }

    /// What it counts as in budgets.
    pub(super) fn used(&self) -> Used {
        match (&self.result, self.usage) {
            (Ok(response), _) if response.status >= 400 => Used::Nothing,
            (_, Some(usage)) => Used::Told(usage),
            (Ok(_), None) => Used::Untold,
            (
                Err(
                    WireFault::TimedOut { .. }
                    | WireFault::ResponseTooLarge { .. }
                    | WireFault::CallTooLarge { .. }
                    | WireFault::NoSpace
                    | WireFault::Coded { .. }
                    | WireFault::Partial { .. },
                ),
                None,
            ) => Used::Cut,
            (Err(_), None) => Used::Nothing,
        }
    }
}

/// Classifies an answer, reads what it says about limits, and takes the secrets out of it.
pub(super) fn classified(
    masker: &Masker,
    answer: Result<Answer, WireFault>,
    space: Space,
) -> AttemptOutcome {
    let Answer {
        status,
        headers,
        body,
        pieces,
    } = match answer {
        Ok(answer) => answer,
        Err(fault) => {
            return AttemptOutcome {
                class: fault.class(),
                hint: Hint::default(),
                usage: None,
                result: Err(fault),
                is_whole: false,
                space: None,
            };
        }
    };
    let mut headers = request::pairs(&headers);
    let error = ErrorBody::read(status, &body);
    let hint = HintSource {
        status,
        headers: &headers,
        body: error.hint(),
        unix_time: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
    }
    .read();
    let class = classify(status, &error, hint.retry_after);
    // A refused request used no tokens.
    let usage = if status < 400 {
        tokens::usage(&body)
    } else {
        Some(QuotaUse::default())
    };
    headers.retain(|(name, _)| !is_dropped(name));
    let mut response = StoredResponse {
        status,
        headers,
        body,
        pieces,
    };
    let is_whole = !mask(masker, &mut response);
    AttemptOutcome {
        result: Ok(response),
        is_whole,
        class,
        hint,
        usage,
        space: Some(space),
    }
}

/// Response headers that end here: cookies, since none are ever sent back, and what
/// concerns the connection or the length, which masking may have changed.
fn is_dropped(name: &str) -> bool {
    matches!(
        name,
        "set-cookie"
            | "set-cookie2"
            | "connection"
            | "keep-alive"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "content-length"
    ) || name.starts_with("proxy-")
}
