//! TypeScript to JavaScript: types become blanks, so that every line and column stays.
//!
//! The parser is oxc's; what is taken away is decided here, from its tree. Erased are types wherever
//! they stand, what is declared and not there, modifiers, and imports of which nothing is used as a
//! value: compilers that look at one file at a time leave them out, too, whether or not they say
//! `type`. Where what is left would mean something else, a semicolon stands in the place of what was
//! erased. Enumerations and parameters that are properties become code (`made`), on their own lines.
//!
//! What is neither is refused by name: namespaces with values, decorators, `import a = b.c`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionExpression, BindingIdentifier, Class, ClassElement, Declaration, Decorator,
    ExportDefaultDeclarationKind, ExportNamedDeclaration, ExportSpecifier, FormalParameter,
    IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier, ImportOrExportKind,
    MethodDefinition, MethodDefinitionType, ModuleExportName, PropertyDefinition,
    PropertyDefinitionType, Statement, TSAsExpression, TSClassImplements,
    TSImportEqualsDeclaration, TSModuleReference, TSNonNullExpression, TSSatisfiesExpression,
    TSThisParameter, TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration,
    TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{Parser, ParserReturn};
use oxc_span::{GetSpan, SourceType, Span};
use runner_plugin::script::{Failure, FailureKind, Form, Position, Program};

mod edit;
mod made;
mod texts;

use edit::Text;
pub(crate) use texts::{ASKED, texts};

/// Extensions of files with types.
pub(crate) const TYPED: [&str; 3] = ["ts", "mts", "cts"];

fn is_typed(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|it| TYPED.iter().any(|typed| it == *typed))
}

/// A program whose files with types are JavaScript.
pub(crate) fn of_program(program: &Program) -> Result<Cow<'_, Program>, Failure> {
    let mut erased = Cow::Borrowed(program);
    if program.form == Form::File && is_typed(&program.name) {
        erased.to_mut().source = of_file(&program.name, &program.source)?;
    }
    for (at, module) in program.modules.iter().enumerate() {
        if is_typed(&module.path) {
            erased.to_mut().modules[at].source = of_file(&module.path, &module.source)?;
        }
    }
    Ok(erased)
}

fn of_file(path: &str, source: &str) -> Result<String, Failure> {
    erased(source).map_err(|Refused { message, place }| {
        let mut failure = Failure::new(FailureKind::Syntax, message);
        failure.position = Some(Position {
            file: path.to_owned(),
            line: place.0,
            column: place.1,
        });
        failure
    })
}

/// Why a text is no TypeScript that can run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    /// Line and column, from 1.
    pub(crate) place: (u32, u32),
}

/// The first mistake that the parser found.
pub(crate) fn mistake(source: &str, parsed: &ParserReturn<'_>) -> Option<Refused> {
    let error = parsed.diagnostics.iter().next()?;
    let labels = error.labels.iter();
    let at = labels.map(oxc_span::LabeledSpan::offset).min();
    let at = at.unwrap_or_default() as usize;
    Some(refused(source, at, error.message.to_string()))
}

/// The JavaScript of a TypeScript text.
pub(crate) fn erased(source: &str) -> Result<String, Refused> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts()).parse();
    if let Some(mistake) = mistake(source, &parsed) {
        return Err(mistake);
    }
    let mut eraser = Eraser::new(source);
    eraser.visit_program(&parsed.program);
    eraser.leave_out_imports();
    match eraser.refused {
        Some((at, message)) => Err(refused(source, at as usize, message)),
        None => Ok(eraser.text.finish()),
    }
}

fn refused(source: &str, at: usize, message: String) -> Refused {
    let before = &source[..source.floor_char_boundary(at)];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let place = (before.matches('\n').count(), line.chars().count());
    Refused {
        message,
        place: (place.0 as u32 + 1, place.1 as u32 + 1),
    }
}

/// A name that an import binds.
struct Imported<'a> {
    local: &'a str,
    span: Span,
    is_type: bool,
}

