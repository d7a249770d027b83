//! Numbers: sprig converts what it gets (spf13/cast), so arguments are `interface{}`.

use std::rc::Rc;

use helm_template::{CallError, List, Signature, Type, Value};

use self::decimal::Operation;
use crate::conversion::{to_float64, to_int64};
use crate::platform::Platform;
use crate::random;
use crate::register::{Register, Result, arg, fail, int};

mod decimal;

const MANY: Signature = Signature::variadic(&[], &Type::Any, Type::INT64);
const ONE_MANY: Signature = Signature::variadic(&[Type::Any], &Type::Any, Type::INT64);
const TWO: Signature = Signature::new(&[Type::Any, Type::Any], Type::INT64);
const FLOATS: Signature = Signature::variadic(&[Type::Any], &Type::Any, Type::FLOAT64);

pub(crate) fn register(all: &mut Register, platform: &Rc<dyn Platform>) {
    integers(all, platform);
    floats(all);
    ranges(all);
}

fn integers(all: &mut Register, platform: &Rc<dyn Platform>) {
    all.add("add", MANY, |args| Ok(Value::from(args.iter().map(to_int64).fold(0_i64, i64::wrapping_add))));
    all.add("add1", Signature::new(&[Type::Any], Type::INT64), |args| {
        Ok(Value::from(to_int64(arg(args, 0)).wrapping_add(1)))
    });
    all.add("sub", TWO, |args| Ok(Value::from(to_int64(arg(args, 0)).wrapping_sub(to_int64(arg(args, 1))))));
    all.add("mul", ONE_MANY, |args| {
        Ok(Value::from(args.iter().map(to_int64).fold(1_i64, i64::wrapping_mul)))
    });
    all.add("div", TWO, |args| divide(args, i64::wrapping_div));
    all.add("mod", TWO, |args| divide(args, i64::wrapping_rem));
    let pick = |choose: fn(i64, i64) -> i64| {
        move |args: &[Value]| Ok(Value::from(args.iter().map(to_int64).reduce(choose).unwrap_or_default()))
    };
    all.add("max", ONE_MANY, pick(i64::max));
    all.add("biggest", ONE_MANY, pick(i64::max));
    all.add("min", ONE_MANY, pick(i64::min));
    all.add("randInt", Signature::new(&[Type::INT, Type::INT], Type::INT), {
        let platform = Rc::clone(platform);
        move |args| rand_int(&*platform, int(args, 0), int(args, 1))
    });
}

fn divide(args: &[Value], by: fn(i64, i64) -> i64) -> Result {
    match (to_int64(arg(args, 0)), to_int64(arg(args, 1))) {
        (_, 0) => Err(fail("runtime error: integer divide by zero")),
        (a, b) => Ok(Value::from(by(a, b))),
    }
}

/// `rand.Intn(max-min) + min`.
fn rand_int(platform: &dyn Platform, min: i64, max: i64) -> Result {
    let width = u64::try_from(max.wrapping_sub(min)).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| fail("invalid argument to Intn"))?;
    let drawn = i64::try_from(random::below(platform, width)?).unwrap_or(0);
    Ok(Value::int(drawn.wrapping_add(min)))
}

fn floats(all: &mut Register) {
    let one = Signature::new(&[Type::Any], Type::FLOAT64);
    all.add("floor", one, |args| Ok(Value::from(to_float64(arg(args, 0)).floor())));
    all.add("ceil", one, |args| Ok(Value::from(to_float64(arg(args, 0)).ceil())));
    all.add("round", Signature::variadic(&[Type::Any, Type::INT], &Type::FLOAT64, Type::FLOAT64), |args| {
        let on = arg(args, 2).as_f64().unwrap_or(0.5);
        Ok(Value::from(round(to_float64(arg(args, 0)), int(args, 1), on)))
    });
    all.add("addf", Signature::variadic(&[], &Type::Any, Type::FLOAT64), |args| {
        decimal::fold(0.0, args, Operation::Add)
    });
    all.add("add1f", one, |args| decimal::fold(to_float64(arg(args, 0)), &[Value::int(1)], Operation::Add));
    let operations = [("subf", Operation::Sub), ("mulf", Operation::Mul), ("divf", Operation::Div)];
    for (name, operation) in operations {
        all.add(name, FLOATS, move |args| {
            decimal::fold(to_float64(arg(args, 0)), args.get(1..).unwrap_or_default(), operation)
        });
    }
    let pick = |choose: fn(f64, f64) -> f64| {
        move |args: &[Value]| Ok(Value::from(args.iter().map(to_float64).reduce(choose).unwrap_or_default()))
    };
    all.add("maxf", FLOATS, pick(max));
    all.add("minf", FLOATS, pick(min));
}

