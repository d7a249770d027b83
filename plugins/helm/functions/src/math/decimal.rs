//! Decimal arithmetic as shopspring/decimal does it for `addf`, `subf`, `mulf` and `divf`: exact but for quotients, which
//! have sixteen places.

use helm_template::Value;
use num_bigint::{BigInt, Sign};

use crate::conversion::to_float64;
use crate::register::{Result, fail};

/// `decimal.DivisionPrecision`.
const PLACES: i64 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
}

/// `value * 10^exponent`.
struct Decimal {
    value: BigInt,
    exponent: i64,
}

/// `execDecimalOp`.
pub(super) fn fold(first: f64, others: &[Value], operation: Operation) -> Result {
    let mut total = Decimal::new(first)?;
    for other in others {
        let other = Decimal::new(to_float64(other))?;
        total = match operation {
            Operation::Add => total.plus(other, false),
            Operation::Sub => total.plus(other, true),
            Operation::Mul => {
                Decimal { value: total.value * other.value, exponent: total.exponent + other.exponent }
            }
            Operation::Div => total.divided_by(&other)?,
        };
    }
    Ok(Value::from(total.nearest()))
}

fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}

impl Decimal {
    /// `NewFromFloat`: the shortest digits that mean the float.
    fn new(number: f64) -> std::result::Result<Self, helm_template::CallError> {
        if number.is_nan() || number.is_infinite() {
            let shown = if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(fail(format!("Cannot create a Decimal from {shown}")));
        }
        let shown = format!("{number:e}");
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let value = format!("{whole}{fraction}").parse().unwrap_or_default();
        let places = i64::try_from(fraction.len()).unwrap_or(0);
        Ok(Self { value, exponent: exponent.parse::<i64>().unwrap_or(0) - places })
    }

    fn plus(self, other: Self, negated: bool) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let a = self.value * power_of_ten(self.exponent - exponent);
        let b = other.value * power_of_ten(other.exponent - exponent);
        Self { value: if negated { a - b } else { a + b }, exponent }
    }

    /// `DivRound` at sixteen places: halves are rounded away from zero.
    fn divided_by(&self, other: &Self) -> std::result::Result<Self, helm_template::CallError> {
        if other.value.sign() == Sign::NoSign {
            return Err(fail("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + PLACES;
        let a = &self.value * power_of_ten(shift.max(0));
        let b = &other.value * power_of_ten((-shift).max(0));
        let quotient = &a / &b;
        let rest: BigInt = (&a - &quotient * &b) * 2;
        let away = rest.magnitude() >= b.magnitude();
        let value = match (away, a.sign() == b.sign()) {
            (false, _) => quotient,
            (true, true) => quotient + 1,
            (true, false) => quotient - 1,
        };
        Ok(Self { value, exponent: -PLACES })
    }

    /// `Float64`: the nearest float.
    fn nearest(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent).parse().unwrap_or(0.0)
    }
}
