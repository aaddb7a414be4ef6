//! `cargo xtask nunjucks`: the table of templates against the real nunjucks.
//!
//! npm, which brings its own node, puts nunjucks into the target folder; a script renders each
//! row and compares. The table holds what was confirmed, so the tests need none of this: it is
//! for whoever adds rows. The version is fixed: another one may print otherwise.

use std::process::Command;

use crate::place::Place;
use crate::step::{self, Failure};

/// The one that promptfoo 0.123 uses.
const NUNJUCKS: &str = "nunjucks@3.2.4";

/// Compares the table with nunjucks, or with `write` puts nunjucks' outputs into it.
pub(crate) fn run(place: &Place, write: bool) -> Result<(), Failure> {
    let folder = place.target.join("nunjucks");
    let library = folder.join("node_modules").join("nunjucks");
    if !library.is_dir() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund"]);
        npm.args(["--ignore-scripts", "--prefix"]);
        npm.arg(&folder).arg(NUNJUCKS);
        let what = "getting nunjucks from npm, which has to be installed";
        step::run(what, &mut npm)?;
    }
    let tests = place.root.join("template/tests/nunjucks");
    let mut node = Command::new("node");
    node.arg(tests.join("confirm.js"));
    node.arg(library).arg(tests.join("table.jsonl"));
    node.args(write.then_some("--write"));
    step::run("rendering the table with nunjucks", &mut node)
}
