//! Whether a text is SQL of a database, and keeps to the lists of tables and columns.
//!
//! The parser is `sqlparser`, which promptfoo's configs don't know: they name databases as
//! `node-sql-parser` does, so those names are mapped to dialects, the nearest one where there
//! is no own. What is SQL is the parser's to say, but for three things that it lets pass and
//! that are no query in practice: nothing at all, a comma missing between two columns, and a
//! function of PostgreSQL in MySQL.

use regress::{Flags, Regex};
use runner_plugin::Error;
use runner_plugin::json::Value;
use sqlparser::ast::Statement;
use sqlparser::dialect::{
    AnsiDialect, BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect,
    GenericDialect, HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect,
    RedshiftSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::access::Access;

/// The longest text that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 200_000;

/// The most operators in a text. A chain of them becomes a tree as deep as the chain is long,
/// which is walked by recursion; a guest has a stack of 1 MiB.
const MAX_OPERATORS: usize = 150;

/// How deep brackets, subqueries and the like may lie in each other; the parser recurses, too.
const MAX_DEPTH: usize = 24;

/// Databases as configs name them, and the dialect that each is read in. ANSI and generic
/// stand in for those that the parser has no dialect for.
const DATABASES: [(&str, &dyn Dialect); 20] = [
    ("MySQL", &MySqlDialect {}),
    ("MariaDB", &MySqlDialect {}),
    ("Postgresql", &PostgreSqlDialect {}),
    ("PostgreSQL", &PostgreSqlDialect {}),
    ("TransactSQL", &MsSqlDialect {}),
    ("Sqlite", &SQLiteDialect {}),
    ("BigQuery", &BigQueryDialect {}),
    ("Snowflake", &SnowflakeDialect {}),
    ("Redshift", &RedshiftSqlDialect {}),
    ("Hive", &HiveDialect {}),
    ("Athena", &GenericDialect {}),
    ("Trino", &GenericDialect {}),
    ("FlinkSQL", &GenericDialect {}),
    ("Noql", &GenericDialect {}),
    ("DB2", &AnsiDialect {}),
    ("ClickHouse", &ClickHouseDialect {}),
    ("Databricks", &DatabricksDialect {}),
    ("DuckDB", &DuckDbDialect {}),
    ("Oracle", &OracleDialect {}),
    ("Generic", &GenericDialect {}),
];

const TABLES: &str = "allowedTables";
const COLUMNS: &str = "allowedColumns";

/// What the assertion's value asks for.
pub(crate) struct Rules {
    database: &'static str,
    dialect: &'static dyn Dialect,
    tables: Option<List>,
    columns: Option<List>,
}

/// A list of what is allowed, as written and as patterns.
struct List {
    written: Vec<String>,
    patterns: Vec<Regex>,
}

/// What a text is.
pub(crate) enum Verdict {
    /// SQL that keeps to the rules.
    Fits,
    /// Not so, and why, as a clause.
    Breaks(String),
}

impl Rules {
    /// Reads the value; null is no rules.
    ///
    /// # Errors
    /// What cannot be used, in words.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let name = match value.get("databaseType") {
            None | Some(Value::Null) => "MySQL",
            Some(Value::String(name)) if name.is_empty() => "MySQL",
            Some(Value::String(name)) => name,
            Some(_) => return Err("`databaseType` is no text".to_owned()),
        };
        let known = DATABASES.iter().find(|(k, _)| k.eq_ignore_ascii_case(name));
        let Some((database, dialect)) = known else {
            let names: Vec<&str> = DATABASES.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(format!(
                "the database \"{name}\" is unknown; known: {names}"
            ));
        };
        Ok(Self {
            database,
            dialect: *dialect,
            tables: List::read(value, TABLES)?,
            columns: List::read(value, COLUMNS)?,
        })
    }

    /// The database's name, as configs write it.
    pub(crate) fn database(&self) -> &'static str {
        self.database
    }

    /// Checks a text.
    ///
    /// # Errors
    /// The text is too large or too deep to be read.
    pub(crate) fn check(&self, text: &str) -> Result<Verdict, Error> {
        if text.len() > MAX_BYTES {
            return Err(Error::unsupported(format!(
                "SQL of more than {MAX_BYTES} bytes cannot be graded"
            )));
        }
        let tokens = match Tokenizer::new(self.dialect, text).tokenize() {
            Ok(tokens) => tokens,
            Err(error) => return Ok(Verdict::Breaks(error.to_string())),
        };
        let tokens: Vec<Token> = tokens
            .into_iter()
            .filter(|token| !matches!(token, Token::Whitespace(_)))
            .collect();
        if tokens.iter().filter(|token| chains(token)).count() > MAX_OPERATORS {
            return Err(Error::unsupported(format!(
                "SQL with more than {MAX_OPERATORS} operators cannot be graded"
            )));
        }
        if let Some(why) = self.suspicion(&tokens) {
            return Ok(Verdict::Breaks(why));
        }
        let parser = Parser::new(self.dialect)
            .with_recursion_limit(MAX_DEPTH)
            .with_tokens(tokens);
        let statements = match { parser }.parse_statements() {
            Ok(statements) if statements.is_empty() => {
                return Ok(Verdict::Breaks("there is no statement".to_owned()));
            }
            Ok(statements) => statements,
            Err(ParserError::RecursionLimitExceeded) => {
                return Err(Error::unsupported(format!(
                    "SQL that is nested more than {MAX_DEPTH} deep cannot be graded"
                )));
            }
            Err(error) => return Ok(Verdict::Breaks(error.to_string())),
        };
        Ok(match self.trespass(&statements) {
            None => Verdict::Fits,
            Some(why) => Verdict::Breaks(why),
        })
    }

    /// What parses and yet is no query.
    fn suspicion(&self, tokens: &[Token]) -> Option<String> {
        let words =
            |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none());
        for (at, token) in tokens.iter().enumerate() {
            if is(token, Keyword::SELECT) {
                let rest = &tokens[at + 1..];
                let modifiers = rest.iter().take_while(|token| is_modifier(token)).count();
                if let [first, second, from, ..] = &rest[modifiers..]
                    && is(from, Keyword::FROM)
                    && words(first)
                    && words(second)
                    && !is(second, Keyword::END)
                {
                    return Some(format!("a comma is missing between {first} and {second}"));
                }
            }
            let called = tokens.get(at + 1) == Some(&Token::LParen);
            if self.database == "MySQL" && called && named(token, "generate_series") {
                return Some("MySQL has no generate_series".to_owned());
            }
        }
        None
    }

    /// What the statements touch and may not.
    fn trespass(&self, statements: &[Statement]) -> Option<String> {
        if self.tables.is_none() && self.columns.is_none() {
            return None;
        }
        let access = Access::of(statements);
        let table = self.tables.as_ref().and_then(|allowed| {
            let refused = access.tables.iter().find(|table| !allowed.holds(table));
            refused.map(|table| allowed.refusal("table", table))
        });
        let column = || {
            let allowed = self.columns.as_ref()?;
            let refused = access
                .columns
                .iter()
                .find(|names| !names.iter().any(|name| allowed.holds(name)));
            refused.map(|names| allowed.refusal("column", &names[0]))
        };
        table.or_else(column)
    }
}