struct Eraser<'a> {
    text: Text<'a>,
    /// What can't be run, and where: the first of it counts.
    refused: Option<(u32, String)>,
    /// Names that are used as values.
    used: HashSet<&'a str>,
    /// Names that are declared as values.
    declared: HashSet<&'a str>,
    /// Imports that bind names, each with these.
    imports: Vec<(Span, Vec<Imported<'a>>)>,
    /// Names that an `export { … }` without a source names, each with its specifier.
    exported: Vec<(&'a str, Span)>,
    /// Names of types.
    types: HashSet<&'a str>,
    /// The enumeration whose members are being made, and those that are known by their names.
    members: Option<(&'a str, HashSet<&'a str>)>,
}

impl<'a> Eraser<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            text: Text::new(source),
            refused: None,
            used: HashSet::new(),
            declared: HashSet::new(),
            imports: Vec::new(),
            exported: Vec::new(),
            types: HashSet::new(),
            members: None,
        }
    }

    fn refuse(&mut self, span: Span, what: &str) {
        let message = format!("{what}: not run here, since erasing types leaves no JavaScript");
        let found = (span.start, message);
        if self.refused.as_ref().is_none_or(|(at, _)| *at > span.start) {
            self.refused = Some(found);
        }
    }

    /// Erases a whole statement, or a whole element of a class.
    fn erase_whole(&mut self, span: Span) {
        self.text.blank(span);
        self.text.put(span.start, ';');
    }

    /// Erases what follows an expression; where the next line would go on with it, it ends here.
    fn erase_after(&mut self, expression: Span, whole: Span) {
        let erased = Span::new(expression.end, whole.end);
        self.text.blank(erased);
        if self.text.next_line_goes_on(whole.end) {
            self.text.put(expression.end, ';');
        }
    }

    /// Takes out imports of which nothing is used as a value, and exports of types.
    fn leave_out_imports(&mut self) {
        for (span, names) in std::mem::take(&mut self.imports) {
            let is_kept = |name: &Imported<'_>| !name.is_type && self.used.contains(name.local);
            if !names.iter().any(is_kept) {
                self.types.extend(names.iter().map(|name| name.local));
                self.erase_whole(span);
                continue;
            }
            for name in names.iter().filter(|name| !is_kept(name)) {
                self.types.insert(name.local);
                self.text.blank_with_comma(name.span);
            }
        }
        for (name, span) in std::mem::take(&mut self.exported) {
            if self.types.contains(name) && !self.declared.contains(name) {
                self.text.blank_with_comma(span);
            }
        }
    }

    fn import(&mut self, import: &ImportDeclaration<'a>) {
        if import.import_kind == ImportOrExportKind::Type {
            return self.erase_whole(import.span);
        }
        let Some(specifiers) = import.specifiers.as_ref().filter(|names| !names.is_empty()) else {
            return;
        };
        let names = specifiers.iter().map(|specifier| {
            let (local, is_type) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(it) => {
                    (&it.local, it.import_kind == ImportOrExportKind::Type)
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => (&it.local, false),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => (&it.local, false),
            };
            Imported {
                local: local.name.as_str(),
                span: specifier.span(),
                is_type,
            }
        });
        self.imports.push((import.span, names.collect()));
    }

    fn export(&mut self, export: &ExportNamedDeclaration<'a>) {
        if export.export_kind == ImportOrExportKind::Type {
            return self.erase_whole(export.span);
        }
        for specifier in &export.specifiers {
            if specifier.export_kind == ImportOrExportKind::Type {
                self.text.blank_with_comma(specifier.span);
            } else if let ModuleExportName::IdentifierReference(local) = &specifier.local {
                let name = local.name.as_str();
                // An import that is only handed on may be a value as well as a type.
                self.used.insert(name);
                self.exported.push((name, specifier.span));
            }
        }
    }

    fn re_export(&mut self, specifiers: &[ExportSpecifier<'a>]) {
        for specifier in specifiers {
            if specifier.export_kind == ImportOrExportKind::Type {
                self.text.blank_with_comma(specifier.span);
            }
        }
    }

    /// Erases a declaration that leaves nothing; `whole`: with what stands around it.
    fn declaration(&mut self, declaration: &Declaration<'a>, whole: Span) -> bool {
        match declaration {
            Declaration::TSTypeAliasDeclaration(it) => {
                self.types.insert(it.id.name.as_str());
            }
            Declaration::TSInterfaceDeclaration(it) => {
                self.types.insert(it.id.name.as_str());
            }
            Declaration::VariableDeclaration(it) if it.declare => {}
            Declaration::FunctionDeclaration(it) if it.body.is_none() => {}
            Declaration::ClassDeclaration(it) if it.declare => {}
            Declaration::TSEnumDeclaration(it) if it.declare => {}
            Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {}
            Declaration::TSNamespaceDeclaration(it) if it.declare => {}
            Declaration::TSNamespaceDeclaration(it) => {
                self.refuse(it.span, "a namespace with values");
                return true;
            }
            Declaration::TSEnumDeclaration(it) => {
                self.declared.insert(it.id.name.as_str());
                self.enumeration(it);
                return true;
            }
            Declaration::TSImportEqualsDeclaration(it) => {
                self.import_equals(it, whole);
                return true;
            }
            _ => return false,
        }
        self.erase_whole(whole);
        true
    }

    /// Erases `import a = require('b')`.
    fn import_equals(&mut self, import: &TSImportEqualsDeclaration<'a>, whole: Span) {
        if import.import_kind == ImportOrExportKind::Type {
            return self.erase_whole(whole);
        }
        match &import.module_reference {
            TSModuleReference::ExternalModuleReference(_) => {
                let keyword = Span::sized(import.span.start, "import".len() as u32);
                self.text.blank(keyword);
                for (at, sign) in (import.span.start..).zip("const".chars()) {
                    self.text.put(at, sign);
                }
            }
            _ => self.refuse(import.span, "an import of a part of a namespace"),
        }
    }

    /// Erases a sign (`?` or `!`) between a name and what follows it.
    fn erase_sign(&mut self, is_there: bool, after: u32, before: u32) {
        if is_there && let Some(at) = self.text.find(after, before, &['?', '!']) {
            self.text.blank(Span::sized(at, 1));
        }
    }
}

