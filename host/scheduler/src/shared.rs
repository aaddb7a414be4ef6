//! A quota that several programs on one machine use: who has how much of it, until when.
//!
//! Two runs with one key at one server don't see each other's requests; each learns that the server takes
//! fifty, and both send fifty. So they write down together what they send. This is what is written, and
//! every decision about it; where it is kept, and that only one program changes it at a time, is the
//! business of whoever keeps it. A program's own end is `sharing`.
//!
//! A program **visits** now and then. It says what it has sent since it was here, and by which rule (so many
//! in such a window) it goes; it hears what the others have sent, and by which rule they go. So what is
//! found out by trying is found out of all together. Where there is a rule and somebody else is here it gets
//! a **block**: so many it may send until its next visit.
//!
//! - **The sum holds.** What was sent counts for a window from when it was sent, and a block counts in full
//!   while it may be used and a window longer. A block is given out of what is left beside that. So no
//!   window has more than the rule says, whoever visits when.
//! - **What is not used comes back** with the next visit. A program that dies has one block: it comes
//!   back when its time and a window are over.
//! - **Blocks are short**, a twentieth of a window: nobody waits long for what another doesn't use.
//! - **Who wants less leaves the rest**: a program without a queue is expected to send as much as last time,
//!   and the others share what it leaves.
//! - **Nobody is surprised.** A program that thinks itself alone sends by its own count. So who comes gets
//!   nothing until all others have been here and know.
//!
//! Time is the machine's, since blocks of different programs are compared; visits speak of ages, so that no
//! program has to translate its clock.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::{Time, nanos};
use crate::tuning::PER_CENT;
use crate::tuning::allowance::{SLACK, SPREAD_PER_CENT};
use crate::tuning::shared::{
    ALONE, BLOCKS, KEPT, LIFE, LONGEST_BLOCK, MOST_BATCHES, SHORTEST_BLOCK, SOONEST, TOGETHER,
};

mod bytes;
#[cfg(test)]
mod tests;

/// So many in any window of such a length.
pub(crate) type Rule = (u64, Duration);

/// Some that were sent, by their ages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// How long ago the first of them was sent.
    pub(crate) first: Duration,
    /// And the last.
    pub(crate) last: Duration,
    /// How many.
    pub(crate) count: u64,
}

/// What a program says when it visits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuotaReport {
    /// What it has sent since its last visit, oldest first.
    pub(crate) sent: Vec<Batch>,
    /// How many of those that it told of before the server did not count after all.
    pub(crate) returned: u64,
    /// How many it would send until its next visit.
    pub(crate) wants: u64,
    /// How many the first that waits needs at once.
    pub(crate) needs: u64,
    /// By which rule it goes.
    pub(crate) rule: Option<Rule>,
    /// It has corrected that since its last visit: all are to go by it.
    pub(crate) is_news: bool,
    /// The number of its last visit.
    pub(crate) heard: u64,
}

/// Some that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) count: u64,
    /// For how long, from the visit on.
    pub(crate) lasts: Duration,
}

/// What a program hears when it visits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaReply {
    /// The number of the visit.
    pub(crate) number: u64,
    /// What others have sent since its last visit.
    pub(crate) others: Vec<Batch>,
    /// By which rule all go.
    pub(crate) rule: Option<Rule>,
    /// Others are here.
    pub is_common: bool,
    /// What it may send, where others are here and there is a rule.
    pub(crate) block: Option<Block>,
    /// When some of it is free again, if all is taken.
    pub(crate) room: Option<Duration>,
}

impl QuotaReport {
    /// There is nothing to tell: nothing was sent since the last visit, and nothing waits.
    pub fn is_quiet(&self) -> bool {
        self.sent.is_empty() && self.needs == 0 && self.returned == 0 && !self.is_news
    }
}

impl QuotaReply {
    /// When to visit again.
    pub fn next(&self) -> Duration {
        match self.rule {
            _ if !self.is_common => ALONE,
            Some((_, window)) => {
                let room = self.room.unwrap_or(Duration::MAX).max(SOONEST);
                span(window).min(room)
            }
            None => TOGETHER,
        }
    }
}

/// Some that were sent, with the number of the visit that told so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentThen {
    number: u64,
    first: Time,
    last: Time,
    count: u64,
}

