//! Templates by strangers: what they cost, and that none of them ends in a panic.

use proptest::prelude::*;

use super::*;

fn reason(text: &str) -> String {
    render(text).expect_err(text).to_string()
}

#[test]
fn what_a_strangers_template_costs_is_bounded() {
    let doubling = format!(
        "{{% set x = long %}}{}{{{{ x | length }}}}",
        "{% set x = x ~ x %}".repeat(40)
    );
    let cases = [
        (
            "{% for a in range(50000) %}{% for b in range(50000) %}{% endfor %}{% endfor %}",
            "takes too many steps",
        ),
        (
            "{% for a in range(50000) %}{{ long }}{% endfor %}",
            "makes more than 16 MiB of text",
        ),
        (
            doubling.as_str(),
            "makes more than 64 MiB in its expressions",
        ),
        (
            "{% set x %}{% for a in range(50000) %}{{ long }}{{ long }}{{ long }}{% endfor %}{% endset %}",
            "makes more than 64 MiB in its expressions",
        ),
        (
            "{% set x = long %}{% for a in range(100) %}{% set x = x + x %}{% endfor %}",
            "makes more than 64 MiB in its expressions",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(reason(text), expected, "{text:.60}");
    }
}

#[test]
fn what_load_makes_is_counted_and_not_only_its_text() {
    let maps = "{\"\":".repeat(90) + "0" + &"}".repeat(90);
    let of = |times: usize| {
        let text = format!("[{}0]", format!("{maps},").repeat(times));
        let vars: Map<String, Json> = [("text".to_owned(), Json::from(text))]
            .into_iter()
            .collect();
        rendered("{{ text | load | length }}", &vars)
    };
    assert_eq!(of(1_000), Ok("1001".to_owned()));
    // 2 MB of text, and 80 of maps.
    let error = of(4_000).expect_err("too much");
    assert_eq!(
        error.to_string(),
        "makes more than 64 MiB in its expressions"
    );
}

#[test]
fn what_nests_without_end_is_refused() {
    let nested = [
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{{{{ 1{} }}}}", "~1".repeat(100_000)),
        format!("{{{{ a{} }}}}", ".a".repeat(100_000)),
        format!("{{{{ a{} }}}}", "|e".repeat(100_000)),
        format!("{{{{ {}a }}}}", "not ".repeat(100_000)),
        format!("{{{{ {}a }}}}", "-".repeat(100_000)),
        format!("{{{{ {}1{} }}}}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{{{{ {}1{} }}}}", "(".repeat(50), ")".repeat(50)),
        format!("{{{{ a{} }}}}", ".b()".repeat(100_000)),
        "{% for a in a %}{% set b = 1 %}".repeat(100_000),
        "{% set a %}".repeat(100_000),
        "{% filter upper %}".repeat(61),
        format!("{{{{ a{}b }}}}", " if a else ".repeat(1000)),
        format!(
            "{}x{}",
            "{% if a %}".repeat(100_000),
            "{% endif %}".repeat(100_000)
        ),
        "{% for a in a %}".repeat(100_000),
    ];
    for text in nested {
        assert!(Template::parse(&text).is_err(), "{text:.20}");
    }
}

#[test]
fn the_longest_chains_that_pass_fit_the_stack() {
    let chains = [
        format!("{{{{ 1{} }}}}", "+1".repeat(900)),
        format!("{{{{ a{} }}}}", ".a".repeat(900)),
        format!("{{{{ a{} }}}}", "|e".repeat(900)),
        format!("{{{{ a{} }}}}", "[0]".repeat(600)),
        format!("{{{{ a{} }}}}", "~a".repeat(900)),
        format!("{{{{ 1{} }}}}", "==1".repeat(600)),
        format!("{{{{ {}1{} }}}}", "[".repeat(38), "]".repeat(38)),
        format!("{{{{ a{} }}}}", " or a".repeat(300)),
        format!(
            "{}{}",
            "{% for a in [1] %}".repeat(60),
            "{% endfor %}".repeat(60)
        ),
        format!("{}{}", "{% set a %}".repeat(60), "{% endset %}".repeat(60)),
        format!(
            "{}{}",
            "{% set a = 1 %}".repeat(20_000),
            "{% for b in [1] %}{% set a = 2 %}{% endfor %}".repeat(20_000)
        ),
        format!(
            "{{% if a %}}{}{{% endif %}}",
            "{% elif a %}x".repeat(100_000)
        ),
    ];
    for text in chains {
        assert!(render(&text).is_ok(), "{:?} {text:.20}", render(&text));
    }
}

#[test]
fn the_deepest_template_fits_a_small_stack() {
    // Every operator in every pair of parentheses, in as many blocks as there may be.
    let deep = format!(
        "{}1{}",
        "(0 or 1 and not 0==1<1+1*1//1**".repeat(38),
        ")".repeat(38)
    );
    let text = format!(
        "{}{{{{ {deep} }}}}{}",
        "{% for a in [1] %}{% if 1 %}".repeat(30),
        "{% endif %}{% endfor %}".repeat(30)
    );
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let rendered = small.spawn(move || render(&text)).expect("a thread");
    let rendered = rendered.join().expect("it fits");
    assert_eq!(rendered, Ok("true".to_owned()));
}

/// A macro that calls itself may stand as deep as any other.
#[test]
fn macros_that_call_themselves_fit_a_small_stack_or_end() {
    let (open, close) = ("(0 or ".repeat(36), ")".repeat(36));
    let deep =
        format!("{{% macro m(n) %}}{{{{ {open}m(n){close} }}}}{{% endmacro %}}{{{{ m(1) }}}}");
    let blocks = format!(
        "{{% macro m() %}}{}{{{{ m() }}}}{}{{% endmacro %}}{{{{ m() }}}}",
        "{% if 1 %}".repeat(55),
        "{% endif %}".repeat(55)
    );
    let caller = "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}\
                  {% endcall %}{% endmacro %}{{ n() }}";
    let ends = "{% macro m(n) %}{{ n }}{{ m(n - 1) if n }}{% endmacro %}{{ m(20) }}";
    let cyclers = "{% set c = 1 %}{% for i in range(9999) %}{% set c = cycler(c) %}{% endfor %}";
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let rendered = small.spawn(move || {
        [&deep, &blocks, caller, ends, cyclers].map(|text| render(text).map_err(|it| it.reason))
    });
    let rendered = rendered.expect("a thread").join().expect("it fits");
    let too_deep = || Err("macros call each other too deep".to_owned());
    let counted: String = (0..=20).rev().map(|n| n.to_string()).collect();
    let nested = "lists and maps nest more than 64 deep".to_owned();
    let expected = [too_deep(), too_deep(), too_deep(), Ok(counted), Err(nested)];
    assert_eq!(rendered, expected);
}

#[test]
fn lists_that_hold_themselves_twice_are_walked_to_the_bound_and_no_further() {
    let limits = Limits {
        read: 1 << 20,
        ..Limits::default()
    };
    let uses = "x¦x | join¦x | string¦x + 1¦x == '1'¦x < x¦{a: 1}[x]¦x in 'a'¦'a'.includes(x)¦\
                x | sort¦x | dump¦{a: x}¦[x] | groupby('0')¦{a: x} | urlencode";
    for of in uses.split('¦') {
        let twice = "{% set x = [1, 1] %}{% for a in range(40) %}{% set x = [x, x] %}{% endfor %}";
        let template = Template::parse(&format!("{twice}{{{{ {of} }}}}")).expect(of);
        let error = template.render(scope(&vars()), &limits).expect_err(of);
        let expected = "looks at too much text in its expressions";
        assert_eq!(error.to_string(), expected, "{of}");
    }
    for of in ["x | dump", "x | dump(9)", "{a: x}"] {
        let twice = "{% set x = [1, 1] %}{% for a in range(40) %}{% set x = [x, x] %}{% endfor %}";
        let expected = "makes more than 64 MiB in its expressions";
        assert_eq!(reason(&format!("{twice}{{{{ {of} }}}}")), expected, "{of}");
    }
}

#[test]
fn limits_are_those_that_it_is_rendered_with() {
    let limits = Limits {
        steps: 10,
        output: 5,
        ..Limits::default()
    };
    let vars = vars();
    let render = |text: &str| {
        let rendered = Template::parse(text).and_then(|it| it.render(scope(&vars), &limits));
        rendered.map_err(|error| error.to_string())
    };
    assert_eq!(render("{{ name }}{{ n }}"), Ok("Ada3".to_owned()));
    let long = Err("makes more than 0 MiB of text".to_owned());
    assert_eq!(render("{{ name }}{{ name }}"), long);
    let many = Err("takes too many steps".to_owned());
    assert_eq!(render("{% for a in range(9) %}{% endfor %}"), many);
}

/// Each makes a text or a list that is too large.
const TOO_MUCH: [&str; 9] = [
    "{% for a in range(100000) %}{% set x = range(100000) %}{% endfor %}",
    "{{ [1] | batch(1000000000, 'x') }}",
    "{{ [1] | slice(1000000000) }}",
    "{{ 'x'.repeat(1000000000) }}",
    "{{ 'x'.padEnd(1000000000) }}",
    "{{ 'x' | center(1000000000) }}",
    "{{ 'x' | indent(1000000000) }}",
    "{{ '&'.repeat(20000000) | e | length }}",
    "{{ '\n'.repeat(20000000) | nl2br | length }}",
];

#[test]
fn what_filters_methods_and_lists_make_is_bounded() {
    let cases = [
        (
            "{% set x = [] %}{% for a in range(100) %}{% set x = [x] %}{% endfor %}",
            "lists and maps nest more than 64 deep",
        ),
        (
            "{% for a in range(100) %}{% set x = {'a': x} %}{% endfor %}",
            "lists and maps nest more than 64 deep",
        ),
        (
            "{% set x = long.repeat(10000) %}{% for a in range(100000) %}{% if 'y' in x %}{% endif %}{% endfor %}",
            "looks at too much text in its expressions",
        ),
        (
            "{% set x = long.repeat(10000) %}{% for a in range(100000) %}{{ x.length }}{% endfor %}",
            "looks at too much text in its expressions",
        ),
        ("{{ range(1000000000) }}", "range: more than 100000 numbers"),
        (
            "{{ long.replaceAll('x', long).replaceAll('x', long) }}",
            "replace: the result is too long",
        ),
        (
            "{{ long | replace('x', long) | replace('x', long) }}",
            "replace: the result is too long",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(reason(text), expected, "{text:.60}");
    }
    for text in TOO_MUCH {
        let expected = "makes more than 64 MiB in its expressions";
        assert_eq!(reason(text), expected, "{text:.60}");
    }
}

/// Words of templates; a bar is between them.
const WORDS: &str = "{{¦}}¦{%¦%}¦{#¦#}¦{%-¦-%}¦{{-¦-}}¦\n¦if¦else¦elif¦endif¦for¦in¦endfor¦set¦endset¦\
     filter¦endfilter¦raw¦endraw¦not¦is¦and¦or¦name¦list¦user¦x¦y¦missing¦1¦2.5¦'a'¦\
     \"b\"¦'¦(¦)¦[¦]¦{¦}¦,¦:¦.¦|¦~¦+¦-¦*¦/¦//¦%¦**¦==¦===¦<¦=¦range(3)¦dump¦join¦sort¦\
     length¦default¦upper¦truncate(2)¦slice¦odd¦defined¦true¦none¦é😀¦__own_cell_x¦\
     loop.index¦.length¦.split('')¦.slice(-1)¦[0]¦{% for x in list %}¦{% endfor %}¦\
     {% set x = ¦{% if name %}¦{% macro m(a, b=1) %}¦{% endmacro %}¦{{ m(1) }}¦{% call(x) m() %}¦{% endcall %}¦\
     caller(2)¦{% switch n %}¦{% case 3 %}¦{% default %}¦{% endswitch %}¦cycler(1, x)¦joiner()¦x()¦x.next()¦{% endif %}¦{% set y %}¦{% endset %}¦{{ x }}¦\\";

/// Values to begin with.
const LEAVES: &str = "name¦n¦half¦list¦words¦user¦none¦yes¦missing¦text¦'é😀 b'¦-1¦0¦1.5¦[]¦{a: 1}¦long¦\
     ''";

/// Operators.
const OPERATORS: &str = "+¦-¦*¦/¦//¦%¦**¦~¦==¦===¦<¦>=¦in¦and¦or¦not in";

/// Filters.
const FILTERS: &str = "abs¦batch(2)¦capitalize¦center(9)¦default('d')¦dump¦dump(2)¦e¦first¦float¦\
     groupby('a')¦indent¦int¦int(1, 16)¦join('-')¦last¦length¦list¦load¦lower¦nl2br¦\
     reject('odd')¦replace('a', 'b')¦reverse¦round¦round(-2)¦select¦selectattr('a')¦\
     slice(2)¦sort¦sort(true)¦string¦striptags¦striptags(true)¦sum¦title¦trim¦\
     truncate(3)¦upper¦urlencode¦wordcount¦dictsort¦truncate(0, true, 'x')¦center(n)¦\
     batch(0)¦slice(0)¦random¦urlize¦urlize(3, true)";

/// Methods and attributes.
const METHODS: &str = "at(-1)¦charAt(2)¦concat('x')¦endsWith('b')¦includes('a')¦indexOf('a')¦join()¦\
     lastIndexOf('b')¦length¦padEnd(5, 'ab')¦padStart(5)¦repeat(2)¦replace('a', 'b')¦\
     reverse()¦slice(1, -1)¦slice(-9)¦split(' ')¦split('', 2)¦startsWith('')¦\
     substr(-2, 1)¦substring(3, 1)¦toFixed(2)¦toString()¦toUpperCase()¦trim()¦first¦\
     tags[0]";

fn one_of(words: &'static str) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words.split('¦').collect::<Vec<_>>())
}

/// Words of templates, in any order.
fn template() -> impl Strategy<Value = String> {
    prop::collection::vec(one_of(WORDS), 0..24).prop_map(|words| words.join(" "))
}

/// Expressions that mostly are some.
fn expression() -> impl Strategy<Value = String> {
    let leaf = one_of(LEAVES).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), one_of(OPERATORS), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            (inner.clone(), one_of(FILTERS)).prop_map(|(of, filter)| format!("{of} | {filter}")),
            (inner.clone(), one_of(METHODS)).prop_map(|(of, method)| format!("({of}).{method}")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("[{a}, {b} if not {c}][1]")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_a_template_or_an_error(text in "[a-c{}%#\"'\\\\ .|()\\[\\]=~é\n-]{0,80}") {
        let _ = render(&text);
    }

    #[test]
    fn any_words_are_a_text_or_an_error(text in template()) {
        let _ = render(&text);
    }

    #[test]
    fn any_expression_is_a_text_or_an_error_and_is_the_same_twice(expression in expression()) {
        let text = format!("{{{{ {expression} }}}}");
        let first = render(&text);
        prop_assert_eq!(&first, &render(&text));
        // What a block holds is what it would have printed.
        let block = format!("{{% set b %}}{text}{{% endset %}}{{{{ b }}}}");
        if first.is_ok() {
            prop_assert_eq!(first, render(&block));
        }
    }

    #[test]
    fn text_without_openings_stays_as_it_is(text in "[^{]{0,60}") {
        prop_assert_eq!(render(&format!("{{{{ missing }}}}{text}")), Ok(text));
    }
}
