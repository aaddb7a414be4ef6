//! The pages in a real Chromium: keys, forms and what loads later work, nothing hostile runs, and every
//! page fits every width. Where there is no Chromium, the test says so and passes.
//!
//! With `RUNNER_VIEW_PICTURES=FOLDER` it leaves a picture of every page there, to be looked at.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

mod barriers;
mod devtools;

use std::io::Write;

use data_encoding::BASE64;
use devtools::Browser;
use runner_store::{LaneMoment, LaneSample, OpenOptions, RunEnd, RunStatus, RunWriter, Store};
use runner_view::Viewer;
use serde_json::json;

#[path = "../../examples/gallery/runs.rs"]
mod runs;

const WIDTHS: [u32; 3] = [360, 820, 1440];

/// A browser that was let in, the store, the root of the server, and the ids of two runs.
struct Tried {
    browser: Browser,
    store: Store,
    root: String,
    old: String,
    new: String,
    _folder: tempfile::TempDir,
}

/// Nothing where there is no browser, which is said aloud.
fn tried() -> Option<Tried> {
    let Some(mut browser) = Browser::start() else {
        let loud = "\n!!! NO CHROMIUM: the pages were not tried in a browser. Install chromium, or set RUNNER_CHROMIUM.\n";
        std::io::stderr().write_all(loud.as_bytes()).unwrap();
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db"), OpenOptions::default()).unwrap();
    let [old, new] = [0, 1].map(|day| {
        let id = format!("run-{day}");
        runs::fill(&store, &id, "Hotel assistant", day, 120).unwrap();
        id
    });
    let viewer = Viewer::bind(store.clone(), Some(0)).unwrap();
    let address = viewer.address();
    let root = address.split("/?").next().unwrap().to_owned();
    std::thread::spawn(move || viewer.serve());

    browser.open(&address);
    Some(Tried {
        browser,
        store,
        root,
        old,
        new,
        _folder: folder,
    })
}

/// Leaves a picture of what the browser shows, where somebody wants to look at it.
fn keep_picture(browser: &mut Browser, name: &str) {
    if let Ok(folder) = std::env::var("RUNNER_VIEW_PICTURES") {
        let picture = BASE64.decode(browser.picture().as_bytes()).unwrap();
        std::fs::write(format!("{folder}/{name}.png"), picture).unwrap();
    }
}

/// The list, and nothing left of how the browser came in.
fn is_let_in(browser: &mut Browser, root: &str) {
    assert_eq!(
        browser.eval("location.href"),
        format!("{root}/"),
        "the token is gone"
    );
    assert_eq!(
        browser.eval("document.cookie"),
        "",
        "no script sees the cookie"
    );
    assert_eq!(
        browser.eval("document.querySelectorAll('table.runs tbody tr').length"),
        2
    );
}

#[test]
fn a_person_finds_reads_and_grades_by_keys() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser,
        store,
        root,
        new,
        ..
    } = &mut tried;
    is_let_in(browser, root);

    // By keys alone: the newest run, its failures, one of them, a thumb.
    browser.press("j");
    browser.eval("document.activeElement.click()");
    browser.wait(&format!(
        "location.pathname === '/runs/{new}' && document.querySelector('.matrix')"
    ));
    browser
        .wait("!document.querySelector('[data-load]') && document.querySelector('table.metrics')");
    assert_eq!(
        browser.eval("document.querySelectorAll('.matrix tbody tr').length"),
        25
    );
    browser.eval("document.querySelector('input[value=failed]').click(); document.querySelector('form.filters').requestSubmit()");
    browser.wait("location.search === '?verdict=failed' && document.querySelector('.count span') && !document.querySelector('[data-load]')");
    browser.wait("['metrics', 'metadata'].every((it) => document.querySelector(`#${it} option`))");
    for _ in 0..8 {
        browser.press("j");
        assert_eq!(
            browser.eval("document.activeElement.closest('.row .cell').className"),
            "cell"
        );
    }
    browser.eval("document.activeElement.click()");
    browser.wait("document.querySelector('form.say')");
    let case = browser.eval("location.pathname + location.search");
    browser.press("-");
    browser.wait("document.querySelector('input[value=down]')?.defaultChecked");
    assert_eq!(browser.eval("location.pathname + location.search"), case);
    assert_eq!(store.annotations(new).unwrap().len(), 1);
    browser.press("r");
    assert_eq!(browser.eval("document.body.className"), "is-raw");
    browser.press("u");
    let test = case.as_str().unwrap().split('/').nth(4).unwrap();
    let first = "location.search.includes('verdict=failed') && document.querySelector('.row .number')?.textContent";
    browser.wait(&format!(
        "document.readyState === 'complete' && {first} === '{test}'"
    ));

    // The search makes the lookup, and finds what is in an answer.
    browser.press("/");
    browser.eval("document.activeElement.value = 'breakfast garden'; document.activeElement.form.requestSubmit()");
    browser.wait(
        "location.search.includes('q=breakfast') && document.querySelector('.matrix, .empty')",
    );
    assert_eq!(browser.complaints, [] as [String; 0]);
}

