//! The page of `-o x.html` in a real Chromium: an answer is shown as Markdown and as it is, nothing in it runs or
//! loads, and a case fits every width. Where there is no Chromium, the test says so and passes.
//!
//! With `RUNNER_VIEW_PICTURES=FOLDER` it leaves pictures there, to be looked at.
#![expect(
    clippy::unwrap_used,
    reason = "the browser's protocol is shared with the viewer's tests, which stop at the first thing that is wrong"
)]

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use runner_tests::Run;

#[path = "../../host/view/tests/browser/devtools.rs"]
mod devtools;

const CONFIG: &str = r#"
description: hotel
prompts: ['{{answer}}']
providers: [echo]
tests:
  - vars:
      answer: |
        ## Late checkout

        **Yes**, until *two*. See [the terms](https://example.org/terms) and [this](javascript:alert(1)).

        | until | price |
        |---|---|
        | 12:00 | free |

        ```
        <script>document.title = 'ran'</script>
        ```

        <img src=x onerror="document.title = 'ran'"> ![far](https://evil.example/p.png)
        ![near](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)
  - vars: { answer: 'mere text' }
"#;

#[test]
fn an_answer_is_markdown_and_a_key_shows_it_as_it_is() {
    let Some(mut browser) = devtools::Browser::start() else {
        let loud = "\n!!! NO CHROMIUM: the page was not tried in a browser. Install chromium, or set RUNNER_CHROMIUM.\n";
        std::io::stderr().write_all(loud.as_bytes()).unwrap();
        return;
    };
    let finished = Run::new()
        .config(CONFIG)
        .args(["eval", "-o", "out.html"])
        .finish();
    finished.expect_code(0);
    let page = finished.again().project().join("out.html");
    browser.open(&format!("file://{}#0-0", page.display()));
    let shows = |what: &str| {
        format!("document.querySelector('#one [aria-label=Answer] {what}')?.checkVisibility()")
    };
    browser.wait(&shows(".markdown h2"));
    assert_eq!(browser.eval(&shows("pre.raw")), false);
    assert_eq!(
        browser.eval("[...document.querySelectorAll('#one [aria-label=Answer] .markdown a')].map((it) => it.getAttribute('href')).join(' ')"),
        "https://example.org/terms # https://evil.example/p.png"
    );
    browser.wait(
        "document.querySelector('#one [aria-label=Answer] .markdown img').naturalWidth === 1",
    );
    for (width, dark) in [(1280, false), (768, true), (360, false)] {
        browser.look(width, dark);
        let over = browser
            .eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert!(over.as_f64().unwrap() <= 0.0, "wider than {width}: {over}");
        if let Ok(folder) = std::env::var("RUNNER_VIEW_PICTURES") {
            browser
                .eval("document.querySelector('#one [aria-label=Answer] .both').scrollIntoView()");
            let picture = STANDARD.decode(browser.picture()).unwrap();
            std::fs::write(format!("{folder}/report-{width}.png"), picture).unwrap();
        }
    }
    browser.press("r");
    browser.wait(&shows("pre.raw"));
    assert_eq!(browser.eval(&shows(".markdown")), false);
    browser.press("r");
    browser.wait(&shows(".markdown"));
    // Another link shows another case, also while one is open; u leads back to its row, j and Enter to it again.
    browser.eval("location.hash = '#1-0'");
    browser.wait(
        "document.querySelector('#one [aria-label=Answer] pre.raw')?.textContent === 'mere text'",
    );
    browser.press("k");
    browser.wait("location.hash === '#0-0'");
    browser.press("j");
    browser.wait("location.hash === '#1-0'");
    browser.press("u");
    browser.wait("document.querySelector('tr.row.at .number')?.textContent === '1'");
    browser.eval("document.querySelector('#verdict').value = 'not-passed'; document.querySelector('#verdict').dispatchEvent(new Event('change'))");
    browser.wait("document.querySelector('#count').textContent === '0 of 2 tests' && location.hash === '#?verdict=not-passed'");
    browser.eval("location.hash = '#?q=MERE'");
    browser.wait("document.querySelector('#count').textContent === '1 of 2 tests'");
    assert_eq!(browser.eval("document.title"), "hotel");
    assert_eq!(browser.complaints, [] as [String; 0]);
}
