//! What arguments are taken from.

mod documents;
mod expressions;

pub use documents::TOML;
use documents::{BASE32, BASE64, JSON, URLS, YAML};
use expressions::REPLACEMENTS;
pub use expressions::{CONSTRAINTS, PATTERNS, VERSIONS};

/// Texts for parameters that could be any.
pub(crate) const TEXTS: &[&str] = &[
    "",
    "a",
    "abc",
    "Hello World",
    "foo_bar-baz",
    "FooBarBaz",
    "HTTPServer2Go",
    "ünïcödé ŝtring",
    "日本語 text",
    "a,b,,c",
    "--x--",
    "  lead and trail  ",
    "tab\tand\nnewline",
    "\u{1F600} smile",
    "ǆ ß ŉ İ ı ﬁ",
    "O'Neil's d'Artagnan",
    "1.2.3",
    "x86_64-linux",
    "$1 ${2} $$ \\",
    "the quick brown fox jumps over the lazy dog",
    "AAAA",
    "aaa",
    "<a href=\"x\">&</a>",
    "a.b.c",
    "/",
    "name@example.com",
    "\u{2028}\u{feff}",
    "NoHTTPS",
    "snake_case_2_go",
    "__lead",
    "trail__",
    "A",
    "aB",
    "Ab1C",
    "123abc",
    "ID",
    "userID",
    "x Y z",
    "éÉ",
    "İstanbul",
    "camelCase",
    "HTML5Parser",
    "foo  bar",
    "foo--bar_ baz",
    "ABC_DEF",
];

const LAYOUTS: &[&str] = &[
    "2006-01-02",
    "2006-01-02T15:04:05Z07:00",
    "Mon Jan _2 15:04:05 2006",
    "02/01/06 03:04PM",
    "Monday, January 2 2006",
    "15:04:05.000",
    "15:04:05.999999999",
    "15:04:05,000",
    "3:4:5pm",
    "002",
    "__2",
    "MST -0700",
    "-07:00",
    "Z0700 -07 Z07",
    "Z070000 -070000 Z07:00:00",
    "junk",
    "",
    "2006",
    "06 1 2",
    "Jan 2",
    "20060102150405",
    ".00 .99",
    "Januaryx Mondayx",
    "1-2-3",
    "Mon, 02 Jan 2006 15:04:05 MST",
    "05.0 4 5",
    "PM pm",
    "Sept 10",
];
const DATES: &[&str] = &[
    "2024-02-29",
    "2023-02-29",
    "2024-02-29T12:34:56Z",
    "2024-02-29T12:34:56.789+02:00",
    "Mon Jan  2 15:04:05 2006",
    "29/02/24 11:59PM",
    "Thursday, February 29 2024",
    "12:34:56.123",
    "12:34:56",
    "060",
    "366",
    "",
    "junk",
    "2024-13-01",
    "24:00:00",
    "2024",
    "24 2 9",
    "Feb 3",
    "20240229123456",
    "2024-2-9",
    "2024-02-29 ",
    "x2024-02-29",
    "-0001-01-01",
    "Fri, 01 Mar 2024 10:00:00 CET",
    "Fri, 01 Mar 2024 10:00:00 UTC",
    "UTC +0000",
    "CET +0100",
    "+05:30",
    "3:4:5pm",
    "13:4:5pm",
    "59.5 4 5",
    "PM am",
    "+0100 +01 Z",
    "12:34:56,5",
];
const ZONES: &[&str] = &[
    "UTC",
    "",
    "Local",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "europe/berlin",
    "Nowhere/City",
    "EST",
    "GMT",
    "Etc/GMT+5",
    "CET",
    "../x",
    "Australia/Lord_Howe",
    "EST5EDT",
    "America/Sao_Paulo",
];
const DURATIONS: &[&str] = &[
    "1h",
    "-1h30m",
    "90s",
    "1.5h",
    "100ms",
    "5us",
    "5µs",
    "3ns",
    "0",
    "",
    "h",
    "1",
    "1d",
    "1h1",
    "+5m",
    "-0",
    ".5s",
    "1.s",
    ".s",
    "24h",
    "8760h",
    "730h",
    "2562047h47m16.854775807s",
    "2562048h",
    " 5m ",
    "2.5",
    "1e3",
    "-3",
    "NaN",
    "Inf",
    "1e300",
    "26h",
    "59s",
    "1h0.000000001s",
    "0x10",
    "1_0",
    "9223372036",
    "9223372037",
];
const TYPES: &[&str] = &[
    "string",
    "int",
    "int64",
    "float64",
    "bool",
    "slice",
    "map",
    "[]interface {}",
    "map[string]interface {}",
    "invalid",
    "<nil>",
    "semver.Version",
    "*semver.Version",
    "struct",
    "ptr",
    "time.Time",
];
const PATHS: &[&str] = &[
    "",
    ".",
    "/",
    "//",
    "/a/b",
    "a/b/",
    "a//b/../c",
    "../..",
    "/..",
    "a/./b",
    "x.tar.gz",
    ".hidden",
    "a.b/c",
    "a/b.c/",
    "..a",
    "/a/../..",
    "./",
    "a/..",
];
const KEYS: &[&str] = &["a", "b", "c", "d", "e", "k", "n", "z", "missing", ""];

