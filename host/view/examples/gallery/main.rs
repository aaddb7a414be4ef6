//! Fills a database with runs that look like something, and serves it: to look at the pages, and to
//! measure them.
//!
//! `cargo run --release -p runner-view --example gallery -- FOLDER [ROWS]`: makes `FOLDER/runs.db` if it is
//! not there, with four runs of 40 tests in three columns and, if ROWS is given, one of so many cases;
//! then prints the address to open and serves until Ctrl-C.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use runner_store::{OpenOptions, Store};
use runner_view::Viewer;

mod runs;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder")?;
    let rows: u32 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let path = Path::new(&folder).join("runs.db");
    let is_new = !path.exists();
    let store = Store::open(&path, OpenOptions::default())?;
    if is_new {
        for day in 0..4_u32 {
            runs::fill(
                &store,
                &format!("run-2026112{day}-080000-ab{day}f01"),
                "Hotel assistant",
                day,
                120,
            )?;
        }
        if rows > 0 {
            runs::fill(
                &store,
                "run-20261125-090000-million",
                "A large run",
                9,
                rows,
            )?;
        }
    }
    let viewer = Viewer::bind(store, None)?;
    writeln!(std::io::stdout(), "{}", viewer.address())?;
    Ok(viewer.serve()?)
}
