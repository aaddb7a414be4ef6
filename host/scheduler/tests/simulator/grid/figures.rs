//! What the cells of a grid have reached: quantiles, the table, and the worst with the reason.

use std::cmp::Reverse;
use std::fmt::Write;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::{Cell, Class, Counting};
use crate::simulator::client::{self, Way};
use crate::simulator::gate::Share;
use crate::simulator::score::{self, Score};

/// All of it.
const WHOLE: u64 = 100_000;

/// How many of the worst are told.
const WORST: usize = 20;

/// A cell and what came out.
#[derive(Debug, Clone)]
pub(crate) struct TriedCell {
    pub(crate) cell: Cell,
    pub(crate) score: Score,
}

/// What half of some cells reach, and what all but a twentieth do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Quantiles {
    pub(crate) cells: usize,
    /// The time of the best client, as a part of that which was needed.
    pub(crate) goodput: [Share; 2],
    /// Refused calls, at most.
    pub(crate) refused: [Share; 2],
    /// What answers take above what they take at the knee, at most; of the middle one.
    pub(crate) slower: [Share; 2],
}

/// What the cells of a class have to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) class: Class,
    name: &'static str,
    pub(crate) held: Quantiles,
}

const fn bounds(
    class: Class,
    name: &'static str,
    [goodput, refused, slower]: [[u64; 2]; 3],
) -> Bounds {
    let held = Quantiles {
        cells: 0,
        goodput: [Share::tenths(goodput[0]), Share::tenths(goodput[1])],
        refused: [Share::tenths(refused[0]), Share::tenths(refused[1])],
        slower: [Share::tenths(slower[0]), Share::tenths(slower[1])],
    };
    Bounds { class, name, held }
}

/// In tenths of a per cent: what is reached, with a little room. What is wanted stands in the README.
pub(crate) const BOUNDS: [Bounds; 3] = [
    bounds(
        Class::Declared,
        "limits that are declared",
        [[890, 270], [25, 360], [0, 0]],
    ),
    bounds(
        Class::Undeclared,
        "limits that nobody declares",
        [[880, 440], [20, 250], [0, 0]],
    ),
    bounds(
        Class::Queue,
        "servers that queue",
        [[955, 830], [0, 0], [210, 385]],
    ),
];

impl TriedCell {
    fn new(cell: &Cell) -> Self {
        let score = score::of_plan(&cell.plan, &cell.to_string(), None, cell.seed);
        let cell = cell.clone();
        Self { cell, score }
    }

    /// The time of the best client, as a part of that which was needed.
    fn goodput(&self) -> Share {
        Share::of(WHOLE, WHOLE + self.score.regret.0)
    }
}

/// Tries cells, on as many processors as there are.
pub(crate) fn try_all(cells: &[Cell]) -> Vec<TriedCell> {
    let done = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tried = TriedCell::new(cell);
                    done.lock().expect("nobody panics with it").push(tried);
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    done.sort_by_key(|tried| tried.cell.seed);
    done
}

impl Quantiles {
    /// Of those that are long enough and for which `wanted` holds.
    pub(crate) fn of(tried: &[TriedCell], wanted: impl Fn(&Cell) -> bool) -> Self {
        let long = |tried: &&TriedCell| !tried.cell.is_short() && wanted(&tried.cell);
        let those: Vec<&TriedCell> = tried.iter().filter(long).collect();
        let quantiles = |figure: &dyn Fn(&TriedCell) -> Share| {
            let mut all: Vec<Share> = those.iter().map(|tried| figure(tried)).collect();
            all.sort_unstable();
            let last = all.len().saturating_sub(1);
            let at = |percent| all.get(last * percent / 100).copied().unwrap_or_default();
            [at(50), at(95)]
        };
        // Of goodput more is better, so what is lost is sorted.
        let lost = quantiles(&|tried| Share(WHOLE - tried.goodput().0));
        Self {
            cells: those.len(),
            goodput: lost.map(|lost| Share(WHOLE - lost.0)),
            refused: quantiles(&|tried| tried.score.wasted),
            slower: quantiles(&|tried| tried.score.slower.unwrap_or_default()),
        }
    }
}

