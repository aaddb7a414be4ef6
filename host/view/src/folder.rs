//! A run as a folder of pages: what the server shows of it, for a server that only hands out files.
//!
//! The pages are the server's own; only what is around the content is made anew. An address becomes the name of a
//! file, a form that would ask a server is left out, and a part that loads later is put in its place at once.
//! Tests stand on pages of as many as the server has, all of them and once more those that did not pass; each case
//! has a page. One page is held at a time, whatever the run's size.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use runner_store::{RunInfo, Store, StoreError};

use crate::address::segment;
use crate::assets;
use crate::links::links;
use crate::pages;
use crate::request::{Fields, Reply, Request};
use crate::site::{LookedUp, Site};

/// What a page may do: wear the style, run the script, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; \
    form-action 'none'; base-uri 'none'";
/// What the list of those that did not pass is asked with.
const NOT_PASSED: &str =
    "?verdict=failed&verdict=waiting&verdict=error&verdict=budget-exceeded&verdict=cancelled";

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be written.
    #[error("{name} could not be written")]
    Write {
        /// Its name in the folder.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A page could not be made.
    #[error("{0}")]
    Page(String),
}

/// Makes the pages of a run, each handed to `write` with its name in the folder (`cases/3-0.html`); gives how many.
///
/// # Errors
/// [`FolderError`].
pub fn folder(
    store: Store,
    id: &str,
    write: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
) -> Result<u64, FolderError> {
    let run = store.run(id)?;
    let site = Arc::new(Site::new(store));
    // Metrics are part of the figures, and stand in the lookup. Each call waits for it a while.
    while let Ok(LookedUp::Underway(..)) = site.look_up(&run) {}
    let mut folder = Folder {
        site,
        at: format!("/runs/{}", segment(&run.id)),
        run,
        write,
        count: 0,
    };
    for asset in [assets::style(), assets::script()] {
        let Reply::Asset(_, content) = folder.ask(&asset) else {
            return Err(FolderError::Page(format!("there is no {asset}")));
        };
        folder.put(asset.trim_start_matches('/'), content.as_bytes())?;
    }
    folder.list("", "index", true)?;
    folder.list(NOT_PASSED, "not-passed", false)?;
    let config = format!("{}/config", folder.at);
    let page = folder.page(&config, &HashMap::new(), "")?;
    folder.put("config.html", page.as_bytes())?;
    let people = format!("{}/agreement", folder.at);
    let page = folder.page(&people, &HashMap::new(), "")?;
    folder.put("agreement.html", page.as_bytes())?;
    let Reply::File(_, _, said) = folder.ask(&format!("{}/annotations.json", folder.at)) else {
        return Err(FolderError::Page("there are no annotations".to_owned()));
    };
    folder.put("annotations.json", &said)?;
    Ok(folder.count)
}

struct Folder<'a> {
    site: Arc<Site>,
    run: RunInfo,
    /// The address of the run.
    at: String,
    write: &'a mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
    count: u64,
}

