//! Circles of modules: no part of a crate may use another that uses it back, over however many in
//! between.
//!
//! A module counts with everything below it, and is compared with its siblings: `a` uses `b` if
//! any file of `a` names anything of `b`. So rooms can be read from the bottom up, and one can be
//! moved out into a crate without its neighbours.
//!
//! A parent and its children are no circle, whoever names whom: the folder says that they are one
//! thing, a parent is often the words that its children share, and what it gathers from them is
//! its purpose. A child still belongs to its parent: what it uses, the parent uses.
//!
//! What is named through a `use` of another module, public or not, counts as that which is meant:
//! a façade hides no arrow. Tests are left out. Code is read as words, not as syntax: paths that
//! begin with `crate`, `super` or `self`, and whatever stands in a `use`.

use std::collections::{BTreeMap, BTreeSet};

use super::File;
use super::words::{Named, code, named};

/// A module, by its names from the crate's root.
type Path = Vec<String>;

/// A circle among the children of one module.
#[derive(Debug, PartialEq)]
struct Circle {
    folder: String,
    within: String,
    members: BTreeSet<String>,
    /// The shortest way round: each module with a place that names the next.
    way: Vec<(String, String)>,
}

/// Every circle, as one line each.
pub(super) fn broken(files: &[File]) -> Vec<String> {
    circles(files).iter().map(Circle::line).collect()
}

impl Circle {
    fn line(&self) -> String {
        let Self {
            folder,
            within,
            members,
            way,
        } = self;
        let steps: Vec<String> = way
            .iter()
            .map(|(name, place)| format!("{name} ({place})"))
            .collect();
        let first = way.first().map_or("", |(name, _)| name);
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        format!(
            "{folder}: modules of `{within}` in a circle ({}): {} -> {first}; \
             move what both need below both",
            members.join(", "),
            steps.join(" -> "),
        )
    }
}

/// All circles of all crates.
fn circles(files: &[File]) -> Vec<Circle> {
    let mut crates: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for file in files {
        if let Some((folder, path)) = file.path.split_once("/src/") {
            crates.entry(folder).or_default().push((path, file));
        }
    }
    crates
        .iter()
        .flat_map(|(folder, files)| of_crate(folder, files))
        .collect()
}

/// The module that a file below `src` holds.
fn module(path: &str) -> Path {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    match path {
        "lib" | "main" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

/// A crate's modules, and what each names.
struct Modules {
    named: BTreeMap<Path, Named>,
}

/// From each child of a module to its siblings, with a place that says so.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

fn of_crate(folder: &str, files: &[(&str, &File)]) -> Vec<Circle> {
    let read = |(path, file): &(&str, &File)| (module(path), named(&code(&file.text)));
    let mut modules = Modules {
        named: files.iter().map(read).collect(),
    };
    modules.leave_out_tests();
    let places: BTreeMap<Path, &str> = files
        .iter()
        .map(|(path, _)| (module(path), *path))
        .collect();
    let mut edges: BTreeMap<Path, Edges> = BTreeMap::new();
    for (from, named) in &modules.named {
        for (line, path) in &named.paths {
            let Some(to) = modules.absolute(from, path).map(|path| modules.meant(path)) else {
                continue;
            };
            let shared = from
                .iter()
                .zip(&to)
                .take_while(|(one, other)| one == other)
                .count();
            if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                let siblings = edges.entry(from[..shared].to_vec()).or_default();
                let place = || format!("{}:{line}: {}", places[from], path.join("::"));
                let named = siblings.entry(one.clone()).or_default();
                named.entry(other.clone()).or_insert_with(place);
            }
        }
    }
    let circles = edges.iter().flat_map(|(within, edges)| {
        rings(edges).into_iter().map(move |members| Circle {
            folder: folder.to_owned(),
            within: if within.is_empty() {
                "crate".to_owned()
            } else {
                within.join("::")
            },
            way: way(edges, &members),
            members,
        })
    });
    circles.collect()
}

impl Modules {
    fn leave_out_tests(&mut self) {
        let tests = self.named.iter().flat_map(|(module, named)| {
            let child = |name: &String| [module.as_slice(), std::slice::from_ref(name)].concat();
            named.tests.iter().map(child)
        });
        let tests: Vec<Path> = tests.collect();
        self.named
            .retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    }

    /// A path from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<Path> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let (start, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (from, &path[1..]),
            "super" => (&from[..from.len().checked_sub(ups)?], &path[ups..]),
            child
                if self
                    .named
                    .contains_key(&[from, &[child.to_owned()]].concat()) =>
            {
                (from, path)
            }
            _ => return None,
        };
        Some([start, rest].concat())
    }

    /// The module in which that stands which a path means: the longest beginning that is a module,
    /// or, if that has the next name from elsewhere, what is meant there. What it ends with is a
    /// module's own if that defines it, though a module of this name may have been brought there, too.
    fn meant(&self, mut path: Path) -> Path {
        // A name can come from module to module only so often; a circle of names is no Rust.
        for _ in 0..8 {
            let module = (0..=path.len())
                .rev()
                .find(|len| self.named.contains_key(&path[..*len]));
            let Some(len) = module else { break };
            let named = &self.named[&path[..len]];
            let is_own = |name: &&String| path.len() == len + 1 && named.defined.contains(*name);
            let next = path.get(len).filter(|name| !is_own(name)).and_then(|next| {
                let brought = named.brought.get(next)?;
                let start = self.absolute(&path[..len], brought)?;
                Some([&start, &path[len + 1..]].concat())
            });
            let Some(next) = next.filter(|next| *next != path) else {
                path.truncate(len);
                break;
            };
            path = next;
        }
        path
    }
}

/// The circles among siblings: sets of which each member leads to each other.
fn rings(edges: &Edges) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|name| (name, reached(edges, name)))
        .collect();
    let leads = |from: &String, to: &String| reached.get(from).is_some_and(|all| all.contains(to));
    let ring = |(name, others): (&&String, &BTreeSet<&String>)| {
        let back = others.iter().filter(|other| leads(other, name));
        back.map(|name| (**name).clone()).collect()
    };
    let rings: BTreeSet<BTreeSet<String>> = reached.iter().map(ring).collect();
    rings.into_iter().filter(|ring| ring.len() > 1).collect()
}

/// Everything that is used from here on.
fn reached<'a>(edges: &'a Edges, from: &'a String) -> BTreeSet<&'a String> {
    let mut all = BTreeSet::new();
    let mut next = vec![from];
    while let Some(name) = next.pop() {
        let used = edges.get(name).into_iter().flat_map(BTreeMap::keys);
        next.extend(used.filter(|name| all.insert(*name)));
    }
    all
}

/// The shortest way round within a ring, from its first member.
fn way(edges: &Edges, ring: &BTreeSet<String>) -> Vec<(String, String)> {
    let Some(first) = ring.first() else {
        return Vec::new();
    };
    let mut ways: Vec<Vec<(String, String)>> = vec![Vec::new()];
    let mut seen = BTreeSet::new();
    let mut ends = vec![first];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        let mut next_ends = Vec::new();
        for (way, end) in ways.iter().zip(&ends) {
            for (next, place) in edges.get(*end).into_iter().flatten() {
                let step = [way.clone(), vec![((*end).clone(), place.clone())]].concat();
                if next == first {
                    return step;
                }
                if ring.contains(next) && seen.insert(next) {
                    longer.push(step);
                    next_ends.push(next);
                }
            }
        }
        (ways, ends) = (longer, next_ends);
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
