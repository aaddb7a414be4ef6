//! The format of `cache.db`: how a file of each older format becomes one of the next.
//!
//! A migration that was released is never edited. A later format may throw all entries away,
//! which costs money once and no result.
//!
//! One table: an entry is found by its key and read whole. The texts for people stand before the
//! payload, so that a list does not have to page through it.

use crate::database::Schema;

/// "RUNC" as a big-endian integer.
const APPLICATION_ID: i32 = 0x5255_4E43;

/// The formats of `cache.db`.
pub(super) const CACHE: Schema = Schema {
    application_id: APPLICATION_ID,
    migrations: &[FORMAT_1],
};

/// AUTOINCREMENT: an id is never given twice, so that "this entry was used" and "this entry is
/// damaged", which are written later, can't meet another entry. The sums are kept by triggers:
/// right in every process and for every way in which an entry can come or go. `entries_by_use`
/// holds `bytes` so that choosing what leaves reads the index only.
const FORMAT_1: &str = "
CREATE TABLE entries (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    key_version  INTEGER NOT NULL,
    key          BLOB    NOT NULL,
    stored_at_ms INTEGER NOT NULL,
    used_at_ms   INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    plain_bytes  INTEGER NOT NULL,
    origin       TEXT    NOT NULL,
    bucket       TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    payload      BLOB    NOT NULL,
    UNIQUE (key_version, key)
) STRICT;

CREATE INDEX entries_by_use ON entries (used_at_ms, id, bytes);
CREATE INDEX entries_by_age ON entries (stored_at_ms);

CREATE TABLE totals (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    entries  INTEGER NOT NULL,
    bytes    INTEGER NOT NULL
) STRICT;

INSERT INTO totals VALUES (1, 0, 0);

CREATE TRIGGER entry_comes AFTER INSERT ON entries BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.bytes;
END;

CREATE TRIGGER entry_goes AFTER DELETE ON entries BEGIN
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.bytes;
END;
";
