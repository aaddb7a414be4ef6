//! The functions and constants of formulas, by mathjs' names.

use std::cmp::Ordering;

/// A function: its name, how many arguments it takes, and what it gives.
#[derive(Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    least: usize,
    most: usize,
    apply: fn(&[f64]) -> f64,
}

/// Functions are the same when their names are.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Any number of arguments.
const MANY: usize = usize::MAX;

const fn function(
    name: &'static str,
    least: usize,
    most: usize,
    apply: fn(&[f64]) -> f64,
) -> Function {
    Function {
        name,
        least,
        most,
        apply,
    }
}

const fn one(name: &'static str, apply: fn(&[f64]) -> f64) -> Function {
    function(name, 1, 1, apply)
}

const fn many(name: &'static str, apply: fn(&[f64]) -> f64) -> Function {
    function(name, 1, MANY, apply)
}

static FUNCTIONS: [Function; 45] = [
    one("abs", |x| x[0].abs()),
    one("acos", |x| x[0].acos()),
    function("add", 2, MANY, |x| x.iter().sum()),
    one("asin", |x| x[0].asin()),
    one("atan", |x| x[0].atan()),
    function("atan2", 2, 2, |x| x[0].atan2(x[1])),
    one("cbrt", |x| x[0].cbrt()),
    one("ceil", |x| x[0].ceil()),
    one("cos", |x| x[0].cos()),
    one("cosh", |x| x[0].cosh()),
    one("cube", |x| x[0].powi(3)),
    function("divide", 2, 2, |x| x[0] / x[1]),
    one("exp", |x| x[0].exp()),
    one("expm1", |x| x[0].exp_m1()),
    one("fix", |x| x[0].trunc()),
    one("floor", |x| x[0].floor()),
    many("hypot", |x| x.iter().map(|x| x * x).sum::<f64>().sqrt()),
    one("isNaN", |x| f64::from(u8::from(x[0].is_nan()))),
    function("log", 1, 2, log),
    one("log10", |x| x[0].log10()),
    one("log1p", |x| x[0].ln_1p()),
    one("log2", |x| x[0].log2()),
    many("max", |x| extreme(x, f64::max)),
    many("mean", |x| x.iter().sum::<f64>() / x.len() as f64),
    many("median", median),
    many("min", |x| extreme(x, f64::min)),
    function("mod", 2, 2, |x| modulo(x[0], x[1])),
    function("multiply", 2, MANY, |x| x.iter().product()),
    function("nthRoot", 1, 2, nth_root),
    function("pow", 2, 2, |x| x[0].powf(x[1])),
    many("prod", |x| x.iter().product()),
    function("round", 1, 2, round),
    one("sign", |x| if x[0] == 0.0 { 0.0 } else { x[0].signum() }),
    one("sin", |x| x[0].sin()),
    one("sinh", |x| x[0].sinh()),
    one("sqrt", |x| x[0].sqrt()),
    one("square", |x| x[0] * x[0]),
    many("std", |x| variance(x).sqrt()),
    function("subtract", 2, 2, |x| x[0] - x[1]),
    many("sum", |x| x.iter().sum()),
    one("tan", |x| x[0].tan()),
    one("tanh", |x| x[0].tanh()),
    one("unaryMinus", |x| -x[0]),
    one("unaryPlus", |x| x[0]),
    many("variance", variance),
];

impl Function {
    /// The function of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|one| one.name == name).copied()
    }

    /// Why it can't take so many arguments; `None` if it can.
    pub(super) fn refuses(self, count: usize) -> Option<String> {
        if (self.least..=self.most).contains(&count) {
            return None;
        }
        let takes = match (self.least, self.most) {
            (least, MANY) => format!("{least} or more"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Some(format!(
            "`{}` takes {takes} arguments, not {count}",
            self.name
        ))
    }

    /// What it gives; the number of arguments was checked.
    pub(super) fn call(self, arguments: &[f64]) -> f64 {
        (self.apply)(arguments)
    }
}

/// The number that a name always has, unless a metric has the name.
pub(super) fn constant(name: &str) -> Option<f64> {
    use std::f64::consts::{E, LN_2, LN_10, PI, SQRT_2, TAU};
    Some(match name {
        "pi" | "PI" => PI,
        "tau" => TAU,
        "e" | "E" => E,
        "LN2" => LN_2,
        "LN10" => LN_10,
        "SQRT2" => SQRT_2,
        "Infinity" => f64::INFINITY,
        "NaN" => f64::NAN,
        "true" => 1.0,
        "false" => 0.0,
        _ => return None,
    })
}

/// The remainder that has the sign of the divisor; by 0, the number itself.
pub(super) fn modulo(left: f64, right: f64) -> f64 {
    if right == 0.0 {
        left
    } else {
        left - right * (left / right).floor()
    }
}

/// NaN anywhere makes it NaN.
fn extreme(numbers: &[f64], better: fn(f64, f64) -> f64) -> f64 {
    if numbers.iter().any(|number| number.is_nan()) {
        return f64::NAN;
    }
    numbers.iter().copied().reduce(better).unwrap_or(f64::NAN)
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// Of a sample: divided by one less than there are; of one number 0.
fn variance(numbers: &[f64]) -> f64 {
    if numbers.len() == 1 {
        return 0.0;
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|x| (x - mean) * (x - mean));
    squares.sum::<f64>() / (count - 1.0)
}

fn log(x: &[f64]) -> f64 {
    match x {
        [number, base] => number.ln() / base.ln(),
        _ => x[0].ln(),
    }
}

fn nth_root(x: &[f64]) -> f64 {
    let root = x.get(1).copied().unwrap_or(2.0);
    if x[0] < 0.0 && (root.abs() % 2.0 - 1.0).abs() < f64::EPSILON {
        -(-x[0]).powf(1.0 / root)
    } else {
        x[0].powf(1.0 / root)
    }
}

/// Half away from zero, to as many digits as asked for.
fn round(x: &[f64]) -> f64 {
    let digits = x.get(1).copied().unwrap_or(0.0);
    if digits == 0.0 {
        return x[0].round();
    }
    let digits = digits.clamp(0.0, 15.0) as usize;
    let scale = 10_f64.powi(digits as i32);
    let scaled = (x[0] * scale).round() / scale;
    if scaled.is_finite() { scaled } else { x[0] }
}
