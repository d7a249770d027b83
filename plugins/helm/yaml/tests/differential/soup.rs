//! Texts made of the pieces that YAML is made of, from a seed.

/// A small generator of numbers, the same on every machine (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

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
    (0..1 + random.below(length)).map(|_| random.one_of(PIECES)).collect()
}

/// A text that is more likely to be YAML: lines with rising and falling indentation.
pub fn lines(random: &mut Random, count: usize) -> String {
    const KEYS: &[&str] =
        &["a", "b", "c", "name", "\"q\"", "'s'", "1", "1.5", "yes", "~", "<<", "? k\n", "x y", "!!str 1"];
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
            _ => {
                out.push_str(random.one_of(KEYS));
                out.push(':');
                out.push(' ');
                out.push_str(random.one_of(VALUES));
            }
        }
        out.push('\n');
    }
    out
}
