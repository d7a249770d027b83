//! Expressions: pipelines, commands, operands.

use super::node::{NodeId, NodeKind, Row};
use super::number::Number;
use super::token::TokenKind;
use super::{Parser, Result};
use crate::error::ParseError;
use crate::fmt::quote;
use crate::value::Str;

/// How deep parentheses may be nested. Go allows 10,000, on WebAssembly 1,000; a level takes up to
/// 1.5 KiB of native stack here.
const MAX_PARENS: usize = 150;

/// How many variables may be declared in one template.
const MAX_VARS: usize = 60_000;

impl<'s> Parser<'s> {
    /// Variables and `:=` or `=`, then commands separated by `|`, up to a token.
    pub(super) fn pipeline(&mut self, context: &str, end: TokenKind) -> Result<NodeId> {
        let pos = self.peek_non_space().start;
        let (declared, assigns) = self.declarations(context)?;
        let first = self.scratch.pending.len();
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => break,
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Nil
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    self.scratch.pending.push(command);
                }
                _ => return Err(self.unexpected(token, context)),
            }
        }
        let commands = self.scratch.nodes.add_ids(self.scratch.pending.drain(first..));
        self.check_pipeline(self.scratch.nodes.ids(commands), context)?;
        Ok(self.scratch.nodes.add(pos, NodeKind::Pipe { declared, assigns, commands }))
    }

    /// The variables a pipeline sets, and whether it assigns rather than declares them.
    fn declarations(&mut self, context: &str) -> Result<(Row, bool)> {
        let first = self.scratch.pending.len();
        let assigns = self.declared(context, first)?;
        Ok((self.scratch.nodes.add_ids(self.scratch.pending.drain(first..)), assigns))
    }

    /// The same; the variables are the pending nodes from `first` on.
    fn declared(&mut self, context: &str, first: usize) -> Result<bool> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != TokenKind::Variable {
                return Ok(false);
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            let comma = next.kind == TokenKind::Char && self.lexer.text(next) == b",";
            if !comma && !matches!(next.kind, TokenKind::Assign | TokenKind::Declare) {
                if after.kind == TokenKind::Space {
                    self.backup3(variable, after);
                } else {
                    self.backup2(variable);
                }
                return Ok(false);
            }
            self.next_non_space();
            let name = self.intern(self.lexer.text(variable));
            let names = self.scratch.nodes.add_name(name.clone());
            self.scratch.pending.push(self.scratch.nodes.add(variable.start, NodeKind::Variable(names)));
            self.tree.vars.push(name);
            if self.tree.vars.len() > MAX_VARS {
                return Err(self.error("too many variables"));
            }
            if !comma {
                return Ok(next.kind == TokenKind::Assign);
            }
            if context != "range" || self.scratch.pending.len() - first >= 2 {
                return Err(self.error(format!("too many declarations in {context}")));
            }
            match self.peek_non_space().kind {
                TokenKind::Variable | TokenKind::RightDelim | TokenKind::RightParen => {}
                _ => return Err(self.error("range can only initialize variables")),
            }
        }
    }

    /// Refuses pipelines without commands, and constants that something is piped into.
    fn check_pipeline(&self, commands: &[NodeId], context: &str) -> Result<()> {
        if commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (index, command) in commands.iter().enumerate().skip(1) {
            let NodeKind::Command(words) = self.scratch.nodes.kind(*command) else { continue };
            let first = self.scratch.nodes.ids(*words).first().map(|word| self.scratch.nodes.kind(*word));
            if first.is_some_and(is_literal_or_dot) {
                let stage = index + 1;
                return Err(self.error(format!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    /// Operands separated by spaces.
    fn command(&mut self) -> Result<NodeId> {
        let pos = self.peek_non_space().start;
        let first = self.scratch.pending.len();
        loop {
            self.peek_non_space();
            let operand = self.operand()?;
            self.scratch.pending.extend(operand);
            let token = self.next();
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::RightDelim | TokenKind::RightParen => self.backup(),
                TokenKind::Pipe => {}
                _ => return Err(self.unexpected(token, "operand")),
            }
            break;
        }
        let words = self.scratch.nodes.add_ids(self.scratch.pending.drain(first..));
        if words.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(self.scratch.nodes.add(pos, NodeKind::Command(words)))
    }

    /// A term and the fields that follow it.
    fn operand(&mut self) -> Result<Option<NodeId>> {
        let Some(node) = self.term()? else { return Ok(None) };
        let first = self.peek();
        if first.kind != TokenKind::Field {
            return Ok(Some(node));
        }
        let mut names = match self.scratch.nodes.kind(node) {
            NodeKind::Field(names) | NodeKind::Variable(names) => *names,
            kind if is_literal_or_dot(kind) => return Err(self.field_of_literal(node)),
            _ => Row::default(),
        };
        while self.peek().kind == TokenKind::Field {
            let token = self.next();
            let name = self.field_name(self.lexer.text(token));
            names = if names.is_empty() {
                self.scratch.nodes.add_name(name)
            } else {
                self.scratch.nodes.lengthen(names, name)
            };
        }
        let kind = match self.scratch.nodes.kind(node) {
            NodeKind::Field(_) => NodeKind::Field(names),
            NodeKind::Variable(_) => NodeKind::Variable(names),
            _ => NodeKind::Chain(node, names),
        };
        Ok(Some(self.scratch.nodes.add(first.start, kind)))
    }

    fn field_of_literal(&mut self, node: NodeId) -> ParseError {
        // The line of the error is that of the last field.
        while self.peek().kind == TokenKind::Field {
            self.next();
        }
        let text = quote(self.scratch.nodes.text(node).as_bytes());
        self.error(format!("unexpected . after term {text}"))
    }

    /// A field's name without its dot.
    fn field_name(&mut self, text: &'s [u8]) -> Str {
        self.intern(text.get(1..).unwrap_or_default())
    }

    /// A constant, a name or an expression in parentheses; `None`, and nothing read, when what
    /// comes next is no term.
    fn term(&mut self) -> Result<Option<NodeId>> {
        let token = self.next_non_space();
        let text = self.lexer.text(token);
        let kind = match token.kind {
            TokenKind::Identifier => {
                let Some((name, callee)) = self.callee(text) else {
                    return Err(self.error(format!("function {} not defined", quote(text))));
                };
                NodeKind::Identifier(name, callee)
            }
            TokenKind::Dot => NodeKind::Dot,
            TokenKind::Nil => NodeKind::Nil,
            TokenKind::Variable => {
                let name = self.intern(text);
                if !self.tree.vars.contains(&name) {
                    return Err(self.error(format!("undefined variable {}", quote(text))));
                }
                NodeKind::Variable(self.scratch.nodes.add_name(name))
            }
            TokenKind::Field => {
                let name = self.field_name(text);
                NodeKind::Field(self.scratch.nodes.add_name(name))
            }
            TokenKind::Bool => NodeKind::Bool(text == b"true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let number = match token.kind {
                    TokenKind::CharConstant => Number::character(text),
                    TokenKind::Complex => Number::complex(&String::from_utf8_lossy(text)),
                    _ => Number::parse(&String::from_utf8_lossy(text)),
                };
                let number = number.map_err(|message| self.error(message))?;
                NodeKind::Number { end: position(token.end), number: self.scratch.nodes.add_number(number) }
            }
            TokenKind::String | TokenKind::RawString => {
                NodeKind::String { end: position(token.end), text: self.unquoted(token)? }
            }
            TokenKind::LeftParen => return self.parenthesis().map(Some),
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.scratch.nodes.add(token.start, kind)))
    }

    fn parenthesis(&mut self) -> Result<NodeId> {
        if self.tree.paren_depth >= MAX_PARENS {
            return Err(self.error("max expression depth exceeded"));
        }
        self.tree.paren_depth += 1;
        let pipe = self.pipeline("parenthesized pipeline", TokenKind::RightParen);
        self.tree.paren_depth -= 1;
        pipe
    }
}

fn is_literal_or_dot(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Bool(_) | NodeKind::Dot | NodeKind::Nil | NodeKind::Number { .. } | NodeKind::String { .. }
    )
}

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
