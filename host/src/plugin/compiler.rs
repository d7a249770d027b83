//! From a component to machine code: in this process, or in a child of it.
//!
//! Compiling takes ten times the memory that the host works in, and an allocator gives little of it back. In a child it
//! is gone when the work is done; a plugin that makes the compiler fail, crash or eat memory harms a child; and the child
//! stops by itself before the container's limit is reached. That matters: Kubernetes (1.28, cgroup v2) lets the kernel end
//! all processes of a container when one of them is over the limit.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::engine::{Effort, Engine};
use crate::memory;

mod child;

pub use child::{ChildArgs, compile as compile_as_child};

/// Name of the hidden subcommand.
pub const SUBCOMMAND: &str = "compile-plugin";
/// What the host itself may still need of the container's memory while a child compiles.
const RESERVE: u64 = 12 << 20;
/// Where no limit is set, a component that makes the compiler take this is refused.
const CEILING: u64 = 2 << 30;

/// Why a component has no machine code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler refused it.
    #[error("it does not compile: {0}")]
    Compile(String),
    /// Compiling takes more than there is.
    #[error(
        "compiling it takes more than the {} MiB that are left of the container's memory limit; raise the limit, or ship \
         it compiled (`pilothouse plugin compile`)",
        .limit >> 20
    )]
    Memory {
        /// Bytes the compiler could have.
        limit: u64,
    },
    /// Another component was more urgent.
    #[error("its compilation made way for a more urgent one")]
    Interrupted,
    /// The compiler was ended from outside, or crashed.
    #[error("the compiler did not finish: {0}")]
    Ended(String),
    /// The machine code cannot be written.
    #[error("its machine code cannot be kept anywhere: {0}")]
    Output(#[from] std::io::Error),
}

impl CompileError {
    /// Whether another try may go better without another component.
    pub fn may_pass(&self) -> bool {
        !matches!(self, Self::Compile(_))
    }

    /// A bounded word for metrics and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Compile(_) => "CompileFailed",
            Self::Memory { .. } => "CompileOutOfMemory",
            Self::Interrupted => "CompileInterrupted",
            Self::Ended(_) => "CompilerEnded",
            Self::Output(_) => "CacheNotWritable",
        }
    }
}

/// Who compiles. One component at a time: each takes a multiple of what the host works in.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// This process, at once.
    Here,
    /// A child.
    Child(Arc<Child>),
}

/// A child of this program.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
    threads: usize,
    memory: Option<u64>,
    one: Mutex<()>,
    /// How many wait for a compilation that somebody waits for.
    urgent: AtomicUsize,
    /// The process nobody waits for, while it runs.
    patient: Mutex<Option<Process>>,
}

/// One that is waited for, counted for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether somebody waits for a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A plugin is to go to work.
    Urgent,
    /// Better code for a plugin that is at work.
    Patient,
}

impl Compiler {
    /// Children of the program that runs now. `memory`: bytes each may have; by default what the control group leaves.
    pub fn child_of_this_program(threads: usize, memory: Option<u64>) -> Self {
        // The file that was started, also after another one took its name.
        let own = Path::new("/proc/self/exe");
        let program = if own.exists() {
            own.to_owned()
        } else {
            std::env::current_exe().unwrap_or_else(|_| PathBuf::from("pilothouse"))
        };
        Self::child(&program, threads, memory)
    }

    /// Children of a program that knows the subcommand.
    pub fn child(program: &Path, threads: usize, memory: Option<u64>) -> Self {
        Self::Child(Arc::new(Child {
            program: program.to_owned(),
            threads,
            memory,
            one: Mutex::default(),
            urgent: AtomicUsize::new(0),
            patient: Mutex::default(),
        }))
    }

    /// Whether a draft comes sooner than good code.
    pub fn drafts(&self) -> bool {
        matches!(self, Self::Child(_))
    }

