//! The spec of a sample object: the chart's own values with what they say about themselves.

use helm_chart::Chart;

/// The text of `values.yaml`, ready to be indented below `spec:`: lines end with line feeds, and neither a mark of the byte
/// order nor document markers are left. A chart without values has the text `{}`.
pub(crate) fn sample(chart: &Chart, notes: &mut Vec<String>) -> String {
    let file = chart.raw.iter().find(|file| file.name == "values.yaml");
    let text = file.map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
    if chart.values.as_ref().is_none_or(helm_template::Map::is_empty) {
        return empty(&text);
    }
    match single_document(&text) {
        Some(sample) => sample,
        None => {
            notes.push(
                "values.yaml has several documents or directives: the sample has its values without comments"
                    .into(),
            );
            written(chart)
        }
    }
}

/// Comments may be all there is.
fn empty(text: &str) -> String {
    let comments = text.lines().map(str::trim_end).filter(|line| line.trim_start().starts_with('#'));
    comments.map(|line| format!("{line}\n")).chain(["{}\n".to_owned()]).collect()
}

/// The text of a stream with one document; none when there is more in it than can be indented.
fn single_document(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut lines: Vec<&str> = text.lines().collect();
    let content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if let Some(first) = lines.iter().position(|line| content(line))
        && lines.get(first).is_some_and(|line| line.trim_end() == "---")
    {
        lines.remove(first);
    }
    let marker = |line: &&str| line.starts_with("---") || line.starts_with("...") || line.starts_with('%');
    if lines.iter().any(marker) || text.contains('\r') {
        return None;
    }
    let mut sample = lines.join("\n").trim_end().to_owned();
    sample.push('\n');
    // Indenting changes nothing but where a tab stands for a blank.
    (!sample.contains("\n\t") && !sample.starts_with('\t')).then_some(sample)
}

fn written(chart: &Chart) -> String {
    let values = chart.values.clone().unwrap_or_default();
    let yaml = helm_yaml::to_yaml(&helm_template::Value::Map(values)).unwrap_or_else(|_| b"{}\n".to_vec());
    String::from_utf8_lossy(&yaml).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::chart;

    fn sampled(values: &str) -> String {
        sample(&chart(&[("values.yaml", values)]), &mut Vec::new())
    }

    #[test]
    fn a_sample_is_the_values_as_they_were_written() {
        assert_eq!(
            sampled("\u{feff}# -- How many\r\nreplicas: 1 # one\r\n\r\n"),
            "# -- How many\nreplicas: 1 # one\n"
        );
        assert_eq!(sampled("# top\n---\na: 1\n"), "# top\na: 1\n");
        assert_eq!(sampled("# nothing yet\n"), "# nothing yet\n{}\n");
        assert_eq!(sampled(""), "{}\n");
        assert_eq!(sample(&chart(&[]), &mut Vec::new()), "{}\n");
    }

    #[test]
    fn several_documents_are_one_sample_without_comments() {
        let mut notes = Vec::new();
        assert_eq!(sample(&chart(&[("values.yaml", "a: 1\n---\n# b\nb: 2\n")]), &mut notes), "a: 1\nb: 2\n");
        assert_eq!(notes.len(), 1);
    }
}
