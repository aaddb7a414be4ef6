//! What keeps people out who use a screen reader or the keyboard, on every page and in every file.

use std::io::Write;

use runner_view::ReportExtras;

use super::devtools::Browser;
use super::{Tried, WIDTHS, fits_paper, keep_picture, pages, tried};

/// Of axe-core, which looks for what keeps people out who use a screen reader or the keyboard.
const AXE: &str = "axe-core@4.10.3";

/// Its script, from npm unless it is there; nothing where there is no npm, which is said aloud.
fn axe() -> Option<String> {
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().nth(2).unwrap().join("axe");
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        let mut npm = std::process::Command::new("npm");
        npm.args([
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
        ]);
        if !npm
            .arg(&folder)
            .arg(AXE)
            .output()
            .is_ok_and(|done| done.status.success())
        {
            let loud =
                "\n!!! NO AXE: the pages were not looked through for barriers. Install npm.\n";
            std::io::stderr().write_all(loud.as_bytes()).unwrap();
            return None;
        }
    }
    Some(std::fs::read_to_string(script).unwrap())
}

/// What axe finds on the page that is shown, with all of its parts open.
fn barriers(browser: &mut Browser, axe: &str, name: &str, found: &mut Vec<String>) {
    browser.eval("for (const it of document.querySelectorAll('details')) it.open = true");
    browser.eval(&format!("{axe}; 0"));
    for (width, dark) in [(1440, false), (1440, true), (360, false)] {
        browser.look(width, dark);
        let serious = browser.eval(
            "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations \
             .filter(({ impact }) => ['serious', 'critical'].includes(impact)) \
             .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).slice(0, 3).join(' ; ')}`).join(' | '))",
        );
        if serious != "" {
            found.push(format!("{name} at {width}, dark {dark}: {serious}"));
        }
    }
}

#[test]
fn no_page_has_a_serious_barrier() {
    let (Some(mut tried), Some(axe)) = (tried(), axe()) else {
        return;
    };
    let Tried {
        browser,
        root,
        old,
        new,
        ..
    } = &mut tried;
    let mut found = Vec::new();
    for (name, address) in pages(old, new) {
        browser.open(&format!("{root}{address}"));
        browser.wait("!document.querySelector('[data-load], [data-again]')");
        barriers(browser, &axe, name, &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The page of a run in one file, and its pages as a folder, are the viewer's; what is around them is not.
#[test]
fn no_file_has_a_serious_barrier() {
    let (Some(mut tried), Some(axe)) = (tried(), axe()) else {
        return;
    };
    let Tried {
        browser,
        store,
        new,
        ..
    } = &mut tried;
    let folder = tempfile::tempdir().unwrap();
    let mut file = std::fs::File::create(folder.path().join("report.html")).unwrap();
    runner_view::report(store.clone(), new, &ReportExtras::default(), &mut file).unwrap();
    let mut write = |name: &str, content: &[u8]| {
        let path = folder.path().join("pages").join(name);
        std::fs::create_dir_all(path.parent().unwrap())?;
        std::fs::write(path, content)
    };
    runner_view::folder(store.clone(), new, &mut write).unwrap();
    let mut found = Vec::new();
    for name in [
        "report.html",
        // Another part of a page that is open would be no new page.
        "report.html?case#2-0",
        "pages/index.html",
        "pages/not-passed.html",
        "pages/config.html",
        "pages/agreement.html",
        "pages/cases/2-0.html",
    ] {
        browser.open(&format!("file://{}/{name}", folder.path().display()));
        barriers(browser, &axe, name, &mut found);
        for width in WIDTHS {
            browser.look(width, false);
            let over = browser.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(
                over.as_f64().unwrap() <= 0.0,
                "{name} is wider than {width}: {over}"
            );
            keep_picture(
                browser,
                &format!("{}-{width}", name.replace(['/', '#', '?'], "-")),
            );
        }
        fits_paper(browser, name);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
