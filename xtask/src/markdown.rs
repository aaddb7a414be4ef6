//! Links in Markdown, as the documents of this repository write them: `[text](target)`, none in code.
//!
//! Not a reader of Markdown: what a page looks like is for whoever shows it.

use std::ops::Range;

/// Where a link stands in its text, in bytes.
#[derive(Debug)]
pub(crate) struct Link {
    /// All of it, brackets included.
    pub(crate) whole: Range<usize>,
    /// What is shown.
    pub(crate) shown: Range<usize>,
    /// Where it leads.
    pub(crate) target: Range<usize>,
}

/// Every link of the text, in order.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut opened = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let starts_line = at == 0 || text[..at].ends_with('\n');
        match first {
            '`' => {
                at += code(rest, starts_line);
                continue;
            }
            '\\' => at += 1,
            '[' => opened.push(at),
            ']' => {
                let end = rest.starts_with("](").then(|| rest.find(')')).flatten();
                if let (Some(begin), Some(end)) = (opened.pop(), end) {
                    links.push(Link {
                        whole: begin..at + end + 1,
                        shown: begin + 1..at,
                        target: at + 2..at + end,
                    });
                }
            }
            _ => {}
        }
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    links
}

/// How long the code is that begins here, or the backquotes that begin none.
fn code(rest: &str, starts_line: bool) -> usize {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let fence = &rest[..ticks];
    if starts_line && ticks >= 3 {
        let end = rest[ticks..].find(&format!("\n{fence}"));
        return end.map_or(rest.len(), |end| ticks + end + 1 + ticks);
    }
    let end = rest[ticks..].find(fence);
    end.map_or(ticks, |end| ticks + end + ticks)
}

/// Whether a target is a file of ours, and no address and no place on the page itself.
pub(crate) fn is_of_a_file(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

/// A path that is meant from a folder, with `..` resolved.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !["", "."].contains(part)) {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The folder of a path.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_where_they_are_none_of_code() {
        let text = "A [b](c.md#d), [`x`](e),\n`[no](f)`, \\[no](g) [two\nlines](h).\n\
                    ```sh\n[no](i)\n```\n`` ` [no](j) `` and [last ü](k)";
        let found: Vec<_> = links(text)
            .into_iter()
            .map(|link| (&text[link.shown], &text[link.target]))
            .collect();
        assert_eq!(
            found,
            [
                ("b", "c.md#d"),
                ("`x`", "e"),
                ("two\nlines", "h"),
                ("last ü", "k")
            ]
        );
    }

    #[test]
    fn paths_are_resolved() {
        assert_eq!(joined("docs", "../plugins/echo"), "plugins/echo");
        assert_eq!(joined("", "./docs//ci.md"), "docs/ci.md");
        assert_eq!(folder_of("docs/ci.md"), "docs");
        assert_eq!(folder_of("README.md"), "");
    }
}