    /// Writes code that is there soon to an empty file and goes back to its beginning.
    ///
    /// # Errors
    /// When the component does not compile, or there is not enough memory for it.
    pub fn draft(&self, engine: &Engine, bytes: &[u8], output: &mut File) -> Result<(), CompileError> {
        match self {
            Self::Here => self.compile(engine, bytes, output, Urgency::Urgent),
            Self::Child(child) => {
                child
                    .in_turn(Urgency::Urgent, || child.run(bytes, output, Effort::Draft, Urgency::Urgent))?;
                Ok(output.rewind()?)
            }
        }
    }

    /// Writes the component's machine code to an empty file and goes back to its beginning. Seconds of processor time:
    /// call it off the async workers.
    ///
    /// # Errors
    /// When the component does not compile, or there is not enough memory for it; [`CompileError::Interrupted`] when nobody
    /// waited for it and somebody did for another one.
    pub fn compile(
        &self,
        engine: &Engine,
        bytes: &[u8],
        output: &mut File,
        urgency: Urgency,
    ) -> Result<(), CompileError> {
        match self {
            Self::Here => {
                let code = engine.wasmtime().precompile_component(bytes);
                let code = code.map_err(|error| CompileError::Compile(format!("{error:#}")))?;
                output.write_all(&code)?;
            }
            Self::Child(child) => child.in_turn(urgency, || child.compile(bytes, output, urgency))?,
        }
        output.rewind()?;
        Ok(())
    }
}

