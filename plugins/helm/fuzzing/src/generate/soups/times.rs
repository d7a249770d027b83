//! Layouts, dates and durations.

use super::row;
use crate::Random;

pub(super) fn layout(random: &mut Random) -> String {
    row(
        random,
        6,
        &[
            "2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "002", "__2", "Mon", "Monday", "15",
            "03", "3", "04", "4", "05", "5", ".000", ".999", ",00", "PM", "pm", "MST", "Z07:00", "-0700",
            "-07", "Z070000", "-", "/", ":", " ", "T", "x", "é", "GMT", ".0", "0", "7", "_2006", "Month",
        ],
    )
}

pub(super) fn date(random: &mut Random) -> String {
    row(
        random,
        6,
        &[
            "2024", "24", "02", "2", "Feb", "February", "29", "31", " 9", "060", "Thu", "Thursday", "23",
            "11", "12", "59", "60", "7", ".123", ".5", ",25", "AM", "pm", "CET", "UTC", "Z", "+02:00",
            "-0330", "+01", "-", "/", ":", " ", "T", "x", "é", "GMT+3", "0000", "1", "00",
        ],
    )
}

pub(super) fn duration(random: &mut Random) -> String {
    let units = ["h", "m", "s", "ms", "us", "µs", "μs", "ns", "", "d", "H"];
    let numbers =
        ["1", "90", "0", "1.5", ".5", "5.", "100000", "9223372036", "0.0000000001", "07", "-3", "1e3"];
    let mut out = random.pick(&["", "", "-", "+", " "]).to_owned();
    for _ in 0..=random.below(3) {
        out.push_str(random.pick(&numbers));
        out.push_str(random.pick(&units));
    }
    out
}
