//! The list of differences, as the page for people has it: one table for both.
//!
//! `docs/compatibility.md` is in the program. Its rows of four cells are what differs on purpose; the first of
//! its tables holds for every run.

/// The page.
pub(super) const PAGE: &str = include_str!("../../../../../docs/compatibility.md");
/// What shows it.
pub(super) const SHOWN_BY: &str = "runner migrate --list";

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Its line in the page, from 1.
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) there: String,
    pub(super) here: String,
    pub(super) why: String,
    /// Whether every run meets it.
    pub(super) is_general: bool,
}

/// All of them, most likely met first.
pub(super) fn differences() -> Vec<Difference> {
    let mut tables = 0;
    let mut found = Vec::new();
    for (number, text) in (1..).zip(PAGE.lines()) {
        let cells = cells(text);
        let [what, there, here, why] = cells.as_slice() else {
            continue;
        };
        if what.starts_with("---") {
            continue;
        }
        // The heads of the tables.
        if what == "what" && why == "why" {
            tables += 1;
            continue;
        }
        found.push(Difference {
            line: number,
            what: what.clone(),
            there: there.clone(),
            here: here.clone(),
            why: why.clone(),
            is_general: tables == 1,
        });
    }
    found
}

/// What takes the place of a variable of promptfoo's, if anything does.
pub(super) fn in_place_of(variable: &str) -> Option<String> {
    PAGE.lines().find_map(|line| {
        let cells = cells(line);
        let [there, here] = cells.as_slice() else {
            return None;
        };
        let is_it = |name: &str| match name.strip_suffix('…') {
            Some(begin) => variable.starts_with(begin),
            None => name == variable,
        };
        let mut names = there.split('`').skip(1).step_by(2);
        names.any(is_it).then(|| here.clone())
    })
}

/// The cells of a row, none where the line is no row. What a terminal can't follow is left out of them: links.
fn cells(line: &str) -> Vec<String> {
    let Some(row) = line.strip_prefix("| ").and_then(|it| it.strip_suffix('|')) else {
        return Vec::new();
    };
    let row = row.replace("\\|", "\u{0}");
    let cells = row.split('|');
    cells
        .map(|cell| without_links(cell.trim()).replace('\u{0}', "|"))
        .collect()
}

/// `see [the page](page.md)` as `see the page`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](");
        let parts = parts.and_then(|(name, after)| Some((name, after.split_once(')')?.1)));
        plain.push_str(before);
        let Some((name, after)) = parts else {
            plain.push('[');
            rest = link;
            continue;
        };
        plain.push_str(name);
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_page_is_read() {
        let all = differences();
        let general = all.iter().filter(|it| it.is_general).count();
        assert!(general > 10 && all.len() > 80, "{general} of {}", all.len());
        for Difference {
            line, what, here, ..
        } in &all
        {
            let row = PAGE.lines().nth(line - 1).unwrap_or_default();
            assert!(row.starts_with("| "), "{line}");
            assert!(!what.is_empty() && !here.is_empty(), "{line}: {what}");
        }
    }

    #[test]
    fn cells_are_texts_without_links() {
        assert_eq!(
            cells("| a `x \\| y` | see [b](c.md#d) and [e] | | |"),
            ["a `x | y`", "see b and [e]", "", ""]
        );
        assert_eq!(cells("a | b"), Vec::<String>::new());
    }

    #[test]
    fn what_takes_the_place_of_a_variable_is_found() {
        for (name, here) in [
            ("PROMPTFOO_CACHE_PATH", Some("below `RUNNER_HOME`")),
            ("PROMPTFOO_DISABLE_UPDATE", Some("there is none of it")),
            ("PROMPTFOO_CACHE", None),
        ] {
            assert_eq!(in_place_of(name).as_deref(), here, "{name}");
        }
        let stripped = in_place_of("PROMPTFOO_STRIP_METADATA");
        assert!(stripped.is_some_and(|here| here.starts_with("keys are masked")));
    }

    #[test]
    fn the_page_names_every_variable_that_is_read_under_both_names() {
        let ours = crate::environment::VARIABLES.iter();
        // A star stands behind those that are read under both names.
        let ours = ours.filter(|it| it.about.ends_with('*')).map(|it| it.name);
        let of_configs = runner_config::VARIABLES.iter().map(|it| it.name);
        for name in ours.chain(of_configs) {
            let name = name.trim_start_matches("RUNNER_");
            assert!(PAGE.contains(&format!("`{name}`")), "{name}");
        }
    }
}
