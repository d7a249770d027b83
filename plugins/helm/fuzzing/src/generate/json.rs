//! JSON that is read.

use crate::{Question, Random};

/// The ways to read JSON.
pub const READERS: &[&str] = &["from-json", "from-json-map", "from-json-list"];

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "{",
    "[",
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"a/~b\"",
    "\"0\"",
    "1",
    "-1",
    "0",
    "01",
    "1.5",
    "1e3",
    "1e999",
    "-1e999",
    "1e",
    "1.",
    "-",
    "+1",
    ".5",
    "true",
    "false",
    "null",
    "tru",
    "nulx",
    "t",
    " ",
    "\n",
    "\t",
    "\r",
    "\"\\n\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ud83dx\"",
    "\"\\q\"",
    "\"\\é\"",
    "\"\\`\"",
    "\"\\u12\"",
    "\"\\u12x4\"",
    "\"\t\"",
    "\"\u{0}\"",
    "\"unterminated",
    "\"\\",
    "'",
    "é",
    "\u{FEFF}",
    "\u{2028}",
    "\"é😀\"",
    "\"k\":1",
    "\"k\":[1,2]",
    "\"k\":{\"x\":1e999}",
    "{\"a\":1}",
    "[1,2]",
    "[]",
    "{}",
    "{\"a\":{\"b\":[1e999]}}",
    "`",
    "\\",
    "/",
    "//",
    "#",
];

/// A text of a few pieces.
pub fn text(random: &mut Random) -> Vec<u8> {
    let mut text: Vec<u8> =
        (0..1 + random.below(9)).flat_map(|_| random.pick(PIECES).bytes().collect::<Vec<_>>()).collect();
    if random.below(20) == 0 && !text.is_empty() {
        let at = random.below(text.len());
        text[at] = random.next() as u8;
    }
    if random.below(20) == 0 {
        text.truncate(random.below(text.len() + 1));
    }
    text
}

/// Nested arrays and objects that are JSON but for a mistake now and then.
pub fn nested(random: &mut Random, depth: usize, out: &mut String) {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => out.push_str(random.pick(&[
            "1",
            "1e999",
            "-2.5e-3",
            "true",
            "null",
            "\"s\"",
            "12345678901234567890",
        ])),
        1..4 => out.push_str(random.pick(PIECES)),
        4 | 5 => {
            out.push('[');
            for at in 0..random.below(4) {
                out.push_str(if at > 0 { "," } else { "" });
                nested(random, depth - 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for at in 0..random.below(4) {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(random.pick(&[
                    "\"a\"",
                    "\"b\"",
                    "\"a/b~\"",
                    "\"1\"",
                    "\"\"",
                    "\"x.1\"",
                    "\"\\u0041\"",
                ]));
                out.push(':');
                nested(random, depth - 1, out);
            }
            out.push('}');
        }
    }
}

/// Every way to read a text.
pub fn questions(text: &[u8]) -> impl Iterator<Item = Question> {
    READERS.iter().map(move |op| Question::yaml(op, text))
}
