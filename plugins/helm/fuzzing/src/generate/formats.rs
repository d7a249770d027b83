//! Formats for printf, with arguments of every kind.

use helm_template::fmt;

use crate::Random;
use crate::ours::data;

const FLAGS: [&str; 8] = ["", "", "", "+", "-", "#", " ", "0"];
const WIDTHS: [&str; 8] = ["", "", "", "1", "9", "24", "*", "[1]*"];
const PRECISIONS: [&str; 9] = ["", "", "", ".", ".0", ".2", ".7", ".*", ".[2]*"];
const INDEXES: [&str; 8] = ["", "", "", "", "[1]", "[2]", "[3]", "[x]"];
const VERBS: [&str; 25] = [
    "v", "v", "v", "d", "s", "q", "x", "X", "t", "c", "U", "b", "o", "O", "e", "E", "f", "F", "g", "G", "T",
    "w", "%", "z", "",
];
const ARGUMENTS: [&str; 14] = [
    "nil",
    "1",
    "-3",
    "1.5",
    "\"a\"",
    "true",
    "'x'",
    "(list 1 \"a\" nil)",
    "(dict \"k\" (list 1) \"a\" nil)",
    "(semver \"1.2.3-rc.1\")",
    "(toDate \"2006-01-02\" \"2021-03-04\").UTC",
    "(mustToDuration \"90m\")",
    "(list)",
    "(dict)",
];

/// A call of printf with a few directives.
pub fn directive(random: &mut Random) -> String {
    let mut format = String::new();
    for _ in 0..=random.below(3) {
        let flags = [random.pick(&FLAGS), random.pick(&FLAGS)].concat();
        let index = random.pick(&INDEXES);
        let (width, precision) = (random.pick(&WIDTHS), random.pick(&PRECISIONS));
        format.push_str(&format!("%{flags}{width}{precision}{index}{}", random.pick(&VERBS)));
        format.push_str(random.pick(&["", " ", "é", "|"]));
    }
    let mut out = format!("{{{{ printf {}", fmt::quote(format.as_bytes()));
    let names = data::names();
    for _ in 0..random.below(4) {
        out.push(' ');
        match random.below(2) {
            0 => out.push_str(random.pick(&ARGUMENTS)),
            _ => out.push_str(&format!("$.{}", names[random.below(names.len())])),
        }
    }
    out + " }}"
}
