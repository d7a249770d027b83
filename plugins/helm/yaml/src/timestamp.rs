//! Which plain scalars are timestamps: the four layouts that go-yaml v2's `parseTimestamp` hands to `time.Parse`.

/// Whether go-yaml v2 takes `text` for a timestamp.
///
/// The layouts are `2006-1-2T15:4:5.999999999Z07:00` (also with a small `t`), `2006-1-2 15:4:5.999999999` and
/// `2006-1-2`, each read with `time.Parse`: numbers of one or two digits, ranges and days of the month checked.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    let Some(year) = rest.year() else { return false };
    let Some((month, day)) = rest.month_and_day() else { return false };
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return false;
    }
    match rest.0 {
        [] => true,
        [b'T' | b't', tail @ ..] => is_zoned_clock(Rest(tail)),
        [b' ', ..] => is_local_clock(rest),
        _ => false,
    }
}

/// The text that is still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// Exactly four digits and a dash.
    fn year(&mut self) -> Option<u32> {
        let [a, b, c, d, b'-', tail @ ..] = self.0 else { return None };
        self.0 = tail;
        [a, b, c, d].into_iter().try_fold(0, |year, digit| Some(year * 10 + char::from(*digit).to_digit(10)?))
    }

    fn month_and_day(&mut self) -> Option<(u32, u32)> {
        let month = self.number()?;
        self.literal(b'-')?;
        Some((month, self.number()?))
    }

    /// One or two digits, Go's `getnum`.
    fn number(&mut self) -> Option<u32> {
        let (first, mut tail) = self.0.split_first()?;
        let mut value = char::from(*first).to_digit(10)?;
        if let Some((second, after)) = tail.split_first()
            && let Some(digit) = char::from(*second).to_digit(10)
        {
            value = value * 10 + digit;
            tail = after;
        }
        self.0 = tail;
        Some(value)
    }

    fn literal(&mut self, expected: u8) -> Option<()> {
        let (first, tail) = self.0.split_first()?;
        self.0 = tail;
        (*first == expected).then_some(())
    }

    /// Hour, minute, second and an optional fraction of any length.
    fn clock(&mut self) -> Option<()> {
        let hour = self.number()?;
        self.literal(b':')?;
        let minute = self.number()?;
        self.literal(b':')?;
        let second = self.number()?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        if let [b'.' | b',', tail @ ..] = self.0
            && tail.first().is_some_and(u8::is_ascii_digit)
        {
            let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.0 = tail.get(digits..).unwrap_or_default();
        }
        Some(())
    }
}

fn is_zoned_clock(mut rest: Rest<'_>) -> bool {
    if rest.clock().is_none() {
        return false;
    }
    match rest.0 {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            let number = |tens: u8, ones: u8| {
                Some(char::from(tens).to_digit(10)? * 10 + char::from(ones).to_digit(10)?)
            };
            // Go allows offsets of 24 hours and of 60 minutes.
            number(*h1, *h2).is_some_and(|hours| hours <= 24)
                && number(*m1, *m2).is_some_and(|minutes| minutes <= 60)
        }
        _ => false,
    }
}

fn is_local_clock(mut rest: Rest<'_>) -> bool {
    // A space in a layout matches any run of spaces.
    while let [b' ', tail @ ..] = rest.0 {
        rest.0 = tail;
    }
    rest.clock().is_some() && rest.0.is_empty()
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn dates_and_times_of_the_four_layouts_are_timestamps() {
        for text in [
            "2001-01-01",
            "2001-1-1",
            "2000-02-29",
            "2001-12-14T21:59:43.10-05:00",
            "2001-12-14t21:59:43Z",
            "2001-12-14 21:59:43.1",
            "2001-12-14   1:2:3",
            "2001-12-14T1:2:3,5Z",
            "0000-1-1",
            "2001-12-14T1:2:3+24:60",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not() {
        for text in [
            "",
            "2001",
            "2001-",
            "2001-13-01",
            "2001-02-29",
            "1900-02-29",
            "2001-00-01",
            "2001-01-00",
            "20010-1-1",
            "2001-1-1x",
            "2001-12-14 21:59:43Z",
            "2001-12-14T21:59:43",
            "2001-12-14T24:00:00Z",
            "2001-12-14T1:60:0Z",
            "2001-12-14T1:0:0+25:00",
            "2001-12-14T1:0:0.Z",
            "2001-12-14 ",
            "2001-12-14 21:59:43.10 -5",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
