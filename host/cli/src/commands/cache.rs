//! `runner cache`: what is remembered, for people; and the cache as an evaluation opens it.
//!
//! The file is the whole state. Asking about it makes none: without one there is nothing
//! remembered. A file that can't be used stops the command, and an evaluation, too: to go on
//! without it would be paying in silence for what is there already.

use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use runner_store::{
    Cache as Answers, CacheItem, CacheOptions, CacheStats, CachedResponse, Cleared, OpenOptions,
    StoreError,
};
use serde_json::Value;

use super::CommandContext;
use super::list::when;
use crate::arguments::{Cache, ClearCache, ListCache};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::listing::{self, Side};
use crate::stdout;
use crate::visible;

mod json;

/// Digits of a key in lists: one in a million pairs of a hundred thousand entries share them.
const KEY_DIGITS: usize = 12;

/// Carries out `runner cache …`.
pub(super) fn run(arguments: &Cache, setting: &CommandContext) -> Result<u8, Failure> {
    let path = setting.home.answers();
    if !path.exists() {
        return nothing(arguments, &path, setting);
    }
    let answers = open(setting)?;
    let zone = TimeZone::system();
    let (is_json, text, value) = match arguments {
        Cache::Stats { json } => {
            let found = answers.stats().map_err(told)?;
            (json, stats(&found, &zone), json::stats(&found))
        }
        Cache::Ls(ListCache {
            containing,
            limit,
            json,
        }) => {
            let items = answers.list(containing.as_deref(), *limit).map_err(told)?;
            let text = list(&items, &zone, setting.terminal.width);
            (json, text, items.iter().map(json::item).collect())
        }
        Cache::Show { key, json } => {
            let (item, response) = answers.show(key).map_err(told)?;
            let value = json::entry(&item, &response);
            (json, entry(&item, &response, &zone), value)
        }
        Cache::Clear(ClearCache { older_than, json }) => {
            let before = older_than.map(|age| ms_of(SystemTime::now(), age));
            let cleared = answers.clear(before).map_err(told)?;
            let entries = figures::counted(cleared.entries, "answer", "answers");
            let text = format!("cleared: {entries}, {}\n", size(cleared.bytes));
            (json, text, json::cleared(cleared))
        }
    };
    if *is_json {
        stdout::json(&value)?;
    } else {
        stdout::print(&text)?;
    }
    Ok(SUCCESS)
}

/// What there is to say without a file.
fn nothing(arguments: &Cache, path: &Path, setting: &CommandContext) -> Result<u8, Failure> {
    match arguments {
        Cache::Show { key, .. } => {
            return Err(told(StoreError::NoSuchEntry {
                wanted: key.clone(),
            }));
        }
        Cache::Stats { json: true } => stdout::json(&json::no_stats(path))?,
        Cache::Ls(ListCache { json: true, .. }) => stdout::json(&Value::Array(Vec::new()))?,
        Cache::Clear(ClearCache { json: true, .. }) => {
            stdout::json(&json::cleared(Cleared::default()))?;
        }
        Cache::Stats { .. } | Cache::Ls(_) | Cache::Clear(_) => {
            let shown = path.display();
            setting
                .talk
                .line(&format!("nothing is cached: there is no {shown}"));
        }
    }
    Ok(SUCCESS)
}

/// Opens the cache as the environment wants it; made if there is none.
///
/// # Errors
/// When the file can't be used, or a variable makes no sense.
pub(super) fn open(setting: &CommandContext) -> Result<Answers, Failure> {
    setting.home.make()?;
    let mut options = CacheOptions {
        open: OpenOptions {
            wal: !setting.environment.flag("DISABLE_WAL_MODE")?,
        },
        key_version: runner_gateway::KEY_VERSION,
        ..CacheOptions::default()
    };
    if let Some(seconds) = setting.environment.seconds("CACHE_TTL")? {
        // promptfoo's meaning of 0.
        options.ttl = (!seconds.is_zero()).then_some(seconds);
    }
    options.left_free = setting.environment.mebibytes("LEFT_FREE")?;
    let path = setting.home.answers();
    Answers::open(&path, options).map_err(told)
}

