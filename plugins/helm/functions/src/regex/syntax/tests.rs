//! What of Go's syntax is taken, and how the rest is refused.

use super::*;

#[test]
fn what_go_accepts_the_crate_accepts_too() {
    for go in [
        "{{.*}}",
        "a{2,3}b{1}",
        "[[]x",
        "[[:alpha:]_]+",
        "[]a]",
        "\\p{Greek}",
        "^[\\w-\\.]+$",
        "[a-z\\d-]",
        "(?P<n>a)(?P<n>b)",
        "a(?i)*",
        "(?U)a+?",
        "[^\\x00-\\x{10FFFF}]",
        "\\Qa.b*\\E+",
        "x{2}{",
        "(?:)*",
        "^*",
    ] {
        let translated = translate(go).unwrap();
        assert!(regex::bytes::Regex::new(&translated.pattern).is_ok(), "{go}: {}", translated.pattern);
    }
}

#[test]
fn what_go_refuses_is_refused_in_its_words() {
    for (go, error) in [
        ("[", "error parsing regexp: missing closing ]: `[`"),
        ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
        ("*", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"),
        ("\\", "error parsing regexp: trailing backslash at end of expression: ``"),
        ("[z-a]", "error parsing regexp: invalid character class range: `z-a`"),
    ] {
        assert_eq!(translate(go).unwrap_err().to_string(), error);
    }
}
