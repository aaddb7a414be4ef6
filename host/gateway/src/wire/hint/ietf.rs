//! The IETF's `RateLimit` and `RateLimit-Policy`, in the forms of their drafts.
//!
//! | drafts | `RateLimit` | `RateLimit-Policy` |
//! |---|---|---|
//! | 8 and later | `"burst";r=50;t=30` | `"burst";q=100;w=60;qu="requests"` |
//! | 3 to 7 | `limit=100, remaining=50, reset=5` | `100;w=60` |
//! | 0 to 2 | three headers; `RateLimit-Limit: 100, 100;w=60` | – |
//!
//! `r` is what is left, `t` seconds until it is reset, `q` the quota, `w` its window in seconds.
//! The first form joins both headers by the policy's name; the older ones by the size of the
//! quota, so a limit without window borrows that of the policy of the same size.
//!
//! **Which policy.** A server with several states all of them; the one with the least
//! remaining *share* of its quota is taken, as the drafts advise servers to choose. Shares are
//! compared as whole numbers of 10⁻¹⁵. Where the quota is not stated the share is unknown: such a
//! policy comes last, unless nothing is left of it. Between equals the later reset counts. With
//! policies and no state at all, the first policy.
//!
//! **Units.** `qu` says what is counted; only requests are a dimension of ours. Policies in
//! bytes or in concurrent requests are left out, together with their states.
//!
//! **The grammar** of structured fields (RFC 9651) is read by `sfv`, strictly: one mistake makes the
//! whole line absent, since guessing where it goes on would mean believing numbers out of place;
//! other lines count. Lines are joined as RFC 9110 allows. Two things are allowed beside it, each
//! seen in the wild and without a second meaning: space and tabs around a semicolon, and tokens
//! where a string should be.
//!
//! **Bounds.** At most [`MAX_POLICIES`] of each are kept.

use std::cmp::Reverse;
use std::time::Duration;

use runner_scheduler::Reading;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser, StringRef, TokenRef};

use super::counter::{self, Counter};
use super::duration::{SECOND, Span};

/// Policies, and states, that are kept.
const MAX_POLICIES: usize = 8;

/// What `RateLimit-Policy` says about one policy.
#[derive(Debug)]
struct Quota {
    /// `None` in older drafts.
    name: Option<String>,
    limit: u64,
    window: Option<Duration>,
    /// It counts requests, and not bytes or something else.
    ours: bool,
}

/// What `RateLimit` says about one policy.
#[derive(Debug)]
struct PolicyState {
    name: String,
    remaining: u64,
    reset: Option<Span>,
}

/// All that these headers say.
#[derive(Debug, Default)]
pub(super) struct Ietf {
    quotas: Vec<Quota>,
    states: Vec<PolicyState>,
    /// The dictionary of drafts 3 to 7.
    dictionary: Counter,
}

impl Ietf {
    /// Takes in a line of `RateLimit`: a list by the newer drafts, a dictionary by the older.
    pub(super) fn state(&mut self, line: &str) {
        if let Some(items) = list(line) {
            let free = MAX_POLICIES - self.states.len();
            self.states
                .extend(items.iter().filter_map(state).take(free));
        } else if let Ok(entries) = Parser::new(&plain(line)).parse::<Dictionary>() {
            let number = |key| match entries.get(key) {
                Some(ListEntry::Item(item)) => count(&item.bare_item),
                _ => None,
            };
            let counter = &mut self.dictionary;
            counter.limit = counter.limit.or_else(|| number("limit"));
            counter.remaining = counter.remaining.or_else(|| number("remaining"));
            counter.reset = counter.reset.or_else(|| number("reset").and_then(seconds));
        }
    }

    /// Takes in a line of `RateLimit-Policy`, or the policies behind the number in
    /// `RateLimit-Limit`.
    pub(super) fn policies(&mut self, line: &str) {
        let items = list(line).unwrap_or_default();
        let free = MAX_POLICIES - self.quotas.len();
        self.quotas
            .extend(items.iter().filter_map(quota).take(free));
    }

