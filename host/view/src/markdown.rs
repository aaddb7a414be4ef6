//! Markdown of answers as HTML that can do nothing.
//!
//! What a model wrote is hostile: HTML in it is shown as text, a link leads only to the web or to
//! mail and says nothing of where it was clicked, and a picture is shown only when it is in the
//! answer itself; one that would be fetched tells its server that somebody looks, so it becomes a link.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// What answers use beyond the Markdown that everyone knows.
const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Renders the text as a page shows it.
pub(crate) fn render(text: &str) -> Markup {
    let mut open = Vec::new();
    let events = Parser::new_ext(text, OPTIONS).map(|event| harmless(event, &mut open));
    let mut written = String::with_capacity(text.len() * 2);
    html::push_html(&mut written, events);
    PreEscaped(written)
}

/// The event without what could do harm. `open` has for each picture that is open whether it was left
/// as one.
fn harmless<'a>(event: Event<'a>, open: &mut Vec<bool>) -> Event<'a> {
    if let Event::Start(Tag::Image { dest_url, .. }) = &event {
        let shown = is_picture(dest_url);
        open.push(shown);
        if shown {
            return event;
        }
    }
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }
            | Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            },
        ) => Event::Start(Tag::Link {
            link_type,
            dest_url: target(link_type, dest_url),
            title,
            id,
        }),
        Event::End(TagEnd::Image) if open.pop() == Some(false) => Event::End(TagEnd::Link),
        other => other,
    }
}

/// Where a link may lead; nowhere, if it may not.
fn target(kind: LinkType, url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.to_ascii_lowercase();
    let allowed = ["https://", "http://", "mailto:"];
    if kind == LinkType::Email || allowed.iter().any(|it| lower.starts_with(it)) {
        url
    } else {
        CowStr::Borrowed("#")
    }
}

/// Whether an address holds a picture; SVG could hold more than that.
pub(crate) fn is_picture(url: &str) -> bool {
    let kinds = ["png", "jpeg", "gif", "webp"];
    kinds
        .iter()
        .any(|kind| url.starts_with(&format!("data:image/{kind};base64,")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_answer_can_run_load_or_leave() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "text <b onclick=\"x\">b</b> <iframe src=//evil>",
            "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html;base64,PHM+) [w](vbscript:x)",
            "![x](https://evil.example/pixel.png) ![y](data:image/svg+xml;base64,PHN2Zz4=) ![z](//evil/x.png)",
            "[a](https://x\" onmouseover=\"alert(1))",
            "![a\"><script>](https://x)",
            "<div>\n<script>\n</script>\n</div>\n\ntext",
            "[r]: javascript:alert(1)\n\n[r] ![r]",
            "| a |\n|---|\n| <svg onload=x> |",
            "```<script>\n</pre><script>\n```",
        ] {
            let shown = render(hostile).0;
            for tag in shown
                .split('<')
                .skip(1)
                .map(|rest| rest.split('>').next().unwrap_or(rest))
            {
                let name = tag
                    .trim_start_matches('/')
                    .split([' ', '/'])
                    .next()
                    .unwrap_or_default();
                let known = [
                    "p", "a", "pre", "code", "table", "thead", "tbody", "tr", "th", "td",
                ];
                assert!(known.contains(&name), "{name} in {shown}");
                let links = tag
                    .split(" href=\"")
                    .skip(1)
                    .all(|to| ["#\"", "http"].iter().any(|it| to.starts_with(it)));
                assert!(
                    links && !tag.contains(" on") && !tag.contains(" src="),
                    "{tag} in {shown}"
                );
            }
        }
    }

    #[test]
    fn what_means_no_harm_is_rendered() {
        let shown = render("# A\n\n*b* [c](https://example.org) `d` ![e](data:image/png;base64,AAAA)\n\n| t |\n|---|\n| u |\n").0;
        for part in [
            "<h1>A</h1>",
            "<em>b</em>",
            "<a href=\"https://example.org\">c</a>",
            "<code>d</code>",
            "<img src=\"data:image/png;base64,AAAA\" alt=\"e\"",
            "<td>u</td>",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(
            render("![e *f*](https://x.example/i.png)")
                .0
                .contains("<a href=\"https://x.example/i.png\">e <em>f</em></a>")
        );
    }
}
