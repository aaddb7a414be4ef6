//! Bounds what a template can make out of its variables inside expressions.
//!
//! `{% set x = x ~ x %}`, thirty times, makes gigabytes of one letter in thirty steps, before
//! any output is written. So every expression gets a weight, the number of values that it can
//! put together at most, and a template whose weights pass [`MAX_WEIGHT`] is refused. Prompts
//! put together a handful. What filters and methods make of a text is counted when they run
//! (`effort`).

use std::collections::BTreeMap;

use minijinja::machinery::ast::{CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;

use super::pieces::{Piece, is_tag, pieces};

/// Values that one expression may put together.
const MAX_WEIGHT: u64 = 1_000;

/// Bytes of one tag outside its quotes. An operator is a byte and an operand another, so this
/// bounds how deep the engine's recursion goes in `1+1+1+…`, which it doesn't bound itself.
const MAX_TAG: usize = 2_000;

/// `elif`s per template; the engine nests each in the one before.
const MAX_ELIFS: usize = 200;

/// Refuses a template that could overflow the engine's stack.
pub(crate) fn check_tags(source: &str) -> Result<(), String> {
    let mut elifs = 0;
    for piece in pieces(source) {
        let (Piece::Expression(tag) | Piece::Statement(tag)) = piece else {
            continue;
        };
        let is_raw = is_tag(
            tag.split_inclusive("%}").next().unwrap_or(tag),
            &["raw", "verbatim"],
        );
        if !is_raw && code_len(tag) > MAX_TAG {
            return Err(format!("a tag of more than {MAX_TAG} bytes"));
        }
        elifs += usize::from(
            tag.trim_start_matches(['{', '%', '-', ' '])
                .starts_with("el"),
        );
    }
    if elifs > MAX_ELIFS {
        Err(format!("more than {MAX_ELIFS} branches"))
    } else {
        Ok(())
    }
}

/// Bytes outside quotes.
fn code_len(tag: &str) -> usize {
    let (mut quote, mut escaped, mut len) = (None, false, 0);
    for byte in tag.bytes() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => {
                len += 1;
                quote = Some(byte).filter(|byte| matches!(byte, b'"' | b'\''));
            }
        }
    }
    len
}

/// Refuses a translated template that could grow too large. Texts that aren't templates pass: the
/// engine says what is wrong with them.
pub(crate) fn check(source: &str) -> Result<(), String> {
    let Ok(template) = parse(source, "t", SyntaxConfig::default()) else {
        return Ok(());
    };
    Scale::default().statement(&template)
}

#[derive(Default)]
struct Scale<'a> {
    /// Weights of what `set` and `with` name.
    names: BTreeMap<&'a str, u64>,
}

impl<'a> Scale<'a> {
    fn statements(&mut self, statements: &[Stmt<'a>]) -> Result<(), String> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'a>) -> Result<(), String> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => self.weigh(&emit.expr).map(drop),
            Stmt::ForLoop(each) => {
                let weight = self.weigh(&each.iter)?;
                self.name(&each.target, weight);
                each.filter_expr
                    .as_ref()
                    .map_or(Ok(0), |filter| self.weigh(filter))?;
                self.statements(&each.body)?;
                self.statements(&each.else_body)
            }
            Stmt::IfCond(branch) => {
                self.weigh(&branch.expr)?;
                self.statements(&branch.true_body)?;
                self.statements(&branch.false_body)
            }
            Stmt::WithBlock(with) => {
                for (target, value) in &with.assignments {
                    let weight = self.weigh(value)?;
                    self.name(target, weight);
                }
                self.statements(&with.body)
            }
            Stmt::Set(set) => {
                let weight = self.weigh(&set.expr)?;
                self.name(&set.target, weight);
                Ok(())
            }
            Stmt::AutoEscape(block) => self.statements(&block.body),
            // What a block holds is printed into it, and printing is counted (`effort`).
            Stmt::SetBlock(block) => {
                self.name(&block.target, 1);
                self.statements(&block.body)
            }
            Stmt::FilterBlock(_) | Stmt::Do(_) => {
                unreachable!("no template is translated to `filter` or `do`")
            }
        }
    }

    /// Gives `target` the larger of its weights.
    fn name(&mut self, target: &Expr<'a>, weight: u64) {
        match target {
            Expr::Var(var) => {
                let known = self.names.entry(var.id).or_insert(1);
                *known = weight.max(*known);
            }
            Expr::List(list) => list.items.iter().for_each(|item| self.name(item, weight)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.name(item, weight)),
            _ => {}
        }
    }

    fn weigh(&mut self, expression: &Expr<'a>) -> Result<u64, String> {
        let weight = match expression {
            Expr::Const(_) => 1,
            Expr::Var(var) => self.names.get(var.id).copied().unwrap_or(1),
            Expr::Slice(slice) => self.weigh(&slice.expr)?,
            Expr::UnaryOp(unary) => self.weigh(&unary.expr)?,
            Expr::BinOp(binary) => self.weigh(&binary.left)? + self.weigh(&binary.right)?,
            Expr::Compare(compare) => {
                let first = self.weigh(&compare.expr)?;
                compare.ops.iter().try_fold(first, |sum, op| {
                    Ok::<_, String>(sum + self.weigh(&op.expr)?)
                })?
            }
            Expr::IfExpr(branch) => {
                let other = branch
                    .false_expr
                    .as_ref()
                    .map_or(Ok(0), |other| self.weigh(other))?;
                self.weigh(&branch.test_expr)? + self.weigh(&branch.true_expr)? + other
            }
            Expr::Filter(filter) => {
                let of = filter.expr.as_ref().map_or(Ok(0), |of| self.weigh(of))?;
                // The first word of an operator only says which one it is.
                let is_operator = matches!(
                    (filter.name.strip_prefix('_'), filter.args.first()),
                    (Some(_), Some(CallArg::Pos(Expr::Const(_))))
                );
                of + self.arguments(&filter.args[usize::from(is_operator)..])?
            }
            Expr::Test(test) => self.weigh(&test.expr)? + self.arguments(&test.args)?,
            Expr::GetAttr(of) => self.weigh(&of.expr)?,
            Expr::GetItem(of) => self.weigh(&of.expr)? + self.weigh(&of.subscript_expr)?,
            Expr::Call(call) => self.weigh(&call.expr)? + self.arguments(&call.args)?,
            Expr::List(list) => self.sum(&list.items)?,
            Expr::Tuple(tuple) => self.sum(&tuple.items)?,
            Expr::Map(map) => self.sum(&map.keys)? + self.sum(&map.values)?,
        };
        if weight > MAX_WEIGHT {
            return Err(format!(
                "puts more than {MAX_WEIGHT} values together in one expression"
            ));
        }
        Ok(weight)
    }

    fn sum(&mut self, items: &[Expr<'a>]) -> Result<u64, String> {
        // An early end keeps the sum from passing the limit by much.
        items.iter().try_fold(1, |sum, item| {
            let sum = sum + self.weigh(item)?;
            if sum > 2 * MAX_WEIGHT {
                Err(format!("a list of more than {MAX_WEIGHT} values"))
            } else {
                Ok(sum)
            }
        })
    }

    fn arguments(&mut self, arguments: &[CallArg<'a>]) -> Result<u64, String> {
        arguments
            .iter()
            .try_fold(0, |sum, argument| match argument {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => Ok(sum + self.weigh(value)?),
            })
    }
}
