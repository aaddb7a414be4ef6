//! Circles are found at every level and named, and what is none is let be.

use super::*;

/// Files: each a path below `src` and its text.
type Files<'a> = &'a [(&'a str, &'a str)];

/// The circles of a crate of these files.
fn found(files: Files<'_>) -> Vec<Circle> {
    let file = |(path, text): &(&str, &str)| File {
        path: format!("host/a/src/{path}"),
        text: (*text).to_owned(),
    };
    circles(&files.iter().map(file).collect::<Vec<_>>())
}

/// Each circle in a line: within what, and the way round.
fn lines(files: Files<'_>) -> Vec<String> {
    let line = |circle: Circle| {
        let steps = circle
            .way
            .iter()
            .map(|(name, place)| format!("{name} ({place})"));
        format!(
            "{}: {}",
            circle.within,
            steps.collect::<Vec<_>>().join(", ")
        )
    };
    found(files).into_iter().map(line).collect()
}

#[test]
fn a_circle_is_found_between_siblings_wherever_they_are() {
    let cases: [(Files<'_>, &[&str]); 5] = [
        (
            &[("a.rs", "\nuse crate::b::B;"), ("b.rs", "use crate::a::A;")],
            &["crate: a (a.rs:2: crate::b::B), b (b.rs:1: crate::a::A)"],
        ),
        // Below a module, by `super`, in three steps; what stands beside it is none of it.
        (
            &[
                ("m/a.rs", "fn f() -> super::b::B {}"),
                ("m/b.rs", "use super::{c, d::D};"),
                ("m/c.rs", "use super::a::{self, A as Other};"),
                ("m/d.rs", ""),
            ],
            &["m: a (m/a.rs:1: super::b::B), b (m/b.rs:1: super::c), c (m/c.rs:1: super::a)"],
        ),
        // What lies below counts as its parent's.
        (
            &[
                ("a/deep.rs", "use crate::b;"),
                ("b.rs", ""),
                ("b/deep.rs", "use crate::a;"),
            ],
            &["crate: a (a/deep.rs:1: crate::b), b (b/deep.rs:1: crate::a)"],
        ),
        // The shortest way is shown.
        (
            &[
                ("a.rs", "use crate::{b, c};"),
                ("b.rs", "use crate::c;"),
                ("c.rs", "use crate::a;"),
            ],
            &["crate: a (a.rs:1: crate::c), c (c.rs:1: crate::a)"],
        ),
        // Two apart.
        (
            &[
                ("a.rs", "use crate::b;"),
                ("b.rs", "use crate::{a, c};"),
                ("c.rs", "use crate::d;"),
                ("d.rs", "use crate::c;"),
            ],
            &[
                "crate: a (a.rs:1: crate::b), b (b.rs:1: crate::a)",
                "crate: c (c.rs:1: crate::d), d (d.rs:1: crate::c)",
            ],
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(lines(files), expected, "{files:?}");
    }
}

#[test]
fn what_goes_one_way_is_no_circle() {
    let cases: [Files<'_>; 6] = [
        &[("a.rs", "use crate::b;"), ("b.rs", "use std::a;")],
        // Parent and child are one thing.
        &[
            ("a.rs", "mod child; use child::C;"),
            ("a/child.rs", "use super::A; use crate::a::B;"),
        ],
        // The root, whose children use its items.
        &[
            ("lib.rs", "mod a; pub use a::A;"),
            ("a.rs", "use crate::B;"),
        ],
        // Comments, texts and letters name nothing.
        &[
            ("a.rs", "use crate::b;"),
            (
                "b.rs",
                "// crate::a\n/* crate::a */ f(\"\\\" crate::a\", r#\"\" crate::a\"#, '\"', \
                 \"crate::a\")",
            ),
        ],
        // Tests may look at anything.
        &[
            ("a.rs", "use crate::b;"),
            ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
        ],
        &[
            ("a.rs", "use crate::b;"),
            ("b.rs", "#[cfg(test)]\nmod tests;"),
            ("b/tests.rs", "use crate::a;"),
            ("b/tests/more.rs", "use crate::a;"),
        ],
    ];
    for files in cases {
        assert_eq!(lines(files), Vec::<String>::new(), "{files:?}");
    }
}

#[test]
fn a_facade_hides_no_arrow() {
    let through_the_root = [
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        ("a.rs", "use crate::B;"),
        ("b.rs", "use crate::a::A;"),
    ];
    let expected = ["crate: a (a.rs:1: crate::B), b (b.rs:1: crate::a::A)"];
    assert_eq!(lines(&through_the_root), expected);
    let through_a_parent = [
        ("m.rs", "mod x; mod y; use x::X; use crate::n;"),
        ("m/x.rs", "use super::y::Y;"),
        ("m/y.rs", "use super::X; fn f() { super::n::g() }"),
        ("n.rs", ""),
    ];
    let expected = ["m: x (m/x.rs:1: super::y::Y), y (m/y.rs:1: super::X)"];
    assert_eq!(lines(&through_a_parent), expected);
}

#[test]
fn what_a_module_defines_is_its_own_whatever_it_was_given() {
    let files = |defined| [("a.rs", "fn f() { crate::b::a() }"), ("b.rs", defined)];
    let own = "use crate::{a, c}; pub(crate) fn a() { a::g() }";
    let expected = ["crate: a (a.rs:1: crate::b::a), b (b.rs:1: crate::a)"];
    assert_eq!(lines(&files(own)), expected);
    // A method is none of the module's, nor does a name count that goes on.
    let given = "pub(crate) use crate::c::a; impl B { fn a() { crate::a::f() } }";
    let named = [&files(given)[..], &[("c.rs", "pub(crate) fn a() {}")]].concat();
    assert_eq!(lines(&named), Vec::<String>::new());
    let within = [
        ("a.rs", "fn f() { crate::b::c::f() }"),
        ("b.rs", "use crate::{a, c}; fn c() {}"),
        ("c.rs", "pub(crate) fn f() {}"),
    ];
    assert_eq!(lines(&within), Vec::<String>::new());
}

#[test]
fn code_after_tests_and_lifetimes_still_counts() {
    let files = [
        (
            "a.rs",
            "#[cfg(test)]\nmod tests { fn f() { if true {} } }\n\
             fn g<'a>(x: &'a str, c: '\\'') -> crate::b::B {}",
        ),
        ("b.rs", "use crate::a;"),
    ];
    assert_eq!(found(&files).len(), 1);
}

#[test]
fn a_circle_is_told_with_its_crate_its_members_and_the_way_round() {
    let circles = found(&[("a.rs", "use crate::d;"), ("d.rs", "use crate::a;")]);
    assert_eq!(
        circles.iter().map(Circle::line).collect::<Vec<_>>(),
        [
            "host/a: modules of `crate` in a circle (a, d): a (a.rs:1: crate::d) -> \
             d (d.rs:1: crate::a) -> a; move what both need below both"
        ]
    );
}
