//! Texts made of the pieces that YAML is made of, from a seed.

use crate::Random;

/// The ways to read a document.
pub const READERS: &[&str] = &["yaml-to-json", "yaml-to-json-strict", "from-yaml-map", "from-yaml-list"];

const PIECES: &[&str] = &[
    "a",
    "b",
    "key",
    "value",
    "x y",
    "1",
    "-1",
    "0x1F",
    "0777",
    "1.5",
    "1e3",
    ".5",
    ".inf",
    "-.inf",
    ".nan",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "true",
    "false",
    "null",
    "~",
    "2001-01-01",
    "1:30",
    "1_000",
    "18446744073709551615",
    ": ",
    ":",
    ": ",
    ": ",
    "- ",
    "- ",
    "-",
    "? ",
    "?",
    ", ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "[]",
    "{}",
    "\n",
    "\n",
    "\n",
    "\n  ",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n  - ",
    "\n\n",
    " ",
    "  ",
    "\t",
    "'",
    "\"",
    "''",
    "'it''s'",
    "\"q\"",
    "\"\\n\"",
    "\"\\u00e9\"",
    "\"\\x41\\U0001F600\"",
    "\"\\q\"",
    "\\",
    "\"a\\\n  b\"",
    "|",
    ">",
    "|-",
    "|+",
    ">-",
    "|2",
    "|-1",
    ">+9",
    "|\n",
    "|\n  text\n",
    ">\n  a\n  b\n\n  c\n",
    "|-\n  x\n   y\n",
    "#",
    " # comment",
    "# comment\n",
    "&a ",
    "*a",
    "&b ",
    "*b",
    "<<: ",
    "<<",
    "<<: *a",
    "<<: [*a, *b]",
    "! ",
    "!!str ",
    "!!int ",
    "!!float ",
    "!!binary ",
    "!!null ",
    "!!bool ",
    "!!timestamp ",
    "!foo ",
    "!e!x ",
    "!<tag:yaml.org,2002:str> ",
    "aGVsbG8=",
    "---",
    "---\n",
    "\n---\n",
    "...",
    "\n...\n",
    "%YAML 1.1\n",
    "%TAG !e! tag:e,2000:\n",
    "%",
    "@",
    "`",
    "\r\n",
    "\r",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{FEFF}",
    "é",
    "日本",
    "😀",
    "\u{A0}",
    "a: 1\n",
    "b: 2\n",
    "c:\n  d: e\n",
    "a:\n- 1\n- 2\n",
    "a: &a {x: 1}\n",
    "b: *a\n",
    "\"a\": 'b'\n",
    "? x\n: y\n",
    "[a, b: c, {d: e}]",
    "{a: 1, b: [2], c}",
    "\u{7F}",
    "\0",
];

/// A text of up to `length` pieces.
pub fn text(random: &mut Random, length: usize) -> String {
    (0..1 + random.below(length)).map(|_| random.pick(PIECES)).collect()
}

const KEYS: &[&str] =
    &["a", "b", "c", "name", "\"q\"", "'s'", "1", "1.5", "yes", "~", "<<", "? k\n", "x y", "? |\n  k\n"];

const VALUES: &[&str] = &[
    "",
    "",
    "",
    "1",
    "text",
    "'single'",
    "\"double\"",
    "|\n",
    "|-\n",
    ">\n",
    ">+\n",
    "|2\n",
    "[1, a, 'b']",
    "{a: 1, b: }",
    "&a x",
    "*a",
    "&a",
    "# c",
    "yes",
    "0x10",
    "1e400",
    "long text with words",
    "a: b",
    "- x",
    "!!int 5",
    "!!str",
    "\"multi\n  line\"",
    "plain\n  multi",
    "null",
    ".inf",
    "2001-12-14t21:59:43Z",
    "{",
    "]",
];

/// A text that is more likely to be YAML: lines with rising and falling indentation.
pub fn lines(random: &mut Random, count: usize) -> String {
    let mut out = String::new();
    let mut indent: usize = 0;
    for _ in 0..1 + random.below(count) {
        match random.below(6) {
            0 => indent += 2,
            1 => indent = indent.saturating_sub(2),
            2 => indent = 0,
            3 if random.below(8) == 0 => indent += 1,
            _ => {}
        }
        out.push_str(&" ".repeat(indent));
        if random.below(3) == 0 {
            out.push_str("- ");
        }
        match random.below(10) {
            0 => out.push_str("just text"),
            _ => out.push_str(&format!("{}: {}", random.pick(KEYS), random.pick(VALUES))),
        }
        out.push('\n');
    }
    out
}

/// A mapping of anchors, aliases and merges.
pub fn anchored(random: &mut Random) -> String {
    const NODES: &[&str] = &[
        "1",
        "x",
        "{x: 1}",
        "{x: 2, y: {z: 3}}",
        "[1, 2]",
        "{<<: *b, w: 1}",
        "[*a, *b]",
        "*a",
        "*b",
        "*c",
        "{*a : 1}",
    ];
    (0..2 + random.below(6))
        .map(|at| {
            let key = if random.below(4) == 0 { "<<".to_owned() } else { format!("k{}", at % 5) };
            let anchor = random.pick(&["", "&a ", "&b ", "&c "]);
            let node = match random.below(4) {
                0 => random.pick(&["[*a, *b]", "*a", "*b", "[{x: 5}, *b]", "[[]]"]),
                _ => random.pick(NODES),
            };
            let anchor = if node.starts_with('*') { "" } else { anchor };
            format!("{key}: {anchor}{node}\n")
        })
        .collect()
}

/// Lines of several pieces of go-yaml's input, with something wrong or unusual in them.
pub fn damaged(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    while text.len() < 1 + random.below(2000) {
        let indent = "  ".repeat(random.below(2));
        let value = random.pick(&[
            "é",
            "x",
            "😀 y",
            "'q'",
            "# comment with many words in it",
            "1",
            "[a, b]",
            "|\n    t",
        ]);
        text.push_str(&format!("{indent}k{}: {value}\n", text.len()));
    }
    for _ in 0..random.below(3) {
        let at = (0..=random.below(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(
            at,
            random.pick(&["\u{FEFF}", "\n\u{FEFF}", "\u{85}", "\u{2028}", "\u{7F}", "\r\n", "\t", "]"]),
        );
    }
    match random.below(8) {
        0 => text
            .encode_utf16()
            .fold(vec![0xFF, 0xFE], |bytes, unit| [bytes, unit.to_le_bytes().into()].concat()),
        1 => text
            .encode_utf16()
            .fold(vec![0xFE, 0xFF], |bytes, unit| [bytes, unit.to_be_bytes().into()].concat()),
        2 => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        _ => text.into_bytes(),
    }
}

/// Sets a byte, or cuts the text off.
pub fn break_bytes(random: &mut Random, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.insert(at, [0x00, 0x80, 0xC3, 0xE2, 0xFF, 0x1F, 0xED][random.below(7)]),
        _ => {}
    }
    bytes
}
