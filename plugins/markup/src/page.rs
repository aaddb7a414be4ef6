//! Whether a whole text is HTML: it has an element that HTML knows, and no text outside.
//!
//! A browser makes a page of any text, so what counts is where the text ends up: what becomes
//! text of a `body` that nobody wrote stands outside. Where that is, html5ever decides. No tree
//! is made of it: whether something is a child of `body` is known when it gets its place, and
//! is all that is asked.
//!
//! The parser itself has no bounds: each tag is held against all that are open, each attribute
//! against the others of its tag. So both are counted as steps, and a text that needs too many
//! is given up.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, QualName, TokenizerResult, expanded_name, local_name, ns};

use crate::Not;

/// Elements that HTML knows, obsolete ones excluded; beside these, names with a hyphen are
/// those of custom elements. Every page has `html`, `head` and `body`: these must be written.
const KNOWN: &str = "title base link meta style article section nav aside h1 h2 h3 h4 h5 h6 \
    header footer address p hr pre blockquote ol ul li dl dt dd figure figcaption main div a em \
    strong small s cite q dfn abbr ruby rt rp data time code var samp kbd sub sup i b u mark bdi \
    bdo span br wbr img iframe embed object param picture source video audio track map area svg \
    math script noscript canvas ins del table caption colgroup col tbody thead tfoot tr td th \
    form label input button select datalist optgroup option textarea output progress meter \
    fieldset legend details summary dialog menu slot template";

/// How many steps a text may take: some, and more for each byte. A page of a browser's depth,
/// 512 elements, takes fewer.
const STEPS: u64 = 50_000_000;
const STEPS_PER_BYTE: u64 = 16;

/// What an element costs that is made; much of it in the parser.
const STEPS_OF_ELEMENT: u64 = 50;

/// How many attributes a tag might have that has not ended yet. What is counted is where one
/// could begin, in values and comments too.
const MAX_PARTS: usize = 10_000;

/// So much of a text is read at once, in bytes.
const PIECE: usize = 4096;

/// Checks whether the whole text is HTML.
///
/// # Errors
/// Why not, as a clause.
pub(crate) fn whole(text: &str) -> Result<(), Not> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Not::so("it is empty"));
    }
    if text.len() >= 5 && text.as_bytes()[..5].eq_ignore_ascii_case(b"<?xml") {
        return Err(Not::so("it is XML"));
    }
    let tokenizer = tokenizer(text.len());
    read(text, &tokenizer)?;
    let reader = &tokenizer.sink;
    let page = &reader.builder.sink;
    if page.outside.get() && !reader.body.get() {
        return Err(Not::so("it has text outside of elements"));
    }
    if page.known.get() {
        Ok(())
    } else {
        Err(Not::so("it has no element of HTML"))
    }
}

/// A tokenizer for a text of so many bytes.
fn tokenizer(bytes: usize) -> Tokenizer<Reader> {
    let page = Page {
        known: Cell::default(),
        outside: Cell::default(),
        steps: Cell::default(),
        most: STEPS + STEPS_PER_BYTE * bytes as u64,
        open: Rc::default(),
    };
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let reader = Reader {
        builder: TreeBuilder::new(page, options),
        any: Cell::default(),
        text: Cell::default(),
        body: Cell::default(),
    };
    Tokenizer::new(reader, TokenizerOpts::default())
}

/// Reads a text piece by piece, so that it can be given up.
fn read(text: &str, tokenizer: &Tokenizer<Reader>) -> Result<(), Not> {
    let input = BufferQueue::default();
    let page = &tokenizer.sink.builder.sink;
    let mut parts = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        input.push_back(piece.into());
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        if tokenizer.sink.any.take() {
            parts = 0;
        }
        parts += piece.matches(ends_attribute).count();
        if parts > MAX_PARTS {
            return Err(Not::read("a tag or a comment in it is too long"));
        }
        if page.is_spent() {
            let why = "its elements lie too deep, or have too many attributes";
            return Err(Not::read(why));
        }
    }
    tokenizer.end();
    Ok(())
}

fn is_visible(text: &str) -> bool {
    !text.trim().is_empty()
}

fn ends_attribute(c: char) -> bool {
    c.is_ascii_whitespace() || ['/', '"', '\''].contains(&c)
}

