//! What `is-sql` and `contains-sql` say of which answers, as tables.

use plugin_sql::Sql;
use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, testing};

fn grade(kind: &str, value: &Value, output: &str) -> Result<Grade, Error> {
    Sql::evaluate(&testing::input(kind, value, output), &testing::context())
}

/// `not-` must say the opposite.
fn agree(kind: &str, value: &Value, output: &str, holds: bool) {
    for (kind, expected) in [(kind.to_owned(), holds), (format!("not-{kind}"), !holds)] {
        let grade = grade(&kind, value, output).expect("a grade");
        assert_eq!(
            grade.pass, expected,
            "{kind} {value} of {output:?}: {}",
            grade.reason
        );
    }
}

#[test]
fn sql_that_is_too_deep_is_neither_sql_nor_none() {
    let brackets = format!("SELECT {}1{}", "(".repeat(30), ")".repeat(30));
    let signs = format!("SELECT {}1", "- ".repeat(40));
    for output in [brackets, signs] {
        for kind in ["is-sql", "not-is-sql", "contains-sql", "not-contains-sql"] {
            let error = grade(kind, &Value::Null, &output).expect_err("it can't be graded");
            assert_eq!(error.code, ErrorCode::Unsupported, "{kind} {output:.20}");
        }
    }
}

#[test]
fn is_sql_reads_the_whole_answer() {
    for (output, holds) in [
        ("SELECT * FROM users", true),
        (
            "select id, name from users where age > 30 order by name limit 5;",
            true,
        ),
        ("SELECT DISTINCT city FROM users", true),
        ("SELECT ALL city FROM users", true),
        ("SELECT SQL_NO_CACHE city FROM users", true),
        ("SELECT id AS n FROM users", true),
        ("SELECT `id` `n` FROM users", true),
        (
            "SELECT u.id FROM users u JOIN orders o ON o.user_id = u.id",
            true,
        ),
        (
            "SELECT COUNT(*) FROM users GROUP BY city HAVING COUNT(*) > 1",
            true,
        ),
        ("WITH a AS (SELECT 1 AS x) SELECT x FROM a", true),
        (
            "INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b')",
            true,
        ),
        ("UPDATE users SET name = 'x' WHERE id = 1", true),
        ("DELETE FROM users WHERE id = 1", true),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10) NOT NULL)",
            true,
        ),
        ("SELECT 1; SELECT 2", true),
        ("SELECT 'select a b from c' FROM t", true),
        ("SELECT 'it`s' FROM t", true),
        ("-- a note\nSELECT 1", true),
        ("SELECT first_name last_name FROM employees", false),
        ("SELECT DISTINCT first_name last_name FROM employees", false),
        ("SELECT id, FROM users", false),
        ("SELECT * FORM users", false),
        ("SELECT * FROM", false),
        ("SELECT `id FROM users", false),
        ("SELECT * FROM generate_series(1, 3)", false),
        ("DELETE employees WHERE", false),
        ("Here is the query: SELECT 1", false),
        ("I cannot answer that.", false),
        ("```sql\nSELECT 1\n```", false),
        ("-- nothing but a note", false),
        ("", false),
        (";", false),
    ] {
        agree("is-sql", &Value::Null, output, holds);
    }
}

#[test]
fn each_database_has_its_syntax() {
    for (database, output, holds) in [
        ("Postgresql", "SELECT * FROM generate_series(1, 3)", true),
        (
            "PostgreSQL",
            "SELECT a::int FROM t WHERE b ILIKE 'x%'",
            true,
        ),
        ("postgresql", "SELECT \"a b\" FROM t", true),
        ("Postgresql", "SELECT `a` FROM t", false),
        (
            "TransactSQL",
            "SELECT TOP 5 [first name] FROM [dbo].[users]",
            true,
        ),
        ("MySQL", "SELECT TOP 5 [first name] FROM users", false),
        ("Sqlite", "INSERT OR REPLACE INTO t VALUES (1)", true),
        ("BigQuery", "SELECT * EXCEPT (a) FROM `p.d.t`", true),
        ("Snowflake", "SELECT $1 FROM @stage", true),
        (
            "Hive",
            "SELECT a FROM t LATERAL VIEW explode(b) c AS d",
            true,
        ),
        ("Redshift", "SELECT a FROM t", true),
        ("MariaDB", "SELECT `a` FROM t", true),
        ("Trino", "SELECT a FROM t", true),
        ("DB2", "SELECT a FROM t", true),
    ] {
        agree(
            "is-sql",
            &json!({ "databaseType": database }),
            output,
            holds,
        );
    }
}

