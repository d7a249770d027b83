//! Colours of a difference.

use std::io::IsTerminal as _;

use clap::ValueEnum;

use crate::unified_diff::Sign;

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// At a terminal that wants them.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In none.
    Never,
}

impl Colour {
    /// Whether standard output has colours.
    pub(super) fn is_on(self) -> bool {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        self.decide(
            std::io::stdout().is_terminal(),
            set("NO_COLOR").is_some(),
            set("TERM").is_some_and(|term| term == "dumb"),
        )
    }

    fn decide(self, is_terminal: bool, no_color: bool, is_dumb: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !no_color && !is_dumb,
        }
    }
}

const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";
const BOLD: &str = "1";

/// Text in the colour of what it says, or plain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    fn painted(self, colour: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn title(self, text: &str) -> String {
        self.painted(BOLD, text)
    }

    pub(super) fn line(self, sign: Sign, text: &str) -> String {
        match sign {
            Sign::Both => text.to_owned(),
            Sign::Old => self.painted(RED, text),
            Sign::New => self.painted(GREEN, text),
            Sign::Place => self.painted(CYAN, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them_unless_somebody_says() {
        assert!(Colour::Auto.decide(true, false, false));
        assert!(!Colour::Auto.decide(false, false, false), "into a file");
        assert!(!Colour::Auto.decide(true, true, false) && !Colour::Auto.decide(true, false, true));
        assert!(Colour::Always.decide(false, true, true), "who says always means it");
        assert!(!Colour::Never.decide(true, false, false));
    }

    #[test]
    fn text_is_painted_by_what_it_says() {
        assert_eq!(Paint(true).line(Sign::Old, "-a"), "\x1b[31m-a\x1b[0m");
        assert_eq!(Paint(true).line(Sign::Both, " a"), " a");
        assert_eq!(Paint(false).title("x"), "x");
    }
}