/// What stands between the parser's two halves: it sees the tags that were written.
struct Reader {
    builder: TreeBuilder<Rc<Node>, Page>,
    /// There was a token since somebody asked.
    any: Cell<bool>,
    /// There was text since the last tag, and whether it shows anything. More of it would go to
    /// the same place, and the parser keeps all that stands in a table.
    text: Cell<Option<bool>>,
    /// The text itself has a body.
    body: Cell<bool>,
}

impl Reader {
    fn tag(&self, tag: &mut Tag) {
        let page = &self.builder.sink;
        self.text.set(None);
        let attributes = tag.attrs.len() as u64;
        page.step(attributes * attributes + Rc::strong_count(&page.open) as u64);
        let name = &*tag.name;
        if tag.kind == TagKind::StartTag && ["html", "head", "body"].contains(&name) {
            page.known.set(true);
            self.body.set(self.body.get() || name == "body");
        }
        // Formatting elements that end with something around them are opened again in what
        // follows, those that are equal three times at most. So the others are few, too.
        tag.attrs.retain_mut(|attribute| {
            let font = name == "font";
            if font {
                attribute.value.clear();
            }
            match &*attribute.name.local {
                "type" => name == "input",
                "encoding" => name == "annotation-xml",
                "color" | "face" | "size" => font,
                _ => false,
            }
        });
    }
}

