//! Templates through our own functions.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use helm_functions::{Platform, functions_on};
use helm_template::{Execution, Functions, MissingKey, TemplateSet};

use super::data::data;
use crate::{Answer, Random};

/// The clock of the oracle's bubble, and random numbers that are always the same.
struct Bubble(RefCell<Random>);

impl Platform for Bubble {
    fn now(&self) -> (SystemTime, Option<Duration>) {
        // The beginning of the year 2000.
        (SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800), None)
    }

    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        let mut random = self.0.borrow_mut();
        buffer.fill_with(|| random.next().to_le_bytes()[0]);
        Ok(())
    }
}

/// Renders a template with the data that the oracle has as well.
pub(super) fn answer(template: &[u8]) -> Answer {
    thread_local! {
        static FUNCTIONS: Functions = {
            let bubble: Rc<dyn Platform> = Rc::new(Bubble(RefCell::new(Random::new(1))));
            functions_on(&bubble)
        };
    }
    let mut set = TemplateSet::new("t", FUNCTIONS.with(Functions::clone));
    if let Err(error) = set.parse("t", template.to_vec()) {
        return Answer::failed(&error);
    }
    let how = Execution { missing_key: MissingKey::Zero, limits: super::LIMITS, ..Execution::default() };
    match set.execute("t", data(), &how) {
        Ok(out) => Answer::of(out),
        Err(error) => Answer::failed(&error),
    }
}
