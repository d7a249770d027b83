//! The parser: tokens into compiled templates (text/template/parse/parse.go).
//!
//! Expressions become syntax trees, which are compiled and kept for error texts. Statements are
//! compiled as they are read. Open blocks lie on a stack of our own, so their depth costs no
//! native stack; that of parentheses is bounded.

mod block;
mod emit;
mod expression;
mod lex;
mod lookahead;
mod node;
mod number;
mod token;

use std::cell::OnceCell;
use std::rc::Rc;

use self::block::Block;
use self::emit::{Draft, Emitter};
use self::lex::Lexer;
use self::lookahead::Lookahead;
pub(crate) use self::node::{Callee, NO_NODE, NodeId, NodeKind, Nodes, Row};
pub(crate) use self::number::Number;
use self::token::TokenKind;
use crate::builtin::Builtin;
use crate::code::{Op, Template, Unit};
use crate::error::ParseError;
use crate::fmt::quote;
use crate::function::Functions;
use crate::hash::{FastMap, FastSet, Word};
use crate::value::{Str, Value};

type Result<T> = std::result::Result<T, ParseError>;

/// Parses a text: the template of that name and those it defines, in no particular order.
///
/// # Errors
/// [`ParseError`] with Go's text.
pub(crate) fn parse(
    name: &Str,
    text: &Str,
    functions: &Functions,
    scratch: &mut Scratch,
) -> Result<Vec<Rc<Template>>> {
    let mut parser = Parser::new(name, text, functions, scratch);
    parser.run()?;
    let Parser { emitter, finished, scratch, .. } = parser;
    let Emitter { mut constants, functions, .. } = emitter;
    let unit = Rc::new(Unit {
        name: name.clone(),
        text: text.clone(),
        names: scratch.nodes.take_names(),
        constants: constants.drain(..).collect(),
        functions,
        nodes: OnceCell::new(),
    });
    scratch.constants = constants;
    Ok(finished.into_iter().map(|template| Rc::new(template.of(&unit))).collect())
}

/// The syntax tree of a text that was parsed before.
pub(crate) fn nodes(unit: &Unit) -> Nodes {
    let (functions, mut scratch) = (Functions::of(&unit.functions), Scratch::default());
    match Parser::new(&unit.name, &unit.text, &functions, &mut scratch).run() {
        Ok(()) => scratch.nodes,
        // It was parsed before.
        Err(_) => Nodes::default(),
    }
}

/// What parsing works in. It is kept from one text to the next: memory that was never touched before costs more than all
/// that is done with it.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    nodes: Nodes,
    /// Nodes that will lie side by side once all of them are read, those of the innermost list last.
    pending: Vec<NodeId>,
    constants: Vec<Value>,
    /// Empty.
    ops: Vec<Vec<Op>>,
    /// Each name once.
    words: FastSet<Str>,
}

impl Scratch {
    /// Ready for another text.
    fn restart(&mut self, text: &Str) {
        self.nodes.restart(text);
        self.pending.clear();
        self.constants.clear();
        if self.words.len() > MOST_WORDS {
            self.words.clear();
        }
    }

    fn word(&mut self, name: &[u8]) -> Str {
        if let Some(known) = self.words.get(name) {
            return known.clone();
        }
        let word = Str::from_bytes(name);
        self.words.insert(word.clone());
        word
    }

    fn draft(&mut self) -> Draft {
        let dollar = self.word(b"$");
        Draft::new(self.ops.pop().unwrap_or_default(), dollar)
    }
}

/// Names that are kept. Texts that templates make up may have any number of them.
const MOST_WORDS: usize = 1 << 14;

struct Parser<'s> {
    name: &'s Str,
    lexer: Lexer<'s>,
    scratch: &'s mut Scratch,
    emitter: Emitter,
    functions: &'s Functions,
    /// Each function the text names.
    called: FastMap<Word<'s>, (Str, Callee)>,
    /// The template being parsed.
    tree: Tree,
    /// Those it stands in, with their code.
    outer: Vec<(Tree, Draft)>,
    finished: Vec<Finished>,
}

/// Why a template is being parsed.
#[derive(Debug)]
enum Origin {
    Main,
    Define(Str),
    Block(Str),
}

/// The state of parsing one template.
#[derive(Debug)]
struct Tree {
    origin: Origin,
    lookahead: Lookahead,
    /// The variables that names are checked against, which are more than those in scope: Go's
    /// parser knows those of a branch in the other branch as well.
    vars: Vec<Str>,
    /// The line of the delimiter that began the current action; 0 when there is none.
    action_line: u32,
    paren_depth: usize,
    blocks: Vec<Block>,
    is_empty: bool,
}

