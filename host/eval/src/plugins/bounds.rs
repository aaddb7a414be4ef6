//! What bounds the calls of a plugin: time and memory of a guest, and how its requests share
//! quotas with others.
//!
//! Translations only: what a config says is checked in `config`, and what it means for a lane
//! is decided in the scheduler.

use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{DeclaredLimit, LimitCounts, Provider, RunOptions, ServerLimits};
use runner_config::{PluginEntry, Terms, microusd};
use runner_gateway::{LanePolicy, LaneStrategy, Limit, LimitMeasure, Scheduling};
use runner_sandbox::CallLimits;

use super::loaded::{LoadedPlugin, Trust};

/// Requests that a lane opens with at most, however many the user asked for: what a server refuses of
/// more is lost before the first word of it is heard.
const WIDEST_OPENING: u32 = 100;

/// The defaults, tightened or widened by the entry's `limits`.
pub(super) fn call_limits(plugin: &LoadedPlugin, mut limits: CallLimits) -> CallLimits {
    if let Trust::Foreign(Some(entry)) = &plugin.trust {
        if let Some(megabytes) = entry.limits.memory_mb {
            limits.memory = megabytes << 20;
        }
        if let Some(ms) = entry.limits.cpu_ms {
            limits.guest_time = Duration::from_millis(ms);
            // Who says how much time it may have means time, not what we take for it.
            limits.fuel = None;
        }
    }
    limits
}

/// On what terms the entry uses its component.
pub(super) fn terms(entry: &PluginEntry) -> Terms {
    let (limits, usual) = (&entry.limits, CallLimits::assertion());
    let renamed = entry.renamed.iter();
    Terms {
        memory_mb: limits.memory_mb.filter(|mb| mb << 20 > usual.memory),
        cpu_ms: (limits.cpu_ms).filter(|ms| Duration::from_millis(*ms) > usual.guest_time),
        requests: limits.requests,
        tokens: limits.tokens,
        cost_microusd: limits.usd.and_then(microusd),
        renamed: renamed
            .map(|(own, (name, _))| (own.clone(), name.clone()))
            .collect(),
    }
}

/// What holds for all lanes of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllLanes {
    server_limits: ServerLimits,
    /// Requests at once that the user asked for (`-j`).
    asked: Option<u32>,
    /// The longest wait that a server may ask for; `None`: no limit.
    longest_wait: Option<Duration>,
    /// Whether a request that ran out of time is sent again.
    retry_timeouts: bool,
}

impl AllLanes {
    /// What the run's options say.
    pub(crate) fn of(options: &RunOptions) -> Self {
        Self {
            server_limits: options.server_limits,
            asked: options.asked_concurrency,
            longest_wait: options.max_retry_after,
            retry_timeouts: options.retry_timeouts,
        }
    }

    /// The policy of a lane of which nobody says more.
    fn policy(self) -> LanePolicy {
        let usual = LanePolicy {
            longest_hint: self.longest_wait.unwrap_or(Duration::MAX),
            retry_timeouts: self.retry_timeouts,
            ..LanePolicy::default()
        };
        if self.server_limits == ServerLimits::Ignored {
            return LanePolicy {
                strategy: LaneStrategy::Fixed,
                ..usual
            };
        }
        let asked = self.asked.map(|asked| asked.max(1));
        LanePolicy {
            start_window: asked.map_or(usual.start_window, |asked| asked.min(WIDEST_OPENING)),
            max_window: asked.unwrap_or(usual.max_window),
            ..usual
        }
    }
}

/// How the requests of a provider share quotas; of a grader's own requests without one.
pub(super) fn scheduling(provider: Option<&Provider>, lanes: AllLanes) -> Scheduling {
    let usual = lanes.policy();
    let Some(provider) = provider else {
        return Scheduling {
            policy: usual,
            ..Scheduling::default()
        };
    };
    let most = provider.max_concurrency.unwrap_or(usual.max_window);
    let max_window = most.min(lanes.asked.unwrap_or(most)).max(1);
    let min_window = provider.min_concurrency.unwrap_or(usual.min_window);
    let min_window = min_window.clamp(1, max_window);
    Scheduling {
        policy: LanePolicy {
            min_window,
            start_window: usual.start_window.clamp(min_window, max_window),
            max_window,
            ..usual
        },
        max_retries: provider.max_retries,
        pool: provider.pool.clone(),
        limits: provider.limits.iter().map(limit).collect(),
        caller: Some(provider.label.as_ref().unwrap_or(&provider.id).clone()),
    }
}

fn limit(declared: &Arc<DeclaredLimit>) -> Arc<Limit> {
    Arc::new(Limit {
        name: declared.name.clone(),
        counts: match declared.counts {
            LimitCounts::Requests { window } => LimitMeasure::Requests(window),
            LimitCounts::Tokens { window } => LimitMeasure::Tokens(window),
            LimitCounts::Concurrency => LimitMeasure::Concurrency,
        },
        capacity: declared.capacity,
    })
}

