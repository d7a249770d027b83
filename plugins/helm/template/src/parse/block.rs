//! Statements: text, actions and the blocks that control them.

use super::emit::Draft;
use super::node::NodeKind;
use super::token::{Token, TokenKind};
use super::{Origin, ParseError, Parser, Result};
use crate::code::Op;

/// What opened a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    If,
    With,
    Range,
}

impl BlockKind {
    fn context(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::With => "with",
            Self::Range => "range",
        }
    }
}

/// An open `if`, `with` or `range`.
#[derive(Debug)]
pub(super) struct Block {
    kind: BlockKind,
    /// Whether it began as `else if` or `else with`: then it ends with the block it belongs to.
    chained: bool,
    in_else: bool,
    /// The jump to the else branch.
    skip: u32,
    /// The jumps to the end.
    exits: Vec<u32>,
    /// The `Next` of a loop.
    head: u32,
    /// How many names were known before.
    vars: usize,
    /// How many variables were in scope before it, and after its pipeline.
    scope: (usize, usize),
}

impl Parser<'_> {
    /// Text, a comment or an action.
    pub(super) fn statement(&mut self) -> Result<()> {
        let token = self.next_non_space();
        match token.kind {
            TokenKind::Text => {
                self.text(token);
                Ok(())
            }
            TokenKind::LeftDelim => {
                self.tree.action_line = token.line;
                self.action()
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn text(&mut self, token: Token) {
        if self.tree.is_empty {
            let text = self.lexer.text(token);
            self.tree.is_empty = std::str::from_utf8(text).is_ok_and(|text| text.trim().is_empty());
        }
        let (start, end) = (token.start, token.end);
        let (start, end) = (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX));
        self.emitter.draft.emit(Op::Text { start, end });
    }

    fn action(&mut self) -> Result<()> {
        let token = self.next_non_space();
        if !matches!(token.kind, TokenKind::End | TokenKind::Else) {
            self.tree.is_empty = false;
        }
        match token.kind {
            TokenKind::Block => return self.block(),
            TokenKind::If => return self.open(BlockKind::If, false),
            TokenKind::With => return self.open(BlockKind::With, false),
            TokenKind::Range => return self.open(BlockKind::Range, false),
            TokenKind::Else => return self.else_branch(),
            TokenKind::End => self.end()?,
            TokenKind::Template => self.template()?,
            TokenKind::Break => self.leave_loop("{{break}}", true)?,
            TokenKind::Continue => self.leave_loop("{{continue}}", false)?,
            _ => self.print(token)?,
        }
        self.tree.action_line = 0;
        Ok(())
    }

    /// An action that prints its value, or sets a variable.
    fn print(&mut self, token: Token) -> Result<()> {
        self.backup();
        let pipe = self.pipeline("command", TokenKind::RightDelim)?;
        let node = self.scratch.nodes.add(token.start, NodeKind::Action(pipe));
        self.emitter.pipeline(&self.scratch.nodes, pipe);
        let declares = matches!(
            self.scratch.nodes.kind(pipe),
            NodeKind::Pipe { declared, .. } if !declared.is_empty()
        );
        let ops = &mut self.emitter.draft.ops;
        match ops.last_mut() {
            Some(last @ Op::Copy { .. }) if declares => {
                if let Op::Copy { slot } = *last {
                    *last = Op::Store { slot };
                }
            }
            _ => ops.push(Op::Print { node }),
        }
        Ok(())
    }

    fn template(&mut self) -> Result<()> {
        let context = "template clause";
        let (token, name) = self.template_name(context)?;
        let mut pipe = None;
        if self.next_non_space().kind != TokenKind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(context, TokenKind::RightDelim)?);
        }
        self.invoke(token, name, pipe);
        Ok(())
    }

    fn template_name(&mut self, context: &str) -> Result<(Token, crate::value::Str)> {
        let token = self.next_non_space();
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, context));
        }
        Ok((token, self.unquoted(token)?))
    }

    fn invoke(&mut self, token: Token, name: crate::value::Str, pipe: Option<super::NodeId>) {
        let node = self.scratch.nodes.add(token.start, NodeKind::Template { name: name.clone(), pipe });
        let name = self.emitter.constant(name.into());
        self.emitter.draft.emit(Op::Lookup { name, node });
        match pipe {
            Some(pipe) => self.emitter.pipeline(&self.scratch.nodes, pipe),
            None => self.emitter.draft.emit(Op::NoValue),
        }
        self.emitter.draft.emit(Op::Invoke);
    }

    /// `block "name" pipeline`: invokes the template that it then defines.
    fn block(&mut self) -> Result<()> {
        let context = "block clause";
        let (token, name) = self.template_name(context)?;
        let pipe = self.pipeline(context, TokenKind::RightDelim)?;
        self.invoke(token, name.clone(), Some(pipe));
        self.enter(Origin::Block(name));
        Ok(())
    }

    fn leave_loop(&mut self, name: &str, ends: bool) -> Result<()> {
        let token = self.next_non_space();
        if token.kind != TokenKind::RightDelim {
            return Err(self.unexpected(token, name));
        }
        let innermost = self.tree.blocks.iter_mut().rev().find(|b| b.kind == BlockKind::Range && !b.in_else);
        let Some(block) = innermost else {
            return Err(self.error(format!("{name} outside {{{{range}}}}")));
        };
        let draft = &mut self.emitter.draft;
        if ends {
            draft.emit(Op::Break);
            block.exits.push(draft.here());
            draft.emit(Op::Jump { target: 0 });
        } else {
            draft.emit(Op::Jump { target: block.head });
        }
        Ok(())
    }

    /// `if`, `with` or `range` and its pipeline.
    fn open(&mut self, kind: BlockKind, chained: bool) -> Result<()> {
        let (vars, outside) = (self.tree.vars.len(), self.emitter.draft.scope.len());
        let pipe = self.pipeline(kind.context(), TokenKind::RightDelim)?;
        self.emitter.pipeline(&self.scratch.nodes, pipe);
        let inside = self.emitter.draft.scope.len();
        let slots = self.loop_slots(pipe);
        let draft = &mut self.emitter.draft;
        let skip = draft.here();
        let target = 0;
        draft.emit(match kind {
            BlockKind::If => Op::JumpIfFalse { target },
            BlockKind::With => Op::With { target },
            BlockKind::Range => Op::Range { slots: slots.0, declared: slots.1, target },
        });
        let mut exits = Vec::new();
        let head = draft.here();
        if kind == BlockKind::Range {
            exits.push(head);
            draft.emit(Op::Next { target });
        }
        let scope = (outside, inside);
        self.tree.blocks.push(Block { kind, chained, in_else: false, skip, exits, head, vars, scope });
        Ok(())
    }

    /// Where a loop puts index and element: the variables its pipeline has just set.
    fn loop_slots(&self, pipe: super::NodeId) -> ([u16; 2], u8) {
        let NodeKind::Pipe { declared, .. } = self.scratch.nodes.kind(pipe) else { return ([0; 2], 0) };
        let mut copies = self.emitter.draft.ops.iter().rev().take(declared.len as usize).map(|op| match op {
            Op::Copy { slot } => *slot,
            // Assigning to an unknown variable has failed by then.
            _ => 0,
        });
        let (last, before) = (copies.next(), copies.next());
        match (before, last) {
            (Some(index), Some(element)) => ([index, element], 2),
            (None, Some(element)) => ([0, element], 1),
            _ => ([0; 2], 0),
        }
    }

    fn else_branch(&mut self) -> Result<()> {
        let next = self.peek_non_space();
        let chains = match next.kind {
            TokenKind::If => Some(BlockKind::If),
            TokenKind::With => Some(BlockKind::With),
            _ => None,
        };
        if chains.is_none() {
            self.expect(TokenKind::RightDelim, "else")?;
        }
        self.tree.action_line = 0;
        let Some(block) = self.tree.blocks.last_mut() else {
            return Err(match self.tree.origin {
                Origin::Main => self.error("unexpected {{else}}"),
                Origin::Define(_) => self.error("unexpected {{else}} in define clause"),
                Origin::Block(_) => self.block_error("unexpected {{else}} in block clause"),
            });
        };
        if block.in_else {
            return Err(self.error("expected end; found {{else}}"));
        }
        block.in_else = true;
        let kind = block.kind;
        begin_else(block, &mut self.emitter.draft);
        // Of a range the pending `if` is refused as the text it then is.
        match chains {
            Some(chained) if chained == kind => {
                self.next();
                self.open(chained, true)
            }
            _ => Ok(()),
        }
    }

    /// Go tells it as an error of the template around the block, which has read no further than the block's name and pipeline.
    fn block_error(&self, message: &str) -> ParseError {
        let error = self.error(message);
        match self.outer.last() {
            Some((around, _)) => ParseError { line: around.lookahead.line(), ..error },
            None => error,
        }
    }

    /// `end`: of the innermost block and those it was chained to, or of the template.
    fn end(&mut self) -> Result<()> {
        self.expect(TokenKind::RightDelim, "end")?;
        if self.tree.blocks.is_empty() {
            let name = match &self.tree.origin {
                Origin::Main => return Err(self.error("unexpected {{end}}")),
                Origin::Define(name) | Origin::Block(name) => name.clone(),
            };
            return self.leave(name);
        }
        while let Some(block) = self.tree.blocks.pop() {
            let chained = block.chained;
            self.tree.vars.truncate(block.vars);
            close(block, &mut self.emitter.draft);
            if !chained {
                break;
            }
        }
        Ok(())
    }
}

/// Ends the first branch of a block.
fn begin_else(block: &mut Block, draft: &mut Draft) {
    end_branch(block, draft);
    if block.kind != BlockKind::Range {
        block.exits.push(draft.here());
        draft.emit(Op::Jump { target: 0 });
    }
    draft.land(block.skip);
    draft.scope.truncate(block.scope.1);
}

fn end_branch(block: &mut Block, draft: &mut Draft) {
    match block.kind {
        BlockKind::If => {}
        BlockKind::With => draft.emit(Op::EndWith),
        BlockKind::Range => draft.emit(Op::Jump { target: block.head }),
    }
}

fn close(mut block: Block, draft: &mut Draft) {
    if !block.in_else {
        end_branch(&mut block, draft);
        draft.land(block.skip);
    }
    for exit in block.exits {
        draft.land(exit);
    }
    draft.scope.truncate(block.scope.0);
}