impl Child {
    /// One at a time: each takes a multiple of what the host works in. Whoever is waited for ends the one who is not.
    fn in_turn<T>(
        &self,
        urgency: Urgency,
        work: impl FnOnce() -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if urgency == Urgency::Patient {
            let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
            return work();
        }
        let _waiting = Waiting::among(&self.urgent);
        if let Some(process) = self.patient().as_mut() {
            let _ = process.kill();
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    fn patient(&self) -> MutexGuard<'_, Option<Process>> {
        self.patient.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, bytes: &[u8], output: &mut File, urgency: Urgency) -> Result<(), CompileError> {
        match self.run(bytes, output, Effort::Full, urgency) {
            Err(CompileError::Memory { limit }) => {
                tracing::warn!(
                    limit_mib = limit >> 20,
                    "compiling well takes more memory than there is; the plugin is compiled again with less, and runs slower"
                );
                output.rewind()?;
                output.set_len(0)?;
                self.run(bytes, output, Effort::Frugal, urgency)
            }
            result => result,
        }
    }

    fn run(&self, bytes: &[u8], output: &File, effort: Effort, urgency: Urgency) -> Result<(), CompileError> {
        let limit = self
            .memory
            .unwrap_or_else(|| memory::available().map_or(CEILING, |left| left.saturating_sub(RESERVE)));
        let started = |error: std::io::Error| CompileError::Ended(format!("it cannot be started: {error}"));
        let mut process =
            self.command(limit, effort, urgency).stdout(output.try_clone()?).spawn().map_err(started)?;
        let (input, errors) = (process.stdin.take(), process.stderr.take());
        if urgency == Urgency::Patient {
            *self.patient() = Some(process);
            if self.urgent.load(Ordering::SeqCst) > 0
                && let Some(process) = self.patient().as_mut()
            {
                let _ = process.kill();
            }
            let told = converse(input, errors, bytes);
            let ended = self.patient().take().map(|mut process| process.wait());
            let status =
                ended.unwrap_or_else(|| Err(std::io::Error::other("it is gone"))).map_err(started)?;
            let interrupted = !status.success() && self.urgent.load(Ordering::SeqCst) > 0;
            return if interrupted {
                Err(CompileError::Interrupted)
            } else {
                outcome(status, told.trim(), limit)
            };
        }
        let told = converse(input, errors, bytes);
        outcome(process.wait().map_err(started)?, told.trim(), limit)
    }

    fn command(&self, limit: u64, effort: Effort, urgency: Urgency) -> Command {
        // Nobody waits: one thread leaves the others to the hooks.
        let threads = if urgency == Urgency::Patient { 1 } else { self.threads };
        let mut command = Command::new(&self.program);
        command.args([SUBCOMMAND, &format!("--memory={limit}"), &format!("--threads={threads}")]);
        command.arg(match effort {
            Effort::Draft => "--effort=draft",
            Effort::Full => "--effort=full",
            Effort::Frugal => "--effort=frugal",
        });
        if urgency == Urgency::Patient {
            command.arg("--patient");
        }
        // Nothing of the host's environment is a compiler's business. glibc: large blocks go back at once.
        command.env_clear().env("MALLOC_MMAP_THRESHOLD_", "131072");
        command.env("RAYON_NUM_THREADS", threads.to_string());
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Gives the component, and takes what is said until the end.
fn converse(input: Option<ChildStdin>, errors: Option<ChildStderr>, bytes: &[u8]) -> String {
    if let Some(mut input) = input {
        // A child that ended early says why by its status.
        let _ = input.write_all(bytes);
    }
    let mut told = String::new();
    if let Some(mut errors) = errors {
        let _ = errors.read_to_string(&mut told);
    }
    told
}

/// What the child's end means.
fn outcome(status: ExitStatus, told: &str, limit: u64) -> Result<(), CompileError> {
    const KILL: i32 = 9;
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    match (status.code(), signal) {
        (Some(0), _) => Ok(()),
        (Some(child::REFUSED), _) => Err(CompileError::Compile(told.to_owned())),
        (Some(child::NOT_WRITTEN), _) => Err(CompileError::Output(std::io::Error::other(told.to_owned()))),
        (Some(child::OUT_OF_MEMORY), _) => Err(CompileError::Memory { limit }),
        // The kernel, most likely: the only other one who ends processes so is a person.
        (_, Some(KILL)) => Err(CompileError::Memory { limit }),
        _ if told.contains("memory allocation of") => Err(CompileError::Memory { limit }),
        _ => Err(CompileError::Ended(format!("{status} {told}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> Result<(), CompileError> {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        outcome(output.status, String::from_utf8_lossy(&output.stderr).trim(), 64 << 20)
    }

    #[test]
    fn each_end_of_the_child_is_told_apart() {
        assert!(ended("exit 0").is_ok());
        let refused = ended("echo no such import >&2; exit 65").unwrap_err();
        assert_eq!((refused.reason(), refused.may_pass()), ("CompileFailed", false));
        assert!(refused.to_string().contains("no such import"));
        let full = ended("echo No space left on device >&2; exit 74").unwrap_err();
        assert_eq!((full.reason(), full.may_pass()), ("CacheNotWritable", true));
        assert!(full.to_string().contains("No space left"));
        for script in ["exit 75", "kill -9 $$", "echo 'memory allocation of 9 bytes failed' >&2; kill -6 $$"]
        {
            let error = ended(script).unwrap_err();
            assert_eq!((error.reason(), error.may_pass()), ("CompileOutOfMemory", true), "{script}");
            assert!(
                error.to_string().contains("64 MiB") && error.to_string().contains("plugin compile"),
                "{error}"
            );
        }
        let crashed = ended("echo 'panicked at x.rs' >&2; exit 101").unwrap_err();
        assert_eq!(crashed.reason(), "CompilerEnded");
        assert!(crashed.to_string().contains("panicked at x.rs"), "{crashed}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_as_such() {
        let Compiler::Child(child) = Compiler::child(Path::new("/no/such/program"), 1, None) else {
            panic!()
        };
        let error =
            child.run(b"", &tempfile::tempfile().unwrap(), Effort::Full, Urgency::Urgent).unwrap_err();
        assert!(error.to_string().contains("cannot be started"), "{error}");
    }
}
