//! Questions, answered by our own crates.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use helm_template::Limits;

use crate::{Answer, Question};

mod call;
mod charts;
pub mod data;
pub mod text;
pub mod text_functions;
pub mod text_types;
pub mod yaml;

/// What one template may use: less than elsewhere, so that a bomb is a matter of seconds.
const LIMITS: Limits = Limits { depth: 100_000, nesting: 32, output: 64 << 20, steps: 3_000_000 };

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Deeper recursion than the smallest stack our code runs on would allow ends the program.
const STACK: usize = 64 << 20;

/// What we make of a question.
pub fn answer(question: &Question) -> Answer {
    if let Some(op) = question.op.strip_prefix("yaml:") {
        return yaml::answer(op, question.part("in"));
    }
    match question.op.as_str() {
        "call" => call::answer(question.part("text")),
        "text" => text::answer(question),
        "template" => charts::template(question),
        "chart" => charts::chart(question),
        "values" => charts::values(question),
        "ignore" => charts::ignored(question),
        "set" | "set-string" | "set-json" | "set-literal" | "set-file" => charts::set(question),
        other => panic!("no operation {other}"),
    }
}

/// Answers questions on a thread, which is given up when it takes too long.
#[derive(Debug, Default)]
pub struct Worker(Option<(Sender<Question>, Receiver<Answer>)>);

impl Worker {
    /// The answer, or a word about the panic or the endless loop that we got instead.
    pub fn answer(&mut self, question: &Question) -> Answer {
        let (questions, answers) = self.0.get_or_insert_with(start);
        let _ = questions.send(question.clone());
        match answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(error) => {
                self.0 = None;
                Answer::failed(&format!("WE GAVE NO ANSWER: {error}"))
            }
        }
    }
}

fn start() -> (Sender<Question>, Receiver<Answer>) {
    let (questions, asked) = channel::<Question>();
    let (answered, answers) = channel();
    let work = move || {
        while let Ok(question) = asked.recv() {
            let answer = catch_unwind(AssertUnwindSafe(|| answer(&question)));
            let answer =
                answer.unwrap_or_else(|panic| Answer::failed(&format!("WE PANICKED: {}", said(&*panic))));
            if answered.send(answer).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    (questions, answers)
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned()
}
