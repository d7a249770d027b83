//! Compares with the functions of Helm's own engine, output and error texts, on the cases of `../cases` and on made-up
//! ones. Skipped aloud where there is no `go` or its modules cannot be had.

#[cfg(test)]
mod certificates;

use std::collections::BTreeMap;

use helm_fuzzing::generate::{calls, pools};
use helm_fuzzing::{Question, ask, differ, ours, shown};

/// Differences shown of one function.
const SHOWN: usize = 3;

fn check(templates: &[Vec<u8>]) {
    let questions: Vec<Question> = templates.iter().map(Question::call).collect();
    let Some(answers) = ask(&questions) else { return };
    let mut different: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (question, theirs) in questions.iter().zip(answers) {
        let ours = ours::answer(question);
        if differ(question, &ours, &theirs) {
            let text = String::from_utf8_lossy(question.part("text")).into_owned();
            let name = text.split([' ', '{']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
            let difference = format!("{text}\n     ours {}\n   theirs {}", shown(&ours), shown(&theirs));
            different.entry(name).or_default().push(difference);
        }
    }
    let count: usize = different.values().map(Vec::len).sum();
    for (name, differences) in &different {
        eprintln!("== {name}: {} differences", differences.len());
        for difference in differences.iter().take(SHOWN) {
            eprintln!("  {difference}");
        }
    }
    assert_eq!(count, 0, "differences in {} templates", templates.len());
}

/// One template on each line; empty lines and those that begin with `#` are not templates.
fn cases(text: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.as_bytes().to_vec()).collect()
}

/// Made-up calls, a new lot for each seed. `FUZZ_SEEDS=100..200` runs those.
#[test]
fn made_up_calls_give_what_helm_gives() {
    let seeds = std::env::var("FUZZ_SEEDS").unwrap_or_else(|_| "1..2".to_owned());
    let (from, to) = seeds.split_once("..").expect("FUZZ_SEEDS=FROM..TO");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        check(&calls::calls(seed, 30));
    }
}

#[test]
fn written_cases_give_what_helm_gives() {
    check(&cases(include_str!("../cases/cases.txt")));
}

#[test]
fn every_combination_of_the_pools_gives_what_helm_gives() {
    let templates: Vec<Vec<u8>> = pools::combinations().into_iter().map(String::into_bytes).collect();
    check(&templates);
}
