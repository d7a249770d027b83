//! Compares with the functions of Helm's own engine, output and error texts, on the cases of `../cases` and on made-up
//! ones. Skipped aloud where there is no `go` or its modules cannot be had.

#[cfg(test)]
mod certificates;
#[cfg(test)]
mod data;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod ours;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod random;

use std::collections::BTreeMap;

/// Differences shown of one function.
const SHOWN: usize = 3;

fn check(templates: &[Vec<u8>]) {
    let Some(answers) = oracle::ask(templates) else { return };
    let mut different: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (template, answer) in templates.iter().zip(answers) {
        if answer.unstable {
            continue;
        }
        let ours = ours::render(template);
        let theirs = if answer.error.is_empty() { Ok(answer.out) } else { Err(answer.error) };
        if ours != theirs && !ours::is_known_deviation(&ours, &theirs) {
            let text = String::from_utf8_lossy(template).into_owned();
            let name = text.split([' ', '{']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
            different.entry(name).or_default().push(format!(
                "{text}\n     ours {}\n   theirs {}",
                ours::shown(&ours),
                ours::shown(&theirs)
            ));
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
        check(&generate::calls(seed, 30));
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
