//! Changes that may turn a condition.

use std::collections::{BTreeMap, BTreeSet};

use helm_template::{List, Map, Value};

use super::setting::{Asked, Place, Setting};
use crate::template::instrument::{Literal, Use};

/// What is put where a text or a name is wanted.
pub(crate) const FILLING: &str = "example";
/// At most so many changes are tried for one condition.
const MOST: usize = 14;
/// Conditions that ask for more values are changed as a whole only.
const MOST_ALONE: usize = 4;

/// A condition that shall turn.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) role: &'a Use,
    pub(crate) wanted: bool,
    pub(crate) asked: &'a BTreeSet<Asked>,
    /// Constants of the condition, and those that its values were seen beside elsewhere.
    pub(crate) literals: &'a [Literal],
    /// The setting it was seen in, and what was at the places that it asked.
    pub(crate) setting: &'a Setting,
    pub(crate) values: &'a BTreeMap<Place, Value>,
}

impl Turn<'_> {
    /// Settings to try, likely ones first.
    pub(crate) fn candidates(&self) -> Vec<Setting> {
        let mut all = Vec::new();
        let places: Vec<&Place> = self.places().collect();
        if self.wanted {
            all.extend(self.shapes().into_iter().map(|shape| self.with(|value| shape.fill(value))));
        } else {
            all.push(self.with(empty));
        }
        for literal in self.literals.iter().map(value_of) {
            all.push(self.with(|_| literal.clone()));
            if places.len() > 1 && places.len() <= MOST_ALONE {
                all.extend(places.iter().map(|place| self.setting_with(&[(place, literal.clone())])));
            }
        }
        if places.len() > 1 && places.len() <= MOST_ALONE {
            for place in &places {
                let value = self.value(place);
                let other = if value.truth() { empty(&value) } else { Shape::Plain.fill(&value) };
                all.push(self.setting_with(&[(place, other)]));
            }
        }
        if self.asked.iter().any(|asked| matches!(asked, Asked::Api(_))) {
            all.push(self.served(Setting::clone(self.setting), !self.wanted));
        }
        if self.wanted {
            all.push(self.with(empty));
        } else {
            all.push(self.with(|_| "other".into()));
            all.push(self.with(|value| Shape::Plain.fill(value)));
        }
        for literal in self.literals.iter().map(value_of).take(2) {
            all.push(self.with(|_| Value::List(List::new(vec![literal.clone()]))));
        }
        all.truncate(MOST);
        all
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.asked.iter().filter_map(|asked| match asked {
            Asked::Value(place) => Some(place),
            _ => None,
        })
    }

    fn value(&self, place: &Place) -> Value {
        self.values.get(place).cloned().unwrap_or_default()
    }

    /// Settings with other values where one is printed.
    pub(crate) fn others(&self) -> Vec<Setting> {
        let mut all = Vec::new();
        let places: Vec<&Place> = self.places().collect();
        for place in places.iter().take(MOST_ALONE) {
            let value = self.value(place);
            if let Value::Bool(truth) = value {
                all.push(self.setting_with(&[(place, (!truth).into())]));
            }
            for literal in self.literals.iter().map(value_of) {
                all.push(self.setting_with(&[(place, literal)]));
            }
        }
        all.truncate(MOST);
        all
    }

    /// What may be put where nothing is.
    fn shapes(&self) -> Vec<Shape> {
        match self.role {
            Use::Range => vec![Shape::Plain, Shape::Items, Shape::Entries],
            Use::With => vec![Shape::Plain, Shape::Entries, Shape::Items],
            _ => vec![Shape::Plain, Shape::Text, Shape::Items],
        }
    }

    /// Every value that was asked is changed, and so are the facts.
    fn with(&self, change: impl Fn(&Value) -> Value) -> Setting {
        let changes: Vec<(&Place, Value)> =
            self.places().map(|place| (place, change(&self.value(place)))).collect();
        let mut setting = self.setting_with(&changes);
        if self.asked.contains(&Asked::Upgrade) {
            setting.upgrade = !setting.upgrade;
        }
        self.served(setting, self.wanted)
    }

    /// The cluster serves what was asked for, or does not.
    fn served(&self, mut setting: Setting, served: bool) -> Setting {
        for asked in self.asked {
            let Asked::Api(api) = asked else { continue };
            let (with, without) = (&mut setting.with_apis, &mut setting.without_apis);
            let (into, from) = if served { (with, without) } else { (without, with) };
            from.remove(api);
            into.insert(api.clone());
        }
        setting
    }

    fn setting_with(&self, changes: &[(&Place, Value)]) -> Setting {
        let mut setting = self.setting.clone();
        for (place, value) in changes {
            setting.set((*place).clone(), value.clone());
        }
        setting
    }
}

fn value_of(literal: &Literal) -> Value {
    match literal {
        Literal::Text(text) => text.into(),
        Literal::Number(number) => (*number).into(),
    }
}

/// Something of the same type that is false as a condition.
fn empty(value: &Value) -> Value {
    match value {
        Value::Bool(_) => false.into(),
        Value::String(_) => Value::empty_string(),
        Value::Float(..) | Value::Int(..) | Value::Uint(..) => 0.0.into(),
        Value::List(_) => Value::List(List::new(Vec::new())),
        // An empty map would leave what the chart has in it.
        _ => Value::Nil,
    }
}

/// What something empty is filled with.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// What its type says.
    Plain,
    Text,
    /// A list of a map.
    Items,
    /// A map of a map.
    Entries,
}

impl Shape {
    fn fill(self, value: &Value) -> Value {
        if value.truth() {
            return value.clone();
        }
        let named = || Value::Map([("name", FILLING)].into_iter().collect::<Map>());
        let items = || Value::List(List::new(vec![named()]));
        match (self, value) {
            (Self::Plain, Value::String(_)) => FILLING.into(),
            (Self::Plain, Value::Float(..) | Value::Int(..) | Value::Uint(..)) => 1.0.into(),
            (Self::Plain, Value::List(_)) => items(),
            (Self::Plain, Value::Map(_)) => named(),
            (Self::Plain, _) => true.into(),
            (Self::Text, Value::List(_)) => Value::List(List::new(vec![FILLING.into()])),
            (Self::Text, _) => FILLING.into(),
            (Self::Items, _) => items(),
            (Self::Entries, _) => Value::Map([(FILLING, named())].into_iter().collect::<Map>()),
        }
    }
}
