//! What statements touch: tables as `verb::database::table`, columns as `verb::table::column`.
//!
//! The names are node-sql-parser's, for which configs have their lists. `null` stands for a
//! part that the statement does not name, `(.*)` for every column. It errs on the strict side:
//! an alias that stands for two tables stands for both, and a statement of a kind that is not
//! taken apart counts as touching everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, Insert, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Statement, TableFactor, TableObject, TableWithJoins, Visit,
    Visitor,
};

/// Every column of a table.
const ALL: &str = "(.*)";

/// What is touched.
#[derive(Debug, Default)]
pub(crate) struct Access {
    /// `verb::database::table`.
    pub(crate) tables: BTreeSet<String>,
    /// The names of each column, any of which may be allowed: `verb::table::column`.
    pub(crate) columns: BTreeSet<Vec<String>>,
}

impl Access {
    /// Lists what these statements touch.
    pub(crate) fn of(statements: &[Statement]) -> Self {
        let mut access = Self::default();
        for statement in statements {
            let mut reader = Reader::default();
            // The visitor never breaks off.
            let _: ControlFlow<()> = statement.visit(&mut reader);
            reader.report(&mut access);
        }
        access
    }
}

/// A column as it is written.
struct Column {
    verb: String,
    /// A table or an alias.
    table: Option<String>,
    name: String,
}

/// The names that a WITH defines, of which the first `visible` can be seen.
struct Frame {
    names: Vec<String>,
    visible: usize,
}

/// Where the sight on a frame is limited: its position and how many names can be seen.
type Limit = (usize, usize);

#[derive(Default)]
struct Reader {
    verb: String,
    /// Whether a table that is no target is only read.
    reads: bool,
    /// The tables that the statement changes, by address.
    targets: Vec<*const ObjectName>,
    depth: usize,
    frames: Vec<Frame>,
    limits: BTreeMap<*const Query, Limit>,
    /// What to restore at the end of each query that is being read.
    restore: Vec<Option<Limit>>,
    tables: BTreeSet<(String, String, String)>,
    aliases: BTreeMap<String, BTreeSet<String>>,
    columns: Vec<Column>,
}

impl Reader {
    fn target(&mut self, table: &TableWithJoins) {
        if let TableFactor::Table { name, .. } = &table.relation {
            self.targets.push(std::ptr::from_ref(name));
        }
    }

    fn touch(&mut self, verb: &str, name: &ObjectName) {
        let (database, table) = split(name);
        let database = database.unwrap_or_else(|| "null".to_owned());
        self.tables.insert((verb.to_owned(), database, table));
    }

    fn column(&mut self, verb: &str, table: Option<String>, name: &str) {
        self.columns.push(Column {
            verb: verb.to_owned(),
            table,
            name: name.to_owned(),
        });
    }

    /// Whether a name is that of a WITH, not of a table.
    fn is_defined(&self, name: &ObjectName) -> bool {
        let (database, table) = split(name);
        let seen = |frame: &Frame| frame.names[..frame.visible].contains(&table.to_lowercase());
        database.is_none() && self.frames.iter().any(seen)
    }

    fn assigned(&mut self, target: &AssignmentTarget, table: Option<&String>) {
        let names = match target {
            AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            AssignmentTarget::Tuple(names) => names,
        };
        for name in names {
            let (qualifier, column) = split(name);
            let table = qualifier.or_else(|| table.cloned());
            self.column("update", table, &column);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.reads = matches!(
            statement,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
        );
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => {
                self.target(&update.table);
                let table = named(&update.table);
                for assignment in &update.assignments {
                    self.assigned(&assignment.target, table.as_ref());
                }
            }
            Statement::Delete(delete) => self.delete(delete),
            Statement::CreateTable(create) => self.touch("create", &create.name),
            Statement::CreateView(create) => self.touch("create", &create.name),
            Statement::AlterTable(alter) => self.touch("alter", &alter.name),
            Statement::Drop { names, .. } => {
                for name in names {
                    self.touch("drop", name);
                }
            }
            Statement::Truncate(truncate) => {
                for target in &truncate.table_names {
                    self.touch("truncate", &target.name);
                }
            }
            Statement::Query(_) | Statement::Explain { .. } | Statement::ExplainTable { .. } => {}
            _ => {
                let verb = self.verb.clone();
                self.column(&verb, None, ALL);
                self.tables
                    .insert((verb, "null".to_owned(), ALL.to_owned()));
            }
        }
    }

