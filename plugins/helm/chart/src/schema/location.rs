//! Where something is wrong, as far as Helm's library knows it and boon does not: the object whose property has a name
//! it may not have, and the items behind those that have a schema each, which boon counts from nought again.

use super::text::percent_decoded;
use serde_json::Value as Json;

/// The object with that property that keywords lead to, from a place in the values. Where they leave open which of
/// several it is (`additionalProperties`), the first.
pub(super) fn of_object_with(property: &str, keywords: &str, from: &str, instance: &Json) -> String {
    let Some(start) = instance.pointer(from) else { return from.to_owned() };
    let mut places = vec![(from.to_owned(), start)];
    let mut keywords = keywords.split('/').peekable();
    while let Some(keyword) = keywords.next() {
        match keyword {
            "properties" => {
                let name = keywords.next().unwrap_or_default();
                places = properties(&places, |token| token == percent_decoded(name));
            }
            "items" | "prefixItems" => {
                let index = keywords.next_if(|index| index.bytes().all(|byte| byte.is_ascii_digit()));
                places = items(&places, |token| index.is_none_or(|index| token == index));
            }
            "patternProperties" => {
                keywords.next();
                places = properties(&places, |_| true);
            }
            "additionalProperties" | "unevaluatedProperties" => places = properties(&places, |_| true),
            "additionalItems" | "unevaluatedItems" | "contains" => places = items(&places, |_| true),
            _ => {}
        }
    }
    let found = places.into_iter().find(|(_, value)| value.get(property).is_some());
    found.map_or_else(|| from.to_owned(), |(place, _)| place)
}

/// The place of an error with items counted from the first of all. `from` is right already, and `keywords` lead from
/// there to the schema that the error comes from; `start` is where they start in the whole schema.
pub(super) fn with_items_counted(
    location: &str,
    keywords: &str,
    from: &str,
    start: &str,
    schema: &Json,
) -> String {
    let mut tokens: Vec<String> = location.split('/').map(str::to_owned).collect();
    for (token, right) in tokens.iter_mut().zip(from.split('/')) {
        right.clone_into(token);
    }
    let (mut depth, mut at) = (from.split('/').count(), percent_decoded(start));
    let mut keywords = keywords.split('/').peekable();
    while let Some(keyword) = keywords.next() {
        let before = match keyword {
            "items" if keywords.peek().is_none_or(|index| index.parse::<usize>().is_err()) => "prefixItems",
            "additionalItems" => "items",
            _ => "",
        };
        let of_object = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
        let indexed = ["prefixItems", "items", "allOf", "anyOf", "oneOf"];
        let counted = schema.pointer(&at).and_then(|node| node.get(before)).and_then(Json::as_array);
        if let (Some(counted), Some(token)) = (counted, tokens.get_mut(depth))
            && let Ok(index) = token.parse::<usize>()
        {
            *token = (index + counted.len()).to_string();
        }
        at.push_str(&format!("/{keyword}"));
        let has_index =
            indexed.contains(&keyword) && keywords.peek().is_some_and(|index| index.parse::<usize>().is_ok());
        if (of_object.contains(&keyword) || has_index)
            && let Some(name) = keywords.next()
        {
            at.push_str(&format!("/{}", percent_decoded(name)));
        }
        depth += usize::from(goes_deeper(keyword));
    }
    tokens.join("/")
}

/// Whether the schemas of a keyword are for what is in a value, and not for the value itself.
fn goes_deeper(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
    )
}

/// Values with their places.
type Places<'v> = Vec<(String, &'v Json)>;

/// What is in the objects among several places, as far as its token of a JSON pointer is wanted.
fn properties<'v>(places: &Places<'v>, wanted: impl Fn(&str) -> bool) -> Places<'v> {
    let objects = places.iter().filter_map(|(place, value)| Some((place, value.as_object()?)));
    let all = objects.flat_map(|(place, entries)| {
        entries.iter().map(move |(name, value)| (place, name.replace('~', "~0").replace('/', "~1"), value))
    });
    all.filter(|(_, token, _)| wanted(token))
        .map(|(place, token, value)| (format!("{place}/{token}"), value))
        .collect()
}

/// The same for the items of arrays.
fn items<'v>(places: &Places<'v>, wanted: impl Fn(&str) -> bool) -> Places<'v> {
    let arrays = places.iter().filter_map(|(place, value)| Some((place, value.as_array()?)));
    let all = arrays.flat_map(|(place, items)| {
        items.iter().enumerate().map(move |(index, value)| (place, index.to_string(), value))
    });
    all.filter(|(_, token, _)| wanted(token))
        .map(|(place, token, value)| (format!("{place}/{token}"), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keywords_lead_to_the_object() {
        let values = json!({"a": {"x/y": {"Bad": 1}, "z": {}}, "l": [{}, {"Bad": 2}]});
        let place = |keywords| of_object_with("Bad", keywords, "", &values);
        assert_eq!(place("properties/a/properties/x~1y"), "/a/x~1y");
        assert_eq!(place("properties/a/allOf/0/additionalProperties"), "/a/x~1y");
        assert_eq!(place("patternProperties/%5El/items"), "/l/1");
        assert_eq!(of_object_with("Bad", "items/1", "/l", &values), "/l/1");
        assert_eq!(of_object_with("Bad", "properties/none", "/a", &values), "/a");
    }

    #[test]
    fn items_behind_those_with_a_schema_each_are_counted_from_the_first() {
        let schema = json!({
            "properties": {"l": {"prefixItems": [{}, {}], "items": {"items": [{}], "additionalItems": false}}}
        });
        let counted =
            |location, keywords, from, start| with_items_counted(location, keywords, from, start, &schema);
        assert_eq!(counted("/l/0", "properties/l/items", "", ""), "/l/2");
        assert_eq!(counted("/l/1", "properties/l/prefixItems/1", "", ""), "/l/1");
        assert_eq!(counted("/l/0/4", "properties/l/items/additionalItems", "", ""), "/l/2/5");
        assert_eq!(counted("/l/0/4", "additionalItems", "/l/2", "/properties/l/items"), "/l/2/5");
        assert_eq!(counted("/l", "properties/l/anyOf/0", "", ""), "/l");
    }
}
