//! What a template finds in a value.

use std::cmp::Ordering;

use helm_template::{Value, fmt};

use super::{Bound, Node};

/// What one part found.
type Found = Result<Vec<Value>, Failed>;

/// Why nothing was found is shown to nobody; that client-go's functions return what they were given beside some errors is seen
/// by filters that ask whether something exists.
#[derive(Debug, Clone, Copy)]
struct Failed {
    leaves_something: bool,
}

const NOTHING: Failed = Failed { leaves_something: false };
const INPUT: Failed = Failed { leaves_something: true };

/// Loops deeper than this are a mistake.
const MOST_DEPTH: usize = 100;

pub(super) fn print(nodes: &[Node], value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let Ok(all) = Evaluation::default().find(nodes, value, 0) else { return out };
    for found in all {
        for (index, value) in found.iter().enumerate() {
            let Some(text) = text(value) else { return out };
            out.extend_from_slice(&text);
            if index + 1 < found.len() {
                out.push(b' ');
            }
        }
    }
    out
}

fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Nil => Some(b"null".to_vec()),
        Value::Map(_) | Value::List(_) => helm_yaml::json::to_json(value).ok(),
        other => fmt::text(other).ok().map(|text| text.as_bytes().to_vec()),
    }
}

/// Where loops begin and end, while the parts are gone through.
#[derive(Default)]
struct Evaluation {
    /// A loop begins with the parts that follow.
    begins: bool,
    /// How many loops are open.
    open: usize,
    /// Loops that were ended and not left.
    ends: usize,
    /// How many parts stand behind the end that was met last.
    behind_end: usize,
}

impl Evaluation {
    /// What each part finds, loops unrolled.
    fn find(&mut self, nodes: &[Node], value: &Value, depth: usize) -> Result<Vec<Vec<Value>>, Failed> {
        if depth > MOST_DEPTH {
            return Err(NOTHING);
        }
        let mut all = Vec::new();
        let mut rest = nodes;
        while let [node, after @ ..] = rest {
            let found = self.walk(vec![value.clone()], node)?;
            rest = after;
            if self.ends > 0 && self.ends <= self.open {
                self.ends -= 1;
                self.behind_end = after.len();
                break;
            }
            if !std::mem::take(&mut self.begins) {
                all.push(found);
                continue;
            }
            self.open += 1;
            if found.is_empty() {
                // The end has to be found all the same.
                self.find(after, &Value::Nil, depth + 1)?;
            }
            for value in &found {
                all.extend(self.find(after, value, depth + 1)?);
            }
            self.open -= 1;
            if self.behind_end < after.len() {
                rest = after.get(after.len() - self.behind_end..).unwrap_or_default();
            }
        }
        Ok(all)
    }

    fn list(&mut self, input: Vec<Value>, nodes: &[Node]) -> Found {
        nodes.iter().try_fold(input, |input, node| self.walk(input, node))
    }

    fn walk(&mut self, input: Vec<Value>, node: &Node) -> Found {
        let repeated = |value: Value| vec![value; input.len()];
        match node {
            Node::List(nodes) => self.list(input, nodes),
            Node::Text(text) => Ok(vec![text.into()]),
            Node::Int(number) => Ok(repeated((*number).into())),
            Node::Float(number) => Ok(repeated((*number).into())),
            Node::Bool(truth) => Ok(repeated((*truth).into())),
            Node::Field(name) => field(&input, name),
            Node::Array(bounds) => array(&input, *bounds),
            Node::Filter { left, operator, right } => self.filter(&input, left, operator, right),
            Node::Wildcard => Ok(input.iter().flat_map(children).collect()),
            Node::Recursive => Ok(recursive(&input, 0)),
            Node::Union(lists) => {
                let mut found = Vec::new();
                for list in lists {
                    found.extend(self.list(input.clone(), list).map_err(|_| INPUT)?);
                }
                Ok(found)
            }
            Node::Identifier(name) => self.identifier(input, name),
        }
    }

    fn identifier(&mut self, input: Vec<Value>, name: &str) -> Found {
        match name {
            "range" => {
                self.begins = true;
                Ok(input)
            }
            "end" if self.open > 0 => {
                self.ends += 1;
                Ok(Vec::new())
            }
            "end" => Err(NOTHING),
            _ => Err(INPUT),
        }
    }

