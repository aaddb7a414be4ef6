//! What each assertion type says of which answers, as tables.

use plugin_markup::Markup;
use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, testing};

fn grade(kind: &str, value: &Value, output: &str) -> Result<Grade, Error> {
    Markup::evaluate(&testing::input(kind, value, output), &testing::context())
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

fn table(kind: &str, rows: &[(Value, &str, bool)]) {
    for (value, output, holds) in rows {
        agree(kind, value, output, *holds);
    }
}

const ITEMS: &str = "<r id='1'><i><n>a</n></i><i k=\"2\"><m/></i></r>";

#[test]
fn is_xml_is_strict() {
    let none = || Value::Null;
    table(
        "is-xml",
        &[
            (none(), "<a/>", true),
            (none(), "<a>text</a>", true),
            (none(), "<?xml version=\"1.0\"?>\n<a><b>1</b></a>\n", true),
            (none(), "<a><!-- note --><![CDATA[<b>]]></a>", true),
            (none(), "<a x=\"&lt;&amp;&#65;\">&gt;</a>", true),
            (none(), "<n:a xmlns:n=\"urn:x\"/>", true),
            (none(), "<!DOCTYPE a><a/>", true),
            (none(), "<!DOCTYPE a SYSTEM \"a.dtd\"><a>&other;</a>", true),
            (none(), "<!DOCTYPE a PUBLIC '-//X' 'a.dtd'><a/>", true),
            (
                none(),
                "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'x'><a>&other;</a>",
                false,
            ),
            (none(), "<n:a/>", false),
            (none(), "<a>&other;</a>", false),
            (none(), "<!DOCTYPE a PUBLIC '-//X'><a/>", false),
            (none(), "<!DOCTYPE><a/>", false),
            (none(), "<!DOCTYPE a", false),
            (none(), "<a><b></a></b>", false),
            (none(), "<a>", false),
            (none(), "<a/><b/>", false),
            (none(), "<a x=1/>", false),
            (none(), "<a x='1' x='2'/>", false),
            (none(), "<a>AT&T</a>", false),
            (none(), "<a>\u{0}</a>", false),
            (none(), "Sure: <a/>", false),
            (none(), "<a/> done", false),
            (none(), "```xml\n<a/>\n```", false),
            (none(), "", false),
        ],
    );
}

#[test]
fn required_elements_are_paths() {
    for kind in ["is-xml", "contains-xml"] {
        table(
            kind,
            &[
                (json!("r"), ITEMS, true),
                (json!("r.i"), ITEMS, true),
                (json!("r.i.n, r.i.m"), ITEMS, true),
                (json!(["r.i.n"]), ITEMS, true),
                (json!(["r.i.0.n", "r.i.1.m"]), ITEMS, true),
                (json!(["r.i.1.n"]), ITEMS, false),
                (json!(["r.i.2"]), ITEMS, false),
                (json!({ "requiredElements": ["r.i", "r.x"] }), ITEMS, false),
                (json!(["i"]), ITEMS, false),
                (json!(["r.@_id", "r.i.@_k"]), ITEMS, true),
                (json!(["r.@_no"]), ITEMS, false),
                (json!(["r.@_id.x"]), ITEMS, false),
                (json!([]), ITEMS, true),
                (json!({}), ITEMS, true),
                (json!(["n:a.n:b"]), "<n:a xmlns:n='u'><n:b/></n:a>", true),
                (json!(["a.b"]), "<n:a xmlns:n='u'><n:b/></n:a>", false),
                (json!(["a.b"]), "<a><!-- <b/> --></a>", false),
                (json!(["a.b"]), "<a><![CDATA[<b/>]]></a>", false),
            ],
        );
    }
}

#[test]
fn contains_xml_looks_for_balanced_tags() {
    let none = || Value::Null;
    table(
        "contains-xml",
        &[
            (none(), "Sure: <a>1</a>. Done.", true),
            (none(), "```xml\n<a/>\n```", true),
            (none(), "<p>AT&T <input disabled></p>", false),
            (none(), "<p>AT&T</p>", true),
            (none(), "<a b=c>x</a>", true),
            (none(), "open <a><b>1</b>", true),
            (none(), "<a><b></a>", false),
            (none(), "<a>", false),
            (none(), "</a>", false),
            (none(), "a < b and c > d", false),
            (none(), "<3 <- </ >", false),
            (none(), "<!-- <a/> -->", false),
            (none(), "no markup", false),
            (none(), "", false),
            (json!("b,c"), "<a><b>1</b><c>2</c>", true),
            (json!("b,c"), "x <b>1</b> y <c>2</c> z", true),
            (json!("a.b"), "first <a/>, then <a><b/></a>", true),
            (json!("b"), "<a><b>1</b></a>", false),
            (json!("b,c"), "<a><b/></a><c/>", false),
            (json!("ä.ö"), "<ä><ö/></ä>", true),
        ],
    );
}

#[test]
fn is_html_has_elements_and_no_text_outside() {
    let none = || Value::Null;
    table(
        "is-html",
        &[
            (
                none(),
                "<!DOCTYPE html><html><head><title>t</title></head><body>text</body></html>",
                true,
            ),
            (none(), "<p>one<p>two", true),
            (none(), "<div class=\"a > b\">x</div>\n<p>y</p>", true),
            (none(), "<body>bare</body>", true),
            (none(), "<my-element>x</my-element>", true),
            (none(), "<br>", true),
            (none(), "<ul><li>a<li>b</ul>", true),
            (none(), "<table><tr><td>x</td></tr></table>", true),
            (none(), "<script>if (a < b) c()</script>", true),
            (none(), "<svg><circle r='1'/></svg>", true),
            (none(), "<p>x</p>&nbsp;<p>y</p>", true),
            (none(), "<!-- only --><p></p>", true),
            (none(), "<p>a</p> tail", false),
            (none(), "Here: <p>a</p>", false),
            (none(), "<html>text</html>", false),
            (none(), "<head>text</head>", false),
            (none(), "plain", false),
            (none(), "a < b", false),
            (none(), "<p>a<div>b</div>c", false),
            (none(), "<p><b>a</p>c", true),
            (none(), "<td>x</td>", false),
            (none(), "<table>x</table>", false),
            (none(), "<div><table>x</table></div>", true),
            (none(), "<table><table>x", false),
            (none(), "<p><table><tr><td>x</table>y", true),
            (none(), "<!DOCTYPE html><p><table></table>y", false),
            (none(), "<form><ul></form>x", true),
            (none(), "<b><p>x</b>y</p>", true),
            (none(), "<svg></p>x", false),
            (none(), "<textarea><body></textarea>x", false),
            (none(), "<p>x</p>&ensp;&NewLine;<p>y</p>", true),
            (none(), "</p>", false),
            (none(), "<unknown>x</unknown>", false),
            (none(), "<headphones>x</headphones>", false),
            (none(), "<?xml version=\"1.0\"?><p>x</p>", false),
            (none(), "<!-- comment -->", false),
            (none(), "<p class=\"x", false),
            (none(), "<3", false),
            (none(), "  ", false),
            (none(), "", false),
        ],
    );
}

#[test]
fn contains_html_needs_two_signs() {
    let none = || Value::Null;
    table(
        "contains-html",
        &[
            (none(), "Some <b>bold</b> text", true),
            (none(), "Hello <div", true),
            (none(), "<custom>x</custom>", true),
            (none(), "<!DOCTYPE html>", true),
            (none(), "<!doctype\n HTML", true),
            (none(), "<x/> &amp; more", true),
            (none(), "<x y=\"1\">", true),
            (none(), "<!-- c --> &lt;", true),
            (none(), "&amp; a=\"b\" and <x>", true),
            (none(), "&amp; a = \"b\"", false),
            (none(), "&amp; &lt; &#65;", false),
            (none(), "<example>", false),
            (none(), "<example", false),
            (none(), "</example>", false),
            (none(), "<x/>", false),
            (none(), "<!-- c -->", false),
            (none(), "<!-- a -- b -->", false),
            (none(), "a < b and c > d", false),
            (none(), "<-- &; &# <>", false),
            (none(), "Markdown **bold**", false),
            (none(), "", false),
        ],
    );
}

#[test]
fn a_failing_grade_says_what_is_wrong() {
    for (kind, value, output, reason) in [
        (
            "not-is-xml",
            Value::Null,
            "<a/>",
            "Expected output not to be well-formed XML",
        ),
        (
            "is-xml",
            json!("a.b,a.c,a"),
            "<a><b/></a>",
            "Expected output to be well-formed XML (elements are missing: a.c)",
        ),
        (
            "contains-xml",
            Value::Null,
            "x",
            "Expected output to contain XML (there is no element)",
        ),
        (
            "contains-xml",
            json!("a.b"),
            "<a/>",
            "Expected output to contain XML (elements are missing: a.b)",
        ),
        (
            "is-html",
            Value::Null,
            "x",
            "Expected output to be HTML (it has text outside of elements)",
        ),
        (
            "not-contains-html",
            Value::Null,
            "<p>",
            "Expected output not to contain HTML",
        ),
    ] {
        let grade = grade(kind, &value, output).expect("a grade");
        assert!(!grade.pass);
        assert_eq!(grade.reason, reason);
    }
}

#[test]
fn a_value_that_names_no_elements_is_no_grade() {
    for kind in ["is-xml", "not-is-xml", "contains-xml"] {
        for value in [
            json!(1),
            json!(true),
            json!([[]]),
            json!({ "elements": [] }),
            json!({ "requiredElements": "a" }),
        ] {
            let error = grade(kind, &value, "<a/>").expect_err("no grade");
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
        }
    }
    let unknown = grade("is-sql", &Value::Null, "").expect_err("no such type");
    assert_eq!(unknown.code, ErrorCode::Unsupported);
}

#[test]
fn hostile_markup_ends() {
    let distinct = |what: &dyn Fn(usize) -> String| (0..50_000).map(what).collect::<String>();
    let many = |text: &str| text.repeat(1_000_000 / text.len());
    for text in [
        many("<"),
        many("<a "),
        many("<a \""),
        many("<a><b>"),
        many("<a>"),
        many("</a>"),
        many("<!--"),
        many("<![CDATA["),
        many("<a b='"),
        many("&a"),
        many("<p><b>"),
        many("<table><tr><td>"),
        many("<script>"),
        many(" a="),
        many("<p></p>"),
        many("ä<"),
        format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000)),
        format!("<a {}/>", "x='' ".repeat(100_000)),
        format!("<a {}/>", distinct(&|n| format!("x{n}='' "))),
        distinct(&|n| format!("<a xmlns:n{n}='u{n}'>")),
        "<!DOCTYPE a ".to_owned() + &many("<!--"),
    ] {
        for kind in ["is-xml", "contains-xml", "is-html", "contains-html"] {
            ends(kind, &Value::Null, &text);
        }
        ends("contains-xml", &json!("a.a.a,b.b"), &text);
    }
}

