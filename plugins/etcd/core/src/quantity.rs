//! Amounts as Kubernetes writes them.

/// Is the first amount less than the second? Not if either cannot be read.
pub(crate) fn is_less(one: &str, other: &str) -> bool {
    match (parse(one), parse(other)) {
        (Some(one), Some(other)) => one < other,
        _ => false,
    }
}

/// Thousandths of a byte.
fn parse(text: &str) -> Option<u128> {
    const SUFFIXES: [(&str, u128); 13] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("", 1),
    ];
    let (digits, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let number = |digits: &str| {
        digits.parse::<u128>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let thousandths = number(whole)?.checked_mul(1000)?.checked_add(number(&fraction)?)?;
    thousandths.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::is_less;

    #[test]
    fn amounts_are_compared_as_amounts() {
        assert!(is_less("1Gi", "2Gi"));
        assert!(is_less("1G", "1Gi"));
        assert!(is_less("1.5Gi", "1537Mi"));
        assert!(!is_less("1024Mi", "1Gi"));
        assert!(!is_less("10Gi", "9Gi"));
        for bad in ["", "Gi", "x", "-1Gi", "1e3", "+1"] {
            assert!(!is_less(bad, "5Gi") && !is_less("5Gi", bad), "{bad}");
        }
    }
}
