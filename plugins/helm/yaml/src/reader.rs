//! Reading YAML: `Unmarshal` and `YAMLToJSON` of sigs.k8s.io/yaml.

mod cursor;
mod decoder;
mod document;
mod failure;
mod go_value;
mod input;
mod parser;
mod scanner;
mod target;
mod token;
mod values;

pub(crate) use self::cursor::Cursor;
use self::decoder::Decoder;
use self::document::Document;
pub(crate) use self::failure::Failure;
use self::go_value::GoValues;
pub(crate) use self::input::Input;
use self::target::JsonSink;
pub(crate) use self::target::Target;
pub(crate) use self::values::{ExactTarget, JsonTarget, ValueTarget};
use crate::error::ConvertError;
use crate::json;

/// What to do with a key that is set twice in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The last one counts, as in `yaml.Unmarshal`. This is what Helm does with values and with `fromYaml`.
    #[default]
    LastWins,
    /// An error, as in `yaml.UnmarshalStrict`.
    Refuse,
}

/// Reads the first document of a stream; `None` if there is none.
pub(crate) fn read<T: Target + Copy>(
    bytes: &[u8],
    target: T,
    duplicates: Duplicates,
) -> Result<Option<T::Value>, ConvertError> {
    let mut input = Input::new(bytes);
    let document = Document::read(&mut input).map_err(|failure| yaml(&failure))?;
    let strict = duplicates == Duplicates::Refuse;
    let mut decoder = Decoder::new(&document, JsonSink::new(target), strict);
    let value = decoder.run();
    if decoder.sink.odd {
        find_error(&document, strict)?;
    }
    value.map_err(|failure| yaml(&failure))
}

/// Whether something odd in a document is an error to Go.
fn find_error(document: &Document<'_>, strict: bool) -> Result<(), ConvertError> {
    let mut decoder = Decoder::new(document, GoValues::default(), strict);
    let Some(root) = decoder.run().map_err(|failure| yaml(&failure))? else { return Ok(()) };
    if let Some(message) = decoder.sink.unsupported_key(root) {
        return Err(ConvertError::Key(message));
    }
    match decoder.sink.unsupported_number(root) {
        Some(number) => Err(ConvertError::Json(json::Error::UnsupportedValue(number.to_owned()))),
        None => Ok(()),
    }
}

fn yaml(failure: &Failure) -> ConvertError {
    ConvertError::Yaml(failure.to_string())
}
