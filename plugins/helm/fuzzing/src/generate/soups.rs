//! Arguments that no pool has: expressions, layouts, dates, versions, numbers, addresses and TOML out of their parts,
//! most of them well-formed.

mod expressions;
mod numbers;
mod times;
mod toml;

use helm_template::fmt;

use self::expressions::{expression, replacement};
use self::numbers::{constraint, number, version};
use self::times::{date, duration, layout};
use self::toml::toml;
use crate::Random;

/// What makes a text of its kind.
type Maker = fn(&mut Random) -> String;

/// Calls with a letter after `@` for each argument that is made up.
const CALLS: &[&str] = &[
    "mustRegexMatch @r @w",
    "mustRegexFind @r @w",
    "mustRegexFindAll @r @w -1 | toJson",
    "mustRegexReplaceAll @r @w @p",
    "mustRegexReplaceAllLiteral @r @w @p",
    "mustRegexSplit @r @w -1 | toJson",
    "mustRegexSplit @r @w 2 | toJson",
    "regexQuoteMeta @r",
    "mustToDate @l @d | printf \"%v\"",
    "toDate @l @d | date @l",
    "date_in_zone @l (toDate \"2006-01-02T15:04:05Z07:00\" \"2024-02-29T23:59:58.987654321+02:00\") \"UTC\"",
    "(toDate \"2006-01-02 15:04:05\" \"1999-12-31 00:00:09\").Format @l",
    "(toDate \"2006-01-02\" \"0099-01-01\").Format @l",
    "dateInZone @l (toDate @l @d) @z",
    "dateModify @t (toDate \"2006-01-02\" \"2024-03-31\") | printf \"%v\"",
    "mustToDuration @t | printf \"%v\"",
    "durationRound @t",
    "durationSeconds @t",
    "durationRoundTo @t @t | printf \"%v\"",
    "semver @v | toJson",
    "(semver @v).Compare (semver @v)",
    "((semver @v).SetPrerelease @v).Original",
    "semverCompare @c @v",
    "int @n",
    "int64 @n",
    "float64 @n",
    "atoi @n",
    "toDecimal @n",
    "add @n @n",
    "mulf @n 3",
    "divf @n @n",
    "round @n 2",
    "printf \"%d %v %g\" (int64 @n) (float64 @n) (float64 @n)",
    "urlParse @u | toJson",
    "urlJoin (urlParse @u)",
    "urlquery @u",
    "fromToml @m | toJson",
    "fromToml @m | toToml",
    "fromToml @m | toYaml",
    "camelcase @w",
    "snakecase @w",
    "kebabcase @w",
    "title @w",
    "untitle @w",
    "initials @w",
    "swapcase @w",
    "nospace @w",
    "wrap 7 @w",
    "wrapWith 5 \"|\" @w",
    "abbrev 9 @w",
    "abbrevboth 4 11 @w",
    "trunc -4 @w | printf \"%q\"",
    "substr 1 6 @w | printf \"%q\"",
    "trimAll @w @w",
    "splitList @p @w | toJson",
    "split @p @w | toJson",
    "splitn @p 3 @w | toJson",
    "replace @p @w @w",
    "html @w",
    "js @w",
    "quote @w",
    "squote @w",
    "indent 3 @w",
    "nindent 2 @w",
    "b32enc @w",
    "b64dec @w",
    "sha512sum @w",
    "adler32sum @w",
    "toJson @w",
    "toYaml @w",
    "toYaml (dict @w @w @p (list @w @n))",
    "toYamlPretty (dict @w @w @p (list @w @n))",
    "toToml (dict @w @w @p (list @w @n))",
    "fromJson @w | toJson",
    "fromYaml @w | toJson",
    "osBase @u",
    "osDir @u",
    "osClean @u",
    "osExt @u",
    "base @u",
    "dir @u",
    "clean @u",
    "ext @u",
];

/// A call of one of the functions.
pub(super) fn call(random: &mut Random) -> String {
    let mut out = "{{ ".to_owned();
    let mut rest = random.pick(CALLS);
    while let Some((before, after)) = rest.split_once('@') {
        let (maker, after) = after.split_at(1);
        let make: Maker = match maker {
            "r" => expression,
            "l" => layout,
            "d" => date,
            "t" => duration,
            "v" => version,
            "c" => constraint,
            "n" => number,
            "u" => address,
            "m" => toml,
            "p" => replacement,
            "z" => |random| {
                random.pick(&["UTC", "Local", "Europe/Berlin", "America/New_York", "Nowhere", ""]).to_owned()
            },
            _ => words,
        };
        let mut text = make(random);
        if random.one_in(12) {
            text = damaged(random, &text);
        }
        out.push_str(before);
        out.push_str(&fmt::quote(text.as_bytes()));
        rest = after;
    }
    out + rest + " }}"
}

/// A few pieces in a row.
fn row(random: &mut Random, most: usize, pieces: &[&str]) -> String {
    (0..=random.below(most)).map(|_| random.pick(pieces)).collect()
}

/// One character less, or another.
fn damaged(random: &mut Random, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if !characters.is_empty() {
        let at = random.below(characters.len());
        if random.one_in(2) {
            characters.remove(at);
        } else {
            characters[at] =
                random.pick(&["0", "-", ".", " ", "[", "\\", "é", "\"", "="]).chars().next().unwrap();
        }
    }
    characters.into_iter().collect()
}

fn words(random: &mut Random) -> String {
    row(
        random,
        8,
        &[
            "a",
            "b",
            "ab",
            "Abc",
            "XYZ",
            " ",
            "  ",
            "_",
            "-",
            ".",
            ",",
            "1",
            "42",
            "é",
            "É",
            "ß",
            "日本",
            "\n",
            "\t",
            "\u{0}",
            "\u{85}",
            "\u{a0}",
            "\u{2028}",
            "\u{feff}",
            "😀",
            "'",
            "\"",
            "\\",
            "<",
            "&",
            "$",
            "{",
            "}",
            "/",
            ":",
            "#",
            "=",
            "true",
            "null",
            "~",
            "0x1",
            "HTML",
            "iPhone",
            "a long word ",
            "İ",
            "ǅ",
            "%",
            "@",
            "!",
        ],
    )
}

fn address(random: &mut Random) -> String {
    let mut out = random
        .pick(&[
            "",
            "http:",
            "https://",
            "HTTP://",
            "a+b-c.1://",
            "//",
            "/",
            "mailto:",
            ":",
            "1a:",
            "file:///",
        ])
        .to_owned();
    if random.one_in(3) {
        out.push_str(random.pick(&["user@", "u:p@", "u:@", "%41:b%40@", "u@v@", ":@"]));
    }
    out.push_str(random.pick(&[
        "",
        "host",
        "h.example:80",
        "[::1]:8",
        "[fe80::1%25en0]",
        "1.2.3.4",
        "hö",
        "h:",
        "h:x",
        "a b",
        "[::1",
        "%41",
    ]));
    out += &row(
        random,
        3,
        &["/", "a", "..", ".", "%2F", "%zz", " ", "é", ";p", "//", "*", "b.tar.gz", "+", "\\"],
    );
    out.push_str(random.pick(&["", "", "?", "?q=1&r", "?a b", "?%zz", "?é", "?x?y"]));
    out.push_str(random.pick(&["", "", "#", "#f", "#a b", "#%zz", "#é#"]));
    out
}