    fn insert(&mut self, insert: &Insert) {
        let TableObject::TableName(name) = &insert.table else {
            return self.column("insert", None, ALL);
        };
        self.targets.push(std::ptr::from_ref(name));
        let table = split(name).1;
        for column in &insert.columns {
            self.column("insert", Some(table.clone()), &split(column).1);
        }
        for assignment in &insert.assignments {
            self.assigned(&assignment.target, Some(&table));
        }
        if insert.columns.is_empty() && insert.assignments.is_empty() {
            self.column("insert", Some(table), ALL);
        }
    }

    fn delete(&mut self, delete: &Delete) {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        for table in from {
            self.target(table);
            self.column("delete", named(table), ALL);
        }
        for name in &delete.tables {
            self.touch("delete", name);
        }
    }

    /// Names what was read, aliases resolved.
    fn report(self, access: &mut Access) {
        let named = |(verb, database, table): &(String, String, String)| {
            format!("{verb}::{database}::{table}")
        };
        access.tables.extend(self.tables.iter().map(named));
        let mut read = self.tables.iter().map(|(.., table)| table);
        let only = read.next().filter(|_| read.next().is_none());
        for Column { verb, table, name } in self.columns {
            let full = |table: &str| format!("{verb}::{table}::{name}");
            let Some(table) = table else {
                let mut either = vec![full("null")];
                either.extend(only.map(|table| full(table)));
                access.columns.insert(either);
                continue;
            };
            match self.aliases.get(&table.to_lowercase()) {
                Some(tables) => {
                    let each = tables.iter().map(|table| vec![full(table)]);
                    access.columns.extend(each);
                }
                None => {
                    access.columns.insert(vec![full(&table)]);
                }
            }
        }
    }
}

impl Visitor for Reader {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let text = statement.to_string();
        let verb = text.split_whitespace().next().unwrap_or("unknown");
        self.verb = verb.to_lowercase();
        self.reads = false;
        self.statement(statement);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        let limit = self.limits.get(&std::ptr::from_ref(query)).copied();
        self.restore.push(limit.map(|(at, visible)| {
            let before = self.frames[at].visible;
            self.frames[at].visible = visible;
            (at, before)
        }));
        let mut names = Vec::new();
        if let Some(with) = &query.with {
            for (index, cte) in with.cte_tables.iter().enumerate() {
                let visible = index + usize::from(with.recursive);
                let inner = std::ptr::from_ref(&*cte.query);
                self.limits.insert(inner, (self.frames.len(), visible));
                names.push(cte.alias.name.value.to_lowercase());
            }
        }
        let visible = names.len();
        self.frames.push(Frame { names, visible });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        self.frames.pop();
        if let Some(Some((at, visible))) = self.restore.pop() {
            self.frames[at].visible = visible;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        if self.targets.contains(&std::ptr::from_ref(name)) {
            let verb = self.verb.clone();
            self.touch(&verb, name);
        } else if !self.is_defined(name) {
            let reads = self.reads || self.depth > 0;
            let verb = if reads { "select" } else { &*self.verb.clone() };
            self.touch(verb, name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias: Some(alias),
            ..
        } = factor
        {
            let tables = self.aliases.entry(alias.name.value.to_lowercase());
            tables.or_default().insert(split(name).1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) => self.column("select", None, ALL),
                SelectItem::QualifiedWildcard(kind, _) => {
                    let table = match kind {
                        SelectItemQualifiedWildcardKind::ObjectName(name) => Some(split(name).1),
                        SelectItemQualifiedWildcardKind::Expr(_) => None,
                    };
                    self.column("select", table, ALL);
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => self.column("select", None, &name.value),
            Expr::CompoundIdentifier(parts) => {
                if let [.., table, name] = &parts[..] {
                    self.column("select", Some(table.value.clone()), &name.value);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A name without its quotes: what stands before the last dot, and what after.
fn split(name: &ObjectName) -> (Option<String>, String) {
    let part = |part: &sqlparser::ast::ObjectNamePart| match part.as_ident() {
        Some(ident) => ident.value.clone(),
        None => part.to_string(),
    };
    let mut parts: Vec<String> = name.0.iter().map(part).collect();
    let last = parts.pop().unwrap_or_default();
    ((!parts.is_empty()).then(|| parts.join(".")), last)
}

/// The table of a FROM, if it is a plain one.
fn named(table: &TableWithJoins) -> Option<String> {
    match &table.relation {
        TableFactor::Table { name, .. } => Some(split(name).1),
        _ => None,
    }
}