#[test]
fn tables_are_held_against_the_list() {
    let allowed = json!({ "allowedTables": ["select::null::users", "select::null::orders", "insert::null::log", "(update|delete)::shop::cart"] });
    for (output, holds) in [
        ("SELECT * FROM users", true),
        ("SELECT * FROM USERS", true),
        ("SELECT * FROM users JOIN orders ON TRUE", true),
        ("SELECT * FROM users, secrets", false),
        ("SELECT * FROM users_old", false),
        ("SELECT * FROM shop.users", false),
        ("SELECT * FROM (SELECT * FROM secrets) users", false),
        ("SELECT (SELECT max(x) FROM secrets) FROM users", false),
        (
            "SELECT 1 FROM users WHERE id IN (SELECT id FROM secrets)",
            false,
        ),
        ("SELECT 1 FROM users UNION SELECT 1 FROM secrets", false),
        ("WITH t AS (SELECT * FROM users) SELECT * FROM t", true),
        ("WITH t AS (SELECT * FROM secrets) SELECT * FROM t", false),
        // A name that a WITH defines hides no table of that name in its own query.
        (
            "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets",
            false,
        ),
        (
            "WITH a AS (SELECT 1 FROM b), b AS (SELECT 1) SELECT * FROM a",
            false,
        ),
        (
            "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b",
            true,
        ),
        (
            "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a",
            true,
        ),
        ("INSERT INTO log (a) VALUES (1)", true),
        ("INSERT INTO log (a) SELECT id FROM users", true),
        ("INSERT INTO log (a) SELECT id FROM secrets", false),
        ("INSERT INTO users (a) VALUES (1)", false),
        ("UPDATE shop.cart SET a = 1", true),
        ("UPDATE cart SET a = 1", false),
        ("UPDATE users SET a = 1", false),
        (
            "DELETE FROM shop.cart WHERE id IN (SELECT id FROM users)",
            true,
        ),
        ("DELETE FROM users", false),
        ("DROP TABLE users", false),
        ("TRUNCATE TABLE users", false),
        ("CREATE TABLE users (id INT)", false),
        ("ALTER TABLE users ADD COLUMN a INT", false),
        ("GRANT SELECT ON users TO eve", false),
        ("SELECT 1; DROP TABLE users", false),
        ("SELECT 1", true),
    ] {
        agree("is-sql", &allowed, output, holds);
    }
    let empty = json!({ "allowedTables": [] });
    agree("is-sql", &empty, "SELECT * FROM secrets", true);
}

#[test]
fn columns_are_held_against_the_list() {
    let allowed = json!({ "allowedColumns": ["select::users::id", "select::null::name", "update::users::name", "insert::log::(.*)"] });
    for (output, holds) in [
        ("SELECT id, name FROM users", true),
        ("SELECT ID FROM users", true),
        ("SELECT users.id FROM users", true),
        ("SELECT u.id FROM users u", true),
        ("SELECT u.name FROM users u", false),
        ("SELECT o.id FROM orders o", false),
        ("SELECT id FROM users u, orders o", true),
        ("SELECT password FROM users", false),
        ("SELECT id FROM users WHERE password LIKE 'a%'", false),
        ("SELECT id FROM users ORDER BY password", false),
        ("SELECT id FROM users GROUP BY password", false),
        ("SELECT max(password) FROM users", false),
        (
            "SELECT 1 AS password FROM users WHERE password = 'a'",
            false,
        ),
        ("SELECT id FROM (SELECT id, password FROM users) t", false),
        ("SELECT * FROM users", false),
        ("SELECT u.* FROM users u", false),
        ("SELECT count(*) FROM users", true),
        ("UPDATE users SET name = 'a' WHERE id = 1", true),
        ("UPDATE users SET password = 'a' WHERE id = 1", false),
        ("UPDATE users SET name = password", false),
        ("INSERT INTO log (a, b) VALUES (1, 2)", true),
        ("INSERT INTO log VALUES (1, 2)", true),
        ("INSERT INTO users (id) VALUES (1)", false),
        ("DELETE FROM users WHERE id = 1", false),
        // An alias for two tables stands for both.
        (
            "SELECT t.id FROM users t WHERE EXISTS (SELECT 1 FROM orders t)",
            false,
        ),
        ("SELECT 1", true),
    ] {
        agree("is-sql", &allowed, output, holds);
    }
    let all = json!({ "allowedColumns": ["select::users::(.*)"] });
    agree("is-sql", &all, "SELECT * FROM users", true);
    agree("is-sql", &all, "SELECT u.* FROM users AS u", true);
    agree("is-sql", &all, "SELECT o.* FROM orders AS o", false);
}

