//! The schema of a spec: what the chart says of its values, in the form that a CRD takes.
//!
//! The API server must never refuse or drop what the chart would take, so wherever it cannot be said for sure what that is,
//! nothing is said: objects keep fields that nobody told of, and values of unsure types are taken as they are. Null is taken
//! everywhere, because in Helm's values it takes a default away.
//!
//! Defaults are told in descriptions, and not as `default`: the API server would write those into every object when it is
//! made, and from then on they would be the person's own values. The default of a later version of the chart would never
//! come to them, and an upgrade would do something else than `helm upgrade` does.

mod comments;
mod evidence;
mod inferred;
mod node;
mod references;
mod structural;

use helm_chart::Chart;
use serde_json::Value;

use self::comments::Comments;
use self::node::{Kind, Node};
use self::structural::Converter;

/// A CRD that is larger cannot be applied by a `kubectl apply` that keeps what it applied in an annotation.
const MOST_BYTES: usize = 160 << 10;

/// The schema of the spec.
pub(crate) fn spec(chart: &Chart, notes: &mut Vec<String>) -> Value {
    let mut node = of_chart(chart, notes);
    // Values are an object, whether the schema says so or not.
    node.kind = node.kind.or(Some(Kind::Object));
    if node.kind != Some(Kind::Object) {
        node = Node { description: node.description, ..Node::object() };
    }
    node.nullable = false;
    node.required.clear();
    for dependency in chart.metadata.dependencies().filter(|_| node.preserve) {
        node.properties.entry(dependency.key().to_owned()).or_insert_with(|| Node {
            description: format!("Values of the dependency {}.", dependency.name),
            nullable: true,
            ..Node::object()
        });
    }
    if node.description.is_empty() {
        node.description = format!("Values of the chart {}.", chart.name());
    }
    fit(node, notes)
}

fn of_chart(chart: &Chart, notes: &mut Vec<String>) -> Node {
    let values = chart.raw.iter().find(|file| file.name == "values.yaml");
    let text = values.map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
    let comments = Comments::read(&text);
    let defaults = chart.values.clone().unwrap_or_default();
    if let Some(schema) = &chart.schema {
        match serde_json::from_slice::<Value>(schema) {
            Ok(json) => {
                let mut converter = Converter::new(&json);
                let mut node = converter.convert();
                notes.extend(converter.into_notes());
                inferred::describe(&mut node, &defaults, &comments);
                return node;
            }
            Err(error) => notes
                .push(format!("values.schema.json is no JSON, so the values were taken instead: {error}")),
        }
    }
    inferred::infer(chart, &defaults, &comments)
}

/// Descriptions go first where it is too much, then what lies deep.
fn fit(mut node: Node, notes: &mut Vec<String>) -> Value {
    let json = node.to_json();
    if json.to_string().len() <= MOST_BYTES {
        return json;
    }
    notes.push(
        "the schema of the spec would make the definition too large: it tells less than the chart does"
            .to_owned(),
    );
    node.strip_descriptions();
    for depth in [16, 8, 6, 5, 4, 3, 2, 1] {
        node.cut(depth);
        let json = node.to_json();
        if json.to_string().len() <= MOST_BYTES {
            return json;
        }
    }
    Node::object().to_json()
}