impl<'a> Visit<'a> for Eraser<'a> {
    fn visit_statement(&mut self, statement: &Statement<'a>) {
        let span = statement.span();
        if let Some(declaration) = statement.as_declaration()
            && self.declaration(declaration, span)
        {
            return;
        }
        match statement {
            Statement::ImportDeclaration(import) => self.import(import),
            Statement::ExportNamedDeclaration(export) => self.export(export),
            Statement::ExportFromDeclaration(export)
                if export.export_kind == ImportOrExportKind::Type =>
            {
                self.erase_whole(span);
            }
            Statement::ExportFromDeclaration(export) => self.re_export(&export.specifiers),
            Statement::ExportAllDeclaration(export)
                if export.export_kind == ImportOrExportKind::Type =>
            {
                self.erase_whole(span);
            }
            Statement::ExportDeclaration(export) => {
                if !self.declaration(&export.declaration, span) {
                    walk::walk_declaration(self, &export.declaration);
                }
            }
            Statement::ExportDefaultDeclaration(export) => match &export.declaration {
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => self.erase_whole(span),
                ExportDefaultDeclarationKind::FunctionDeclaration(it) if it.body.is_none() => {
                    self.erase_whole(span);
                }
                _ => walk::walk_statement(self, statement),
            },
            Statement::TSExportAssignment(export) => {
                let until = export.expression.span().start;
                self.text.blank(Span::new(span.start, until));
                self.text.insert(span.start, "module.exports =");
                self.visit_expression(&export.expression);
            }
            Statement::TSNamespaceExportDeclaration(_) => self.erase_whole(span),
            _ => walk::walk_statement(self, statement),
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let name = it.name.as_str();
        self.used.insert(name);
        if let Some((of, known)) = &self.members
            && known.contains(name)
        {
            let of = format!("{of}.");
            self.text.insert(it.span.start, &of);
        }
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.declared.insert(it.name.as_str());
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.text.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.text.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.text.blank(it.span);
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.text.blank_with_comma(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_after(it.expression.span(), it.span);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_after(it.expression.span(), it.span);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.text
            .blank(Span::new(it.expression.span().end, it.span.end));
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.text
            .blank(Span::new(it.span.start, it.expression.span().start));
        self.visit_expression(&it.expression);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "a decorator");
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        self.erase_sign(it.definite, it.id.span().end, it.span.end);
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let pattern = it.pattern.span();
        self.text.blank_modifiers(it.span.start, pattern.start);
        let until = it.type_annotation.as_ref().map(|it| it.span.start);
        self.erase_sign(it.optional, pattern.end, until.unwrap_or(it.span.end));
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        // `=>` must stand on the line of the bracket before it.
        if let Some(gives) = &it.return_type
            && self.text.has_line_end(gives.span)
            && let Some(bracket) = self.text.last_before(gives.span.start, ')')
        {
            self.text.blank(Span::sized(bracket, 1));
            self.text.put(gives.span.end - 1, ')');
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        let heritage = it.heritage.as_ref().map(|it| it.expression.span().start);
        let until = it.id.as_ref().map(|id| id.span.start).or(heritage);
        self.text
            .blank_modifiers(it.span.start, until.unwrap_or(it.body.span.start));
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last())
            && let Some(at) = self.text.word_before(first.span.start, "implements")
        {
            self.text.blank(Span::new(at, last.span.end));
        }
        for element in &it.body.body {
            if let ClassElement::MethodDefinition(method) = element {
                self.properties(method, it.heritage.is_some());
            }
        }
        walk::walk_class(self, it);
    }

    fn visit_class_element(&mut self, element: &ClassElement<'a>) {
        let is_nothing = match element {
            ClassElement::TSIndexSignature(_) => true,
            ClassElement::MethodDefinition(it) => {
                it.value.body.is_none()
                    || it.r#type == MethodDefinitionType::TSAbstractMethodDefinition
            }
            ClassElement::PropertyDefinition(it) => {
                it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
            }
            ClassElement::AccessorProperty(_) | ClassElement::StaticBlock(_) => false,
        };
        if is_nothing {
            self.erase_whole(element.span());
        } else {
            walk::walk_class_element(self, element);
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let key = it.key.span();
        self.text.blank_modifiers(it.span.start, key.start);
        self.erase_sign(it.optional, key.end, it.value.span.start);
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let key = it.key.span();
        self.text.blank_modifiers(it.span.start, key.start);
        let type_at = it.type_annotation.as_ref().map(|it| it.span.start);
        let value_at = it.value.as_ref().map(|it| it.span().start);
        let until = type_at.or(value_at).unwrap_or(it.span.end);
        self.erase_sign(it.optional || it.definite, key.end, until);
        walk::walk_property_definition(self, it);
    }
}

#[cfg(test)]
mod tests;
