//! `cargo xtask site`: the documents of this repository as pages, in `target/site/html`.
//!
//! mdBook makes the pages. What it gets is laid out here as the repository is, so that links between
//! documents stay what they are: `docs/SUMMARY.md` lists the pages, from wherever they are kept. One of
//! them, the reference of a config's keys, is made of the schema (`keys`). A link to a file of the
//! repository that is no page becomes its text. At the end every link of every page has to lead
//! somewhere (`whole`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::markdown::{self, Link};
use crate::place::{self, Place};
use crate::step::{self, Failure, say};
use crate::tool::Tool;

mod keys;
mod whole;

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    features: "search",
    takes: "two minutes",
};

/// The list of pages.
const LIST: &str = "docs/SUMMARY.md";

/// The page that is made here.
const KEYS: &str = "docs/config-keys.md";

/// What it is made of.
const SCHEMA: &str = "host/config/config.schema.json";

/// Makes the pages and checks their links.
pub(crate) fn run(place: &Place) -> Result<(), Failure> {
    let program = MDBOOK.installed(place)?;
    let book = place.target.join("site");
    if book.exists() {
        fs::remove_dir_all(&book).map_err(|error| failed(&book, &error))?;
    }
    let list = read(place, LIST)?;
    let pages = pages(place, &list)?;
    let source = book.join("src");
    for (path, text) in &pages {
        let text = on_the_site(path, text, &pages, &place.root)?;
        write(&source.join(path), &text)?;
    }
    write(&source.join("SUMMARY.md"), &from_the_top(&list))?;
    let settings = read(place, "docs/book.toml")?;
    write(&book.join("book.toml"), &settings)?;
    let mut mdbook = Command::new(program);
    step::run("building the site", mdbook.arg("build").arg(&book))?;
    let pages = book.join("html");
    let broken = whole::broken(&pages)?;
    if !broken.is_empty() {
        let broken = broken.join("\n  ");
        return Err(Failure::new(format!("links lead nowhere:\n  {broken}")));
    }
    let first = pages.join("index.html");
    say(&format!("made: {}", place::relative(&first)));
    Ok(())
}

/// Every page that the list names, by path from the root.
fn pages(place: &Place, list: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut pages = BTreeMap::new();
    for link in markdown::links(list) {
        let path = markdown::joined(markdown::folder_of(LIST), &list[link.target]);
        let text = if path == KEYS {
            keys::page(&read(place, SCHEMA)?)?
        } else {
            read(place, &path)?
        };
        pages.insert(path, text);
    }
    let mut missing = documents(place)?;
    missing.retain(|path| path != LIST && !pages.contains_key(path));
    if missing.is_empty() {
        return Ok(pages);
    }
    let missing = missing.join(", ");
    Err(Failure::new(format!("{LIST} does not list {missing}")))
}

/// What has to be a page: the documents, and what each plugin says of itself.
fn documents(place: &Place) -> Result<Vec<String>, Failure> {
    let mut documents = Vec::new();
    for (folder, end) in [("docs", ""), ("plugins", "/README.md")] {
        let path = place.root.join(folder);
        for entry in fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
            let name = entry.map_err(|error| failed(&path, &error))?.file_name();
            documents.push(format!("{folder}/{}{end}", name.to_string_lossy()));
        }
    }
    let is_document = |path: &Path| path.extension().is_some_and(|end| end == "md");
    documents.retain(|path| is_document(Path::new(path)) && place.root.join(path).is_file());
    documents.sort();
    Ok(documents)
}

/// The list with paths from the root, where mdBook looks for it.
fn from_the_top(list: &str) -> String {
    replaced(list, |link| {
        let path = markdown::joined(markdown::folder_of(LIST), &list[link.target.clone()]);
        Some(format!("[{}]({path})", &list[link.shown.clone()]))
    })
}

/// A page whose links lead to pages, or are none. A folder stands for its README.
fn on_the_site(
    path: &str,
    text: &str,
    pages: &BTreeMap<String, String>,
    root: &Path,
) -> Result<String, Failure> {
    let mut nowhere = Vec::new();
    let text = replaced(text, |link| {
        let target = &text[link.target.clone()];
        let shown = &text[link.shown.clone()];
        if !markdown::is_of_a_file(target) {
            return None;
        }
        let (file, _) = target.split_once('#').unwrap_or((target, ""));
        let file_here = markdown::joined(markdown::folder_of(path), file);
        if pages.contains_key(&file_here) {
            return None;
        }
        if pages.contains_key(&format!("{file_here}/README.md")) {
            let file = file.trim_end_matches('/');
            return Some(format!("[{shown}]({file}/README.md)"));
        }
        if !root.join(&file_here).exists() {
            nowhere.push(format!("{path}: there is no {target}"));
        }
        Some(shown.to_owned())
    });
    if nowhere.is_empty() {
        return Ok(text);
    }
    Err(Failure::new(nowhere.join("\n")))
}

/// The text with something else in the place of its links; `None` leaves one as it is.
fn replaced(text: &str, mut with: impl FnMut(&Link) -> Option<String>) -> String {
    let mut out = String::new();
    let mut done = 0;
    for link in markdown::links(text) {
        if let Some(other) = with(&link) {
            out.push_str(&text[done..link.whole.start]);
            out.push_str(&other);
            done = link.whole.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

fn read(place: &Place, path: &str) -> Result<String, Failure> {
    let path = place.root.join(path);
    fs::read_to_string(&path).map_err(|error| failed(&path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_or_are_text() {
        let pages = ["docs/ci.md", "plugins/echo/README.md"];
        let pages = pages.map(|path| (path.to_owned(), String::new())).into();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text =
            "[a](ci.md#x) [b](../plugins/echo/) [`c`](../src/site.rs) [d](#d) [e](https://e)";
        let page = on_the_site("docs/a.md", text, &pages, root).ok();
        let expected =
            "[a](ci.md#x) [b](../plugins/echo/README.md) `c` [d](#d) [e](https://e)".to_owned();
        assert_eq!(page, Some(expected));
        let broken = on_the_site("docs/a.md", "[a](b.md)", &pages, root);
        let told = broken.err().map(|failure| failure.to_string());
        assert_eq!(told.as_deref(), Some("docs/a.md: there is no b.md"));
    }
}
