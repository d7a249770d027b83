//! Templates through our own functions.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use helm_functions::{Platform, functions_on};
use helm_template::{Execution, Functions, MissingKey, TemplateSet};

use crate::data::data;
use crate::random::Random;

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

/// What comes out, or the error.
pub(crate) type Outcome = Result<Vec<u8>, Vec<u8>>;

/// Renders a template with the data that the oracle has as well.
pub(crate) fn render(template: &[u8]) -> Outcome {
    thread_local! {
        static FUNCTIONS: Functions = {
            let bubble: Rc<dyn Platform> = Rc::new(Bubble(RefCell::new(Random::new(1))));
            functions_on(&bubble)
        };
    }
    let mut set = TemplateSet::new("t", FUNCTIONS.with(Functions::clone));
    set.parse("t", template.to_vec()).map_err(|error| error.to_string().into_bytes())?;
    let how = Execution { missing_key: MissingKey::Zero, ..Execution::default() };
    set.execute("t", data(), &how).map_err(|error| error.to_string().into_bytes())
}

/// Where Go's answer is not reached, and why.
pub(crate) fn is_known_deviation(ours: &Outcome, theirs: &Outcome) -> bool {
    match (ours, theirs) {
        // The texts of our errors are UTF-8.
        (Err(ours), Err(theirs)) => String::from_utf8_lossy(ours) == String::from_utf8_lossy(theirs),
        // Pointers print as addresses, and `%#v` knows no `GoString`.
        (_, Ok(text)) => ["0xc0", "time.Date("]
            .iter()
            .any(|part| text.windows(part.len()).any(|window| window == part.as_bytes())),
        _ => false,
    }
}

pub(crate) fn shown(outcome: &Outcome) -> String {
    match outcome {
        Ok(text) => helm_template::fmt::quote(text),
        Err(text) => format!("ERROR {}", String::from_utf8_lossy(text)),
    }
}
