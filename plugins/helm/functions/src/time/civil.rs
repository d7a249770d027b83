//! The calendar: days since 1970 and dates.

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// A date and a time of the day, of a clock without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 1.
    pub(crate) year_day: i64,
    /// From Sunday, 0.
    pub(crate) week_day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
pub(crate) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date. Months and days may lie beyond their limits.
pub(crate) fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let months = year.saturating_mul(12).saturating_add(month - 1);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    // Years are counted from March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era.saturating_mul(146_097).saturating_add(days - 719_468).saturating_add(day - 1)
}

/// Seconds from 1970 to a date and time.
pub(crate) fn seconds_since_epoch(date: [i64; 3], clock: [i64; 3]) -> i64 {
    let ([year, month, day], [hour, minute, second]) = (date, clock);
    days_since_epoch(year, month, day).saturating_mul(DAY).saturating_add(hour * 3600 + minute * 60 + second)
}

/// Seconds from Go's first year to 1970: its calendar counts from there in 64 bits, wrapping.
const BEFORE_EPOCH: i64 = (292_277_022_400 / 400 * 146_097 + 719_468) * DAY;

/// The date and time of so many seconds.
pub(crate) fn civil(seconds: i64) -> Civil {
    let from_first = i128::from(seconds.wrapping_add(BEFORE_EPOCH).cast_unsigned());
    let seconds = from_first - i128::from(BEFORE_EPOCH);
    let day = i128::from(DAY);
    let days = i64::try_from(seconds.div_euclid(day)).unwrap_or(0);
    let clock = i64::try_from(seconds.rem_euclid(day)).unwrap_or(0);
    civil_of_day(days, clock)
}

fn civil_of_day(days: i64, clock: i64) -> Civil {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day,
        year_day: days - days_since_epoch(year, 1, 1) + 1,
        week_day: (days + 4).rem_euclid(7),
        hour: clock / 3600,
        minute: clock / 60 % 60,
        second: clock % 60,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_back_and_forth() {
        for days in [-1_000_000, -719_163, -719_162, -1, 0, 59, 60, 11_016, 19_782, 2_932_896] {
            let date = civil(days * DAY + 3_661);
            assert_eq!(days_since_epoch(date.year, date.month, date.day), days);
            assert_eq!((date.hour, date.minute, date.second), (1, 1, 1));
        }
        let leap_day = civil(days_since_epoch(2024, 2, 29) * DAY);
        assert_eq!((leap_day.week_day, leap_day.year_day), (4, 60));
        assert_eq!(days_since_epoch(2023, 14, 29), days_since_epoch(2024, 2, 29));
    }
}
