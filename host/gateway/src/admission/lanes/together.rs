//! The lanes of several programs on one machine: visits to the quotas that they share.
//!
//! What a visit says and what it brings is decided by the machine's `Scheduler` and by [`CommonQuota`]. Here is
//! one thread that owns the file, asks the first, changes the second and tells the first again. It is a
//! thread and no task, since files make wait; lanes wait for it only where others are here, and go
//! on alone when it doesn't come.
//!
//! In the file stand numbers under a digest of the lane's key: its origin, credential, organization and
//! bucket; of a declared limit without the bucket and with the limit. A lane that has sent nothing
//! since the last time, and whose quota nobody else uses, is not written down.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use runner_scheduler::{
    CommonQuota, LaneId, Limit, LimitId, LimitMeasure, QuotaReport, Shareable, Time,
};
use runner_store::{Digest, QuotaFile, StoreError};
use sha2::Digest as _;

use super::Shared;
use crate::lane::Lane;

/// How long the first attempts that fall under a declared limit wait for what others have used of it.
pub(super) const FIRST_PORTION: Duration = Duration::from_millis(200);

/// Between two looks at a quota of which there is nothing to tell.
const QUIET: Duration = Duration::from_millis(250);

/// How long it waits after the file could not be read, and how often in a row before it gives up.
const AFTER_FAILURE: (Duration, u32) = (Duration::from_millis(50), 20);

/// Where programs on this machine write down what they use together.
pub struct QuotaPlace {
    /// The file.
    pub file: PathBuf,
    /// Is told, once, why nothing is shared.
    pub told: Box<dyn Fn(String) + Send>,
}

/// Something that may be common, and what its key is made of.
pub(super) struct Common {
    what: Shareable,
    key: Vec<u8>,
}

impl Common {
    pub(super) fn lane(id: LaneId, lane: &Lane) -> Self {
        Self {
            what: Shareable::Lane(id),
            key: key(
                &[
                    b"lane",
                    lane.bucket.as_deref().unwrap_or_default().as_bytes(),
                ],
                lane,
            ),
        }
    }

    /// A limit is that of the lane that falls under it first; a window has a length, and nothing else is
    /// common.
    pub(super) fn limit(id: LimitId, limit: &Limit, lane: &Lane) -> Option<Self> {
        let (kind, window): (&[u8], _) = match limit.counts {
            LimitMeasure::Requests(window) => (b"requests", window),
            LimitMeasure::Tokens(window) => (b"tokens", window),
            LimitMeasure::Concurrency => return None,
        };
        let numbers = [window.as_nanos() as u64, limit.capacity].map(u64::to_le_bytes);
        let parts = [kind, limit.name.as_bytes(), &numbers[0], &numbers[1]];
        Some(Self {
            what: Shareable::Limit(id),
            key: key(&parts, lane),
        })
    }
}

/// Parts in a row, each after its length, so that no two lanes have the same.
fn key(parts: &[&[u8]], lane: &Lane) -> Vec<u8> {
    let credential = lane.credential.as_ref().map_or("", |it| it.as_str());
    let organization = lane.organization.as_deref().unwrap_or_default();
    let plugin = lane.plugin.as_deref().unwrap_or_default();
    let own = [&lane.origin, credential, organization, plugin].map(str::as_bytes);
    let parts = parts.iter().copied().chain(own);
    parts
        .flat_map(|part| {
            (part.len() as u64)
                .to_le_bytes()
                .into_iter()
                .chain(part.iter().copied())
        })
        .collect()
}

/// The thread, and how it hears of what may be common. It ends, and leaves all quotas, when this is dropped.
pub(super) struct QuotaThread {
    commons: Option<Sender<Common>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl QuotaThread {
    /// Starts the thread; it opens the file when there is something that may be common.
    pub(super) fn start(place: QuotaPlace, shared: &Arc<Shared>) -> Self {
        let (commons, heard) = channel();
        let shared = Arc::downgrade(shared);
        let thread = std::thread::Builder::new()
            .name("quotas".to_owned())
            .spawn(move || run(&place, &heard, &shared));
        Self {
            commons: Some(commons),
            thread: Mutex::new(thread.ok()),
        }
    }

    /// Takes what may be common.
    pub(super) fn commons(&self) -> Option<Sender<Common>> {
        self.commons.clone()
    }

    /// Leaves all quotas. Everyone else who tells it anything must have gone.
    pub(super) fn end(&mut self) {
        self.commons = None;
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic in it is told by the panic itself.
            drop(thread.join());
        }
    }
}

