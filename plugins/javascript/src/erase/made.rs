//! What of TypeScript is code without being JavaScript: enumerations, and parameters of a constructor
//! that are properties.

use std::collections::HashSet;

use oxc_ast::ast::{
    BindingPattern, Expression, MethodDefinition, MethodDefinitionKind, Statement,
    TSEnumDeclaration, TSEnumMember, TSEnumMemberName, UnaryOperator,
};
use oxc_ast_visit::Visit as _;
use oxc_span::{GetSpan as _, Span};

use super::Eraser;

impl<'a> Eraser<'a> {
    /// Turns an enumeration into an object, which has the names of its numbers, too.
    pub(super) fn enumeration(&mut self, it: &TSEnumDeclaration<'a>) {
        let name = it.id.name.as_str();
        self.text
            .blank(Span::new(it.span.start, it.body.span.start));
        self.text
            .insert(it.span.start, &format!("var {name}; (function ({name}) "));
        self.text
            .insert(it.body.span.end, &format!(")({name} || ({name} = {{}}));"));
        self.members = Some((name, HashSet::new()));
        // The value of the next member without one: a number, or an expression.
        let mut next = Some("0".to_owned());
        for member in &it.body.members {
            next = self.member(name, member, next);
        }
        self.members = None;
    }

    /// Makes a member; gives the value of the next one that has none, if there can be one.
    fn member(&mut self, of: &str, it: &TSEnumMember<'a>, value: Option<String>) -> Option<String> {
        let key = match &it.id {
            TSEnumMemberName::Identifier(id) => id.name.as_str(),
            TSEnumMemberName::String(text) | TSEnumMemberName::ComputedString(text) => {
                text.value.as_str()
            }
            TSEnumMemberName::ComputedTemplateString(_) => {
                self.refuse(it.span, "a name that is a template");
                return None;
            }
        };
        let quoted = serde_json::Value::from(key).to_string();
        let end = it.span.end;
        let mut next = Some(format!("{of}[{quoted}] + 1"));
        if let Some(value) = &it.initializer {
            let start = value.span().start;
            self.text.blank(Span::new(it.span.start, start));
            if matches!(
                value,
                Expression::StringLiteral(_) | Expression::TemplateLiteral(_)
            ) {
                self.text.insert(start, &format!("{of}[{quoted}] = "));
                next = None;
            } else {
                self.text.insert(start, &format!("{of}[{of}[{quoted}] = "));
                self.text.insert(end, &format!("] = {quoted}"));
            }
            self.visit_expression(value);
            if let Some(number) = number(value) {
                next = Some((number + 1.0).to_string());
            }
        } else {
            let Some(value) = value else {
                self.refuse(it.span, "a member without a value after a text");
                return None;
            };
            self.text.blank(it.span);
            let made = format!("{of}[{of}[{quoted}] = {value}] = {quoted}");
            self.text.insert(it.span.start, &made);
            if let Ok(number) = value.parse::<f64>() {
                next = Some((number + 1.0).to_string());
            }
        }
        if let Some((_, known)) = &mut self.members {
            known.insert(key);
        }
        let comma = self.text.skipped(end);
        if self.text.starts(comma, ',') {
            self.text.put(comma, ';');
        }
        next
    }

    /// Parameters that are properties are kept when the constructor begins, or behind `super(…)`.
    pub(super) fn properties(&mut self, it: &MethodDefinition<'a>, has_super: bool) {
        if it.kind != MethodDefinitionKind::Constructor {
            return;
        }
        let Some(body) = &it.value.body else { return };
        let mut kept = String::new();
        for parameter in &it.value.params.items {
            let is_property =
                parameter.accessibility.is_some() || parameter.readonly || parameter.r#override;
            // The parser takes no other pattern for one.
            if is_property && let BindingPattern::BindingIdentifier(id) = &parameter.pattern {
                let name = id.name.as_str();
                kept.extend([" this.", name, " = ", name, ";"]);
            }
        }
        if kept.is_empty() {
            return;
        }
        let calls_super = |statement: &&Statement<'a>| match statement {
            Statement::ExpressionStatement(it) => match &it.expression {
                Expression::CallExpression(call) => matches!(call.callee, Expression::Super(_)),
                _ => false,
            },
            _ => false,
        };
        let at = if has_super {
            body.statements
                .iter()
                .find(calls_super)
                .map(|it| it.span().end)
        } else {
            Some(body.span.start + 1)
        };
        match at {
            Some(at) => self.text.insert(at, &format!(";{kept}")),
            None => self.refuse(
                it.span,
                "properties of a constructor without `super()` in its body",
            ),
        }
    }
}

/// The number that an expression is as it stands.
fn number(value: &Expression<'_>) -> Option<f64> {
    match value {
        Expression::NumericLiteral(it) => Some(it.value),
        Expression::UnaryExpression(it) if it.operator == UnaryOperator::UnaryNegation => {
            number(&it.argument).map(|number| -number)
        }
        _ => None,
    }
}
