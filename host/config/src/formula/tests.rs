//! Formulas as mathjs reads them; the values were worked out by it.

use proptest::prelude::*;

use super::{Formula, FormulaError};

fn named(name: &str) -> Option<f64> {
    Some(match name {
        "a" => 3.0,
        "b" => 4.0,
        "zero" => 0.0,
        "mean" => 7.0,
        "__count" => 10.0,
        "precision" => 0.8,
        "recall" => 0.4,
        _ => return None,
    })
}

fn value(text: &str) -> Result<f64, FormulaError> {
    Formula::new(text)?.value(&named)
}

#[test]
fn all_names_that_a_formula_reads_are_known() {
    let formula = Formula::new("a > 2 ? -b : max(mean, not recall) + a ^ pi").expect("a formula");
    assert_eq!(formula.names(), ["a", "b", "mean", "recall", "a", "pi"]);
}

#[test]
fn formulas_mean_what_they_mean_in_mathjs() {
    let cases = [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("(-2) ^ 2", 4.0),
        ("2 ^ -1", 0.5),
        ("10 - 3 - 2", 5.0),
        ("12 / 3 / 2", 2.0),
        ("7 % 4", 3.0),
        ("-7 % 4", 1.0),
        ("7 mod 4", 3.0),
        ("mod(-7, 4)", 1.0),
        ("5 % 0", 5.0),
        ("1e3 + .5 + 1.5E-1", 1000.65),
        ("a / __count", 0.3),
        (
            "2 * precision * recall / (precision + recall)",
            0.533_333_333_333_333_3,
        ),
        ("sqrt(a ^ 2 + b ^ 2)", 5.0),
        ("max(a, b, 1) + min(a, b)", 7.0),
        ("abs(-a)", 3.0),
        ("round(2.345, 2)", 2.35),
        ("round(-2.5)", -3.0),
        ("floor(2.7) + ceil(2.1) + fix(-2.7)", 3.0),
        ("log(8, 2)", 3.0),
        ("log(e)", 1.0),
        ("pow(2, 10)", 1024.0),
        ("sum(1, 2, 3) + prod(2, 3)", 12.0),
        ("median(3, 1, 2, 10)", 2.5),
        ("std(2, 4, 4, 4, 5, 5, 7, 9)", 2.138_089_935_299_395),
        ("a > 2 ? 10 : 20", 10.0),
        ("a > 2 ? zero ? 1 : 2 : 3", 2.0),
        ("zero == 0 ? 0 : a / zero", 0.0),
        ("a >= 3 and b < 5", 1.0),
        ("not (a >= 3) or b != 4", 0.0),
        ("true xor true", 0.0),
        ("not zero", 1.0),
        ("mean + mean(1, 3)", 9.0),
        ("+a - -b", 7.0),
        ("pi", std::f64::consts::PI),
        (" a\n+ b ", 7.0),
    ];
    for (text, expected) in cases {
        let value = value(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!((value - expected).abs() < 1e-12, "{text}: {value}");
    }
}

#[test]
fn what_comes_to_no_number_is_none() {
    assert!(value("0 / zero").is_ok_and(f64::is_nan));
    assert!(value("a / zero").is_ok_and(f64::is_infinite));
    assert!(value("sqrt(-1)").is_ok_and(f64::is_nan));
    assert!(value("max(NaN, 1)").is_ok_and(f64::is_nan));
}

#[test]
fn a_name_that_nobody_has_is_said() {
    let unknown = |name: &str| {
        Err(FormulaError::Unknown {
            name: name.to_owned(),
        })
    };
    assert_eq!(value("a + nobody"), unknown("nobody"));
    // Only what is worked out is read.
    assert_eq!(value("a > 0 ? 1 : nobody"), Ok(1.0));
}

#[test]
fn what_is_no_formula_is_said_with_its_place() {
    let cases = [
        ("", "the formula ends too early (character 1)"),
        ("1 +", "the formula ends too early (character 4)"),
        (
            "2 a",
            "an operator is missing here: write `*` to multiply (character 3)",
        ),
        ("(1 + 2", "`)` is missing (character 7)"),
        ("1 + 2)", "this can't follow here (character 6)"),
        ("a ? 1", "`:` is missing (character 6)"),
        (
            "1 < 2 < 3",
            "comparisons can't follow each other: use `and` (character 9)",
        ),
        ("x = 3", "formulas have no `=` here (character 3)"),
        ("[1, 2]", "formulas have no `[` here (character 1)"),
        ("'a'", "formulas have no `'` here (character 1)"),
        ("eval(1)", "there is no function `eval` (character 1)"),
        (
            "sqrt(1, 2)",
            "`sqrt` takes 1 arguments, not 2 (character 1)",
        ),
        (
            "max()",
            "`max` takes 1 or more arguments, not 0 (character 1)",
        ),
        ("1.2.3", "this is no number (character 1)"),
        ("é + ]", "formulas have no `]` here (character 5)"),
    ];
    for (text, expected) in cases {
        let error = Formula::new(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn bombs_are_refused() {
    let deep = ["(", "-", "2^", "1?", "sqrt("].map(|part| part.repeat(400));
    let long = format!("1{}", "+1".repeat(4_000));
    for text in deep.iter().chain([&long]) {
        assert!(Formula::new(text).is_err(), "{text:.20}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ a-c0-9.e+*/%^()<>=!?:,é-]{0,60}") {
        if let Ok(formula) = Formula::new(&text) {
            drop(formula.value(&named));
        }
    }

    #[test]
    fn numbers_are_read_as_rust_reads_them(number in 0.0_f64..1e12) {
        prop_assert_eq!(value(&format!("{number}")), Ok(number));
    }
}
