//! Tables for people, as kubectl prints them.

/// Between two columns.
const GAP: &str = "   ";

/// Columns as wide as their widest cell. An empty cell is a dash, so that every line has as many words.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let shown =
        |cell: &String| if cell.is_empty() { "-".to_owned() } else { cell.replace(['\n', '\t'], " ") };
    let lines: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.iter().cloned())
        .map(|line| line.iter().map(shown).collect())
        .collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        text.push_str(cells.join(GAP).trim_end());
        text.push('\n');
    }
    text
}

/// The beginning of a text of one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = table(
            &["NAME", "READY", "WHY"],
            &[row(["a-long-name", "True", ""]), row(["é", "False", "x\ny"])],
        );
        assert_eq!(text, "NAME          READY   WHY\na-long-name   True    -\né             False   x y\n");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("ab  cd\nef", 80), "ab cd ef");
        assert_eq!(shortened("ééééé", 4), "ééé…");
    }
}