const SEPARATORS: &[&str] = &["", ",", " ", "a", "--", "\n", ".", "é", "o"];

/// What a parameter of a function is likely to be given; nothing when it could be any text.
pub(crate) fn texts(name: &str, index: usize) -> &'static [&'static str] {
    let plain = name.strip_prefix("must").unwrap_or(name).to_ascii_lowercase();
    match (plain.as_str(), index) {
        ("regexquotemeta", _) => PATTERNS,
        (name, 0) if name.starts_with("regex") => PATTERNS,
        (name, 2) if name.starts_with("regexreplace") => REPLACEMENTS,
        ("semver", _) | ("semvercompare", 1) => VERSIONS,
        ("semvercompare", 0) => CONSTRAINTS,
        ("date" | "dateinzone" | "date_in_zone" | "todate", 0) => LAYOUTS,
        ("todate", 1) => DATES,
        ("dateinzone" | "date_in_zone", 2) | ("htmldateinzone", 1) => ZONES,
        ("datemodify" | "date_modify" | "_date_modify", 0) => DURATIONS,
        (name, _) if name.starts_with("duration") || name == "toduration" => DURATIONS,
        ("urlparse", _) => URLS,
        ("b64dec" | "decryptaes", _) => BASE64,
        ("b32dec", _) => BASE32,
        (name, 0) if name.starts_with("fromjson") => JSON,
        (name, 0) if name.starts_with("fromyaml") => YAML,
        ("fromtoml", 0) => TOML,
        ("typeis" | "typeislike" | "kindis", 0) => TYPES,
        (
            "base" | "dir" | "clean" | "ext" | "isabs" | "osbase" | "osdir" | "osclean" | "osext" | "osisabs",
            _,
        ) => PATHS,
        ("get" | "set" | "unset" | "haskey" | "pick" | "omit", 1..) | ("pluck", 0) => KEYS,
        ("split" | "splitn" | "splitlist" | "join", 0) => SEPARATORS,
        ("replace" | "trimall" | "trimprefix" | "trimsuffix" | "contains" | "hasprefix" | "hassuffix", 0) => {
            SEPARATORS
        }
        _ => &[],
    }
}

/// Whether numbers of a function are lengths: Go tries to make what is that long.
pub(crate) fn has_lengths(name: &str) -> bool {
    matches!(name, "until" | "untilStep" | "seq" | "repeat" | "indent" | "nindent" | "chunk" | "mustChunk")
}

/// Numbers for a function: small where they are lengths.
pub(crate) fn numbers(name: &str) -> &'static [&'static str] {
    if has_lengths(name) {
        return &["0", "1", "2", "3", "5", "7", "-1", "-2", "-5", "20", "$.i", "$.ineg"];
    }
    &[
        "0", "1", "2", "3", "4", "5", "6", "7", "10", "13", "80", "-1", "-2", "-5", "-30", "$.i", "$.ineg",
        "$.imax", "$.imin", "$.i64",
    ]
}

/// What takes too long, or is different every time: it has tests of its own.
pub(crate) fn is_slow(name: &str) -> bool {
    name.starts_with("gen")
        || name.starts_with("rand")
        || matches!(name, "bcrypt" | "htpasswd" | "derivePassword" | "encryptAES" | "uuidv4" | "shuffle")
}

/// Every combination of what belongs together, as templates.
pub fn combinations() -> Vec<String> {
    let quote = |text: &str| helm_template::fmt::quote(text.as_bytes());
    let mut out = Vec::new();
    for version in VERSIONS {
        for constraint in CONSTRAINTS {
            out.push(format!("{{{{ semverCompare {} {} }}}}", quote(constraint), quote(version)));
        }
    }
    for pattern in PATTERNS {
        for source in TEXTS.iter().step_by(6) {
            let (pattern, source) = (quote(pattern), quote(source));
            out.push(format!("{{{{ mustRegexFindAll {pattern} {source} -1 | printf \"%q\" }}}}"));
            out.push(format!("{{{{ regexReplaceAll {pattern} {source} \"<${{1}}>\" }}}}"));
        }
    }
    for layout in LAYOUTS {
        for date in DATES {
            out.push(format!("{{{{ mustToDate {} {} | toString }}}}", quote(layout), quote(date)));
        }
        for zone in ZONES {
            out.push(format!("{{{{ dateInZone {} (int64 1710000000) {} }}}}", quote(layout), quote(zone)));
        }
    }
    for document in TOML {
        let read = format!("fromToml {}", quote(document));
        out.push(format!("{{{{ {read} | toJson }}}}"));
        out.push(format!("{{{{ {read} | toToml }}}}"));
    }
    for url in URLS {
        out.push(format!("{{{{ urlParse {} | toJson }}}}", quote(url)));
        out.push(format!("{{{{ urlParse {} | urlJoin }}}}", quote(url)));
    }
    for text in TEXTS {
        for name in
            ["snakecase", "camelcase", "kebabcase", "title", "untitle", "swapcase", "initials", "nospace"]
        {
            out.push(format!("{{{{ {name} {} | quote }}}}", quote(text)));
        }
    }
    out
}
