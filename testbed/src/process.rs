//! Programs in the background: started with a log and a pid file, found again and stopped by the next command.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::error::{Error, Result};

/// How long a program may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(10);

/// One program of a cluster, known by its pid file.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// Its name, as in logs.
    pub name: String,
    directory: PathBuf,
}

impl Daemon {
    /// The program of this name below a cluster's directory, running or not.
    pub fn new(name: &str, directory: &Path) -> Self {
        Self { name: name.to_owned(), directory: directory.to_owned() }
    }

    /// Where it writes.
    pub fn log(&self) -> PathBuf {
        self.directory.join("logs").join(format!("{}.log", self.name))
    }

    fn pid_file(&self) -> PathBuf {
        self.directory.join("pids").join(&self.name)
    }

    /// Starts it. With `tied` it ends when this process does, however that ends.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(&self, mut command: Command, tied: bool) -> Result<()> {
        for path in [self.log(), self.pid_file()] {
            let parent = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        let log =
            File::options().create(true).append(true).open(self.log()).map_err(Error::file(&self.log()))?;
        let errors = log.try_clone().map_err(Error::file(&self.log()))?;
        // A group of its own: Ctrl-C at a terminal reaches the command, which stops the cluster in order.
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        if tied {
            die_with_parent(&mut command);
        }
        let failed =
            |error: std::io::Error| Error::Program { program: self.name.clone(), message: error.to_string() };
        let mut child = command.spawn().map_err(failed)?;
        let pid = child.id();
        fs::write(self.pid_file(), pid.to_string()).map_err(Error::file(&self.pid_file()))?;
        // Somebody has to wait for it, or it stays a zombie that looks alive.
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    /// Its process, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.pid_file()).ok()?;
        let pid = Pid::from_raw(text.trim().parse().ok()?)?;
        // A pid may have been given to somebody else since: the command line has to name us.
        let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        let ours = String::from_utf8_lossy(&command).contains(&*self.directory.to_string_lossy());
        (ours && test_kill_process(pid).is_ok()).then_some(pid)
    }

    /// Whether the process that was started last is gone. (Between fork and exec it does not bear its own name yet, so
    /// [`Self::pid`] would not know it.)
    pub fn ended(&self) -> bool {
        let pid = fs::read_to_string(self.pid_file())
            .ok()
            .and_then(|text| Pid::from_raw(text.trim().parse().ok()?));
        pid.is_none_or(|pid| test_kill_process(pid).is_err())
    }

    /// Sends a signal, if it runs.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Stops it: asks first, then makes it.
    pub fn stop(&self) {
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        if !wait_until(PATIENCE, || self.pid().is_none()) {
            self.signal(Signal::KILL);
            wait_until(PATIENCE, || self.pid().is_none());
        }
        let _ = fs::remove_file(self.pid_file());
    }

    /// The last lines of its log.
    pub fn tail(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(15)..).unwrap_or_default().join("\n")
    }

    /// The error of a program that did not become ready.
    pub fn not_ready(&self, waited: Duration) -> Error {
        Error::NotReady {
            what: self.name.clone(),
            seconds: waited.as_secs(),
            log: self.log().display().to_string(),
            tail: self.tail(),
        }
    }
}

#[expect(unsafe_code, reason = "prctl in the child before exec is the one way to tie a child's life to ours")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)
        });
    }
}

/// Asks until it holds or the time is up.
pub fn wait_until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs a program to its end; its output, or what it said when it failed.
///
/// # Errors
/// When it cannot be started or exits with another code than 0.
pub fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| Error::Program { program: program.clone(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(failed(format!("{}: {}", output.status, said.trim())))
}
