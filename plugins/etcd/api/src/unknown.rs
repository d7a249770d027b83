//! Fields that nobody reads.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The paths of fields in `given` that reading it as `T` would drop, such as `pod.hostNetwork`; sorted as they come.
/// `null` counts as not given.
///
/// # Errors
/// Why `given` cannot be read as `T` at all.
pub fn unknown_fields<T: Serialize + DeserializeOwned>(
    given: &Value,
) -> Result<Vec<String>, serde_json::Error> {
    let read: T = serde_json::from_value(given.clone())?;
    let kept = serde_json::to_value(&read)?;
    let mut lost = Vec::new();
    compare(given, &kept, "", &mut lost);
    Ok(lost)
}

fn compare(given: &Value, kept: &Value, at: &str, lost: &mut Vec<String>) {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            for (field, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let path = if at.is_empty() { field.clone() } else { format!("{at}.{field}") };
                match kept.get(field) {
                    Some(kept) => compare(value, kept, &path, lost),
                    None => lost.push(path),
                }
            }
        }
        (Value::Array(given), Value::Array(kept)) => {
            for (index, (given, kept)) in given.iter().zip(kept).enumerate() {
                compare(given, kept, &format!("{at}[{index}]"), lost);
            }
        }
        _ => {}
    }
}
