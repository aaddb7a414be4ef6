//! The elements in a text that is no document: tags that are balanced, whatever stands between.
//!
//! Models write XML into prose, leave `&` as it is and attributes without quotes. So tags are
//! matched by name alone. A closing tag that fits nothing ends all elements that are open;
//! what was complete before stays found. Elements next to each other count together, as
//! children of one document would.

use crate::Not;

/// How many bytes of tags are looked at in vain before the search ends. Each `<` may begin a
/// tag that has no end, and is looked for to the end of the text.
const VAIN_BYTES: usize = 20_000_000;

/// Checks whether a text contains an element, and next to each other the elements that the paths
/// lead to.
///
/// # Errors
/// What is missing, as a clause.
pub(crate) fn contains(text: &str, paths: &[Vec<String>]) -> Result<(), Not> {
    let forest = Forest::read(text);
    let groups = forest.groups();
    let mut fewest: Option<Vec<String>> = None;
    for group in &groups {
        let missing = forest.missing(group, paths);
        if missing.is_empty() {
            return Ok(());
        }
        if fewest
            .as_ref()
            .is_none_or(|known| missing.len() < known.len())
        {
            fewest = Some(missing);
        }
    }
    if !forest.is_whole {
        return Err(Not::read("it has too many tags without an end"));
    }
    fewest.map_or_else(
        || Err(Not::so("there is no element")),
        |missing| all_there(&missing),
    )
}

/// Checks that nothing is missing.
///
/// # Errors
/// Names what is missing, if anything is.
pub(crate) fn all_there(missing: &[String]) -> Result<(), Not> {
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(Not::So(format!("elements are missing: {missing}")))
}

/// An element, complete or not.
struct Element<'t> {
    name: &'t str,
    /// The names of its attributes.
    attributes: Vec<&'t str>,
    /// By index; `None` at the top.
    parent: Option<usize>,
    complete: bool,
    children: Vec<usize>,
}

/// The elements of a text, in the order in which they begin.
pub(crate) struct Forest<'t> {
    elements: Vec<Element<'t>>,
    /// The search did not end before the text.
    is_whole: bool,
}

impl<'t> Forest<'t> {
    /// Finds the elements.
    pub(crate) fn read(text: &'t str) -> Self {
        let mut forest = Self {
            elements: Vec::new(),
            is_whole: true,
        };
        let mut open: Vec<usize> = Vec::new();
        let mut budget = VAIN_BYTES;
        let mut at = 0;
        while let Some(start) = text[at..].find('<').map(|found| at + found) {
            let rest = &text[start..];
            at = start + 1;
            if let Some(length) = skipped(rest) {
                at = start + length;
                continue;
            }
            let (end, seen) = tag_end(rest);
            let Some(end) = end else {
                let Some(left) = budget.checked_sub(seen) else {
                    forest.is_whole = false;
                    break;
                };
                budget = left;
                continue;
            };
            let inside = &rest[1..end];
            if let Some(name) = inside.strip_prefix('/') {
                let name = name_at_start(name);
                if name.is_empty() {
                    continue;
                }
                let last = open.last().copied();
                match last.filter(|last| forest.elements[*last].name == name) {
                    Some(last) => {
                        open.pop();
                        forest.elements[last].complete = true;
                    }
                    None => open.clear(),
                }
            } else {
                let name = name_at_start(inside);
                if name.is_empty() {
                    continue;
                }
                let closed = inside.trim_end().ends_with('/');
                let index = forest.add(name, attributes(&inside[name.len()..]), open.last());
                forest.elements[index].complete = closed;
                if !closed {
                    open.push(index);
                }
            }
            at = start + end + 1;
        }
        forest
    }

    fn add(&mut self, name: &'t str, attributes: Vec<&'t str>, parent: Option<&usize>) -> usize {
        let index = self.elements.len();
        let parent = parent.copied();
        if let Some(parent) = parent {
            self.elements[parent].children.push(index);
        }
        self.elements.push(Element {
            name,
            attributes,
            parent,
            complete: false,
            children: Vec::new(),
        });
        index
    }

    /// How many attributes the element with the most has.
    pub(crate) fn most_attributes(&self) -> usize {
        let counts = self.elements.iter().map(|element| element.attributes.len());
        counts.max().unwrap_or_default()
    }