/// What can't be done with the cache, and what to do about it.
fn told(error: StoreError) -> Failure {
    let path = match &error {
        StoreError::NotADatabase { path }
        | StoreError::Foreign { path }
        | StoreError::Newer { path, .. }
        | StoreError::Damaged { path }
        | StoreError::Unreadable { path, .. } => path.display().to_string(),
        StoreError::NoSuchEntry { .. } | StoreError::AmbiguousEntry { .. } => {
            return Failure::usage(error).help("`runner cache ls` shows the keys");
        }
        StoreError::Create { source, .. } => {
            return Failure::usage(format!("{error}: {source}"))
                .help("run without the cache: --no-cache");
        }
        _ => return Failure::from(anyhow::Error::new(error)),
    };
    Failure::usage(error).help(format!(
        "delete {path} (no results are lost), or run without the cache: --no-cache"
    ))
}

fn stats(stats: &CacheStats, zone: &TimeZone) -> String {
    let at = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), |ms| when(ms, zone));
    format!(
        "file     {}\nanswers  {}\nsize     {} of {}, file {}\noldest   {}\nnewest   {}\n",
        visible::line(&stats.path.display().to_string()),
        figures::count(stats.entries),
        size(stats.bytes),
        size(stats.max_bytes),
        size(stats.file_bytes),
        at(stats.oldest_ms),
        at(stats.newest_ms),
    )
}

fn list(items: &[CacheItem], zone: &TimeZone, width: u16) -> String {
    let headings = [
        ("key", Side::Left),
        ("stored", Side::Left),
        ("size", Side::Right),
        ("for", Side::Left),
        ("model", Side::Left),
    ];
    let row = |item: &CacheItem| {
        let key = item.key.to_string();
        vec![
            key[..KEY_DIGITS].to_owned(),
            when(item.stored_at_ms, zone),
            size(item.bytes),
            visible::line(&item.labels.url).into_owned(),
            visible::line(&item.labels.bucket).into_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    listing::render(&headings, &rows, width)
}

fn entry(item: &CacheItem, response: &CachedResponse, zone: &TimeZone) -> String {
    let latency = Duration::from_millis(response.latency_ms);
    let mut text = format!(
        "key      {}\nrequest  {} {}\nstored   {}\ntook     {}\n\n{}\n",
        item.key,
        visible::line(&item.labels.method),
        visible::line(&item.labels.url),
        when(item.stored_at_ms, zone),
        figures::duration(latency),
        response.status,
    );
    for (name, value) in &response.headers {
        text.push_str(&visible::line(&format!("{name}: {value}")));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&visible::block(&String::from_utf8_lossy(&response.body)));
    text.push('\n');
    text
}

/// Milliseconds since 1970 of the moment `age` before `now`.
fn ms_of(now: SystemTime, age: Duration) -> i64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let at = since.unwrap_or_default().saturating_sub(age);
    i64::try_from(at.as_millis()).unwrap_or(i64::MAX)
}

/// A number of bytes in the unit that leaves one to three digits before the point.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use runner_store::{CacheLabels, Digest};

    use super::*;

    #[test]
    fn bytes_are_shown_in_their_unit() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (1 << 30, "1.0 GiB"),
            (5 << 40, "5.0 TiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn a_list_shows_enough_of_a_key_to_name_it() {
        let item = CacheItem {
            key: Digest::new([0xab; 32]),
            key_version: 1,
            labels: CacheLabels {
                origin: "https://api.acme.com".to_owned(),
                bucket: "gpt\u{1b}".to_owned(),
                method: "POST".to_owned(),
                url: "https://api.acme.com/v1".to_owned(),
            },
            stored_at_ms: 1_700_000_000_000,
            used_at_ms: 0,
            bytes: 2048,
            plain_bytes: 0,
        };
        assert_eq!(
            list(&[item], &TimeZone::UTC, 120),
            "\
key           stored               size  for                      model
abababababab  2023-11-14 22:13  2.0 KiB  https://api.acme.com/v1  gpt␛
"
        );
    }

    #[test]
    fn a_file_that_cant_be_used_may_be_deleted() {
        let failure = told(StoreError::Damaged {
            path: "/x/cache.db".into(),
        });
        assert_eq!(failure.code(), crate::exit::USAGE);
        assert_eq!(
            failure.render(),
            "error: /x/cache.db is damaged\n\
             help: delete /x/cache.db (no results are lost), or run without the cache: --no-cache"
        );
    }
}
