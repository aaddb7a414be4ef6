//! What is tried. Each says what came out, so that the loop sees what is new, and panics where a
//! promise is broken.

use runner_config::bounds::{self, Bound};

mod component;
mod files;
mod gateway;
mod headers;
mod imports;
mod machines;
mod masks;
mod schema;
mod template;
mod wasi;

/// A reader of bytes, and what it promises.
pub struct Target {
    /// As on the command line, and of its folder in `corpus/`.
    pub name: &'static str,
    /// Pieces that mean something to it.
    pub(crate) words: &'static [&'static str],
    /// The longest input: what is dangerous shows its growth below it.
    pub(crate) longest: usize,
    /// Bytes of memory for each byte of its input.
    pub(crate) times: usize,
    /// Bytes of memory besides.
    pub(crate) base: usize,
    /// Reads an input, and says what came out.
    pub(crate) run: fn(&[u8]) -> String,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// A config with its files, and the plan of it.
const PLAN: Bound = bounds::TREE
    .and(bounds::REFERENCES)
    .and(bounds::TESTS)
    .and(Bound {
        times: 0,
        base: files::BASE,
    });

/// Reading a spreadsheet, as the config's README promises.
const SPREADSHEET: Bound = Bound {
    times: 1056,
    base: 120 * MIB,
};

/// Everything that is tried.
pub const TARGETS: &[Target] = &[
    Target {
        name: "yaml",
        words: files::YAML,
        longest: 64 * KIB,
        times: PLAN.times,
        base: PLAN.base,
        run: files::yaml,
    },
    Target {
        name: "json",
        words: files::JSON,
        longest: 64 * KIB,
        times: PLAN.times,
        base: PLAN.base,
        run: files::json,
    },
    Target {
        name: "jsonl",
        words: files::JSON,
        longest: 64 * KIB,
        times: PLAN.times,
        base: PLAN.base,
        run: files::jsonl,
    },
    Target {
        name: "csv",
        words: files::CSV,
        longest: 4 * KIB,
        times: PLAN.times,
        base: PLAN.base,
        run: files::csv,
    },
    Target {
        name: "xlsx",
        words: files::XLSX,
        longest: 64 * KIB,
        times: PLAN.and(SPREADSHEET).times,
        base: PLAN.and(SPREADSHEET).base,
        run: files::xlsx,
    },
    Target {
        name: "template",
        words: template::WORDS,
        longest: 64 * KIB,
        times: 80,
        base: 256 * MIB,
        run: template::run,
    },
    Target {
        name: "headers",
        words: headers::WORDS,
        longest: 64 * KIB,
        times: 64,
        base: MIB,
        run: headers::run,
    },
    Target {
        name: "masker",
        words: masks::WORDS,
        longest: 4 * KIB,
        times: 2000,
        base: 64 * MIB,
        run: masks::run,
    },
    Target {
        name: "http",
        words: gateway::WORDS,
        longest: 64 * KIB,
        times: 2000,
        base: 64 * MIB,
        run: gateway::run,
    },
    Target {
        name: "component",
        words: &[],
        longest: 64 * KIB,
        times: 4000,
        base: 512 * MIB,
        run: component::run,
    },
    Target {
        name: "imports",
        words: imports::WORDS,
        longest: 64 * KIB,
        times: 4000,
        base: 512 * MIB,
        run: imports::run,
    },
    Target {
        name: "wasi",
        words: wasi::WORDS,
        longest: 64 * KIB,
        times: 4000,
        base: 512 * MIB,
        run: wasi::run,
    },
    Target {
        name: "schema",
        words: schema::WORDS,
        longest: 64 * KIB,
        times: 4000,
        base: 64 * MIB,
        run: schema::run,
    },
    Target {
        name: "scheduler",
        words: &[],
        longest: 64 * KIB,
        times: 4000,
        base: 16 * MIB,
        run: machines::scheduler,
    },
    Target {
        name: "state",
        words: &[],
        longest: 64 * KIB,
        times: 400,
        base: MIB,
        run: machines::state,
    },
];
