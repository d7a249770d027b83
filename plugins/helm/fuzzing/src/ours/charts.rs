//! Charts and values through helm-chart.

use std::fmt::Write as _;

use helm_chart::ignore::IgnoreRules;
use helm_chart::strvals::{self, Style};
use helm_chart::template::TemplateError;
use helm_chart::values::merge_maps;
use helm_chart::yaml::load_values;
use helm_chart::{Chart, File, ParsedChart, Release, RenderSettings, Rendered, load_directory};
use helm_template::{Map, Value};

use super::yaml::{spelled, tree};
use crate::{Answer, Question};

fn render(files: Vec<File>, question: &Question) -> Result<Rendered, String> {
    let chart: Chart = load_directory(files, &mut Vec::new()).map_err(|error| error.to_string())?;
    let values = load_values(question.part("values")).map_err(|error| error.to_string())?;
    if chart.metadata.api_version == "v3" {
        return Err(TemplateError::ChartV3.to_string());
    }
    let settings =
        RenderSettings { limits: super::LIMITS, ..RenderSettings::new(Release::install("rel", "demo")) };
    ParsedChart::new(chart).render(&values, &settings).map_err(|error| error.to_string())
}

/// The part `text` as the notes of a chart, with the definitions of the part `helpers`.
pub(super) fn template(question: &Question) -> Answer {
    let mut files = vec![
        File::new("Chart.yaml", "apiVersion: v2\nname: top\nversion: 1.0.0\n"),
        File::new("templates/NOTES.txt", question.part("text")),
    ];
    if !question.part("helpers").is_empty() {
        files.push(File::new("templates/_helpers.tpl", question.part("helpers")));
    }
    match render(files, question) {
        Ok(rendered) => Answer::of(rendered.notes),
        Err(error) => Answer::failed(&error),
    }
}

/// The chart of the parts `file:PATH`.
pub(super) fn chart(question: &Question) -> Answer {
    let files = question
        .parts
        .iter()
        .filter_map(|(name, data)| name.strip_prefix("file:").map(|path| File::new(path, data)));
    let rendered = match render(files.collect(), question) {
        Ok(rendered) => rendered,
        Err(error) => return Answer::failed(&error),
    };
    let mut out = rendered.manifest();
    for hook in &rendered.hooks {
        let events: Vec<_> = hook.events.iter().map(|event| event.name()).collect();
        let (path, name, manifest) = (&hook.path, &hook.name, &hook.manifest);
        let _ =
            writeln!(out, "---\n# Hook: {path} {name} {} [{}]\n{manifest}", hook.weight, events.join(" "));
    }
    let _ = write!(out, "NOTES:\n{}", rendered.notes);
    Answer::of(out)
}

/// Which of the part `paths` the part `rules` leaves out.
pub(super) fn ignored(question: &Question) -> Answer {
    let rules = IgnoreRules::parse(&String::from_utf8_lossy(question.part("rules")));
    let rules = rules.and_then(|mut rules| rules.add_defaults().map(|()| rules));
    match rules {
        Ok(rules) => {
            let paths = String::from_utf8_lossy(question.part("paths")).into_owned();
            let told = paths.lines().map(|path| format!("{path} {}\n", rules.ignores_file(path)));
            Answer::of(told.collect::<String>())
        }
        Err(error) => Answer::failed(&error),
    }
}

/// The values of several files.
pub(super) fn values(question: &Question) -> Answer {
    let mut merged = Map::new();
    for (_, data) in &question.parts {
        match load_values(data) {
            Ok(values) => merged = merge_maps(&merged, &values),
            Err(error) => return Answer::failed(&error),
        }
    }
    spelled(&tree(&Value::Map(merged)), "")
}

/// The part `line` set in the part `values`.
pub(super) fn set(question: &Question) -> Answer {
    let values = match load_values(question.part("values")) {
        Ok(values) => values,
        Err(error) => return Answer::failed(&error),
    };
    let line = String::from_utf8_lossy(question.part("line"));
    let mut file = |name: &str| match name.contains("missing") {
        true => Err(format!("open {name}: no such file or directory")),
        false => Ok(format!("content of {name}").into_bytes()),
    };
    let style = match question.op.as_str() {
        "set" => Style::Typed,
        "set-string" => Style::String,
        "set-json" => Style::Json,
        "set-literal" => Style::Literal,
        _ => Style::File(&mut file),
    };
    let error = strvals::parse_into(&line, style, &values).err().map(|error| error.to_string());
    spelled(&tree(&Value::Map(values)), &error.unwrap_or_default())
}
