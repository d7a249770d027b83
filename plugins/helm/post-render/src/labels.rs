//! Selectors of labels, as `kubectl get -l` takes them.

use serde_json::Value;

/// A selector of labels, as `kubectl get -l` takes it: `a=b`, `a!=b`, `a`, `!a`, `a in (b, c)`, `a notin (b, c)`, `a>1`, with
/// commas between them. All of it must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Whether a table of labels meets it; none: there are no labels.
    #[must_use]
    pub fn matches(&self, labels: Option<&Value>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            let number = value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                Test::Exists => value.is_some(),
                Test::Missing => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.iter().any(|wanted| wanted == value)),
                Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|wanted| wanted != value)),
                Test::Greater(bound) => number.is_some_and(|number| number > *bound),
                Test::Less(bound) => number.is_some_and(|number| number < *bound),
            }
        })
    }

    /// Reads one; the empty text selects everything.
    ///
    /// # Errors
    /// A sentence about what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = tokens(text).into_iter().peekable();
        let mut requirements = Vec::new();
        while tokens.peek().is_some() {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next().as_deref() {
                None => break,
                Some(",") if tokens.peek().is_some() => {}
                Some(",") => return Err(format!("{text:?} ends with a comma")),
                Some(other) => return Err(format!("found {other:?}, expected a comma or the end")),
            }
        }
        Ok(Self(requirements))
    }
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<String>>;

fn is_mark(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if !c.is_whitespace() && !is_mark(c) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        match found.last_mut() {
            // `==` and `!=` are one.
            Some(last) if c == '=' && (last == "=" || last == "!") => last.push('='),
            _ if is_mark(c) => found.push(c.to_string()),
            _ => {}
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

fn word(tokens: &mut Tokens, what: &str) -> Result<String, String> {
    match tokens.next() {
        Some(token) if !token.starts_with(is_mark) => Ok(token),
        Some(token) => Err(format!("found {token:?}, expected {what}")),
        None => Err(format!("found the end, expected {what}")),
    }
}

fn requirement(tokens: &mut Tokens) -> Result<Requirement, String> {
    if tokens.next_if(|token| token == "!").is_some() {
        return Ok(Requirement { key: word(tokens, "a key")?, test: Test::Missing });
    }
    let key = word(tokens, "a key")?;
    let operator = tokens.next_if(|token| token != ",");
    let test = match operator.as_deref() {
        None => Test::Exists,
        Some("=" | "==") => Test::In(vec![value(tokens)]),
        Some("!=") => Test::NotIn(vec![value(tokens)]),
        Some("in") => Test::In(values(tokens)?),
        Some("notin") => Test::NotIn(values(tokens)?),
        Some(">") => Test::Greater(number(tokens)?),
        Some("<") => Test::Less(number(tokens)?),
        Some(other) => return Err(format!("found {other:?}, expected one of =, ==, !=, in, notin, <, >")),
    };
    Ok(Requirement { key, test })
}

/// `a=` asks for the empty text.
fn value(tokens: &mut Tokens) -> String {
    tokens.next_if(|token| !token.starts_with(is_mark)).unwrap_or_default()
}

fn number(tokens: &mut Tokens) -> Result<i64, String> {
    let text = word(tokens, "a number")?;
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn values(tokens: &mut Tokens) -> Result<Vec<String>, String> {
    if tokens.next().as_deref() != Some("(") {
        return Err("expected a list in parentheses".to_owned());
    }
    let mut values = vec![value(tokens)];
    loop {
        match tokens.next().as_deref() {
            Some(",") => values.push(value(tokens)),
            Some(")") => return Ok(values),
            Some(other) => return Err(format!("found {other:?}, expected a comma or a closing parenthesis")),
            None => return Err("a list is not closed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::LabelSelector;

    #[test]
    fn selectors_fit_what_kubectl_says_they_fit() {
        let labels = json!({"app": "web", "tier": "front", "n": "7", "empty": ""});
        let fits = [
            "",
            "app",
            "app=web",
            "app == web,tier!=back",
            "app in (web, db)",
            "tier notin (back)",
            "!other",
            "other!=x",
            "n>6",
            "n<8,app",
            "empty=",
            "other notin (x,)",
        ];
        for text in fits {
            assert!(LabelSelector::parse(text).unwrap().matches(Some(&labels)), "{text}");
        }
        for text in [
            "other",
            "app=db",
            "app!=web",
            "!app",
            "app in (db)",
            "n>7",
            "app>1",
            "tier notin (front)",
            "app,x",
        ] {
            assert!(!LabelSelector::parse(text).unwrap().matches(Some(&labels)), "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in
            [",", "a,", "a b", "a in", "a in (b", "a in b", "=x", "!", "n>x", "a=b c", "a in (b c)", "(a)"]
        {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
