//! The child's side: a component on standard input, machine code on standard output.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::memory;
use crate::plugin::engine::{self, Effort};

/// The component is not one this compiler takes; standard error says why.
pub(super) const REFUSED: i32 = 65;
/// The machine code could not be written; standard error says why. (`EX_IOERR` of sysexits.h)
pub(super) const NOT_WRITTEN: i32 = 74;
/// It took more memory than it may.
pub(super) const OUT_OF_MEMORY: i32 = 75;
/// Processor time after which the kernel ends it: the largest plugins known take ten seconds.
const CPU_SECONDS: u64 = 600;
/// Between two looks at its own size. A processor fills some ten MiB in this time at most.
const LOOK: Duration = Duration::from_millis(2);
/// Looks at itself for each look at what the container has left, which takes a dozen files.
const LOOKS_AROUND: u32 = 16;
/// What has to be left of the container's memory.
const SPARE: u64 = 6 << 20;

/// Flags of the hidden subcommand.
#[derive(Clone, Debug, Args)]
pub struct ChildArgs {
    /// Bytes it may take.
    #[arg(long)]
    memory: u64,
    /// Threads that compile.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How much effort.
    #[arg(long, value_enum, default_value_t = Effort::Full)]
    effort: Effort,
    /// Leave the processor to others.
    #[arg(long)]
    patient: bool,
}

/// Compiles.
pub fn compile(args: &ChildArgs) -> ExitCode {
    restrict(args);
    let failed = |error: &dyn std::fmt::Display, code: i32| {
        eprintln!("{error:#}");
        ExitCode::from(u8::try_from(code).unwrap_or(1))
    };
    match machine_code(args) {
        Err(error) => failed(&error, REFUSED),
        Ok(code) => match write(&code) {
            Err(error) => failed(&error, NOT_WRITTEN),
            Ok(()) => ExitCode::SUCCESS,
        },
    }
}

fn machine_code(args: &ChildArgs) -> wasmtime::Result<Vec<u8>> {
    let mut component = Vec::new();
    std::io::stdin().lock().read_to_end(&mut component)?;
    engine::compiling(args.effort, args.threads > 1)?.precompile_component(&component)
}

fn write(code: &[u8]) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(code)?;
    output.flush()
}

/// Ends with the host, is the first to go when memory runs out all the same, and ends by itself before that.
fn restrict(args: &ChildArgs) {
    let memory = args.memory;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
        // What cannot be had is done without: these are nets below the net.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        if args.patient {
            let _ = rustix::process::nice(10);
        }
        let limit = Rlimit { current: Some(CPU_SECONDS), maximum: Some(CPU_SECONDS) };
        let _ = setrlimit(Resource::Cpu, limit);
    }
    // What counts is what was touched. A limit on address space would count what the compiler only reserves, twice as much.
    let watch = move || {
        for look in 0_u32.. {
            let too_large = anonymous().is_some_and(|touched| touched > memory);
            // The host goes on working and growing meanwhile, in the same container.
            let crowded =
                look.is_multiple_of(LOOKS_AROUND) && memory::available().is_some_and(|left| left < SPARE);
            if too_large || crowded {
                std::process::exit(OUT_OF_MEMORY);
            }
            std::thread::sleep(LOOK);
        }
    };
    let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(watch);
}

/// Bytes of memory that are this process's own (proc(5): `statm` counts pages, all and those of files).
fn anonymous() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut fields = text.split(' ').skip(1).map_while(|field| field.parse::<u64>().ok());
    let (resident, of_files) = (fields.next()?, fields.next()?);
    Some(resident.saturating_sub(of_files) * page_size())
}

#[cfg(target_os = "linux")]
fn page_size() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

#[cfg(not(target_os = "linux"))]
fn page_size() -> u64 {
    4096
}
