//! Numbers: sprig converts what it gets (spf13/cast), so arguments are `interface{}`.

use helm_template::{List, Signature, Type, Value};

use crate::conversion::{to_float64, to_int64};
use crate::register::{Register, arg, fail, int};

const MANY: Signature = Signature::variadic(&[], &Type::Any, Type::INT64);
const ONE_MANY: Signature = Signature::variadic(&[Type::Any], &Type::Any, Type::INT64);
const TWO: Signature = Signature::new(&[Type::Any, Type::Any], Type::INT64);
const FLOATS: Signature = Signature::variadic(&[Type::Any], &Type::Any, Type::FLOAT64);

pub(crate) fn register(all: &mut Register) {
    integers(all);
    floats(all);
    ranges(all);
}

fn integers(all: &mut Register) {
    all.add("add", MANY, |args| Ok(Value::from(args.iter().map(to_int64).fold(0_i64, i64::wrapping_add))));
    all.add("add1", Signature::new(&[Type::Any], Type::INT64), |args| {
        Ok(Value::from(to_int64(arg(args, 0)).wrapping_add(1)))
    });
    all.add("sub", TWO, |args| Ok(Value::from(to_int64(arg(args, 0)).wrapping_sub(to_int64(arg(args, 1))))));
    all.add("mul", ONE_MANY, |args| {
        Ok(Value::from(args.iter().map(to_int64).fold(1_i64, i64::wrapping_mul)))
    });
    let divide = |args: &[Value], name: &str| -> crate::register::Result {
        let (a, b) = (to_int64(arg(args, 0)), to_int64(arg(args, 1)));
        let result = if name == "div" { a.checked_div(b) } else { a.checked_rem(b) };
        match result {
            Some(result) => Ok(Value::from(result)),
            None if b == 0 => Err(fail("runtime error: integer divide by zero")),
            None => Ok(Value::from(if name == "div" { i64::MIN } else { 0 })),
        }
    };
    all.add("div", TWO, move |args| divide(args, "div"));
    all.add("mod", TWO, move |args| divide(args, "mod"));
    let pick = |choose: fn(i64, i64) -> i64| {
        move |args: &[Value]| Ok(Value::from(args.iter().map(to_int64).reduce(choose).unwrap_or_default()))
    };
    all.add("max", ONE_MANY, pick(i64::max));
    all.add("biggest", ONE_MANY, pick(i64::max));
    all.add("min", ONE_MANY, pick(i64::min));
}

fn floats(all: &mut Register) {
    let one = Signature::new(&[Type::Any], Type::FLOAT64);
    all.add("floor", one, |args| Ok(Value::from(to_float64(arg(args, 0)).floor())));
    all.add("ceil", one, |args| Ok(Value::from(to_float64(arg(args, 0)).ceil())));
    all.add("round", Signature::variadic(&[Type::Any, Type::INT], &Type::FLOAT64, Type::FLOAT64), |args| {
        let on = arg(args, 2).as_f64().unwrap_or(0.5);
        let value = to_float64(arg(args, 0));
        let power = 10_f64.powi(i32::try_from(int(args, 1)).unwrap_or(0));
        let digit = power * value;
        let part = digit.fract();
        let rounded = if part >= on { digit.ceil() } else { digit.floor() };
        Ok(Value::from(rounded / power))
    });
    // shopspring/decimal computes exactly; for the figures of charts binary floats round to the same digits.
    let fold = |combine: fn(f64, f64) -> f64| {
        move |args: &[Value]| {
            Ok(Value::from(decimal(args.iter().map(to_float64).reduce(combine).unwrap_or_default())))
        }
    };
    all.add("addf", Signature::variadic(&[], &Type::Any, Type::FLOAT64), fold(|a, b| a + b));
    all.add("add1f", one, |args| Ok(Value::from(decimal(to_float64(arg(args, 0)) + 1.0))));
    all.add("subf", FLOATS, fold(|a, b| a - b));
    all.add("mulf", FLOATS, fold(|a, b| a * b));
    all.add("divf", FLOATS, |args| {
        if args.iter().skip(1).any(|divisor| to_float64(divisor) == 0.0) {
            return Err(fail("decimal division by 0"));
        }
        Ok(Value::from(args.iter().map(to_float64).reduce(|a, b| a / b).unwrap_or_default()))
    });
    all.add("maxf", FLOATS, fold(f64::max));
    all.add("minf", FLOATS, fold(f64::min));
}

/// The nearest float to the decimal result: rounds away the noise that binary arithmetic leaves in the last digits.
fn decimal(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

fn ranges(all: &mut Register) {
    let ints = Type::Slice(&Type::INT);
    all.add("until", Signature::new(&[Type::INT], ints), |args| {
        let count = int(args, 0);
        steps(0, count, if count < 0 { -1 } else { 1 })
    });
    all.add("untilStep", Signature::new(&[Type::INT, Type::INT, Type::INT], ints), |args| {
        steps(int(args, 0), int(args, 1), int(args, 2))
    });
    all.add("seq", Signature::variadic(&[], &Type::INT, Type::String), |args| {
        let numbers: Vec<i64> = args.iter().filter_map(Value::as_i64).collect();
        let text = match numbers.as_slice() {
            [end] => sequence(1, *end, if *end < 1 { -1 } else { 1 }),
            [start, end] => sequence(*start, *end, if end < start { -1 } else { 1 }),
            [start, step, end] => sequence(*start, *end, *step),
            _ => String::new(),
        };
        Ok(Value::from(text))
    });
}

/// More numbers than any chart counts; Go would run out of memory.
const MOST: usize = 10_000_000;
const INTS: Type = Type::Slice(&Type::INT);

/// `untilStep`: from start, stop excluded.
fn steps(start: i64, stop: i64, step: i64) -> crate::register::Result {
    let mut out = Vec::new();
    let mut at = start;
    let going = |at: i64| if step >= 0 { step != 0 && at < stop } else { at > stop };
    while going(at) {
        if out.len() >= MOST {
            return Err(fail("too many numbers"));
        }
        out.push(Value::int(at));
        at = at.saturating_add(step);
    }
    Ok(Value::List(List::typed(&INTS, out)))
}

/// `seq`: both ends included, as the shell's.
fn sequence(start: i64, end: i64, step: i64) -> String {
    let mut out = Vec::new();
    let mut at = start;
    while step != 0 && out.len() < MOST && (if step > 0 { at <= end } else { at >= end }) {
        out.push(at.to_string());
        at = at.saturating_add(step);
    }
    out.join(" ")
}