/// By the mouse or a key; the address says it.
#[test]
fn a_column_that_is_made_wider_stays_so() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser, root, new, ..
    } = &mut tried;
    browser.open(&format!("{root}/runs/{new}"));
    browser.wait("document.querySelector('.matrix') && !document.querySelector('[data-load]')");
    browser.eval("document.querySelector('[data-size]').style.width = '500px'");
    browser.wait("new URLSearchParams(location.search).get('width') === '0:500'");
    browser.press("j");
    browser.press(">");
    browser.wait("new URLSearchParams(location.search).get('width') === '0:540'");
    browser.eval("document.querySelector('.at .case').click()");
    browser.wait("document.querySelector('form.say')");
    browser.press("u");
    browser.wait("document.querySelector('[data-size]')?.offsetWidth === 540");
    // Paper changes all columns, and is nobody's choice.
    browser.open(&format!("{root}/runs/{new}"));
    browser.wait("document.querySelector('.matrix') && !document.querySelector('[data-load]')");
    fits_paper(browser, "run");
    browser.look(1440, false);
    browser.eval("requestAnimationFrame(() => requestAnimationFrame(() => document.querySelectorAll('[data-size]')[1].style.width = '500px'))");
    browser.wait("new URLSearchParams(location.search).has('width')");
    let widths = browser.eval("new URLSearchParams(location.search).getAll('width').join()");
    assert_eq!(widths, "1:500");
    assert_eq!(browser.complaints, [] as [String; 0]);
}

/// Every page, by a name for its picture.
fn pages(old: &str, new: &str) -> [(&'static str, String); 13] {
    [
        ("runs", "/".to_owned()),
        ("run", format!("/runs/{new}")),
        (
            "filtered",
            format!("/runs/{new}?verdict=failed&sort=-latency&latency-from=300&hide=0"),
        ),
        ("lanes", format!("/runs/{new}")),
        ("case", format!("/runs/{new}/cases/2/0")),
        ("attempts", format!("/runs/{new}/cases/2/0")),
        ("answer", format!("/runs/{new}/cases/0/0")),
        ("error", format!("/runs/{new}?verdict=error")),
        ("compare", format!("/compare?run={old}&run={new}")),
        ("columns", format!("/compare?run={new}&left=0&right=2")),
        ("trend", format!("/runs/{new}/trend")),
        ("agreement", format!("/runs/{new}/agreement")),
        ("missing", "/nothing".to_owned()),
    ]
}

/// Checks that what is shown fits a sheet of A4.
fn fits_paper(browser: &mut Browser, name: &str) {
    browser.look(718, false);
    browser.ask("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let over = browser.eval("document.documentElement.scrollWidth - innerWidth");
    assert!(
        over.as_f64().unwrap() <= 0.0,
        "{name} is wider than paper: {over}"
    );
    browser.ask("Emulation.setEmulatedMedia", &json!({ "media": "" }));
}

#[test]
fn the_figures_of_a_run_need_no_scrolling() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser, root, new, ..
    } = &mut tried;
    browser.open(&format!("{root}/runs/{new}"));
    browser.wait("document.querySelector('.metrics') && !document.querySelector('[data-load]')");
    for width in [360, 768, 1024, 1201, 1440] {
        browser.look(width, false);
        for table in ["figures", "metrics"] {
            let over = browser.eval(&format!("(({{ scrollWidth, clientWidth }}) => scrollWidth - clientWidth)(document.querySelector('.{table}').parentElement)"));
            assert_eq!(over, 0, "{table} at {width}");
        }
        browser.eval("document.querySelector('.metrics').scrollIntoView({ block: 'end' })");
        keep_picture(browser, &format!("figures-{width}"));
    }
}

