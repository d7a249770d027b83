//! What is wrong with values, in the words of santhosh-tekuri/jsonschema v6 (`output.go`, `kind/kind.go`).

use super::{collapsed::Around, location, number};
use boon::{CompileError, ErrorKind, ValidationError};
use helm_functions::check_regex;
use helm_template::fmt;
use serde_json::{Number, Value as Json};

/// The tree of errors, one line each. Helm cuts off the line that names the schema.
pub(super) fn report(error: &ValidationError<'_, '_>, schema: &Json, instance: &Json) -> String {
    let mut report = Report { schema, instance, out: String::new() };
    let mut inside =
        Inside { around: Around::causes_of(error), location: error.instance_location.to_string() };
    let mut indent = 0;
    let urls: Vec<&str> = error.causes.iter().map(|cause| cause.schema_url).collect();
    let places: Vec<String> = error.causes.iter().map(|cause| cause.instance_location.to_string()).collect();
    if let Some(shared) = inside.around.shared(&urls, common_tokens(&places)) {
        let place = places.first().map(|place| prefix(place, shared.depth())).unwrap_or_default();
        for combinator in inside.around.left_out(shared.url()) {
            report.line(prefix(place, combinator.depth), combinator.text, &mut indent);
        }
        report.line(place, "validation failed", &mut indent);
        inside = Inside { around: shared, location: place.to_owned() };
    }
    for cause in &error.causes {
        report.write(cause, &inside, indent);
    }
    report.out
}

/// How many tokens all places begin with.
fn common_tokens(places: &[String]) -> usize {
    let Some((first, others)) = places.split_first() else { return 0 };
    let begins = |other: &String, tokens: usize| prefix(other, tokens) == prefix(first, tokens);
    (0..=first.matches('/').count())
        .take_while(|&tokens| others.iter().all(|other| begins(other, tokens)))
        .last()
        .unwrap_or(0)
}

/// Why a schema cannot be compiled.
pub(super) fn compile_error(error: &CompileError, document: &Json) -> String {
    let quoted = |text: &str| fmt::quote(text.as_bytes());
    match error {
        CompileError::LoadUrlError { url, src } => format!("failing loading {}: {src}", quoted(url)),
        CompileError::InvalidRegex { url, regex, src } => {
            let why = check_regex(regex).err().unwrap_or_else(|| src.to_string());
            format!("invalid regex {} at {}: {why}", quoted(regex), quoted(url))
        }
        CompileError::ValidationError { url, src } => {
            let lines = report(src, &Json::Null, document);
            let lines = lines.trim_end();
            format!("{} is not valid against metaschema: {}\n{lines}", quoted(url), kind(&src.kind))
        }
        CompileError::JsonPointerNotFound(url) => format!("json-pointer in {} not found", quoted(url)),
        CompileError::InvalidJsonPointer(url) => format!("invalid json-pointer {}", quoted(url)),
        CompileError::AnchorNotFound { url, reference } => {
            format!("anchor in {} not found in schema {}", quoted(reference), quoted(url))
        }
        CompileError::UnsupportedVocabulary { url, vocabulary } => {
            format!("unsupported vocabulary {} in {}", quoted(vocabulary), quoted(url))
        }
        CompileError::UnsupportedDraft { url } => format!("draft {} is not supported", quoted(url)),
        CompileError::MetaSchemaCycle { url } => format!("cycle in resolving $schema in {}", quoted(url)),
        CompileError::ParseIdError { loc } => format!("error in parsing id at {}", quoted(loc)),
        CompileError::ParseAnchorError { loc } => format!("error in parsing anchor at {}", quoted(loc)),
        CompileError::DuplicateId { url, id, ptr1, ptr2 } => {
            let [id, url, one, other] = [id, url, ptr1, ptr2].map(|text| quoted(text));
            format!("duplicate id {id} in {url} at {one} and {other}")
        }
        CompileError::DuplicateAnchor { anchor, url, ptr1, ptr2 } => {
            let [anchor, url, one, other] = [anchor, url, ptr1, ptr2].map(|text| quoted(text));
            format!("duplicate anchor {anchor} in {url} at {one} and {other}")
        }
        other => format!("{other:#}"),
    }
}

/// What is being written.
struct Report<'a> {
    schema: &'a Json,
    instance: &'a Json,
    out: String,
}

/// What an error is in: another one, with the place of its value.
struct Inside<'a> {
    around: Around<'a>,
    location: String,
}

impl Report<'_> {
    fn line(&mut self, location: &str, text: &str, indent: &mut usize) {
        self.out.push_str(&"  ".repeat(*indent));
        self.out.push_str(&format!("- at {}: {text}\n", quote(location)));
        *indent += 1;
    }

    fn write(&mut self, error: &ValidationError<'_, '_>, inside: &Inside<'_>, mut indent: usize) {
        let Inside { around, location: from } = inside;
        let path = around.path_to(error.schema_url);
        let location = match &error.kind {
            ErrorKind::PropertyName { prop } => location::of_object_with(prop, path, from, self.instance),
            _ => {
                let location = error.instance_location.to_string();
                location::with_items_counted(&location, path, from, around.pointer(), self.schema)
            }
        };
        for combinator in inside.around.left_out(error.schema_url) {
            self.line(prefix(&location, combinator.depth), combinator.text, &mut indent);
        }
        // A reference with one cause says no more than the cause.
        let skipped = error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
        if !skipped {
            let text = match &error.kind {
                ErrorKind::Pattern { got, want } => {
                    let want = original_pattern(error, self.schema).unwrap_or(want);
                    format!("{} does not match pattern {}", quote(got), quote(want))
                }
                other => kind(other),
            };
            self.line(&location, &text, &mut indent);
        }
        let inside = Inside { around: Around::causes_of(error), location };
        for cause in &error.causes {
            self.write(cause, &inside, indent);
        }
    }
}

/// The first tokens of a location.
fn prefix(location: &str, tokens: usize) -> &str {
    let end = location.match_indices('/').nth(tokens).map_or(location.len(), |(at, _)| at);
    location.get(..end).unwrap_or(location)
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
            format!(
                "both {kw_loc1} and {kw_loc2} resolve to {} causing reference cycle",
                fmt::quote(url.as_bytes())
            )
        }
        ErrorKind::FalseSchema => "false schema".to_owned(),
        ErrorKind::Type { got, want } => {
            let want: Vec<_> = want.iter().map(|ty| ty.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } => enumeration(want),
        ErrorKind::Const { want: Json::Array(_) | Json::Object(_) } => "'const' failed".to_owned(),
        ErrorKind::Const { want } => format!("value must be {}", display(want)),
        ErrorKind::Format { got, want, err } => {
            // The library's own check of expressions cannot be replaced.
            let expression = got.as_str().filter(|_| *want == "regex");
            let why = expression.and_then(|text| check_regex(text).err());
            format!("{} is not valid {want}: {}", display(got), why.unwrap_or_else(|| err.to_string()))
        }
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

/// The pattern as the schema has it: the library rewrites it before it compiles it.
fn original_pattern<'s>(error: &ValidationError<'_, '_>, schema: &'s Json) -> Option<&'s str> {
    let (_, pointer) = error.schema_url.split_once('#')?;
    schema.pointer(&percent_decoded(pointer))?.get("pattern")?.as_str()
}

pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
        _ if want.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) => {
            "'enum' failed".to_owned()
        }
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