fn run(place: &QuotaPlace, heard: &Receiver<Common>, shared: &Weak<Shared>) {
    let Ok(first) = heard.recv() else {
        return;
    };
    let visitor = QuotaFile::open(&place.file).map(|file| Visitor {
        program: RandomState::new().build_hasher().finish(),
        file,
        visits: BTreeMap::new(),
        failures: 0,
    });
    let ended = visitor.and_then(|mut visitor| {
        visitor.add(&first);
        let ended = visitor.go_on(heard, shared);
        visitor.leave(shared);
        ended
    });
    if let Err(why) = ended {
        let mut words =
            format!("what other runs on this machine use of the same quotas is not known: {why}");
        let mut source = why.source();
        while let Some(cause) = source {
            words = format!("{words}: {cause}");
            source = cause.source();
        }
        (place.told)(words);
    }
}

/// What is said and heard of one quota.
struct Visits {
    key: Digest,
    next: Instant,
    /// What could not be said yet, and when it was asked for.
    unsaid: Option<(Time, QuotaReport)>,
    /// Others were here the last time, or nobody knows.
    is_common: bool,
}

/// Who owns the file.
struct Visitor {
    program: u64,
    file: QuotaFile,
    visits: BTreeMap<Shareable, Visits>,
    /// In a row.
    failures: u32,
}

impl Visitor {
    fn add(&mut self, common: &Common) {
        let digest = sha2::Sha256::new()
            .chain_update(self.file.salt())
            .chain_update(&common.key)
            .finalize();
        let visits = Visits {
            key: Digest::new(digest.into()),
            next: Instant::now(),
            unsaid: None,
            is_common: true,
        };
        self.visits.insert(common.what, visits);
    }

    /// Visits until the lanes are gone.
    fn go_on(&mut self, heard: &Receiver<Common>, shared: &Weak<Shared>) -> Result<(), StoreError> {
        loop {
            let now = Instant::now();
            let due = self.visits.iter().filter(|(_, visits)| visits.next <= now);
            for what in due.map(|(what, _)| *what).collect::<Vec<_>>() {
                let Some(shared) = shared.upgrade() else {
                    return Ok(());
                };
                self.visit(what, &shared)?;
            }
            let next = self.visits.values().map(|visits| visits.next).min();
            let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(now));
            match heard.recv_timeout(left) {
                Ok(common) => self.add(&common),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Says what there is to say of one quota, and hears what there is to hear.
    fn visit(&mut self, what: Shareable, shared: &Shared) -> Result<(), StoreError> {
        let Some(visits) = self.visits.get_mut(&what) else {
            return Ok(());
        };
        let said = visits.unsaid.take().or_else(|| {
            shared.quietly(|book, now| Some((now, book.scheduler.visit(now, what)?)))?
        });
        let Some((asked, visit)) = said else {
            // Never common.
            self.visits.remove(&what);
            return Ok(());
        };
        if visit.is_quiet() && !visits.is_common && self.failures == 0 {
            visits.next = Instant::now() + QUIET;
            return Ok(());
        }
        let program = self.program;
        let visited = changed(&self.file, &visits.key, |quota, now| {
            quota.visit(now, program, &visit)
        });
        match visited {
            Ok(portion) => {
                self.failures = 0;
                visits.is_common = portion.is_common;
                visits.next = Instant::now() + portion.next();
                shared.with(|book, now| book.scheduler.hear(now, what, asked, &portion));
                Ok(())
            }
            Err(why) => {
                let (pause, most) = AFTER_FAILURE;
                self.failures += 1;
                visits.unsaid = Some((asked, visit));
                visits.next = Instant::now() + pause;
                if self.failures < most {
                    Ok(())
                } else {
                    Err(why)
                }
            }
        }
    }
}

impl Visitor {
    /// Leaves all quotas: what is out of blocks is free again.
    fn leave(&mut self, shared: &Weak<Shared>) {
        for (what, visits) in &self.visits {
            let visit = shared.upgrade().and_then(|shared| {
                shared
                    .quietly(|book, now| book.scheduler.visit(now, *what))
                    .flatten()
            });
            let visit = visit.unwrap_or_default();
            let left = changed(&self.file, &visits.key, |quota, now| {
                quota.leave(now, self.program, &visit);
            });
            if left.is_err() {
                // It is found out by silence, then.
                return;
            }
        }
    }
}

/// Changes a quota in the file; again if another program has changed it meanwhile, which can't go on for ever:
/// then that one has made its change.
fn changed<T>(
    file: &QuotaFile,
    key: &Digest,
    change: impl Fn(&mut CommonQuota, Time) -> T,
) -> Result<T, StoreError> {
    loop {
        let before = file.get(key)?;
        let known = before.bytes.as_deref().and_then(CommonQuota::from_bytes);
        let mut quota = known.unwrap_or_default();
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let result = change(&mut quota, Time::ZERO + now);
        let bytes = (!quota.is_idle()).then(|| quota.to_bytes());
        if file.swap(key, &before, bytes.as_deref())? {
            return Ok(result);
        }
    }
}