impl Folder<'_> {
    fn put(&mut self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        self.count += 1;
        (self.write)(name, content).map_err(|source| FolderError::Write {
            name: name.to_owned(),
            source,
        })
    }

    /// What the server answers.
    fn ask(&self, address: &str) -> Reply {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let id = (segment(&self.run.id), &self.run.id);
        let parts = path.split('/').filter(|part| !part.is_empty());
        let decoded = |part: &str| {
            if part == id.0 {
                id.1.clone()
            } else {
                part.to_owned()
            }
        };
        let request = Request {
            path: parts.map(decoded).collect(),
            query: Fields::read(query),
            ..Request::default()
        };
        pages::answer(&self.site, &request)
    }

    fn html(&self, address: &str) -> Result<String, FolderError> {
        match self.ask(address) {
            Reply::Page(page) => Ok(page.0),
            Reply::Missing(why) | Reply::Refused(why) => Err(FolderError::Page(why)),
            Reply::Redirect(_) | Reply::File(..) | Reply::Asset(..) => {
                Err(FolderError::Page(format!("{address} is no page")))
            }
        }
    }

    /// A page as a file: `names` says which addresses are files, `up` is the way to the folder.
    fn page(
        &self,
        address: &str,
        names: &HashMap<String, String>,
        up: &str,
    ) -> Result<String, FolderError> {
        let html = self.filled(self.html(address)?)?;
        let html = without(&html, "<form class=\"filters\"", "</form>");
        let html = without(&html, "<details class=\"menu\"", "</details>");
        let html = inert(&html)
            .replace("<button class=\"main\">Keep</button>", "")
            .replace(
                "<meta charset=\"utf-8\">",
                &format!("<meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">"),
            );
        let lists = format!(
            "<p><a href=\"{up}index.html\">All tests</a> · <a href=\"{up}not-passed.html\">Those that did not pass</a></p>"
        );
        let html = html.replacen(
            "<main id=\"main\">",
            &format!("<main id=\"main\">{lists}"),
            1,
        );
        Ok(links(&html, &|address| {
            self.name(address, names).map(|name| format!("{up}{name}"))
        }))
    }

    /// With the parts that would load later.
    fn filled(&self, mut html: String) -> Result<String, FolderError> {
        const BEGIN: &str = "<span class=\"later\" data-load=\"";
        while let Some(begin) = html.find(BEGIN) {
            let rest = &html[begin + BEGIN.len()..];
            let (Some(address), Some(end)) = (rest.split('"').next(), rest.find("</span>")) else {
                break;
            };
            let part = self.html(&address.replace("&amp;", "&"))?;
            let end = begin + BEGIN.len() + end + "</span>".len();
            html.replace_range(begin..end, &part);
        }
        Ok(html)
    }

    /// The file of an address, if it has one.
    fn name(&self, address: &str, names: &HashMap<String, String>) -> Option<String> {
        let address = address.split('#').next().unwrap_or_default();
        if let Some(name) = names.get(address) {
            return Some(name.clone());
        }
        if let Some(asset) = address.strip_prefix("/assets/") {
            return Some(format!("assets/{asset}"));
        }
        let rest = address.strip_prefix(&self.at)?;
        let path = rest.split('?').next().unwrap_or_default();
        if let Some(case) = path.strip_prefix("/cases/") {
            return Some(format!("cases/{}.html", case.replace('/', "-")));
        }
        match path {
            "/config" => Some("config.html".to_owned()),
            "/agreement" => Some("agreement.html".to_owned()),
            "/annotations.json" => Some("annotations.json".to_owned()),
            // Any place in a list is on one of its pages; the first one leads there.
            "" => Some("index.html".to_owned()),
            _ => None,
        }
    }

    /// The pages of a list, and those of its cases if they are to be made here.
    fn list(&mut self, query: &str, name: &str, with_cases: bool) -> Result<(), FolderError> {
        let mut address = format!("{}{query}", self.at);
        let mut before = None;
        for number in 1_u64.. {
            let file = |number: u64| match number {
                1 => format!("{name}.html"),
                number => format!("{name}-{number}.html"),
            };
            let html = self.html(&address)?;
            let next = linked(&html, "rel=\"next\" href=\"");
            let mut names = HashMap::new();
            if let Some(next) = &next {
                names.insert(next.clone(), file(number + 1));
            }
            if let (Some(before), Some(link)) = (before, linked(&html, "rel=\"prev\" href=\"")) {
                names.insert(link, file(before));
            }
            names.insert(format!("{}{query}", self.at), file(1));
            let page = self.page(&address, &names, "")?;
            self.put(&file(number), page.as_bytes())?;
            if with_cases {
                self.cases(&html)?;
            }
            let Some(next) = next else { return Ok(()) };
            before = Some(number);
            address = next;
        }
        Ok(())
    }

    /// The pages of the cases that a page of a list names.
    fn cases(&mut self, html: &str) -> Result<(), FolderError> {
        let begin = format!("<a class=\"case\" href=\"{}/cases/", self.at);
        for link in html.split(&begin).skip(1) {
            let case = link.split(['"', '?']).next().unwrap_or_default();
            let address = format!("{}/cases/{case}", self.at);
            let page = self.page(&address, &HashMap::new(), "../")?;
            let name = format!("cases/{}.html", case.replace('/', "-"));
            self.put(&name, page.as_bytes())?;
        }
        Ok(())
    }
}

/// The address behind this beginning, if there is one.
fn linked(html: &str, begin: &str) -> Option<String> {
    let (_, rest) = html.split_once(begin)?;
    let address = rest.split(['"', '#']).next()?;
    Some(address.replace("&amp;", "&"))
}

/// Leaves out every part that begins and ends so. Texts of others have no `<`: they are escaped.
fn without(html: &str, begin: &str, end: &str) -> String {
    let mut parts = html.split(begin);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(part.split_once(end).map_or("", |(_, rest)| rest));
    }
    left
}

/// With the form of what a person says as something to read.
fn inert(html: &str) -> String {
    const BEGIN: &str = "<form class=\"say\"";
    let mut parts = html.split(BEGIN);
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once('>').map_or(part, |(_, rest)| rest);
        told.push_str(BEGIN);
        told.push_str(" inert>");
        told.push_str(rest);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_left_out_whole() {
        assert_eq!(without("a<f x>b</f>c<f y>d</f>e", "<f", "</f>"), "ace");
        assert_eq!(without("abc", "<f", "</f>"), "abc");
    }
}