/// A block that is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lent {
    count: u64,
    until: Time,
}

/// A program that uses the quota.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    program: u64,
    seen: Time,
    /// It knows that others are here.
    is_aware: bool,
    wants: u64,
    lent: Option<Lent>,
    sent: VecDeque<SentThen>,
}

impl Member {
    /// It has visited lately.
    fn is_here(&self, now: Time) -> bool {
        // What lies far ahead was written by another clock.
        now.since(self.seen) < LIFE && self.seen.since(now) < LIFE
    }

    /// How much of the quota is its own: what it sent, and what it may send.
    fn holds(&self, now: Time, window: Duration) -> u64 {
        let counts = |until: Time| until + window > now;
        let sent = self.sent.iter().filter(|entry| counts(entry.last));
        let lent = self.lent.filter(|lent| counts(lent.until));
        sent.map(|entry| entry.count).sum::<u64>() + lent.map_or(0, |lent| lent.count)
    }

    /// Notes what it says that it has sent.
    fn note(&mut self, now: Time, number: u64, sent: &[Batch]) {
        for batch in sent {
            self.sent.push_back(SentThen {
                number,
                first: now.before(batch.first),
                last: now.before(batch.last),
                count: batch.count,
            });
        }
        while self.sent.len() > MOST_BATCHES
            && let Some(oldest) = self.sent.pop_front()
            && let Some(next) = self.sent.front_mut()
        {
            // Together they count for as long as the later one.
            next.first = oldest.first;
            next.count += oldest.count;
        }
    }

    /// Takes in that so many were not counted, of the oldest: what is wrong about that is over first.
    fn give_back(&mut self, mut count: u64) {
        for entry in &mut self.sent {
            let less = entry.count.min(count);
            (entry.count, count) = (entry.count - less, count - less);
        }
    }

    /// Forgets what counts no more.
    fn forget(&mut self, now: Time, kept: Duration) {
        self.sent
            .retain(|entry| entry.last + kept > now && entry.last <= now + LIFE);
        self.lent = (self.lent).filter(|lent| lent.until + kept > now && lent.until <= now + LIFE);
    }
}

/// A quota, and who uses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommonQuota {
    /// Visits so far.
    number: u64,
    rule: Option<Rule>,
    /// The visit in which it was corrected last.
    corrected: u64,
    members: Vec<Member>,
}

impl CommonQuota {
    /// Takes in what a program says, and gives it its portion.
    pub fn visit(&mut self, now: Time, program: u64, visit: &QuotaReport) -> QuotaReply {
        self.number += 1;
        let number = self.number;
        self.forget(now);
        self.learn(visit);
        let others = self.others(now, program, visit.heard);
        // What another that has gone has sent still counts.
        let is_common = self.members.iter().any(|other| {
            let holds = |(_, window)| other.holds(now, counted(window)) > 0;
            other.program != program && (other.is_here(now) || self.rule.is_some_and(holds))
        });
        let member = self.member(program);
        (member.seen, member.wants, member.is_aware) = (now, visit.wants, is_common);
        let sent = visit.sent.iter().map(|batch| batch.count).sum();
        let lent = member.lent.take().filter(|lent| lent.until > now);
        let saved = lent.map_or(0, |lent| lent.count.saturating_sub(sent));
        member.give_back(visit.returned);
        member.note(now, number, &visit.sent);
        let rule = self.rule.filter(|_| is_common);
        let block = rule.map(|rule| self.block(now, program, (visit.needs, saved), rule));
        let lent = block.filter(|block| block.count > 0);
        self.member(program).lent = lent.map(|block| Lent {
            count: block.count,
            until: now + block.lasts,
        });
        QuotaReply {
            number,
            others,
            rule: self.rule,
            is_common,
            block,
            room: block
                .filter(|block| block.count == 0)
                .and_then(|_| self.room(now)),
        }
    }

    /// Takes in by which rule a program goes.
    fn learn(&mut self, visit: &QuotaReport) {
        if visit.is_news {
            (self.rule, self.corrected) = (visit.rule, self.number);
            return;
        }
        // Several find it out at the same time. Who came late has missed what others had sent before, and
        // counts too few.
        let is_more = |rule: Rule| {
            visit
                .rule
                .is_some_and(|(limit, window)| window == rule.1 && limit > rule.0)
        };
        if self
            .rule
            .is_none_or(|rule| is_more(rule) && visit.heard >= self.corrected)
        {
            self.rule = visit.rule;
        }
    }