/// With a grade, or without one.
fn ends(kind: &str, value: &Value, text: &str) {
    if let Err(error) = grade(kind, value, text) {
        assert_eq!(error.code, ErrorCode::Unsupported, "{kind}: {error:?}");
    }
}

#[test]
fn what_is_given_up_passes_neither_way() {
    let attributes: Vec<String> = (0..300).map(|n| format!(" x{n}='1'")).collect();
    let attributes = attributes.concat();
    let long = |start: &str| format!("<{start}>{}</{start}>", "x".repeat(10 * 1024 * 1024));
    let comment = format!("<!-- {}--><script>alert(1)</script>", "w ".repeat(20_000));
    let deep = format!("{}x", "<div>".repeat(20_000));
    let endless = format!("{}<a>found</a>", "<a \"".repeat(2_600_000));
    for (kind, text) in [
        ("is-xml", long("a")),
        ("contains-xml", long("a")),
        ("is-html", long("div")),
        ("contains-html", long("div")),
        ("is-html", comment),
        ("is-html", deep),
        ("is-xml", format!("<a{attributes}/>")),
        ("is-xml", format!("<a>{}</a>", "<b/>".repeat(410_000))),
        ("is-xml", format!("<a{}/>", " xmlns:n='u'".repeat(1_001))),
        (
            "is-xml",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>".to_owned(),
        ),
        ("contains-xml", endless),
    ] {
        let start = format!("`{kind}` cannot be graded: ");
        for kind in [kind.to_owned(), format!("not-{kind}")] {
            let error = grade(&kind, &Value::Null, &text).expect_err("no grade");
            assert_eq!(error.code, ErrorCode::Unsupported, "{kind}");
            assert!(error.message.starts_with(&start), "{}", error.message);
        }
    }
}
