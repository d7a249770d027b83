//! `.helmignore` and the paths that it is asked about, and patterns of `.Files.Glob`.

use crate::{Question, Random};

const PIECES: [&str; 34] = [
    "*",
    "*",
    "?",
    "[a-c]",
    "[^a]",
    "[!a]",
    "[",
    "]",
    "[]",
    "[a",
    "[-a]",
    "[b-a]",
    "\\",
    "\\*",
    "**",
    "/",
    "/",
    "/",
    "!",
    "#",
    " ",
    "\t",
    "a",
    "b",
    "txt",
    ".",
    ".txt",
    "templates",
    "charts",
    "conf",
    "é",
    "./",
    "../",
    "//",
];
const PATHS: [&str; 18] = [
    "a",
    "b.txt",
    "a/b/c.txt",
    "conf/a.txt",
    "conf/deep/b.txt",
    "templates/a.yaml",
    "templates/.hidden",
    "templates/..",
    "templates/.a/b",
    "charts/kid/Chart.yaml",
    ".git/config",
    "é.txt",
    "a b",
    "#a",
    "!a",
    "[a]",
    "*",
    "conf",
];

fn pattern(random: &mut Random) -> String {
    (0..1 + random.below(4)).map(|_| random.pick(&PIECES)).collect()
}

/// A question about a `.helmignore`.
pub(super) fn question(random: &mut Random) -> Question {
    let mut rules = String::new();
    for _ in 0..1 + random.below(4) {
        rules.push_str(random.pick(&["", "", "", "!", "/", " ", "\u{feff}"]));
        rules.push_str(&pattern(random));
        rules.push_str(random.pick(&["\n", "\n", "/\n", "\r\n", " \n", "\n\n# comment\n"]));
    }
    Question::new("ignore", [("rules", rules.as_bytes()), ("paths", PATHS.join("\n").as_bytes())])
}

/// A pattern of `.Files.Glob`, as a constant of a template.
pub(super) fn glob(random: &mut Random) -> String {
    const MORE: [&str; 12] = [
        "**",
        "{a,b}",
        "{",
        "}",
        ",",
        "{conf,templates}/",
        "*.{txt,json}",
        "conf/*",
        "[!c]",
        "**/",
        "?",
        "deep",
    ];
    let pieces: String = (0..1 + random.below(4))
        .map(|_| if random.one_in(2) { random.pick(&MORE) } else { random.pick(&PIECES) })
        .collect();
    helm_template::fmt::quote(pieces.as_bytes())
}
