//! Whether every link of the pages leads somewhere on them: to a file that is there, and a place in it.
//!
//! It reads what mdBook wrote rather than the documents, since anchors are its to name. Addresses of others
//! are not asked: that would make the check depend on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::markdown;
use crate::step::Failure;

/// Every link that leads nowhere, with its page.
pub(super) fn broken(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut files = BTreeMap::new();
    collect(folder, "", &mut files)?;
    Ok(nowhere(&files))
}

/// What is in the folder, by path.
fn collect(folder: &Path, path: &str, files: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = markdown::joined(path, &entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &path, files)?;
        } else {
            // A file that is no text has no places in it.
            let text = fs::read(entry.path()).map_err(failed)?;
            files.insert(path, String::from_utf8(text).unwrap_or_default());
        }
    }
    Ok(())
}

fn nowhere(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    let is_page = |path: &str| Path::new(path).extension().is_some_and(|end| end == "html");
    for (path, text) in files.iter().filter(|(path, _)| is_page(path)) {
        for link in links(text) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = match file {
                "" => path.clone(),
                file => markdown::joined(markdown::folder_of(path), file),
            };
            let leads = files
                .get(&file)
                .is_some_and(|text| place.is_empty() || text.contains(&format!(" id=\"{place}\"")));
            if !leads {
                found.push(format!("{path}: {link}"));
            }
        }
    }
    found
}

/// What a page links to, or needs, on the site.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let named = [" href=\"", " src=\""];
    let links = named.into_iter().flat_map(|name| page.split(name).skip(1));
    let links = links.filter_map(|rest| rest.split('"').next());
    links.filter(|link| link.starts_with('#') || markdown::is_of_a_file(link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_is_found() {
        let page = r##"<h1 id="top"><a href="#top">x</a></h1><script src="../book.js"></script>
            <a href="b.html#there">b</a> <a href="https://example.com">e</a> <a href="#no">n</a>
            <a href="b.html#elsewhere">b</a> <a href="c.html">c</a>"##;
        let files = [
            ("docs/a.html", page),
            ("docs/b.html", r#"<p id="there">"#),
            ("book.js", ""),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(
            nowhere(&files.into()),
            [
                "docs/a.html: #no",
                "docs/a.html: b.html#elsewhere",
                "docs/a.html: c.html"
            ]
        );
    }
}