impl TokenSink for Reader {
    type Handle = Rc<Node>;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Rc<Node>> {
        if matches!(token, Token::ParseError(_)) || self.builder.sink.is_spent() {
            return TokenSinkResult::Continue;
        }
        self.any.set(true);
        match &mut token {
            Token::TagToken(tag) => self.tag(tag),
            Token::CharacterTokens(text) => {
                let shows = Some(is_visible(text));
                if shows <= self.text.get() {
                    return TokenSinkResult::Continue;
                }
                self.text.set(shows);
            }
            _ => {}
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        let builder = &self.builder;
        builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// What is kept of an element while it is open. The document and comments are nameless ones.
struct Node {
    name: QualName,
    /// It is a child of `body`.
    top: Cell<bool>,
    /// HTML may stand in it, though it is not HTML itself.
    integrates: bool,
    /// One of those that [`Page::open`] counts.
    _open: Rc<()>,
}

/// What is found out while the parser places elements and texts.
struct Page {
    /// There is an element that HTML knows.
    known: Cell<bool>,
    /// There is text outside of elements.
    outside: Cell<bool>,
    /// How often the parser looked at an element, and what stands for its other work.
    steps: Cell<u64>,
    /// How many steps it may be.
    most: u64,
    /// As many others hold it as the parser holds elements.
    open: Rc<()>,
}

impl Page {
    fn step(&self, steps: u64) {
        self.steps.update(|before| before + steps);
    }

    fn is_spent(&self) -> bool {
        self.steps.get() > self.most
    }

    fn node(&self, name: QualName, integrates: bool) -> Rc<Node> {
        Rc::new(Node {
            name,
            top: Cell::default(),
            integrates,
            _open: self.open.clone(),
        })
    }

    fn nameless(&self) -> Rc<Node> {
        self.node(QualName::new(None, ns!(), local_name!("")), false)
    }

    fn place(&self, top: bool, child: NodeOrText<Rc<Node>>) {
        match child {
            NodeOrText::AppendNode(node) => node.top.set(top),
            NodeOrText::AppendText(text) => {
                let outside = top && is_visible(&text);
                self.outside.set(self.outside.get() || outside);
            }
        }
    }
}

impl TreeSink for Page {
    type Handle = Rc<Node>;
    type Output = ();
    type ElemName<'a> = &'a QualName;

    fn get_document(&self) -> Rc<Node> {
        self.nameless()
    }

    fn elem_name<'a>(&'a self, node: &'a Rc<Node>) -> &'a QualName {
        self.step(1);
        &node.name
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        self.step(1);
        Rc::ptr_eq(one, other)
    }

    fn create_element(&self, name: QualName, _: Vec<Attribute>, flags: ElementFlags) -> Rc<Node> {
        self.step(STEPS_OF_ELEMENT);
        let local = &*name.local;
        let implied = ["html", "head", "body"].contains(&local);
        if !implied && !self.known.get() {
            let known = KNOWN.split(' ').any(|known| known == local) || local.contains('-');
            self.known.set(known);
        }
        self.node(name, flags.mathml_annotation_xml_integration_point)
    }

    fn is_mathml_annotation_xml_integration_point(&self, node: &Rc<Node>) -> bool {
        node.integrates
    }

    fn create_comment(&self, _: StrTendril) -> Rc<Node> {
        self.nameless()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Rc<Node> {
        self.nameless()
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.place(parent.name.expanded() == expanded_name!(html "body"), child);
    }

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.place(sibling.top.get(), child);
    }

    /// Puts what has no place in a table before it.
    fn append_based_on_parent_node(
        &self,
        table: &Rc<Node>,
        _: &Rc<Node>,
        child: NodeOrText<Rc<Node>>,
    ) {
        self.append_before_sibling(table, child);
    }

    /// What is removed is put elsewhere at once, and what loses its children was not the body.
    fn remove_from_parent(&self, _: &Rc<Node>) {}
    fn reparent_children(&self, _: &Rc<Node>, _: &Rc<Node>) {}

    /// Of a template and its contents one is enough.
    fn get_template_contents(&self, template: &Rc<Node>) -> Rc<Node> {
        template.clone()
    }

    fn allow_declarative_shadow_roots(&self, _: &Rc<Node>) -> bool {
        false
    }

    fn parse_error(&self, _: Cow<'static, str>) {}
    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}
    fn set_quirks_mode(&self, _: QuirksMode) {}
    fn add_attrs_if_missing(&self, _: &Rc<Node>, _: Vec<Attribute>) {}
    fn finish(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a reading ends, the steps it took, and those it may take.
    fn steps(text: &str) -> (Result<(), Not>, u64, u64) {
        let tokenizer = tokenizer(text.len());
        let end = read(text, &tokenizer);
        let page = &tokenizer.sink.builder.sink;
        (end, page.steps.get(), page.most)
    }

    fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
        (0..count).map(text).collect()
    }

    fn attributes(count: usize) -> String {
        numbered(count, |n| format!("x{n}='>' "))
    }

    #[test]
    fn no_text_takes_many_steps() {
        let many = |text: &str| text.repeat(1_000_000 / text.len());
        let formats = [
            "b", "big", "code", "em", "font", "i", "s", "small", "tt", "u",
        ];
        let formats: String = formats.map(|name| format!("<{name}>").repeat(3)).concat();
        let texts: [String; 10] = [
            many("<div>"),
            many("<a><b>"),
            many("<x></y>"),
            many("<table><tr><td>"),
            many("<template>"),
            "<x>".repeat(2_000) + &many("<p></p>"),
            format!("<p>{formats}") + &many("<p>x"),
            numbered(90_000, |n| format!("<element{n}>")),
            numbered(90_000, |n| format!("<font size={n}>")) + &many("<p>x"),
            numbered(20, |_| format!("<a {}>", attributes(3_000))),
        ];
        for text in texts {
            let (end, taken, most) = steps(&text);
            let start = &text[..40];
            assert!(end.is_err(), "{start} took {taken} of {most}");
            // A tag is read to its end.
            assert!(taken < most + 50_000_000, "{start} took {taken} of {most}");
        }
    }

    #[test]
    fn a_tag_is_given_up_before_its_end() {
        let all = attributes(1_000_000);
        for start in ["<a ", "</a ", "<script></script "] {
            let (end, taken, _) = steps(&format!("{start}{all}"));
            let end = end.expect_err("given up");
            assert_eq!(end, Not::read("a tag or a comment in it is too long"));
            assert!(taken < 1_000, "{taken}");
        }
    }

    #[test]
    fn of_the_text_in_a_table_little_is_kept() {
        let text = format!("<div><table>{}", "&\n".repeat(100_000));
        let (end, taken, _) = steps(&text);
        end.expect("few steps");
        assert!(taken < 1_000, "{taken}");
    }

    #[test]
    fn formatting_that_is_opened_again_is_bounded() {
        let again = numbered(10_000, |n| format!("<p><font color={n} x{n}><b y{n}></p>"));
        let (end, taken, _) = steps(&again);
        end.expect("few steps");
        assert!(taken < 20_000_000, "{taken}");
    }

    #[test]
    fn a_long_page_takes_few_steps() {
        let deep = "<div><section><ul><li>".repeat(128);
        let row = "<p>Some <b>bold</b> text and <a href='https://example.com'>a link</a>.</p>";
        let (end, taken, most) = steps(&(deep + &row.repeat(10_000)));
        end.expect("few steps");
        assert!(taken < most, "{taken} of {most}");
        let image = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (end, _, _) = steps(&format!("<img src='data:{}'>", image.repeat(8_000)));
        end.expect("an image is no list of attributes");
    }
}