/// `round` of sprig's numeric.go.
fn round(value: f64, places: i64, on: f64) -> f64 {
    let power = power_of_ten(places);
    let digit = power * value;
    // `math.Modf` of an infinity has no fraction but NaN.
    let part = if digit.is_infinite() { f64::NAN } else { digit.fract() };
    let rounded = if part >= on { digit.ceil() } else { digit.floor() };
    rounded / power
}

/// `math.Pow(10, places)`, with the roundings of Go's squarings.
fn power_of_ten(places: i64) -> f64 {
    // 10 is 0.625 * 2^4.
    let (mut factor, mut factor_exponent) = (0.625_f64, 4_i64);
    let (mut result, mut exponent) = (1.0_f64, 0_i64);
    let mut left = places.unsigned_abs();
    while left != 0 {
        if factor_exponent.abs() > 1 << 12 {
            exponent += factor_exponent;
            break;
        }
        if left & 1 == 1 {
            result *= factor;
            exponent += factor_exponent;
        }
        factor *= factor;
        factor_exponent *= 2;
        if factor < 0.5 {
            factor += factor;
            factor_exponent -= 1;
        }
        left >>= 1;
    }
    if places < 0 {
        (result, exponent) = (1.0 / result, -exponent);
    }
    // In steps, so that no power of two overflows before its time.
    let mut exponent = i32::try_from(exponent.clamp(-5000, 5000)).unwrap_or(0);
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        result *= 2_f64.powi(step);
        exponent -= step;
    }
    result
}

/// `math.Min`. Its NaN has no sign.
fn min(a: f64, b: f64) -> f64 {
    let least = -max(-a, -b);
    if least.is_nan() { f64::NAN } else { least }
}

/// `math.Max`: NaN wins, but for infinity; +0 is more than -0.
fn max(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY || b == f64::INFINITY {
        return f64::INFINITY;
    }
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == 0.0 && b == 0.0 {
        return if a.is_sign_negative() { b } else { a };
    }
    if a > b { a } else { b }
}

fn ranges(all: &mut Register) {
    let ints = Type::Slice(&Type::INT);
    all.add("until", Signature::new(&[Type::INT], ints), |args| {
        let count = int(args, 0);
        listed(steps(0, count, if count < 0 { -1 } else { 1 })?)
    });
    all.add("untilStep", Signature::new(&[Type::INT, Type::INT, Type::INT], ints), |args| {
        listed(steps(int(args, 0), int(args, 1), int(args, 2))?)
    });
    all.add("seq", Signature::variadic(&[], &Type::INT, Type::String), |args| {
        let numbers: Vec<i64> = args.iter().filter_map(Value::as_i64).collect();
        Ok(Value::from(match *numbers.as_slice() {
            [end] => sequence(1, end, if end < 1 { -1 } else { 1 })?,
            [start, end] => sequence(start, end, if end < start { -1 } else { 1 })?,
            [start, step, end] if end < start && step > 0 => String::new(),
            [start, step, end] => sequence(start, end, step)?,
            _ => String::new(),
        }))
    });
}

fn listed(numbers: Vec<i64>) -> Result {
    Ok(Value::List(List::typed(&INTS, numbers.into_iter().map(Value::int).collect())))
}

/// More numbers than any chart counts; Go would run out of memory.
const MOST: usize = 10_000_000;
const INTS: Type = Type::Slice(&Type::INT);

/// `untilStep`: from start, stop excluded. Like Go's integers, the numbers begin anew at the smallest after the largest.
fn steps(start: i64, stop: i64, step: i64) -> std::result::Result<Vec<i64>, CallError> {
    let mut out = Vec::new();
    let down = stop < start;
    if if down { step >= 0 } else { step <= 0 } {
        return Ok(out);
    }
    let mut at = start;
    while if down { at > stop } else { at < stop } {
        if out.len() >= MOST {
            return Err(fail("too many numbers"));
        }
        out.push(at);
        at = at.wrapping_add(step);
    }
    Ok(out)
}

/// `seq`: both ends included, as the shell's.
fn sequence(start: i64, end: i64, step: i64) -> std::result::Result<String, CallError> {
    let beyond = end.wrapping_add(if end < start { -1 } else { 1 });
    let numbers = steps(start, beyond, step)?;
    Ok(numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}
