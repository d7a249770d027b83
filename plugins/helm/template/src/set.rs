//! Template sets: templates that can invoke each other by name (text/template/template.go).

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::code::Template;
use crate::context::Context;
use crate::error::{ExecError, ParseError};
use crate::function::Functions;
use crate::hash::FastMap;
use crate::limits::Limits;
use crate::machine::Machine;
use crate::parse::{Scratch, parse};
use crate::value::{Str, Value};

/// What a field of a map gives when the map has no such key (Go's option `missingkey`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingKey {
    /// No value, which prints as `<no value>` and has no value as any field.
    #[default]
    Default,
    /// The zero value of the map's element type: nil for `interface {}`, which prints as
    /// `<no value>` too but has no fields.
    Zero,
    /// An error.
    Error,
}

/// How a template is executed.
#[derive(Clone, Default)]
pub struct Execution {
    /// What missing keys give.
    pub missing_key: MissingKey,
    /// How much may be used.
    pub limits: Limits,
    /// Anything functions want to find again through [`Context::state`]: a cluster to look things
    /// up in, counters.
    pub state: Option<Rc<dyn Any>>,
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("missing_key", &self.missing_key)
            .field("limits", &self.limits)
            .field("state", &self.state.is_some())
            .finish()
    }
}

/// Templates by name. Parsing adds to it; executing does not change it, so one set serves any
/// number of executions. Cloning is cheap: the templates are shared.
///
/// ```
/// use helm_template::{Execution, Functions, Map, TemplateSet, Value};
///
/// let mut set = TemplateSet::new("example", Functions::new());
/// set.parse("hello", "{{ define \"who\" }}{{ .name | printf \"%q\" }}{{ end }}Hello {{ template \"who\" . }}!")?;
/// let data = Value::Map(Map::from_iter([("name", "you")]));
/// assert_eq!(set.execute("hello", data, &Execution::default())?, b"Hello \"you\"!");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TemplateSet(Rc<Namespace>);

impl TemplateSet {
    /// An empty set. `name` is what Go's `template.New(name)` has; it shows in the error for an
    /// unknown template. The functions stay as they are; what they need from outside comes through
    /// [`Execution::state`].
    pub fn new(name: impl Into<Str>, functions: impl Into<Rc<Functions>>) -> Self {
        Self(Rc::new(Namespace {
            name: name.into(),
            functions: functions.into(),
            parsed: Rc::default(),
            scratch: Rc::default(),
            templates: FastMap::default(),
            outer: None,
        }))
    }

    /// Parses a text under a name, and adds its template and those it defines. A template of a
    /// known name replaces the other, unless it has nothing but blanks and comments.
    ///
    /// # Errors
    /// [`ParseError`]; nothing is added then.
    pub fn parse(&mut self, name: impl Into<Str>, text: impl Into<Str>) -> Result<(), ParseError> {
        let parsed = self.0.parse(&name.into(), &text.into())?;
        if Rc::get_mut(&mut self.0).is_none() {
            self.0 = Rc::new(Namespace::within(self.0.clone()));
        }
        if let Some(namespace) = Rc::get_mut(&mut self.0) {
            for template in parsed {
                namespace.define(template);
            }
        }
        Ok(())
    }

    /// Whether there is a template of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.find(name.as_bytes()).is_some()
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<Str> {
        let mut names: Vec<Str> = self.0.layers().flat_map(|layer| layer.templates.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Executes the template of that name with `data` as its cursor and `$`.
    ///
    /// # Errors
    /// [`ExecError`] with Go's text.
    pub fn execute(&self, name: &str, data: Value, how: &Execution) -> Result<Vec<u8>, Box<ExecError>> {
        let mut context = Context::new(self.0.clone(), how.missing_key, how.limits, how.state.clone());
        let Some(template) = self.0.find(name.as_bytes()) else {
            return Err(Box::new(self.0.not_found(name.as_bytes())));
        };
        Machine::new(&mut context).execute(template, data)
    }

    pub(crate) fn namespace(&self) -> Rc<Namespace> {
        self.0.clone()
    }
}

/// Parsed texts by name and text, for functions that render the same text again and again.
type Parsed = FastMap<(Str, Str), Rc<[Rc<Template>]>>;

/// How many bytes of text are kept parsed; beyond that all is forgotten and begun anew.
const PARSED_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct ParsedTexts {
    texts: Parsed,
    bytes: usize,
}

/// The templates of a set, or of a text rendered within one, which sees those of the set as well.
pub(crate) struct Namespace {
    name: Str,
    functions: Rc<Functions>,
    parsed: Rc<RefCell<ParsedTexts>>,
    scratch: Rc<RefCell<Scratch>>,
    templates: FastMap<Str, Rc<Template>>,
    outer: Option<Rc<Namespace>>,
}

impl Namespace {
    /// A namespace that adds to another one.
    pub(crate) fn within(outer: Rc<Self>) -> Self {
        Self {
            name: outer.name.clone(),
            functions: outer.functions.clone(),
            parsed: outer.parsed.clone(),
            scratch: outer.scratch.clone(),
            templates: FastMap::default(),
            outer: Some(outer),
        }
    }

    pub(crate) fn name(&self) -> &Str {
        &self.name
    }

    fn layers(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |layer| layer.outer.as_deref())
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Rc<Template>> {
        self.layers().find_map(|layer| layer.templates.get(name)).cloned()
    }

    /// Adds a template. An empty one does not replace another.
    pub(crate) fn define(&mut self, template: Rc<Template>) {
        if !template.is_empty || self.find(template.name.as_bytes()).is_none() {
            self.templates.insert(template.name.clone(), template);
        }
    }

    pub(crate) fn not_found(&self, name: &[u8]) -> ExecError {
        ExecError::not_found(name, self.name.as_bytes())
    }

    fn parse(&self, name: &Str, text: &Str) -> Result<Vec<Rc<Template>>, ParseError> {
        parse(name, text, &self.functions, &mut self.scratch.borrow_mut())
    }

    /// Parses a text, or finds it parsed. The template of the text itself is the one of that name.
    pub(crate) fn parse_text(&self, name: &Str, text: &Str) -> Result<Rc<[Rc<Template>]>, ParseError> {
        let key = (name.clone(), text.clone());
        if let Some(templates) = self.parsed.borrow().texts.get(&key) {
            return Ok(templates.clone());
        }
        let templates: Rc<[_]> = self.parse(name, text)?.into();
        let mut parsed = self.parsed.borrow_mut();
        if parsed.bytes > PARSED_BYTES {
            *parsed = ParsedTexts::default();
        }
        parsed.bytes += text.len();
        parsed.texts.insert(key, templates.clone());
        Ok(templates)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({:?}, {} templates)", self.name, self.templates.len())
    }
}