#[test]
fn contains_sql_looks_into_code_blocks() {
    let fenced = |language: &str, code: &str| format!("Here:\n```{language}\n{code}\n```\nDone.");
    for (output, holds) in [
        (fenced("sql", "SELECT 1"), true),
        (fenced("", "SELECT 1"), true),
        (fenced("SQL", "SELECT 1;"), true),
        (fenced("sql", "SELECT FROM WHERE"), false),
        (fenced("python", "SELECT 1"), false),
        (
            format!(
                "{}\n{}",
                fenced("sql", "SELEC 1"),
                fenced("sql", "SELECT 1")
            ),
            true,
        ),
        (fenced("sql", ""), false),
        ("SELECT 1".to_owned(), true),
        ("Run SELECT 1".to_owned(), false),
        ("`SELECT 1`".to_owned(), false),
        ("```sql\nSELECT 1".to_owned(), false),
        (String::new(), false),
    ] {
        agree("contains-sql", &Value::Null, &output, holds);
    }
    let allowed = json!({ "allowedTables": ["select::null::users"] });
    agree(
        "contains-sql",
        &allowed,
        &fenced("sql", "SELECT * FROM users"),
        true,
    );
    agree(
        "contains-sql",
        &allowed,
        &fenced("sql", "SELECT * FROM secrets"),
        false,
    );
}

#[test]
fn a_failing_grade_says_what_is_wrong() {
    for (kind, value, output, reason) in [
        (
            "is-sql",
            Value::Null,
            "",
            "Expected output to be valid MySQL SQL (there is no statement)",
        ),
        (
            "is-sql",
            Value::Null,
            "SELECT a b FROM c",
            "Expected output to be valid MySQL SQL (a comma is missing between a and b)",
        ),
        (
            "is-sql",
            json!({ "allowedTables": ["select::null::users"] }),
            "DELETE FROM users",
            "Expected output to be valid MySQL SQL (the table delete::null::users is not \
             allowed; allowed: select::null::users)",
        ),
        (
            "not-is-sql",
            Value::Null,
            "SELECT 1",
            "Expected output not to be valid MySQL SQL",
        ),
        (
            "contains-sql",
            json!({ "databaseType": "sqlite" }),
            "```sql\n```",
            "Expected output to contain valid Sqlite SQL (there is none)",
        ),
    ] {
        let grade = grade(kind, &value, output).expect("a grade");
        assert!(!grade.pass);
        assert_eq!(grade.reason, reason);
    }
}

#[test]
fn a_value_that_cannot_be_used_is_no_grade() {
    for value in [
        json!("MySQL"),
        json!([]),
        json!({ "databaseType": "Access" }),
        json!({ "databaseType": 1 }),
        json!({ "allowedTables": "users" }),
        json!({ "allowedTables": [1] }),
        json!({ "allowedColumns": ["("] }),
    ] {
        for kind in ["is-sql", "not-is-sql", "contains-sql"] {
            let error = grade(kind, &value, "SELECT 1").expect_err("no grade");
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
        }
    }
    let unknown = grade("is-xml", &Value::Null, "").expect_err("no such type");
    assert_eq!(unknown.code, ErrorCode::Unsupported);
}

/// A guest has a stack of one mebibyte; a test has twice that.
#[test]
fn hostile_sql_ends_on_a_small_stack() {
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    let ended = thread.spawn(hostile_sql_ends).expect("a thread").join();
    ended.expect("it ended well");
}

fn hostile_sql_ends() {
    let chain = |count: usize, link: &str| format!("SELECT 1{}", link.repeat(count));
    for text in [
        chain(149, " + 1"),
        chain(149, " OR a"),
        chain(149, " UNION SELECT 1"),
        format!("SELECT {}1{}", "(".repeat(1_000), ")".repeat(1_000)),
        format!("SELECT {}1", "NOT ".repeat(140)),
        format!("SELECT a{}", "[1]".repeat(70)),
        format!("SELECT 1 WHERE a IN ({}1)", "1,".repeat(50_000)),
        format!("SELECT {}", "CASE WHEN 1 THEN ".repeat(5_000)),
        "SELECT 1;".repeat(10_000),
        "(".repeat(100_000),
        "'".repeat(99_999),
    ] {
        let allowed = json!({ "allowedTables": ["x"], "allowedColumns": ["x"] });
        // Whatever the verdict is: there is one, or it is too deep for one.
        if let Err(error) = grade("is-sql", &allowed, &text) {
            assert_eq!(error.code, ErrorCode::Unsupported, "{text:.40}");
        }
    }
    for text in [
        chain(151, " + 1"),
        chain(500, " UNION SELECT 1"),
        " ".repeat(200_001),
    ] {
        let error = grade("is-sql", &Value::Null, &text).expect_err("too large");
        assert_eq!(error.code, ErrorCode::Unsupported);
    }
}
