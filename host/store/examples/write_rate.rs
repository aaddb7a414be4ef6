//! Prints how fast rows are written and read, and what a row costs in CPU time.
//!
//! `cargo run --release -p runner-store --example write_rate [-- ROWS [BYTES]]`: rows pushed
//! (default 50000) with a record of that size (default 2048), once with a write-ahead log and
//! once with a rollback journal, into a temporary folder. One line each:
//!
//! `journal=wal rows=50000 record_bytes=2048 rows_per_s=… cpu_us_per_row=… push_us_per_row=… read_rows_per_s=… reopen_us_per_row=… move_us_per_row=… file_bytes_per_row=…`
//!
//! CPU time is the whole process's, as the system accounts it (Linux; `nan` elsewhere), while
//! rows are written, from the first push to the end of `finish`; the texts exist before.
//! `push_us_per_row` is the time that the pushing thread is kept, waiting included.
//! `reopen_us_per_row` and `move_us_per_row` are what it takes to go on with a run that is whole,
//! under the same plan and under one that moves every row.

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use runner_store::{
    Digest, NewRun, OpenOptions, Outcome, PlannedCase, Row, RunEnd, RunStatus, Store,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(50_000), |text| text.parse())?;
    let bytes = arguments.next().map_or(Ok(2048), |text| text.parse())?;
    for (journal, wal) in [("wal", true), ("rollback", false)] {
        let figures = measure(wal, rows, bytes)?;
        writeln!(
            std::io::stdout(),
            "journal={journal} rows={rows} record_bytes={bytes} {figures}"
        )?;
    }
    Ok(())
}

fn measure(wal: bool, rows: u32, bytes: usize) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs.db");
    let store = Store::open(&path, OpenOptions { wal })?;
    let prepared: Vec<Row> = (0..rows).map(|number| row(number, bytes)).collect();

    let writer = store.begin_run(new_run())?;
    let (began, cpu_before) = (Instant::now(), cpu_time());
    for row in prepared {
        writer.push(row)?;
    }
    let pushed = began.elapsed();
    writer.finish(RunEnd {
        status: RunStatus::Finished,
        ended_at_ms: 1,
        summary_json: "{}".to_owned(),
    })?;
    let written = began.elapsed();
    let cpu = cpu_time()
        .zip(cpu_before)
        .map(|(after, before)| after.saturating_sub(before));

    let began = Instant::now();
    let mut read = 0;
    for row in store.rows("rate")? {
        read += u32::from(row?.record_json.len() == bytes);
    }
    let reading = began.elapsed();
    if read != rows {
        return Err(format!("{rows} rows were pushed, {read} came back").into());
    }
    let (staying, moving) = (reopen(&store, rows, 0)?, reopen(&store, rows, 1)?);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(rows);
    Ok(format!(
        "rows_per_s={:.0} cpu_us_per_row={:.1} push_us_per_row={:.1} read_rows_per_s={:.0} reopen_us_per_row={:.1} move_us_per_row={:.1} file_bytes_per_row={}",
        f64::from(rows) / written.as_secs_f64(),
        cpu.map_or(f64::NAN, each),
        each(pushed),
        f64::from(rows) / reading.as_secs_f64(),
        each(staying),
        each(moving),
        std::fs::metadata(&path)?.len() / u64::from(rows),
    ))
}

/// How long it takes to go on with the run under a plan that has so many tests in front of it.
fn reopen(store: &Store, rows: u32, shift: u32) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let mut run = store.reopen_run("rate")?;
    let placement = run.place((0..rows).map(|number| PlannedCase {
        test_idx: number / 4 + shift,
        prompt_idx: number % 4,
        identity: identity(number),
    }))?;
    let head = run.head().clone();
    let writer = run.start(&head)?;
    let open = store.cases("rate")?.count() as u64;
    let time = began.elapsed();
    drop(writer);
    if placement.kept + placement.moved != open {
        return Err(format!("{placement:?} of {rows} rows").into());
    }
    Ok(time)
}

/// Scattered, as digests are.
fn identity(number: u32) -> Digest {
    let mut bytes = [0; Digest::BYTES];
    let scattered = number.wrapping_mul(0x9E37_79B1);
    bytes[..4].copy_from_slice(&scattered.to_be_bytes());
    Digest::new(bytes)
}

/// User and system time of this process: fields 14 and 15 of its line in the system's table, in
/// ticks of 10 ms.
fn cpu_time() -> Option<Duration> {
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, field 2, ends with the last parenthesis and may hold anything.
    let (_, fields) = line.rsplit_once(')')?;
    let mut times = fields
        .split_whitespace()
        .skip(11)
        .map_while(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(10 * (times.next()? + times.next()?)))
}

fn new_run() -> NewRun {
    NewRun {
        id: "rate".to_owned(),
        created_at_ms: 0,
        description: None,
        tags_json: "{}".to_owned(),
        config_json: "{}".to_owned(),
        columns_json: "[]".to_owned(),
        plugins_json: "[]".to_owned(),
        options_json: "{}".to_owned(),
        seed: 0,
    }
}

/// A row as an evaluation writes it, with a text of just that length.
fn row(number: u32, bytes: usize) -> Row {
    let mut record_json = format!(r#"{{"testIdx":{number},"output":""#);
    let words = [
        "the ", "model ", "said ", "that ", "case ", "was ", "rather ", "simple ",
    ];
    let mut seed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    while record_json.len() < bytes {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        record_json.push_str(words[(seed % 8) as usize]);
    }
    record_json.truncate(bytes.saturating_sub(2));
    record_json.push_str("\"}");
    Row {
        test_idx: number / 4,
        prompt_idx: number % 4,
        row_id: format!("0190c6f0-7a5e-7000-8000-{number:012}"),
        identity: Some(identity(number)),
        outcome: Outcome::ALL[(seed % 3) as usize],
        score: 0.5,
        latency_ms: Some(seed % 5000),
        cost_usd: Some(0.000_12),
        grading_usd: None,
        saved_usd: None,
        input_tokens: Some(seed % 800),
        output_tokens: Some(seed % 300),
        cached: false,
        record_json,
    }
}
