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

use std::rc::Rc;

use self::block::Block;
use self::emit::{Draft, Emitter};
use self::lex::Lexer;
use self::lookahead::Lookahead;
pub(crate) use self::node::{NO_NODE, NodeId, NodeKind, Nodes, Row};
pub(crate) use self::number::Number;
use self::token::TokenKind;
use crate::code::{Op, Template, Unit};
use crate::error::ParseError;
use crate::fmt::quote;
use crate::function::Functions;
use crate::hash::FastMap;
use crate::value::Str;

type Result<T> = std::result::Result<T, ParseError>;

/// Parses a text: the template of that name and those it defines, in no particular order.
///
/// # Errors
/// [`ParseError`] with Go's text.
pub(crate) fn parse(name: &Str, text: &Str, functions: &Functions) -> Result<Vec<Rc<Template>>> {
    let mut parser = Parser {
        name,
        lexer: Lexer::new(text.as_bytes()),
        nodes: Nodes::of(text),
        pending: Vec::new(),
        emitter: Emitter::new(functions),
        functions,
        interned: FastMap::default(),
        tree: Tree::new(Origin::Main),
        outer: Vec::new(),
        finished: Vec::new(),
    };
    parser.lexer.break_ok = !functions.contains(b"break");
    parser.lexer.continue_ok = !functions.contains(b"continue");
    parser.run()?;
    let Parser { nodes, emitter, finished, .. } = parser;
    let unit = Rc::new(Unit {
        name: name.clone(),
        text: text.clone(),
        nodes,
        constants: emitter.constants,
        functions: emitter.functions,
    });
    Ok(finished.into_iter().map(|draft| Rc::new(draft.into_template(&unit))).collect())
}

struct Parser<'s> {
    name: &'s Str,
    lexer: Lexer<'s>,
    nodes: Nodes,
    /// Nodes that will lie side by side once all of them are read, those of the innermost list last.
    pending: Vec<NodeId>,
    emitter: Emitter<'s>,
    functions: &'s Functions,
    /// Each name of the text once.
    interned: FastMap<&'s [u8], Str>,
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
    fn new(origin: Origin) -> Self {
        Self {
            origin,
            lookahead: Lookahead::default(),
            vars: vec![Str::from("$")],
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
    draft: Draft,
    is_empty: bool,
}

impl Finished {
    fn into_template(self, unit: &Rc<Unit>) -> Template {
        Template {
            name: self.name,
            unit: unit.clone(),
            ops: self.draft.ops,
            slots: u16::try_from(self.draft.slots).unwrap_or(u16::MAX),
            is_empty: self.is_empty,
        }
    }
}

impl<'s> Parser<'s> {
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
        let tree = std::mem::replace(&mut self.tree, Tree::new(origin));
        let draft = std::mem::replace(&mut self.emitter.draft, Draft::new());
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
        let draft = std::mem::replace(&mut self.emitter.draft, Draft::new());
        let finished = Finished { name, draft, is_empty };
        match known.and_then(|index| self.finished.get_mut(index)) {
            Some(other) => *other = finished,
            None => self.finished.push(finished),
        }
        Ok(())
    }

    fn intern(&mut self, name: &'s [u8]) -> Str {
        self.interned.entry(name).or_insert_with(|| Str::from_bytes(name)).clone()
    }
}