    /// The policy that holds, as a counter of requests.
    pub(super) fn counter(&self) -> Option<Counter> {
        let named = self.states.iter().filter_map(|state| {
            let mut quotas = self.quotas.iter();
            let quota = quotas.find(|quota| quota.name.as_ref() == Some(&state.name));
            let ours = quota.is_none_or(|quota| quota.ours);
            ours.then(|| Counter {
                limit: quota.map(|quota| quota.limit),
                remaining: Some(state.remaining),
                reset: state.reset,
                window: quota.and_then(|quota| quota.window),
            })
        });
        let dictionary = Some(self.dictionary).filter(|counter| !counter.is_empty());
        let stated = named.chain(dictionary).min_by_key(share);
        stated.or_else(|| Some(self.quotas.iter().find(|quota| quota.ours)?.counter()))
    }

    /// The window of the policy that holds `limit`.
    pub(super) fn window_of(&self, limit: u64) -> Option<Duration> {
        let mut quotas = self
            .quotas
            .iter()
            .filter(|quota| quota.ours && quota.limit == limit);
        quotas.find_map(|quota| quota.window)
    }
}

impl Quota {
    /// A policy of which nothing but its size is known.
    fn counter(&self) -> Counter {
        Counter {
            limit: Some(self.limit),
            window: self.window,
            ..Counter::default()
        }
    }
}

/// Reads the limit in `RateLimit-Limit: 100, 100;w=60`: the first number, if all others are
/// policies. So `30,000`, which is no list, is not read as 30.
pub(super) fn first_limit(line: &str) -> Option<u64> {
    let items = list(line)?;
    let (first, others) = items.split_first()?;
    let all = others.iter().all(|item| param(item, "w").is_some());
    count(&first.bare_item).filter(|_| all)
}

/// Reads a policy of any draft.
fn quota(item: &Item) -> Option<Quota> {
    let name = text(&item.bare_item);
    let limit = match name {
        Some(_) => param(item, "q")?,
        None => count(&item.bare_item)?,
    };
    Some(Quota {
        name: name.map(str::to_owned),
        limit,
        window: param(item, "w").and_then(counter::window),
        ours: (item.params.get("qu")).is_none_or(|unit| text(unit) == Some("requests")),
    })
}

/// Reads a state of the newer drafts.
fn state(item: &Item) -> Option<PolicyState> {
    Some(PolicyState {
        name: text(&item.bare_item)?.to_owned(),
        remaining: param(item, "r")?,
        reset: param(item, "t").and_then(seconds),
    })
}

/// The items of a list; lists within are left out. `None`: the line is no list.
fn list(line: &str) -> Option<Vec<Item>> {
    let list = Parser::new(&plain(line)).parse::<List>().ok()?;
    let items = list.into_iter().filter_map(|entry| match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    });
    Some(items.collect())
}

/// The line without space around its semicolons, within names too: these only have to agree.
fn plain(line: &str) -> String {
    let parts: Vec<_> = line.split(';').map(str::trim_ascii).collect();
    parts.join(";")
}

/// The parameter `name`, if it is a non-negative integer.
fn param(item: &Item, name: &str) -> Option<u64> {
    count(item.params.get(name)?)
}

/// A non-negative integer.
fn count(value: &BareItem) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

/// A string or a token.
fn text(value: &BareItem) -> Option<&str> {
    let string = value.as_string().map(StringRef::as_str);
    string.or_else(|| value.as_token().map(TokenRef::as_str))
}

/// Lower holds before higher: the remaining share, then the later reset.
fn share(counter: &Counter) -> impl Ord + use<> {
    let remaining = counter.remaining.map(u128::from);
    let share = match (remaining, counter.limit.map(u128::from)) {
        (Some(0), _) => 0,
        (Some(left), Some(limit)) if limit > 0 => left * u128::from(Reading::MOST) / limit,
        (Some(_), _) => u128::MAX - 1,
        (None, _) => u128::MAX,
    };
    (share, Reverse(counter.reset.map(|reset| reset.length)))
}