impl Bounds {
    /// What of them is missed, in words: of half of the cells, or `all` of it.
    pub(crate) fn misses(&self, tried: &[TriedCell], all: bool) -> Vec<String> {
        let found = Quantiles::of(tried, |cell| cell.class() == self.class);
        let mut misses = Vec::new();
        for (place, cells) in ["half of the cells", "all but a twentieth"]
            .iter()
            .enumerate()
        {
            if place > 0 && !all {
                break;
            }
            let name = self.name;
            if found.goodput[place] < self.held.goodput[place] {
                let (found, wanted) = (found.goodput[place], self.held.goodput[place]);
                misses.push(format!("{name}: {cells} reach {found}, not {wanted}"));
            }
            for (what, found, most) in [
                ("refused", found.refused[place], self.held.refused[place]),
                ("slower", found.slower[place], self.held.slower[place]),
            ] {
                if found > most {
                    misses.push(format!("{name}: {cells} have {found} {what}, not {most}"));
                }
            }
        }
        misses
    }
}

/// The table of some grids beside each other: each class as a whole, and by how its servers count.
pub(crate) fn markdown(grids: &[&[TriedCell]]) -> String {
    let columns = " cells | goodput | refused | slower |".repeat(grids.len());
    let rule = "---|".repeat(1 + 4 * grids.len());
    let mut text = format!("| servers |{columns}\n|{rule}\n");
    for bounds in BOUNDS {
        let class = |cell: &Cell| cell.class() == bounds.class;
        row(&mut text, &format!("**{}**", bounds.name), grids, &class);
        for counting in Counting::ALL {
            let own = |cell: &Cell| class(cell) && cell.counting == counting;
            if grids[0].iter().any(|tried| own(&tried.cell)) {
                row(&mut text, counting.name(), grids, &own);
            }
        }
    }
    text
}

fn row(text: &mut String, name: &str, grids: &[&[TriedCell]], wanted: &dyn Fn(&Cell) -> bool) {
    write!(text, "| {name} |").expect("a string takes everything");
    for tried in grids {
        let found = Quantiles::of(tried, wanted);
        let both = |[half, most]: [Share; 2]| format!("{half} / {most}");
        let queues = |tried: &TriedCell| wanted(&tried.cell) && tried.score.slower.is_some();
        let slower = if tried.iter().any(queues) {
            both(found.slower)
        } else {
            "–".to_owned()
        };
        let (goodput, refused) = (both(found.goodput), both(found.refused));
        let cells = found.cells;
        write!(text, " {cells} | {goodput} | {refused} | {slower} |")
            .expect("a string takes everything");
    }
    text.push('\n');
}

/// The cells with the least goodput, each with what its lanes waited for.
pub(crate) fn worst(tried: &[TriedCell]) -> Vec<String> {
    let mut worst: Vec<&TriedCell> = tried.iter().filter(|it| !it.cell.is_short()).collect();
    worst.sort_by_key(|tried| (tried.goodput(), tried.cell.seed));
    worst.truncate(WORST);
    worst.into_iter().map(told).collect()
}

fn told(tried: &TriedCell) -> String {
    let way = Way {
        name: tried.cell.to_string(),
        trace: false,
        explain: true,
    };
    let run = client::run(tried.cell.plan.world(tried.cell.seed), way);
    let nanos = |span: &Duration| span.as_nanos() as u64;
    let all: u64 = run.waited.values().map(nanos).sum();
    let mut waited: Vec<(&str, u64)> = run.waited.iter().map(|(why, s)| (*why, nanos(s))).collect();
    waited.sort_by_key(|(_, span)| Reverse(*span));
    let part = |(why, span): &(&str, u64)| format!("{why} {}", Share::of(*span, all));
    let waited: Vec<String> = waited.iter().take(2).map(part).collect();
    let (seed, cell, refused) = (tried.cell.seed, &tried.cell, tried.score.wasted);
    let goodput = tried.goodput();
    format!(
        "{goodput}, {refused} refused: cell {seed} ({cell}); waited for {}",
        waited.join(", ")
    )
}