impl Tree {
    fn new(origin: Origin, dollar: Str) -> Self {
        Self {
            origin,
            lookahead: Lookahead::default(),
            vars: vec![dollar],
            action_line: 0,
            paren_depth: 0,
            blocks: Vec::new(),
            is_empty: true,
        }
    }
}

/// A template that was parsed to its end.
struct Finished {
    name: Str,
    ops: Box<[Op]>,
    slots: u16,
    is_empty: bool,
}

impl Finished {
    fn of(self, unit: &Rc<Unit>) -> Template {
        let Self { name, ops, slots, is_empty } = self;
        Template { name, unit: unit.clone(), ops, slots, is_empty }
    }
}

impl<'s> Parser<'s> {
    fn new(name: &'s Str, text: &'s Str, functions: &'s Functions, scratch: &'s mut Scratch) -> Self {
        scratch.restart(text);
        let constants = std::mem::take(&mut scratch.constants);
        let mut lexer = Lexer::new(text.as_bytes());
        lexer.break_ok = !functions.contains(b"break");
        lexer.continue_ok = !functions.contains(b"continue");
        Self {
            name,
            lexer,
            emitter: Emitter::new(scratch.draft(), constants),
            tree: Tree::new(Origin::Main, scratch.word(b"$")),
            scratch,
            functions,
            called: FastMap::default(),
            outer: Vec::new(),
            finished: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<()> {
        loop {
            if self.peek_non_space().kind == TokenKind::Eof {
                if !self.tree.blocks.is_empty() || !self.outer.is_empty() {
                    return Err(self.error("unexpected EOF"));
                }
                return self.finish(self.name.clone());
            }
            if !self.definition()? {
                self.statement()?;
            }
        }
    }

    /// Begins a definition, if one comes next where it may.
    fn definition(&mut self) -> Result<bool> {
        let outermost = matches!(self.tree.origin, Origin::Main) && self.tree.blocks.is_empty();
        if !outermost || self.peek().kind != TokenKind::LeftDelim {
            return Ok(false);
        }
        let delim = self.next();
        if self.next_non_space().kind != TokenKind::Define {
            self.backup2(delim);
            return Ok(false);
        }
        self.enter(Origin::Define(Str::default()));
        let context = "define clause";
        let token = self.next_non_space();
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, context));
        }
        let name = self.unquoted(token)?;
        self.expect(TokenKind::RightDelim, context)?;
        self.tree.origin = Origin::Define(name);
        Ok(true)
    }

    /// Begins a template inside of the current one.
    fn enter(&mut self, origin: Origin) {
        let tree = std::mem::replace(&mut self.tree, Tree::new(origin, self.scratch.word(b"$")));
        let draft = std::mem::replace(&mut self.emitter.draft, self.scratch.draft());
        self.outer.push((tree, draft));
    }

    /// Ends the current template and goes on with the one around it.
    fn leave(&mut self, name: Str) -> Result<()> {
        self.finish(name)?;
        if let Some((tree, draft)) = self.outer.pop() {
            self.tree = tree;
            self.emitter.draft = draft;
        }
        Ok(())
    }

    /// Adds the current template to the finished ones. An empty one gives way to one that is not.
    fn finish(&mut self, name: Str) -> Result<()> {
        self.emitter.draft.emit(Op::Return);
        let known = self.finished.iter().position(|other| other.name == name);
        let is_empty = self.tree.is_empty;
        match known.and_then(|index| self.finished.get(index)) {
            Some(other) if !other.is_empty => {
                if !is_empty {
                    let quoted = quote(name.as_bytes());
                    return Err(self.error(format!("template: multiple definition of template {quoted}")));
                }
                return Ok(());
            }
            _ => {}
        }
        let Draft { mut ops, slots, .. } = std::mem::replace(&mut self.emitter.draft, self.scratch.draft());
        let slots = u16::try_from(slots).unwrap_or(u16::MAX);
        let finished = Finished { name, ops: ops.as_slice().into(), slots, is_empty };
        ops.clear();
        self.scratch.ops.push(ops);
        match known.and_then(|index| self.finished.get_mut(index)) {
            Some(other) => *other = finished,
            None => self.finished.push(finished),
        }
        Ok(())
    }

    fn intern(&mut self, name: &'s [u8]) -> Str {
        self.scratch.word(name)
    }

    /// The function of a name, if there is one.
    fn callee(&mut self, name: &'s [u8]) -> Option<(Str, Callee)> {
        if let Some(known) = self.called.get(&Word(name)) {
            return Some(known.clone());
        }
        let callee = match self.functions.get(name) {
            Some(function) => self.emitter.function(function),
            None => Callee::Builtin(Builtin::find(name)?),
        };
        let found = (self.intern(name), callee);
        self.called.insert(Word(name), found.clone());
        Some(found)
    }
}
