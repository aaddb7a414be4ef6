//! What the calls of a case do together: what they used, what they logged, and what they have under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runner_gateway::AttemptLog;
use runner_sandbox::CallUsage;
use tokio::sync::watch;

use crate::plugins::LoadedPlugin;
use crate::record::{LogRecord, PluginRecord, PluginUse};

/// Lines of a case that are kept, and bytes of their texts: what tells why it went wrong is among the first.
const MOST_LINES: usize = 32;
const MOST_LINE_BYTES: usize = 8 << 10;

/// What the calls of a case used, by plugin, and logged.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    kept: Mutex<Kept>,
    /// What became of their requests.
    pub(crate) attempts: Arc<AttemptLog>,
    /// Exchanges under way.
    open: watch::Sender<u32>,
}

#[derive(Debug, Default)]
struct Kept {
    /// In the order of their first calls.
    used: Vec<(Arc<LoadedPlugin>, PluginUse)>,
    log: Vec<LogRecord>,
    log_bytes: usize,
}

/// Counts an exchange as under way until it is dropped.
pub(super) struct Open<'a>(&'a Meter);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl Meter {
    /// Counts an exchange as under way from now on.
    pub(super) fn open(&self) -> Open<'_> {
        self.open.send_modify(|open| *open += 1);
        Open(self)
    }

    /// Waits until no exchange is under way.
    pub(super) async fn idle(&self) {
        let mut open = self.open.subscribe();
        // It fails when there is no sender, which is `self`.
        drop(open.wait_for(|open| *open == 0).await);
    }

    /// Adds what one call of a plugin used.
    pub(super) fn add(&self, plugin: &Arc<LoadedPlugin>, usage: &CallUsage) {
        let mut kept = self.lock();
        let known = kept.used.iter_mut().find(|(it, _)| Arc::ptr_eq(it, plugin));
        if let Some((_, used)) = known {
            used.add(usage);
            return;
        }
        let mut used = PluginUse::default();
        used.add(usage);
        kept.used.push((plugin.clone(), used));
    }

    /// Keeps a line of a plugin's, if there is room.
    pub(super) fn log(&self, line: LogRecord) {
        let mut kept = self.lock();
        let bytes = kept.log_bytes + line.message.len();
        if kept.log.len() < MOST_LINES && bytes <= MOST_LINE_BYTES {
            kept.log_bytes = bytes;
            kept.log.push(line);
        }
    }

    /// What the plugin of this name and version used, any version if that is empty, and what all others did, in the
    /// order of their first calls.
    pub(crate) fn used(&self, name: &str, version: &str) -> (PluginUse, Vec<PluginRecord>) {
        let kept = self.lock();
        let is_own = |(plugin, _): &&(Arc<LoadedPlugin>, PluginUse)| {
            let info = plugin.component.info();
            info.name == name && (version.is_empty() || info.version == version)
        };
        let own = kept.used.iter().find(is_own).map(|(_, used)| *used);
        let others = kept.used.iter().filter(|it| !is_own(it));
        let others = others.map(|(plugin, used)| {
            let (component, info) = (&plugin.component, plugin.component.info());
            PluginRecord {
                plugin: info.name.clone(),
                version: info.version.clone(),
                sha256: component.sha256().to_owned(),
                used: *used,
            }
        });
        (own.unwrap_or_default(), others.collect())
    }

    /// The lines that were kept.
    pub(crate) fn logged(&self) -> Vec<LogRecord> {
        self.lock().log.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[test]
    fn the_first_lines_are_kept_and_none_beyond_the_room() {
        let meter = Meter::default();
        let line = |bytes: usize| LogRecord {
            plugin: "p".to_owned(),
            level: "info".to_owned(),
            message: "x".repeat(bytes),
        };
        meter.log(line(MOST_LINE_BYTES - 1));
        meter.log(line(2));
        (0..2 * MOST_LINES).for_each(|_| meter.log(line(0)));
        meter.log(line(1));
        let kept = meter.logged();
        assert_eq!(kept.len(), MOST_LINES);
        assert_eq!(
            kept.iter().map(|it| it.message.len()).sum::<usize>(),
            MOST_LINE_BYTES - 1
        );
    }

    #[tokio::test]
    async fn a_case_is_idle_when_the_last_of_its_exchanges_has_ended() {
        let meter = Meter::default();
        meter.idle().await;
        let (first, second) = (meter.open(), meter.open());
        let mut idle = Box::pin(meter.idle());
        assert!(poll!(&mut idle).is_pending());
        drop(first);
        assert!(poll!(&mut idle).is_pending());
        drop(second);
        assert!(poll!(&mut idle).is_ready());
    }
}
