//! The Go program of `testbed/helm-oracle`: Helm's own code.

use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::{Answer, Question};

/// The Go version Helm 4.3.1 is built with: texts of errors differ in others.
const GO: &str = "go1.27.2";
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How much address space the program gets. Go reserves more than it uses.
const MEMORY: u64 = 6 << 30;

/// The program, started again whenever a question is the end of it.
#[derive(Debug)]
pub struct Oracle {
    program: PathBuf,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    questions: Sender<Vec<u8>>,
    answers: Receiver<Vec<u8>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its threads end with its pipes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Oracle {
    /// Builds the program.
    ///
    /// # Errors
    /// There is no `go`, or the modules cannot be had.
    pub fn build() -> Result<Self> {
        let own = std::env::current_exe()?;
        let program = own.parent().context("a program without a directory")?.join("helm-oracle");
        let built = Command::new("go")
            .args(["test", "-c", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testbed/helm-oracle"))
            .env("GOTOOLCHAIN", GO)
            .env("GOFLAGS", "-mod=readonly")
            .output()
            .context("go cannot be run")?;
        if !built.status.success() {
            bail!("go test -c: {}", String::from_utf8_lossy(&built.stderr).trim());
        }
        Ok(Self { program, process: None })
    }

    /// The answers, in the order of the questions. One that is not answered in time, or is the program's end, gets an
    /// answer that says so.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn ask(&mut self, questions: &[Question]) -> Result<Vec<Answer>> {
        self.ask_each(questions, false)
    }

    /// The same, but when one question has no answer the rest is not asked: they are likely to be of its kind.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn ask_alike(&mut self, questions: &[Question]) -> Result<Vec<Answer>> {
        self.ask_each(questions, true)
    }

    /// Ends the program. The next question is put to another process.
    pub(crate) fn stop(&mut self) {
        self.process = None;
    }

    fn ask_each(&mut self, questions: &[Question], alike: bool) -> Result<Vec<Answer>> {
        let mut answers: Vec<Answer> = Vec::with_capacity(questions.len());
        while answers.len() < questions.len() {
            let process = match self.process.take() {
                Some(process) => process,
                None => start(&self.program)?,
            };
            for question in &questions[answers.len()..] {
                // A program that is gone shows when it gives no answer.
                let _ = process.questions.send(question.line());
            }
            while answers.len() < questions.len() {
                match process.answers.recv_timeout(PATIENCE) {
                    Ok(line) => answers.push(serde_json::from_slice(&line)?),
                    Err(error) => {
                        answers.push(Answer::none(&error.to_string()));
                        break;
                    }
                }
            }
            if answers.last().is_none_or(|answer| !answer.is_missing()) {
                self.process = Some(process);
            } else if alike {
                answers.resize(questions.len(), Answer::none("not asked"));
            }
        }
        Ok(answers)
    }
}

fn start(program: &PathBuf) -> Result<Process> {
    let mut child = Command::new(program)
        .args(["-test.run", "TestOracle", "-test.timeout", "0"])
        .env("ORACLE", "1")
        .env("TZ", "UTC")
        .env("GOMAXPROCS", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("the oracle cannot be started")?;
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    prlimit(Some(Pid::from_child(&child)), Resource::As, limit)?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
    let (questions, to_write) = channel::<Vec<u8>>();
    let (read, answers) = channel();
    thread::spawn(move || {
        while let Ok(line) = to_write.recv() {
            if stdin.write_all(&line).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for line in stdout.split(b'\n').map_while(Result::ok) {
            if !line.starts_with(b"{") || read.send(line).is_err() {
                return;
            }
        }
    });
    Ok(Process { child, questions, answers })
}

/// The answers of a program that is shared by the tests of a process; `None`, and a word about it, where it cannot be
/// had.
pub fn ask(questions: &[Question]) -> Option<Vec<Answer>> {
    static ORACLE: OnceLock<Result<Mutex<Oracle>, String>> = OnceLock::new();
    let built = || Oracle::build().map(Mutex::new).map_err(|error| format!("{error:#}"));
    match ORACLE.get_or_init(built) {
        Ok(oracle) => {
            let mut oracle = oracle.lock().unwrap_or_else(PoisonError::into_inner);
            Some(oracle.ask(questions).expect("the oracle answers"))
        }
        Err(reason) => {
            eprintln!("SKIPPED: nothing was compared with Helm: {reason}");
            None
        }
    }
}
