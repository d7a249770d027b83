//! Durations as Go writes them (`time.ParseDuration`).

use std::time::Duration;

/// Reads `1h30m`, `1.5s`, `300ms`, `0`. None for anything else, and for negative durations, which nobody here can use.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(Duration::ZERO);
    }
    if text.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at_checked(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(end)?;
        if number == "." {
            return None;
        }
        let count: f64 = number.parse().ok()?;
        let part = Duration::try_from_secs_f64(count * seconds(unit)?).ok()?;
        total = total.checked_add(part)?;
        rest = next;
    }
    Some(total)
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, milliseconds) in
            [("0", 0), ("1h30m", 5_400_000), ("1.5s", 1500), ("300ms", 300), (".5m", 30_000), ("+1m", 60_000)]
        {
            assert_eq!(parse(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "1", "m", "1 m", "-1s", "1d", ".s", "1.2.3s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
