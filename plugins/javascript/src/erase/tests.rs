//! Which TypeScript becomes which JavaScript.

use super::*;

/// Pairs of texts: what is written, and what is run, with one blank for several.
const PAIRS: &[(&str, &str)] = &[
    ("let a: number = 1;", "let a         = 1;"),
    (
        "let a!: string, b = c!.d![0]!;",
        "let a         , b = c .d [0] ;",
    ),
    (
        "function f<T>(a: T, b?: string, ...c: T[]): a is T { return a as T }",
        "function f   (a   , b         , ...c     )         { return a      }",
    ),
    (
        "function f(this: X, a) {} function g(this: X) {}",
        "function f(         a) {} function g(       ) {}",
    ),
    (
        "const f = async <T,>(a: T): Promise<T> => <T>a;",
        "const f = async     (a   )             =>    a;",
    ),
    (
        "const f = (a): {\n  b: string\n} => a;",
        "const f = (a   \n           \n) => a;",
    ),
    (
        "type A = { b: string };\ninterface C { d(): void }\nvar e",
        ";                      \n;                        \nvar e",
    ),
    (
        "const a = 1\ntype B = string\n(c)()",
        "const a = 1\n;              \n(c)()",
    ),
    ("const a = b as any\n(c)()", "const a = b;      \n(c)()"),
    ("a = b as const\n[1].c", "a = b;         \n[1].c"),
    ("a = b as number\n+ c", "a = b          \n+ c"),
    ("a = b satisfies C;", "a = b            ;"),
    (
        "new Map<string, number>(); f<A>`x`; g<B>;",
        "new Map                (); f   `x`; g   ;",
    ),
    (
        "declare const a: string; declare function f(): void; declare module 'x' { }",
        ";                        ;                            ;                     ",
    ),
    (
        "function f(a: string): void;\nfunction f(a) {}",
        ";                           \nfunction f(a) {}",
    ),
    (
        "abstract class A<T> extends B<T> implements C, D<T> { abstract a: string; abstract b(): void; c() {} }",
        "         class A    extends B                      { ;                   ;                     c() {} }",
    ),
    (
        "class A { private readonly a?: string = 'x'; b!: number; declare c: D; [k: string]: any; d?(): void {} override get e(): F { return 1 } }",
        "class A { a = 'x'; b ; ; ; d () {} get e() { return 1 } }",
    ),
    (
        "class A { constructor(private a: string, readonly b = 1, c: D) { f() } }",
        "class A { constructor(        a        ,          b = 1, c   ) {; this.a = a; this.b = b; f() } }",
    ),
    (
        "class A extends B { constructor(public a: C) { super(); f() } }",
        "class A extends B { constructor(       a   ) { super();; this.a = a; f() } }",
    ),
    (
        "import type { A } from 'a'; import { type B, c } from 'b'; c();",
        ";                           import {         c } from 'b'; c();",
    ),
    (
        "import A, { B } from 'a'; import * as C from 'c'; new B(); let x: A, y: C.D;",
        "import    { B } from 'a'; ;                        new B(); let x   , y     ;",
    ),
    (
        "import 'a'; import {} from 'b'; import D from 'd';",
        "import 'a'; import {} from 'b'; ;                 ",
    ),
    (
        "export type { A } from 'a'; export { type B, c }; export type * from 'd'; export interface E {}",
        ";                           export {         c }; ;                       ;                    ",
    ),
    (
        "interface A {} class B {} export { A, B };",
        ";              class B {} export {   B };",
    ),
    (
        "import { A } from 'a'; export { A };",
        "import { A } from 'a'; export { A };",
    ),
    (
        "export default function f(a: B): C {}",
        "export default function f(a   )    {}",
    ),
    (
        "enum A { B, C = 5, D, 'e-f' }",
        "var A; (function (A)        { A[A[\"B\"] = 0] = \"B\" ;     A[A[\"C\"] = 5] = \"C\"; A[A[\"D\"] = 6] = \"D\" ; A[A[\"e-f\"] = 7] = \"e-f\"      })(A || (A = {}));",
    ),
    (
        "export const enum A { B = 'b', C = `c`, }",
        "export var A; (function (A)              {     A[\"B\"] = 'b';     A[\"C\"] = `c`; })(A || (A = {}));",
    ),
    (
        "enum A { B = 1 << 2, C = B | 1, D }",
        "var A; (function (A)        {     A[A[\"B\"] = 1 << 2] = \"B\";     A[A[\"C\"] = A.B | 1] = \"C\"; A[A[\"D\"] = A[\"C\"] + 1] = \"D\"  })(A || (A = {}));",
    ),
    (
        "import fs = require('fs'); export = f;",
        "const       fs = require('fs'); module.exports =         f;",
    ),
    (
        "try {} catch (e: unknown) {} for (const a of b as C[]) {}",
        "try {} catch (e         ) {} for (const a of b       ) {}",
    ),
    (
        "let é𝒳: string // a: b\n/* as c */ let d = 'x as y'",
        "let é𝒳         // a: b\n/* as c */ let d = 'x as y'",
    ),
    (
        "const a = { b: <C>d, e(f: G): H {}, get i(): J { return 1 } }",
        "const a = { b:    d, e(f   )    {}, get i()    { return 1 } }",
    ),
    (
        "if (a) { type B = C } switch (d) { case 1 as E: }",
        "if (a) { ; } switch (d) { case 1     : }",
    ),
    (
        "label: for (;;) { a?.b!(c as D) }",
        "label: for (;;) { a?.b (c     ) }",
    ),
];

