//! Compares with Go's own text/template, output and error texts, on the cases of `../cases` and on
//! generated ones. Skipped aloud when there is no `go`.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod formats;

use helm_fuzzing::generate::templates::{data, templates};
use helm_fuzzing::{Question, ask, differ, ours, shown};

use crate::cases::{cases, read};

fn check(file: &str) {
    check_all(&cases(file));
}

fn check_all(cases: &[Question]) {
    assert!(cases.len() > 20, "only {} cases", cases.len());
    let Some(answers) = ask(cases) else { return };
    let mut differences = 0;
    for (case, theirs) in cases.iter().zip(answers) {
        let ours = ours::answer(case);
        if differ(case, &ours, &theirs) {
            differences += 1;
            let texts = case.parts.iter().filter(|(name, _)| name != "data");
            if differences <= 12 {
                for (name, text) in texts {
                    eprintln!("\n{name}: {}", String::from_utf8_lossy(text));
                }
                eprintln!("  Go:  {}\n  we:  {}", shown(&theirs), shown(&ours));
            }
        }
    }
    assert_eq!(differences, 0, "differences in {} cases", cases.len());
}

#[test]
fn parsing_accepts_and_refuses_what_go_does() {
    check("parse.txt");
}

#[test]
fn executing_writes_what_go_writes() {
    check("exec.txt");
}

#[test]
fn failing_says_what_go_says() {
    check("errors.txt");
}

#[test]
fn every_directive_prints_every_value_as_fmt_does() {
    check_all(&formats::directives(&data()));
}

#[test]
fn malformed_formats_print_what_fmt_prints() {
    check_all(&formats::formats(&read("formats.txt"), &read("arguments.txt"), &data()));
}

#[test]
fn floats_have_the_digits_of_strconv() {
    check_all(&formats::floats());
}

/// Templates made up from a grammar, a new lot for each seed. `FUZZ_SEEDS=100..200` runs those.
#[test]
fn made_up_templates_do_what_go_does() {
    let seeds = std::env::var("FUZZ_SEEDS").unwrap_or_else(|_| "1..3".to_owned());
    let (from, to) = seeds.split_once("..").expect("FUZZ_SEEDS=FROM..TO");
    let data = data();
    let cases: Vec<Question> =
        (from.parse().unwrap()..to.parse().unwrap()).flat_map(|seed| templates(seed, 1000, &data)).collect();
    for lot in cases.chunks(20_000) {
        check_all(lot);
    }
}
