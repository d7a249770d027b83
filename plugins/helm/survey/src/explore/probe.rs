//! Who looks on while templates decide.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use helm_template::{Function, Functions, IntType, List, Map, Signature, Type, Value};

use super::candidates::FILLING;
use super::setting::{Asked, Place, Step};
use crate::template::instrument::{Literal, MARK, PROBE, Site, Use};

/// A place that was come by.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) site: usize,
    /// What its value was as a condition.
    pub(crate) truth: bool,
    /// What decided.
    pub(crate) asked: BTreeSet<Asked>,
}

/// What is told during a rendering.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) sites: Rc<[Site]>,
    hits: Vec<Hit>,
    /// Where maps of the values lie.
    places: HashMap<usize, Place>,
    /// What the values of variables came of, by text.
    variables: HashMap<(usize, String), BTreeSet<Asked>>,
    /// Constants that values were seen beside.
    literals: BTreeMap<Place, Vec<Literal>>,
    /// A condition that shall turn out so whatever is asked.
    pub(crate) forced: Option<(usize, bool)>,
}

impl Recorder {
    pub(crate) fn new(sites: Rc<[Site]>) -> Self {
        Self {
            sites,
            hits: Vec::new(),
            places: HashMap::new(),
            variables: HashMap::new(),
            literals: BTreeMap::new(),
            forced: None,
        }
    }

    /// A rendering begins with these values. How many there are.
    pub(crate) fn begin(&mut self, values: &Map) -> usize {
        let mut size = 0;
        self.places.clear();
        self.hits.clear();
        let mut open = vec![(Value::Map(values.clone()), Place::new())];
        while let Some((value, place)) = open.pop() {
            size += 1;
            let below = |step: Step| place.iter().cloned().chain([step]).collect::<Place>();
            match value {
                Value::Map(map) => {
                    let entries = map.snapshot().into_iter();
                    open.extend(entries.map(|(key, value)| (value, below(Step::Key(key.to_string())))));
                    self.places.insert(map.address(), place);
                }
                Value::List(list) => {
                    let items = list.iter().enumerate();
                    open.extend(items.map(|(index, item)| (item.clone(), below(Step::Item(index)))));
                }
                _ => {}
            }
        }
        size
    }

    /// What was told since the last time.
    pub(crate) fn take(&mut self) -> Vec<Hit> {
        self.variables.clear();
        std::mem::take(&mut self.hits)
    }

    /// Constants that a value was seen beside.
    pub(crate) fn literals(&self, place: &Place) -> &[Literal] {
        self.literals.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    fn hit(&mut self, number: usize, mark: usize, bases: &[Value], value: Value) -> Value {
        let sites = Rc::clone(&self.sites);
        let Some(site) = sites.get(number) else { return value };
        let mut asked = self.asked(site, bases);
        asked.extend(self.hits.iter().skip(mark).flat_map(|hit| hit.asked.iter().cloned()));
        if let Use::Assign(name) = &site.role {
            self.variables.entry((site.text, name.clone())).or_default().extend(asked.iter().cloned());
        }
        let value = match self.forced {
            Some((forced, truth)) if forced == number && value.truth() != truth => {
                replacement(&site.role, truth)
            }
            _ => value,
        };
        self.hits.push(Hit { site: number, truth: value.truth(), asked });
        value
    }

    fn asked(&mut self, site: &Site, bases: &[Value]) -> BTreeSet<Asked> {
        let mut asked: BTreeSet<Asked> = site.apis.iter().cloned().map(Asked::Api).collect();
        if site.upgrade {
            asked.insert(Asked::Upgrade);
        }
        for (base, names) in &site.paths {
            let Some(place) = bases.get(*base).and_then(|base| self.place(base, names)) else { continue };
            let known = self.literals.entry(place.clone()).or_default();
            for literal in &site.literals {
                if !known.contains(literal) {
                    known.push(literal.clone());
                }
            }
            asked.insert(Asked::Value(place));
        }
        let variables = site.variables.iter();
        let of_variables = variables.filter_map(|name| self.variables.get(&(site.text, name.clone())));
        asked.extend(of_variables.flatten().cloned());
        asked
    }

    /// Where a field of a field of something is in the values.
    fn place(&self, base: &Value, names: &[String]) -> Option<Place> {
        let known = |value: &Value| value.as_map().and_then(|map| self.places.get(&map.address()));
        let mut place = known(base).cloned();
        let mut current = base.clone();
        for name in names {
            let next = current.as_map().and_then(|map| map.get(name)).unwrap_or_default();
            if let Some(place) = &mut place {
                place.push(Step::Key(name.clone()));
            }
            if let Some(known) = known(&next) {
                place = Some(known.clone());
            }
            current = next;
        }
        place.filter(|place| !place.is_empty())
    }
}

/// What a condition is given that shall turn out so.
fn replacement(role: &Use, truth: bool) -> Value {
    let named = || Value::Map([("name", FILLING)].into_iter().collect::<Map>());
    match (role, truth) {
        (Use::If, truth) => truth.into(),
        (_, false) => Value::Nil,
        (Use::Range, true) => Value::List(List::new(vec![named()])),
        (_, true) => named(),
    }
}

/// Functions that make keys and hashes, which takes longer than all the rest and decides nothing.
const SLOW: [&str; 12] = [
    "bcrypt",
    "buildCustomCert",
    "derivePassword",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
];

/// The function with the result that it had first.
fn once(function: Rc<Function>) -> Function {
    let known = RefCell::new(None);
    let (name, signature) = (function.name().clone(), *function.signature());
    Function::new(name, signature, move |context, arguments| {
        if let Some(value) = &*known.borrow() {
            return Ok(Value::clone(value));
        }
        let value = function.call(context, arguments)?;
        *known.borrow_mut() = Some(value.clone());
        Ok(value)
    })
}

/// Adds the functions that instrumented templates call, and takes away what would only stop them.
pub(crate) fn functions(recorder: &Rc<RefCell<Recorder>>, functions: &mut Functions) {
    const PARAMS: &[Type] = &[Type::Int(IntType::Int), Type::Int(IntType::Int)];
    let told = Rc::clone(recorder);
    functions.insert(Function::new(MARK, Signature::new(&[], Type::Int(IntType::Int)), move |_, _| {
        Ok(Value::int(i64::try_from(told.borrow().hits.len()).unwrap_or(i64::MAX)))
    }));
    let told = Rc::clone(recorder);
    let probe = Signature::variadic(PARAMS, &Type::Any, Type::Any);
    functions.insert(Function::new(PROBE, probe, move |_, arguments| {
        let [site, mark, bases @ .., value] = arguments else { return Ok(Value::Nil) };
        let number = |value: &Value| value.as_i64().and_then(|number| usize::try_from(number).ok());
        let (Some(site), Some(mark)) = (number(site), number(mark)) else { return Ok(value.clone()) };
        Ok(told.borrow_mut().hit(site, mark, bases, value.clone()))
    }));
    for name in SLOW {
        if let Some(slow) = functions.get(name).map(Rc::clone) {
            functions.insert(once(slow));
        }
    }
    let text_and_any = Signature::new(&[Type::String, Type::Any], Type::Any);
    functions.insert(Function::new("required", text_and_any, |_, arguments| {
        let value = arguments.get(1).cloned().unwrap_or_default();
        let missing = value.is_nil() || value.as_str().is_some_and(str::is_empty);
        Ok(if missing { FILLING.into() } else { value })
    }));
    let text = Signature::new(&[Type::String], Type::String);
    functions.insert(Function::new("fail", text, |_, _| Ok(Value::empty_string())));
}