impl List {
    fn read(value: &Value, key: &str) -> Result<Option<Self>, String> {
        let items = match value.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(format!("`{key}` is no list")),
        };
        // As in node-sql-parser, an empty list checks nothing.
        if items.is_empty() {
            return Ok(None);
        }
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let written: Option<Vec<String>> = items.iter().map(text).collect();
        let written = written.ok_or_else(|| format!("`{key}` holds something that is no text"))?;
        let flags = Flags {
            icase: true,
            ..Flags::default()
        };
        let pattern = |text: &String| {
            Regex::with_flags(&format!("^(?:{text})$"), flags)
                .map_err(|error| format!("the pattern /{text}/ in `{key}`: {error}"))
        };
        let mut patterns: Vec<Regex> = written.iter().map(pattern).collect::<Result<_, _>>()?;
        if key == COLUMNS {
            // A column written without its table is allowed if its name is, in any table.
            let bare: Vec<String> = written
                .iter()
                .filter_map(|text| without_table(text))
                .collect();
            patterns.extend(bare.iter().map(pattern).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Some(Self { written, patterns }))
    }

    fn holds(&self, name: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| pattern.find(name).is_some())
    }

    fn refusal(&self, what: &str, name: &str) -> String {
        let allowed = self.written.join(", ");
        format!("the {what} {name} is not allowed; allowed: {allowed}")
    }
}

/// `verb::null::column` for `verb::table::column`.
fn without_table(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split("::").collect();
    match parts[..] {
        [verb, table, column] if table != "null" => Some(format!("{verb}::null::{column}")),
        _ => None,
    }
}

/// Whether a token makes a tree deeper.
fn chains(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::DIV
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::MINUS
                | Keyword::AT
        ),
        Token::Number(..)
        | Token::Comma
        | Token::Period
        | Token::SemiColon
        | Token::LParen
        | Token::RParen
        | Token::EOF
        | Token::Placeholder(_)
        | Token::Whitespace(_) => false,
        other => !is_string(other),
    }
}

fn is_string(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::HexStringLiteral(_)
    )
}

fn is(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
}

fn named(token: &Token, name: &str) -> bool {
    matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(name))
}

/// Words between SELECT and the first column.
fn is_modifier(token: &Token) -> bool {
    const MODIFIERS: [&str; 11] = [
        "all",
        "distinct",
        "distinctrow",
        "high_priority",
        "straight_join",
        "sql_big_result",
        "sql_buffer_result",
        "sql_cache",
        "sql_calc_found_rows",
        "sql_no_cache",
        "sql_small_result",
    ];
    MODIFIERS.iter().any(|name| named(token, name))
}