    /// The elements at the top.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let top = |index: &usize| self.elements[*index].parent.is_none();
        (0..self.elements.len()).filter(top).collect()
    }

    /// The complete elements that are in no other complete one: those next to each other
    /// together.
    fn groups(&self) -> Vec<Vec<usize>> {
        let complete = |list: &[usize]| -> Vec<usize> {
            let complete = list.iter().filter(|index| self.elements[**index].complete);
            complete.copied().collect()
        };
        let top = complete(&self.roots());
        let broken = self.elements.iter().filter(|element| !element.complete);
        let inner = broken.map(|element| complete(&element.children));
        std::iter::once(top)
            .chain(inner)
            .filter(|group| !group.is_empty())
            .collect()
    }

    /// The paths that lead to nothing from these elements.
    pub(crate) fn missing(&self, from: &[usize], paths: &[Vec<String>]) -> Vec<String> {
        let missing = paths.iter().filter(|path| !self.leads(from, path));
        missing.map(|path| path.join(".")).collect()
    }

    /// Whether a path leads to an element, or by `@_name` to an attribute. A number after a
    /// name picks one of the elements of that name, the first being 0; without one, any will
    /// do.
    fn leads(&self, from: &[usize], path: &[String]) -> bool {
        let mut level = from.to_vec();
        let mut found: Vec<usize> = Vec::new();
        for (position, step) in path.iter().enumerate() {
            if let Some(name) = step.strip_prefix("@_") {
                let last = position + 1 == path.len();
                let has = |index: &usize| self.elements[*index].attributes.contains(&name);
                return last && found.iter().any(has);
            }
            let index = step.parse::<usize>().ok().filter(|_| position > 0);
            if let Some(index) = index {
                found = found.get(index).copied().into_iter().collect();
            } else {
                level.retain(|index| self.elements[*index].name == step.as_str());
                found = level;
            }
            if found.is_empty() {
                return false;
            }
            let below = found
                .iter()
                .flat_map(|index| &self.elements[*index].children);
            level = below.copied().collect();
        }
        !found.is_empty()
    }
}

/// The length of a comment, a literal section, an instruction or a declaration.
fn skipped(text: &str) -> Option<usize> {
    let until = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    if text.starts_with("<!--") {
        Some(until("-->"))
    } else if text.starts_with("<![CDATA[") {
        Some(until("]]>"))
    } else if text.starts_with("<?") {
        Some(until("?>"))
    } else if text.starts_with("<!") {
        Some(until(">"))
    } else {
        None
    }
}

/// Where the tag at the start of a text ends, if it does before the next one begins; and how
/// much was looked at.
fn tag_end(text: &str) -> (Option<usize>, usize) {
    let begins = |c: char| c == '/' || is_name_start(c);
    if !text[1..].starts_with(begins) {
        return (None, 1);
    }
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return (Some(at), at),
            (None, b'<') => return (None, at),
            _ => {}
        }
    }
    (None, text.len())
}

/// The names of attributes in what follows the name in a tag.
fn attributes(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| !is_name_start(c) && c != '"' && c != '\'');
        let Some(first) = rest.chars().next() else {
            return names;
        };
        if first == '"' || first == '\'' {
            // A value: past it.
            let end = rest[1..].find(first).map_or(rest.len(), |at| at + 2);
            rest = &rest[end..];
            continue;
        }
        let name = name_at_start(rest);
        rest = &rest[name.len()..];
        names.push(name);
        if let Some(value) = rest.trim_start().strip_prefix('=') {
            let value = value.trim_start();
            rest = value;
            if !value.starts_with(['"', '\'']) {
                let end = value.find(char::is_whitespace).unwrap_or(value.len());
                rest = &value[end..];
            }
        }
    }
}

/// Whether a text is a name of XML.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_at_start(text).len() == text.len()
}

fn name_at_start(text: &str) -> &str {
    if !text.starts_with(is_name_start) {
        return "";
    }
    let end = text.find(|c| !is_name_character(c)).unwrap_or(text.len());
    &text[..end]
}

fn is_name_start(c: char) -> bool {
    matches!(c,
        ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name_character(c: char) -> bool {
    is_name_start(c)
        || matches!(c,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}