fn squeezed(text: &str) -> String {
    let mut squeezed = String::new();
    for sign in text.chars() {
        if !(sign == ' ' && squeezed.ends_with(' ')) {
            squeezed.push(sign);
        }
    }
    squeezed
}

#[test]
fn types_go_and_values_stay() {
    let mut wrong = Vec::new();
    for (written, expected) in PAIRS {
        let erased = erased(written).map(|text| squeezed(&text));
        if erased.as_deref() != Ok(&squeezed(expected)) {
            wrong.push(format!("{written}\n{expected}\n{erased:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Every sign stays in its line and column, but behind what is inserted.
#[test]
fn what_stays_stays_in_its_place() {
    for (written, _) in PAIRS {
        let erased = erased(written).expect(written);
        assert_eq!(erased.lines().count(), written.lines().count(), "{written}");
        if erased.encode_utf16().count() != written.encode_utf16().count() {
            let is_made = ["enum", "constructor", "export ="]
                .iter()
                .any(|it| written.contains(it));
            assert!(is_made, "{written}");
            continue;
        }
        let units = erased.encode_utf16().zip(written.encode_utf16());
        for (left, was) in units {
            let is_blank = [' ', ';', ')'].iter().any(|it| left == *it as u16);
            assert!(left == was || is_blank, "{written}\n{erased}");
        }
    }
}

#[test]
fn what_leaves_no_javascript_is_refused_with_its_place() {
    for (written, message, place) in [
        (
            "a;\n namespace B { export const c = 1 }",
            "a namespace with values",
            (2, 2),
        ),
        ("@d class A {}", "a decorator", (1, 1)),
        (
            "import A = B.C;",
            "an import of a part of a namespace",
            (1, 1),
        ),
        (
            "enum A { B = 'b', C }",
            "a member without a value after a text",
            (1, 19),
        ),
        (
            "class A extends B { constructor(private b: C) { if (b) super() } }",
            "properties of a constructor without `super()` in its body",
            (1, 21),
        ),
    ] {
        let refused = erased(written).expect_err(written);
        let message = format!("{message}: not run here, since erasing types leaves no JavaScript");
        assert_eq!(refused, Refused { message, place }, "{written}");
    }
    let broken = erased("let a: = 1;\nlet b").expect_err("no type");
    assert_eq!(broken.place, (1, 8), "{}", broken.message);
}

#[test]
fn files_with_types_are_erased_and_others_stay() {
    use runner_plugin::script::{Form, Module};
    let program = Program {
        language: "javascript".to_owned(),
        form: Form::File,
        name: "a.mts".to_owned(),
        source: "let a: b".to_owned(),
        entry: None,
        modules: vec![
            Module {
                path: "c.js".to_owned(),
                source: "let d: e".to_owned(),
            },
            Module {
                path: "f/g.ts".to_owned(),
                source: "let h: i".to_owned(),
            },
        ],
        clock_ms: None,
    };
    let program = of_program(&program).expect("TypeScript");
    assert_eq!(program.source, "let a   ");
    assert_eq!(program.modules[0].source, "let d: e");
    assert_eq!(program.modules[1].source, "let h   ");
}
