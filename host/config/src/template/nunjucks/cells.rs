//! Which variables lie in cells.
//!
//! In nunjucks a `set` inside a loop writes the variable of that name around the loop, if one was
//! set there, and else one that lives as long as the loop, not as long as one round. The engine
//! forgets at the end of each round. So a name that a loop sets gets a cell, made where nunjucks
//! has the variable: at the start of the text, or before the loop.

use std::collections::BTreeSet;

use super::super::pieces::Piece;
use super::tokens::{Token, tokens};
use super::{MAX_BLOCKS, code, is_identifier, is_reserved};

/// Names in cells, by where the cell is made.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cells {
    pub(super) text: BTreeSet<String>,
    /// By the order of loops in the text.
    pub(super) loops: Vec<BTreeSet<String>>,
}

/// What one loop, or the text outside of all, sets.
struct Frame {
    around: Option<usize>,
    sets: BTreeSet<String>,
}

/// The text and its loops, in order, and the names that loops bind; `None` if they nest so deep
/// that the template will be refused.
fn frames(pieces: &[Piece<'_>]) -> Option<(Vec<Frame>, BTreeSet<String>)> {
    let mut frames = vec![Frame {
        around: None,
        sets: BTreeSet::new(),
    }];
    let mut bound = BTreeSet::new();
    let (mut inside, mut depth) = (0, 0_usize);
    for piece in pieces {
        let Piece::Statement(tag) = piece else {
            continue;
        };
        let words = tokens(code(tag)).unwrap_or_default();
        let Some((Token::Name(word), words)) = words.split_first() else {
            continue;
        };
        match word.as_str() {
            "for" => {
                bound.extend(names(words));
                frames.push(Frame {
                    around: Some(inside),
                    sets: BTreeSet::new(),
                });
                inside = frames.len() - 1;
                depth += 1;
                if depth > MAX_BLOCKS {
                    return None;
                }
            }
            "endfor" => {
                inside = frames[inside].around.unwrap_or_default();
                depth = depth.saturating_sub(1);
            }
            "set" => frames[inside].sets.extend(names(words)),
            _ => {}
        }
    }
    Some((frames, bound))
}

/// Finds them.
pub(super) fn find(pieces: &[Piece<'_>]) -> Cells {
    let Some((frames, bound)) = frames(pieces) else {
        return Cells::default();
    };
    let (text, loops) = (&frames[0].sets, &frames[1..]);
    let fits = |name: &&String| !bound.contains(*name) && is_identifier(name) && !is_reserved(name);
    let set_around = |frame: &Frame, name: &String| {
        let mut around = frame.around;
        while let Some(index) = around {
            if frames[index].sets.contains(name) {
                return true;
            }
            around = frames[index].around;
        }
        false
    };
    let of_loops: BTreeSet<&String> = loops.iter().flat_map(|frame| &frame.sets).collect();
    let in_a_loop = |name: &&String| of_loops.contains(*name);
    let of_loop = |frame: &Frame| {
        let own = frame.sets.iter().filter(|name| !set_around(frame, name));
        own.filter(fits).cloned().collect()
    };
    Cells {
        text: text
            .iter()
            .filter(in_a_loop)
            .filter(fits)
            .cloned()
            .collect(),
        loops: loops.iter().map(of_loop).collect(),
    }
}

/// The names before `=` or `in`.
fn names(words: &[Token]) -> impl Iterator<Item = String> {
    let ends = |token: &&Token| match token {
        Token::Name(name) => name == "in",
        token => **token == Token::Symbol("="),
    };
    words
        .iter()
        .take_while(move |token| !ends(token))
        .filter_map(|token| match token {
            Token::Name(name) => Some(name.clone()),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::super::super::pieces::pieces;
    use super::*;

    /// A text, the names in cells of the text and of each loop.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [&'static [&'static str]],
    );

    #[test]
    fn a_name_that_a_loop_sets_has_its_cell_where_nunjucks_has_the_variable() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let cases: [Case; 5] = [
            ("{% set a = 1 %}", &[], &[]),
            (
                "{% set a = 1 %}{% for x in y %}{% set a = 2 %}{% endfor %}",
                &["a"],
                &[&[]],
            ),
            (
                "{% for x in y %}{% set a = 2 %}{% endfor %}",
                &[],
                &[&["a"]],
            ),
            (
                "{% for x in y %}{% set a = 2 %}{% for z in y %}{% set a, b = 2 %}{% endfor %}{% endfor %}",
                &[],
                &[&["a"], &["b"]],
            ),
            ("{% for a in y %}{% set a = 2 %}{% endfor %}", &[], &[&[]]),
        ];
        for (text, of_text, of_loops) in cases {
            let expected = Cells {
                text: set(of_text),
                loops: of_loops.iter().map(|names| set(names)).collect(),
            };
            assert_eq!(find(&pieces(text)), expected, "{text}");
        }
    }
}
