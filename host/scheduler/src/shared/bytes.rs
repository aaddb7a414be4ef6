//! A common quota as bytes, to be kept in a file: numbers of eight bytes, lowest first, in the order of the
//! fields. A file may be anybody's; what is no quota is none.

use std::collections::VecDeque;
use std::time::Duration;

use super::{CommonQuota, Lent, Member, SentThen};
use crate::time::{Time, nanos};

/// Begins the bytes: another number is another format.
const FORMAT: u64 = 1;

impl CommonQuota {
    /// The quota as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (limit, window) = self.rule.unwrap_or_default();
        let mut numbers = vec![FORMAT, self.number, self.corrected, limit, nanos(window)];
        numbers.push(self.members.len() as u64);
        for member in &self.members {
            let lent = member
                .lent
                .map_or((0, 0), |lent| (lent.count, lent.until.as_nanos()));
            numbers.extend([
                member.program,
                member.seen.as_nanos(),
                u64::from(member.is_aware),
                member.wants,
                lent.0,
                lent.1,
                member.sent.len() as u64,
            ]);
            for entry in &member.sent {
                let (first, last) = (entry.first.as_nanos(), entry.last.as_nanos());
                numbers.extend([entry.number, first, last, entry.count]);
            }
        }
        numbers.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads one; `None`: these bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks();
        let mut numbers = Numbers(numbers);
        if !rest.is_empty() || numbers.next()? != FORMAT {
            return None;
        }
        let (number, corrected) = (numbers.next()?, numbers.next()?);
        let (limit, window) = (numbers.next()?, Duration::from_nanos(numbers.next()?));
        let count = numbers.next()?;
        let members = (0..count).map(|_| numbers.member());
        let members = members.collect::<Option<_>>()?;
        let quota = Self {
            number,
            corrected,
            rule: (limit > 0 && !window.is_zero()).then_some((limit, window)),
            members,
        };
        numbers.0.is_empty().then_some(quota)
    }
}

/// What is still to be read.
struct Numbers<'a>(&'a [[u8; 8]]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn time(&mut self) -> Option<Time> {
        self.next().map(Time::from_nanos)
    }

    fn member(&mut self) -> Option<Member> {
        let (program, seen) = (self.next()?, self.time()?);
        let (is_aware, wants) = (self.next()? != 0, self.next()?);
        let (count, until) = (self.next()?, self.time()?);
        let sent = self.next()?;
        let sent = (0..sent).map(|_| self.entry());
        Some(Member {
            program,
            seen,
            is_aware,
            wants,
            lent: (count > 0).then_some(Lent { count, until }),
            sent: sent.collect::<Option<VecDeque<_>>>()?,
        })
    }

    fn entry(&mut self) -> Option<SentThen> {
        Some(SentThen {
            number: self.next()?,
            first: self.time()?,
            last: self.time()?,
            count: self.next()?,
        })
    }
}