    fn filter(&mut self, input: &[Value], left: &[Node], operator: &str, right: &[Node]) -> Found {
        let mut kept = Vec::new();
        for value in input {
            let Value::List(items) = value else {
                return Err(INPUT);
            };
            for item in items.as_slice() {
                let lefts = self.list(vec![item.clone()], left);
                if operator == "exists" {
                    if lefts.map_or_else(|failed| failed.leaves_something, |lefts| !lefts.is_empty()) {
                        kept.push(item.clone());
                    }
                    continue;
                }
                let lefts = lefts.map_err(|_| INPUT)?;
                let [left] = lefts.as_slice() else {
                    if lefts.is_empty() {
                        continue;
                    }
                    return Err(INPUT);
                };
                let rights = self.list(vec![item.clone()], right).map_err(|_| INPUT)?;
                match rights.as_slice() {
                    [] => {}
                    [right] => match holds(left, operator, right) {
                        Some(true) => kept.push(item.clone()),
                        Some(false) => {}
                        None => return Err(Failed { leaves_something: !kept.is_empty() }),
                    },
                    _ => return Err(INPUT),
                }
            }
        }
        Ok(kept)
    }
}

fn field(input: &[Value], name: &str) -> Found {
    let entry = |value: &Value| match value {
        Value::Map(map) => map.get(name),
        _ => None,
    };
    let found: Vec<Value> = input.iter().filter_map(entry).collect();
    if found.is_empty() && !input.is_empty() { Err(NOTHING) } else { Ok(found) }
}

fn children(value: &Value) -> Vec<Value> {
    match value {
        Value::Map(map) => map.snapshot().into_iter().map(|(_, value)| value).collect(),
        Value::List(items) => items.as_slice().to_vec(),
        Value::String(text) => text.as_bytes().iter().map(|byte| i64::from(*byte).into()).collect(),
        _ => Vec::new(),
    }
}

fn recursive(input: &[Value], depth: usize) -> Vec<Value> {
    let mut found = Vec::new();
    for value in input.iter().filter(|_| depth <= MOST_DEPTH) {
        let children = children(value);
        if !children.is_empty() {
            found.push(value.clone());
            found.extend(recursive(&children, depth + 1));
        }
    }
    found
}

fn array(input: &[Value], mut bounds: [Bound; 3]) -> Found {
    let mut found = Vec::new();
    for value in input {
        let items = match value {
            Value::Nil => continue,
            Value::List(items) => items.as_slice(),
            _ => return Err(INPUT),
        };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let [first, end, step] = &mut bounds;
        if !first.is_known {
            first.value = 0;
        }
        if first.value < 0 {
            first.value += length;
        }
        if !end.is_known {
            end.value = length;
        }
        if end.value < 0 || (end.value == 0 && end.is_derived) {
            end.value += length;
        }
        if first.value == end.value {
            return Ok(found);
        }
        let is_inside = |at: i64, last: i64| (0..=last).contains(&at);
        if !is_inside(first.value, length - 1) || !is_inside(end.value, length) || first.value > end.value {
            return Err(INPUT);
        }
        let (from, to) = (usize::try_from(first.value), usize::try_from(end.value));
        let step = if step.is_known { usize::try_from(step.value).unwrap_or(0) } else { 1 };
        let (Ok(from), Ok(to), 1..) = (from, to, step) else { return Err(INPUT) };
        let slice = items.get(from..to).unwrap_or_default();
        found.extend(slice.iter().step_by(step).cloned());
    }
    Ok(found)
}

/// A comparison as Go's templates do it: of values of one kind only, none for others.
fn holds(left: &Value, operator: &str, right: &Value) -> Option<bool> {
    let ordering = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Int(left, _), Value::Int(right, _)) => Some(left.cmp(right)),
        (Value::Float(left, _), Value::Float(right, _)) => left.partial_cmp(right),
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => Some(left.cmp(right)),
        _ => return None,
    };
    match operator {
        "==" => Some(ordering == Some(Ordering::Equal)),
        "!=" => Some(ordering != Some(Ordering::Equal)),
        "<" => Some(ordering == Some(Ordering::Less)),
        "<=" => Some(matches!(ordering, Some(Ordering::Less | Ordering::Equal))),
        ">" => Some(ordering == Some(Ordering::Greater)),
        ">=" => Some(matches!(ordering, Some(Ordering::Greater | Ordering::Equal))),
        _ => None,
    }
}
