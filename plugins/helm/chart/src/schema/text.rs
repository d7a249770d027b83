//! What is wrong with values, in the words of santhosh-tekuri/jsonschema v6 (`output.go`, `kind/kind.go`).

use super::number;
use boon::{ErrorKind, ValidationError};
use helm_template::fmt;
use serde_json::{Number, Value as Json};

/// The whole tree of errors, one line each; Helm cuts the first line off and adds a newline.
pub(super) fn report(error: &ValidationError<'_, '_>) -> String {
    let mut out = String::new();
    for cause in &error.causes {
        write(cause, 0, &mut out);
    }
    out
}

fn write(error: &ValidationError<'_, '_>, indent: usize, out: &mut String) {
    // A reference with one cause says no more than the cause.
    let skipped = error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
    if !skipped {
        out.push_str(&"  ".repeat(indent));
        out.push_str("- at ");
        out.push_str(&quote(&error.instance_location.to_string()));
        out.push_str(": ");
        out.push_str(&kind(&error.kind));
        out.push('\n');
    }
    for cause in &error.causes {
        write(cause, indent + usize::from(!skipped), out);
    }
}

fn kind(kind: &ErrorKind<'_, '_>) -> String {
    let counts = |name: &str, got: usize, want: usize| {
        format!("{name}: got {}, want {}", number::whole(got), number::whole(want))
    };
    let bounds = |name: &str, got: &Number, want: &Number| {
        let text = |number: &Number| number::float(number.as_f64().unwrap_or(f64::NAN));
        format!("{name}: got {}, want {}", text(got), text(want))
    };
    match kind {
        ErrorKind::Group | ErrorKind::Reference { .. } => "validation failed".to_owned(),
        ErrorKind::Schema { url } => format!("jsonschema validation failed with {}", quote(url)),
        ErrorKind::ContentSchema => "'contentSchema' failed".to_owned(),
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quote(prop)),
        ErrorKind::RefCycle { url, kw_loc1, kw_loc2 } => {
            format!("both {kw_loc1} and {kw_loc2} resolve to {} causing reference cycle", fmt::quote(url.as_bytes()))
        }
        ErrorKind::FalseSchema => "false schema".to_owned(),
        ErrorKind::Type { got, want } => {
            let want: Vec<_> = want.iter().map(|ty| ty.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } => enumeration(want),
        ErrorKind::Const { want: Json::Array(_) | Json::Object(_) } => "'const' failed".to_owned(),
        ErrorKind::Const { want } => format!("value must be {}", display(want)),
        ErrorKind::Format { got, want, err } => format!("{} is not valid {want}: {err}", display(got)),
        ErrorKind::MinProperties { got, want } => counts("minProperties", *got, *want),
        ErrorKind::MaxProperties { got, want } => counts("maxProperties", *got, *want),
        ErrorKind::MinItems { got, want } => counts("minItems", *got, *want),
        ErrorKind::MaxItems { got, want } => counts("maxItems", *got, *want),
        ErrorKind::MinLength { got, want } => counts("minLength", *got, *want),
        ErrorKind::MaxLength { got, want } => counts("maxLength", *got, *want),
        ErrorKind::Minimum { got, want } => bounds("minimum", got, want),
        ErrorKind::Maximum { got, want } => bounds("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => bounds("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => bounds("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => bounds("multipleOf", got, want),
        ErrorKind::Pattern { got, want } => {
            format!("{} does not match pattern {}", quote(got), quote(want))
        }
        ErrorKind::ContentEncoding { want, err } => format!("value is not {} encoded: {err}", quote(want)),
        ErrorKind::ContentMediaType { want, err, .. } => {
            format!("value is not of mediatype {}: {err}", quote(want))
        }
        ErrorKind::Not => "'not' failed".to_owned(),
        ErrorKind::AllOf => "'allOf' failed".to_owned(),
        ErrorKind::AnyOf => "'anyOf' failed".to_owned(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        ErrorKind::OneOf(Some((a, b))) => {
            format!("'oneOf' failed, subschemas {}, {} matched", number::whole(*a), number::whole(*b))
        }
        properties_and_items => membership(properties_and_items),
    }
}

/// The kinds that name properties or items.
fn membership(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::AdditionalProperties { got } => {
            format!("additional properties {} not allowed", joined(got))
        }
        ErrorKind::Required { want } if want.len() == 1 => format!("missing property {}", joined(want)),
        ErrorKind::Required { want } => format!("missing properties {}", joined(want)),
        ErrorKind::Dependency { prop, missing } | ErrorKind::DependentRequired { prop, missing } => {
            format!("properties {} required, if {} exists", joined(missing), quote(prop))
        }
        ErrorKind::Contains => "no items match contains schema".to_owned(),
        ErrorKind::MinContains { got, want } if got.is_empty() => {
            format!("min {} items required to match contains schema, but none matched", number::whole(*want))
        }
        ErrorKind::MinContains { got, want } => matched("min", got, *want),
        ErrorKind::MaxContains { got, want } => matched("max", got, *want),
        ErrorKind::UniqueItems { got: [a, b] } => {
            format!("items at {} and {} are equal", number::whole(*a), number::whole(*b))
        }
        ErrorKind::AdditionalItems { got } => {
            format!("last {} additionalItem(s) not allowed", number::whole(*got))
        }
        other => other.to_string(),
    }
}

fn matched(bound: &str, got: &[usize], want: usize) -> String {
    let at: Vec<_> = got.iter().map(usize::to_string).collect();
    let (want, count) = (number::whole(want), number::whole(got.len()));
    format!(
        "{bound} {want} items required to match contains schema, but matched {count} items at {}",
        at.join(" ")
    )
}

fn enumeration(want: &[Json]) -> String {
    match want {
        _ if want.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) => "'enum' failed".to_owned(),
        [only] => format!("value must be {}", display(only)),
        _ => {
            let want: Vec<_> = want.iter().map(display).collect();
            format!("value must be one of {}", want.join(", "))
        }
    }
}

/// A value that is no container, as Go's `%v` prints it.
fn display(value: &Json) -> String {
    match value {
        Json::String(text) => quote(text),
        Json::Null => "<nil>".to_owned(),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        other => other.to_string(),
    }
}

fn joined<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|name| quote(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Single quotes around Go's escapes.
fn quote(text: &str) -> String {
    let quoted = fmt::quote(text.as_bytes());
    let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    format!("'{}'", inner.replace("\\\"", "\"").replace('\'', "\\'"))
}