fn seconds(count: u64) -> Option<Span> {
    Span::new(u128::from(count) * u128::from(SECOND), SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limit, remaining, seconds to the reset, seconds of the window.
    type Numbers = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    fn read(states: &[&'static str], policies: &[&'static str]) -> Option<Numbers> {
        let mut ietf = Ietf::default();
        for line in states {
            ietf.state(line);
        }
        for line in policies {
            ietf.policies(line);
        }
        let counter = ietf.counter()?;
        Some((
            counter.limit,
            counter.remaining,
            counter.reset.map(|reset| reset.length.as_secs()),
            counter.window.map(|window| window.as_secs()),
        ))
    }

    const P: &str = r#""p";q=100;w=60"#;

    #[test]
    fn state_and_policy_are_joined_by_name() {
        let all = Some((Some(100), Some(50), Some(30), Some(60)));
        assert_eq!(read(&[r#""p";r=50;t=30"#], &[P]), all);
        assert_eq!(
            read(&[r#""p";t=30;x=?1;r=50"#], &[r#""p";w=60;q=100"#]),
            all
        );
        assert_eq!(read(&["p;r=50;t=30"], &[P]), all, "a token for a string");
        let spaced = ["\"p\" ;r=50;\tt=30"];
        assert_eq!(read(&spaced, &[P]), all, "space around semicolons");
        let alone = Some((None, Some(50), Some(30), None));
        assert_eq!(read(&[r#""other";r=50;t=30"#], &[P]), alone);
        assert_eq!(read(&[], &[P]), Some((Some(100), None, None, Some(60))));
    }

    #[test]
    fn of_several_policies_the_one_with_the_least_share_holds() {
        let policies = [r#""burst";q=100;w=60,"daily";q=1000;w=86400"#];
        let daily = Some((Some(1000), Some(99), Some(7200), Some(86400)));
        let states = [r#""burst";r=90;t=30, "daily";r=99;t=7200"#];
        assert_eq!(read(&states, &policies), daily);
        let lines = [r#""burst";r=90;t=30"#, r#""daily";r=99;t=7200"#];
        assert_eq!(read(&lines, &policies), daily, "on two lines");
        let both = [r#""burst";r=0;t=30, "daily";r=0;t=7200"#];
        let empty = Some((Some(1000), Some(0), Some(7200), Some(86400)));
        assert_eq!(read(&both, &policies), empty, "the later reset");
    }

    #[test]
    fn a_name_may_look_like_syntax() {
        let states = [r#""a,b;r=0";r=50;t=30"#];
        let policies = [r#""a";q=1;w=1, "a,b;r=0";q=100;w=60"#];
        assert_eq!(
            read(&states, &policies),
            Some((Some(100), Some(50), Some(30), Some(60)))
        );
    }

    #[test]
    fn what_does_not_count_requests_is_left_out() {
        let policies = [r#""bytes";q=1000;qu="content-bytes";w=60, "p";q=100;qu="requests";w=60"#];
        let states = [r#""bytes";r=1, "p";r=50"#];
        assert_eq!(
            read(&states, &policies),
            Some((Some(100), Some(50), None, Some(60)))
        );
        assert_eq!(
            read(&[r#""bytes";r=1"#], &[r#""bytes";q=9;qu="content-bytes""#]),
            None
        );
    }

    #[test]
    fn the_older_draft_is_a_dictionary() {
        let line = ["limit=100, remaining=50, reset=5"];
        assert_eq!(read(&line, &[]), Some((Some(100), Some(50), Some(5), None)));
        let mut ietf = Ietf::default();
        ietf.policies("10;w=1, 100;w=60;comment=\"x\"");
        assert_eq!(ietf.window_of(100), Some(Duration::from_mins(1)));
        assert_eq!(ietf.window_of(99), None);
    }

    #[test]
    fn a_limit_may_be_a_list_but_not_a_number_with_separators() {
        assert_eq!(first_limit("100, 100;w=60"), Some(100));
        assert_eq!(first_limit("30,000"), None);
        assert_eq!(first_limit("\"p\";w=60"), None);
    }

    #[test]
    fn a_line_with_a_mistake_is_absent() {
        for line in [
            "",
            r#""p";r=50;t=30,"#,
            r#""p";r=1 "q""#,
            r#""p;r=1"#,
            r#""p";R=1"#,
            r#""p";r="#,
            r#"("p" "q")"#,
            r#""p";r=1234567890123456"#,
        ] {
            assert_eq!(read(&[line], &[]), None, "{line}");
        }
        assert_eq!(
            read(&[r#""p";r=-1;t=30"#, r#""q";r=1.5"#, r#""p""#], &[]),
            None
        );
        let far = [r#""p";r=5;t=99999999999"#];
        assert_eq!(read(&far, &[]), Some((None, Some(5), None, None)));
    }

    #[test]
    fn only_so_many_policies_are_kept() {
        let mut line: Vec<_> = (0..20).map(|n| format!("\"p{n}\";r={}", 100 - n)).collect();
        line.push("\"last\";r=0".to_owned());
        let line = line.join(", ");
        let mut ietf = Ietf::default();
        ietf.state(&line);
        let left = ietf.counter().and_then(|counter| counter.remaining);
        assert_eq!(left, Some(100));
    }
}