    /// When the first of what was sent counts no more.
    fn room(&self, now: Time) -> Option<Duration> {
        let held = self.rule.map(|(_, window)| counted(window))?;
        let sent = self.members.iter().flat_map(|member| &member.sent);
        let ends = sent.map(|entry| (entry.last + held).since(now));
        ends.filter(|left| !left.is_zero()).min()
    }

    /// Takes in that a program ends. What it sent since its last visit is in `visit`.
    pub fn leave(&mut self, now: Time, program: u64, visit: &QuotaReport) {
        self.visit(now, program, visit);
        let member = self.member(program);
        (member.seen, member.lent) = (Time::ZERO, None);
    }

    /// Nobody uses it any more.
    pub fn is_idle(&self) -> bool {
        self.members.is_empty()
    }

    fn member(&mut self, program: u64) -> &mut Member {
        let known = self.members.iter();
        let index = known.clone().position(|member| member.program == program);
        let index = index.unwrap_or_else(|| {
            self.members.push(Member {
                program,
                seen: Time::ZERO,
                is_aware: false,
                wants: 0,
                lent: None,
                sent: VecDeque::new(),
            });
            self.members.len() - 1
        });
        &mut self.members[index]
    }

    /// What others have told since a visit.
    fn others(&self, now: Time, program: u64, heard: u64) -> Vec<Batch> {
        // Numbers that were never given are of a quota that was forgotten.
        let heard = if heard < self.number { heard } else { 0 };
        let others = self.members.iter().filter(|other| other.program != program);
        let told = others.flat_map(|other| other.sent.iter().filter(|entry| entry.number > heard));
        told.map(|entry| Batch {
            first: now.since(entry.first),
            last: now.since(entry.last),
            count: entry.count,
        })
        .collect()
    }

    /// What a program may send now, beside all that is out.
    ///
    /// `needs` is what the first in its queue needs, and `saved` what it has got for that and not used.
    fn block(
        &self,
        now: Time,
        program: u64,
        (needs, saved): (u64, u64),
        (limit, window): Rule,
    ) -> Block {
        let span = span(window);
        // A visit that comes late finds the block still good.
        let lasts = span * 2;
        let others = |other: &&Member| other.program != program && other.is_here(now);
        if !self
            .members
            .iter()
            .filter(others)
            .all(|other| other.is_aware)
        {
            return Block { count: 0, lasts };
        }
        let held = counted(window);
        let taken: u64 = self
            .members
            .iter()
            .map(|member| member.holds(now, held))
            .sum();
        let even = u128::from(limit) * u128::from(nanos(span)) * u128::from(PER_CENT);
        let even = even.div_ceil(u128::from(nanos(window)) * u128::from(SPREAD_PER_CENT));
        let even = u64::try_from(even).unwrap_or(u64::MAX);
        let here = self.members.iter().filter(others).count() as u64 + 1;
        let each = even.div_ceil(here);
        let theirs = self.members.iter().filter(others);
        let theirs: u64 = theirs.map(|other| other.wants.min(each)).sum();
        let fair = each.max(even.saturating_sub(theirs));
        let fair = fair.max(needs.min(fair.saturating_add(saved)));
        let wants = self.members.iter().find(|own| own.program == program);
        let wants = wants.map_or(0, |own| own.wants);
        Block {
            count: limit.saturating_sub(taken).min(fair).min(wants),
            lasts,
        }
    }

    fn forget(&mut self, now: Time) {
        let kept = self.rule.map_or(KEPT, |(_, window)| counted(window));
        for member in &mut self.members {
            member.forget(now, kept);
        }
        self.members.retain(|member| {
            member.is_here(now) || member.lent.is_some() || !member.sent.is_empty()
        });
        if self.members.is_empty() {
            // What was right for those who are gone may be wrong by now.
            self.rule = None;
        }
    }
}

/// How long one that was sent counts: a window, and the jitter of the network.
fn counted(window: Duration) -> Duration {
    window + window / SLACK
}

/// Between two visits under a rule.
fn span(window: Duration) -> Duration {
    (window / BLOCKS).clamp(SHORTEST_BLOCK, LONGEST_BLOCK)
}