#[test]
fn every_page_fits_every_width_and_nothing_is_refused() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser,
        root,
        old,
        new,
        ..
    } = &mut tried;
    browser.open(&format!("{root}/"));
    browser.eval("document.querySelectorAll('input[name=run]').forEach((box) => box.click()); document.querySelector('form[action=\"/compare\"]').requestSubmit()");
    browser.wait(
        "location.pathname === '/compare' && document.querySelector('article ins, article del')",
    );

    for (name, path) in pages(old, new) {
        browser.open(&format!("{root}{path}"));
        browser.wait("!document.querySelector('[data-load]')");
        if name == "lanes" {
            browser
                .eval("document.querySelector('[aria-label=\"Lanes over time\"] summary').click()");
            browser.wait("document.querySelector('.lane svg').getBoundingClientRect().height > 20");
        }
        for width in WIDTHS {
            browser.look(width, width == 820);
            if name == "attempts" {
                browser.eval("document.querySelector('[aria-label=\"Attempts and waits\"]').scrollIntoView()");
            }
            let over = browser.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(
                over.as_f64().unwrap() <= 0.0,
                "{name} is wider than {width}: {over}"
            );
            let broken = browser.eval("[...document.querySelectorAll('time span')].filter((it) => it.getClientRects().length > 1).length");
            assert_eq!(broken, 0, "dates of {name} at {width}");
            keep_picture(browser, &format!("{name}-{width}"));
        }
        fits_paper(browser, name);
        assert_eq!(
            browser.eval(
                "document.querySelectorAll('script:not([src]), iframe, main [onclick]').length"
            ),
            0
        );
    }
    let refused = browser.complaints.iter().filter(|it| !it.contains("404"));
    assert_eq!(refused.collect::<Vec<_>>(), [] as [&String; 0]);
}

/// `x` ticks the run that is stood on, `c` compares; of three that are ticked two are to be chosen.
#[test]
fn runs_are_ticked_and_compared_by_keys() {
    let Some(mut tried) = tried() else { return };
    let Tried { browser, store, .. } = &mut tried;
    runs::fill(store, "run-2", "Hotel assistant", 2, 12).unwrap();
    browser.eval("location.reload()");
    browser.wait(
        "document.readyState === 'complete' && document.querySelectorAll('.row').length === 3",
    );
    for key in ["j", "x", "j", "x", "j", "x", "c"] {
        browser.press(key);
    }
    browser.wait("document.querySelector('h1')?.textContent === 'Choose two runs'");
    assert_eq!(browser.eval("document.querySelectorAll('.row').length"), 3);
    for width in WIDTHS {
        browser.look(width, false);
        keep_picture(browser, &format!("choose-{width}"));
    }
    for key in ["j", "j", "x", "j", "x", "k", "x", "x", "c"] {
        browser.press(key);
    }
    browser.wait("document.querySelector('h1')?.textContent === 'Comparison'");
    assert_eq!(browser.complaints, [] as [String; 0]);
}

/// A run that has ended and goes on.
fn going_on(store: &Store, run: &str) -> RunWriter {
    let run = store.reopen_run(run).unwrap();
    let head = run.head().clone();
    run.start(&head).unwrap()
}

#[test]
fn the_list_says_when_a_run_has_ended() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser,
        store,
        root,
        new,
        ..
    } = &mut tried;
    let writer = going_on(store, new);
    browser.open(&format!("{root}/"));
    browser.wait("document.querySelector('.state.running')");
    writer
        .finish(RunEnd {
            status: RunStatus::Finished,
            ended_at_ms: 1_800_000_000_000,
            summary_json: "{}".to_owned(),
        })
        .unwrap();
    browser.wait("document.querySelector('.state') && !document.querySelector('.state.running')");
    assert_eq!(browser.complaints, [] as [String; 0]);
}

#[test]
fn the_lanes_of_a_run_that_goes_on_change_on_its_page() {
    let Some(mut tried) = tried() else { return };
    let Tried {
        browser,
        store,
        root,
        new,
        ..
    } = &mut tried;
    let writer = going_on(store, new);
    let note = |in_flight| {
        writer.lane_log().note(LaneMoment {
            at_ms: u64::from(in_flight) * 1000,
            lanes: vec![LaneSample {
                lane: "api.mistral.ai".to_owned(),
                in_flight,
                allowed: 16,
                waiting: 40,
                refused: 1,
            }],
        });
    };
    browser.open(&format!("{root}/runs/{new}"));
    browser.wait("document.querySelectorAll('#lanes .lane').length === 2");
    let says =
        |text: &str| format!("document.querySelector('#lanes').textContent.includes('{text}')");
    note(1);
    browser.wait(&says("1 at most, of 16 allowed"));
    note(2);
    browser.wait(&says("2 at most, of 16 allowed"));
    assert_eq!(
        browser.eval("document.querySelectorAll('#lanes .lane').length"),
        3
    );
    for width in WIDTHS {
        browser.look(width, false);
        keep_picture(browser, &format!("growing-{width}"));
    }
    writer
        .finish(RunEnd {
            status: RunStatus::Finished,
            ended_at_ms: 1_800_000_000_000,
            summary_json: "{}".to_owned(),
        })
        .unwrap();
    browser.wait("document.querySelector('[aria-label=\"Lanes over time\"] summary')");
    assert_eq!(browser.complaints, [] as [String; 0]);
}
