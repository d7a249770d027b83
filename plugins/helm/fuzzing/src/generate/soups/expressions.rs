//! Regular expressions and what is put in the place of their matches.

use super::row;
use crate::Random;

pub(super) fn expression(random: &mut Random) -> String {
    expression_within(random, 3)
}

fn expression_within(random: &mut Random, depth: usize) -> String {
    let atoms = [
        "a",
        "b",
        ".",
        "é",
        "[a-c]",
        "[^a-z]",
        "[[:alpha:]]",
        "[[:^digit:]_]",
        "\\d",
        "\\W",
        "\\s",
        "\\pL",
        "\\p{Greek}",
        "\\PN",
        "[\\d\\-x]",
        "\\x41",
        "\\x{1F600}",
        "\\n",
        "\\.",
        "\\Qa.b\\E",
        "^",
        "$",
        "\\b",
        "\\B",
        "\\A",
        "\\z",
        "(?i)",
        "(?s).",
        "(?m)^",
        "[]a]",
        "[a\\]]",
        "{",
        "a{",
        "\\C",
        "\\1",
        "\\07",
        "\\_",
        "[z-a]",
        "x{1001}",
    ];
    let quantifiers = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,}", "{0,2}?", "{,3}", "**"];
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        let atom = if depth > 0 && random.one_in(4) {
            let opening = random.pick(&["(", "(?:", "(?P<name>", "(?<name>", "(?i:", "(?U)(", "(?-s:"]);
            format!("{opening}{})", expression_within(random, depth - 1))
        } else {
            random.pick(&atoms).to_owned()
        };
        out.push_str(&atom);
        out.push_str(random.pick(&quantifiers));
        if random.one_in(6) {
            out.push('|');
        }
    }
    out
}

pub(super) fn replacement(random: &mut Random) -> String {
    row(random, 3, &["$1", "${1}", "$0", "$name", "${name}x", "$$", "$", "-", "x", "${", "$2y", "é", ",", ""])
}