#[cfg(test)]
mod tests {
    use runner_config::TextOrigin;
    use runner_config::plan::{Budget, Places, Position, ProviderCode};
    use serde_json::Map;

    use super::*;

    fn provider() -> Provider {
        Provider {
            id: "acme:gpt".to_owned(),
            label: None,
            prefix: "acme".to_owned(),
            name: "gpt".to_owned(),
            config: Map::new(),
            delay: None,
            max_retries: None,
            min_concurrency: None,
            max_concurrency: None,
            pool: None,
            limits: Vec::new(),
            budget: Budget::default(),
            env: Map::new(),
            transform: None,
            code: ProviderCode::default(),
            plugin: "acme".to_owned(),
            program: None,
            origin: TextOrigin::Config,
            env_reads: Vec::new(),
            at: Position::default(),
            places: Places::default(),
        }
    }

    #[test]
    fn a_provider_without_knobs_is_scheduled_as_usual() {
        let learnt = lanes(None);
        let of_provider = Scheduling {
            caller: Some("acme:gpt".to_owned()),
            ..Scheduling::default()
        };
        assert_eq!(scheduling(Some(&provider()), learnt), of_provider);
        assert_eq!(scheduling(None, learnt), Scheduling::default());
        let ignored = AllLanes {
            server_limits: ServerLimits::Ignored,
            asked: Some(9),
            longest_wait: None,
            retry_timeouts: true,
        };
        let ignored = scheduling(None, ignored);
        assert_eq!(ignored.policy.strategy, LaneStrategy::Fixed);
        assert_eq!(ignored.policy.longest_hint, Duration::MAX);
        assert!(ignored.policy.retry_timeouts);
    }

    fn lanes(asked: Option<u32>) -> AllLanes {
        AllLanes {
            server_limits: ServerLimits::Learnt,
            asked,
            longest_wait: Some(LanePolicy::default().longest_hint),
            retry_timeouts: false,
        }
    }

    #[test]
    fn a_lane_opens_with_what_the_user_asked_for_and_never_passes_it() {
        let windows = |asked, max| {
            let bounded = Provider {
                max_concurrency: max,
                ..provider()
            };
            let policy = scheduling(Some(&bounded), lanes(Some(asked))).policy;
            (policy.start_window, policy.max_window)
        };
        assert_eq!(windows(20, None), (20, 20));
        assert_eq!(windows(1, None), (1, 1));
        assert_eq!(windows(500, None), (100, 500));
        assert_eq!(windows(20, Some(8)), (8, 8));
        assert_eq!(windows(20, Some(50)), (20, 20));
    }

    #[test]
    fn the_window_starts_between_its_bounds_whatever_they_are() {
        let windows = |min, max| {
            let bounded = Provider {
                min_concurrency: min,
                max_concurrency: max,
                ..provider()
            };
            let policy = scheduling(Some(&bounded), lanes(None)).policy;
            (policy.min_window, policy.start_window, policy.max_window)
        };
        assert_eq!(windows(None, None), (1, 4, 256));
        assert_eq!(windows(Some(10), None), (10, 10, 256));
        assert_eq!(windows(None, Some(2)), (1, 2, 2));
        assert_eq!(windows(Some(9), Some(2)), (2, 2, 2));
        assert_eq!(windows(Some(0), Some(0)), (1, 1, 1));
    }

    #[test]
    fn retries_pool_and_limits_are_passed_on() {
        let window = Duration::from_mins(1);
        let shared = |name: &str, counts, capacity| {
            let name = name.to_owned();
            Arc::new(DeclaredLimit {
                name,
                counts,
                capacity,
            })
        };
        let bound = Provider {
            max_retries: Some(0),
            pool: Some("team".to_owned()),
            limits: vec![
                shared("account requests", LimitCounts::Requests { window }, 60),
                shared("account tokens", LimitCounts::Tokens { window }, 9000),
                shared("account concurrency", LimitCounts::Concurrency, 5),
            ],
            ..provider()
        };
        let scheduling = scheduling(Some(&bound), lanes(None));
        assert_eq!(scheduling.max_retries, Some(0));
        assert_eq!(scheduling.pool.as_deref(), Some("team"));
        let limits: Vec<_> = scheduling
            .limits
            .iter()
            .map(|limit| (limit.name.as_str(), limit.counts, limit.capacity))
            .collect();
        assert_eq!(
            limits,
            [
                ("account requests", LimitMeasure::Requests(window), 60),
                ("account tokens", LimitMeasure::Tokens(window), 9000),
                ("account concurrency", LimitMeasure::Concurrency, 5),
            ]
        );
    }
}
