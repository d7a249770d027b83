//! Times as the API server writes them.

/// `2025-01-31T12:00:00Z` in seconds since 1970; fractions of seconds are left out. The API server writes no other zone.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let bytes = text.strip_suffix('Z')?.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|&(place, mark)| bytes.get(place) == Some(&mark)) {
        return None;
    }
    if !matches!(bytes.get(19), None | Some(b'.')) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March here, so that the day of a leap year is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468;
    Some(days * 86_400 + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_counted_from_1970_also_over_leap_days() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(seconds("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(seconds("2026-11-22T07:10:00.123456Z"), Some(1_795_331_400));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "Z",
            "2026-11-22",
            "2026-11-22T07:10:00+01:00",
            "2026-13-22T07:10:00Z",
            "2o26-11-22T07:10:00Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
