//! What came of all cases, by the family of their charts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use helm_conformance::compare::Verdict;
use helm_conformance::random::Generated;

use super::jobs::Judged;

/// Verdicts of a family, in the order of the columns.
type Counts = [usize; HEADS.len()];

const HEADS: [&str; 5] = ["identical", "same YAML", "different", "wrongly failed", "wrongly passed"];

fn column(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Identical => 0,
        Verdict::SameYaml(_) => 1,
        Verdict::Different(_) => 2,
        Verdict::WronglyFailed(_) => 3,
        Verdict::WronglyPassed => 4,
    }
}

/// The table.
pub(super) fn table(judged: &[Judged<'_>]) -> String {
    let mut counted: BTreeMap<&str, (Counts, usize)> = BTreeMap::new();
    for judged in judged {
        let (counts, random) = counted.entry(judged.job.family()).or_default();
        if let Some(count) = counts.get_mut(column(&judged.verdict)) {
            *count += 1;
        }
        *random += usize::from(judged.job.is_random());
    }
    let mut table = lines(&counted);
    let _ = writeln!(table, "{}", generated(judged));
    table
}

fn lines(counted: &BTreeMap<&str, (Counts, usize)>) -> String {
    let mut out = format!("{:<36} {:>6} {:>7}", "charts", "cases", "random");
    HEADS.iter().for_each(|head| out.push_str(&format!("  {head}")));
    out.push('\n');
    let mut total = (Counts::default(), 0);
    for (counts, random) in counted.values() {
        total.0.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        total.1 += random;
    }
    for (family, (counts, random)) in counted.iter().chain([(&"all", &total)]) {
        let _ = write!(out, "{family:<36} {:>6} {random:>7}", counts.iter().sum::<usize>());
        for (count, head) in counts.iter().zip(HEADS) {
            let _ = write!(out, "  {count:>width$}", width = head.len());
        }
        out.push('\n');
    }
    out
}

/// What random cases generated, and was verified.
fn generated(judged: &[Judged<'_>]) -> String {
    Generated::told(judged.iter().map(|judged| &judged.generated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_a_row_each_and_the_last_is_their_sum() {
        let counted = BTreeMap::from([("a", ([3, 0, 1, 0, 0], 2)), ("b", ([1, 0, 0, 0, 1], 0))]);
        let table = lines(&counted);
        let rows: Vec<Vec<&str>> =
            table.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["a", "4", "2", "3", "0", "1", "0", "0"]);
        assert_eq!(rows[2], ["all", "6", "2", "4", "0", "1", "0", "1"]);
    }
}
