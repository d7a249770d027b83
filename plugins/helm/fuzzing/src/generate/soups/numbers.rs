//! Numbers, versions and constraints of versions.

use super::row;
use crate::Random;

pub(super) fn version(random: &mut Random) -> String {
    let mut out = random.pick(&["", "", "v", "V", " "]).to_owned();
    let parts = 1 + random.below(4);
    let numbers: Vec<&str> = (0..parts)
        .map(|_| random.pick(&["0", "1", "2", "10", "31", "01", "18446744073709551615", "x"]))
        .collect();
    out.push_str(&numbers.join("."));
    if random.one_in(3) {
        out.push_str(random.pick(&[
            "-0",
            "-rc.1",
            "-alpha.beta",
            "-01",
            "-1.x-y",
            "-",
            "-é",
            "-rc.18446744073709551616",
        ]));
    }
    if random.one_in(4) {
        out.push_str(random.pick(&["+b", "+5.01", "+", "+a_b", "+a-b"]));
    }
    out
}

pub(super) fn constraint(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        out.push_str(
            random.pick(&["", ">=", "<", "=", "!=", "^", "~", "~>", "=<", ">", "> ", "^ ", "=>", "<>"]),
        );
        let mut bound = version(random);
        if random.one_in(4) {
            bound.push_str(random.pick(&[".x", ".X", ".*", "-0"]));
        }
        if random.one_in(12) {
            bound = random.pick(&["*", "x", "1.x.x", "*.1", "x.2"]).to_owned();
        }
        out.push_str(&bound);
        out.push_str(random.pick(&["", " ", ", ", ",", " || ", "||", " - ", "  ", " -"]));
    }
    out
}

pub(super) fn number(random: &mut Random) -> String {
    let mut out = random.pick(&["", "", "", "-", "+", " "]).to_owned();
    out.push_str(random.pick(&["", "", "", "0x", "0b", "0o", "0", "0X_"]));
    out += &row(random, 3, &["1", "0", "9", "7", "42", "000", "_", "999999999", "f", "."]);
    if random.one_in(3) {
        out.push_str(
            random
                .pick(&["e5", "E-3", "e+400", "e", ".5", ".", "p4", "i", "inf", "nan", "e-400", "Infinity"]),
        );
    }
    out
}
