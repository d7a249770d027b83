//! Charts and values for tests, written as text.

use crate::{
    chart::Chart, coalesce::Warnings, file::File, loader::load_directory, log::Remark, yaml::load_values,
};
use helm_template::{Map, Value};

/// Values from YAML.
pub(crate) fn values(yaml: &str) -> Map {
    load_values(yaml.as_bytes()).unwrap()
}

/// Values as JSON with sorted keys.
pub(crate) fn shown(values: &Map) -> String {
    fn show(value: &Value, out: &mut String) {
        match value {
            Value::Map(map) => {
                out.push('{');
                for (index, (key, value)) in map.snapshot().iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(&format!("{key}:"));
                    show(value, out);
                }
                out.push('}');
            }
            Value::List(list) => {
                out.push('[');
                for (index, value) in list.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    show(value, out);
                }
                out.push(']');
            }
            Value::Nil => out.push_str("null"),
            other => out.push_str(&helm_template::fmt::text(other).unwrap().to_string()),
        }
    }
    let mut out = String::new();
    show(&Value::Map(values.clone()), &mut out);
    out
}

impl PartialEq<&str> for Remark {
    #[expect(clippy::cmp_owned, reason = "a remark has no text of its own to compare with")]
    fn eq(&self, other: &&str) -> bool {
        self.to_string() == *other
    }
}

/// A chart from its files; without a `Chart.yaml` among them it gets one named `name`.
pub(crate) fn chart(name: &str, files: &[(&str, &str)]) -> Chart {
    let mut all: Vec<File> = files.iter().map(|(path, text)| File::new(*path, text)).collect();
    if !files.iter().any(|(path, _)| *path == "Chart.yaml") {
        all.push(File::new("Chart.yaml", format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n")));
    }
    load_directory(all, &mut Warnings::new()).unwrap()
}
