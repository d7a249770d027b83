//! Compiling plugins in a child of the real binary, and compiled plugins that ship with it.
//!
//! Needs plugins built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names their directory); skips aloud without
//! them.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pilothouse::plugin::compiled::CompiledCache;
use pilothouse::plugin::compiler::{CompileError, Compiler, Urgency};
use pilothouse::plugin::engine::{Engine, EngineOptions};
use pilothouse::plugin::package::Package;
use pilothouse::plugin::registry::{Change, Registry};
use pilothouse::plugin::source::Loader;

const HOST: &str = env!("CARGO_BIN_EXE_pilothouse");
const MIB: u64 = 1 << 20;

fn plugin(name: &str) -> Option<(PathBuf, Package)> {
    let path = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(|dir| PathBuf::from(dir).join(name));
    let Some((path, bytes)) = path.and_then(|path| Some((path.clone(), fs::read(path).ok()?))) else {
        pilothouse_testbed::skip(&format!("no PILOTHOUSE_TEST_PLUGINS with {name}; run `cargo xtask test`"));
        return None;
    };
    Some((path, Package::read(bytes).unwrap()))
}

fn engine() -> Engine {
    Engine::new(EngineOptions { slots: 4 }).unwrap()
}

/// A compiler that cannot be started: whoever needs it fails.
fn no_compiler() -> Compiler {
    Compiler::child(Path::new("/no/such/program"), 1, None)
}

fn child(memory: Option<u64>) -> Compiler {
    Compiler::child(Path::new(HOST), 1, memory)
}

/// Bytes of memory that are this process's own.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_child_compiles_what_the_host_then_finds_on_disk_and_the_host_stays_small() {
    // In this process it would take some 100 MiB, and most of that would stay.
    let Some((_, package)) = plugin("helm.wasm") else { return };
    let directory = tempfile::tempdir().unwrap();
    let engine = engine();
    let before = anonymous();
    let cache = CompiledCache::open(directory.path(), child(None));
    assert!(cache.load(&engine, &package.digest, &package.bytes).unwrap().draft.is_some());
    cache.finish(&engine, &package.digest, &package.bytes).unwrap();
    let grown = anonymous().saturating_sub(before);
    assert!(grown < 32 * MIB, "{grown} bytes");
    let warm = CompiledCache::open(directory.path(), no_compiler());
    assert!(warm.load(&engine, &package.digest, &package.bytes).unwrap().draft.is_none());
}

/// Whether this process has a child that compiles while nobody waits.
fn compiles_patiently() -> bool {
    let own = format!("/proc/{0}/task/{0}/children", std::process::id());
    let tasks = fs::read_dir(Path::new(&own).parent().unwrap().parent().unwrap()).unwrap();
    let children = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    let children: String = children.collect();
    children.split_whitespace().any(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == b"--patient")
    })
}

#[test]
fn a_compilation_nobody_waits_for_makes_way() {
    let (Some((_, large)), Some((_, urgent))) = (plugin("helm.wasm"), plugin("misbehave.wasm")) else {
        return;
    };
    let (engine, cache) = (engine(), CompiledCache::none(child(None)));
    let interrupted = std::thread::scope(|scope| {
        let patient = scope.spawn(|| cache.finish(&engine, &large.digest, &large.bytes));
        while !compiles_patiently() {
            assert!(!patient.is_finished(), "ended before it was seen");
            std::thread::yield_now();
        }
        cache.load(&engine, &urgent.digest, &urgent.bytes).unwrap();
        patient.join().unwrap().unwrap_err()
    });
    assert!(matches!(interrupted, CompileError::Interrupted), "{interrupted}");
    assert!(interrupted.may_pass());
}

#[tokio::test]
async fn a_plugin_goes_to_work_with_a_draft_and_is_given_better_code_without_a_sign() {
    let Some((path, package)) = plugin("hello.wasm") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (registry, mut changes) = Registry::new();
    let registry = Arc::new(registry);
    let loader = Loader {
        engine: engine(),
        cache: CompiledCache::open(directory.path(), child(None)),
        grants: Arc::default(),
        grant_requested: true,
        registry: Arc::clone(&registry),
    };
    loader.load(&path, package.bytes.clone()).await;
    let at_work = || registry.active("hello").unwrap();
    assert!(at_work().draft);
    while at_work().draft {
        tokio::task::yield_now().await;
    }
    assert_eq!(at_work().identity.digest, package.digest);
    assert!(matches!(changes.try_recv(), Ok(Change::Activated { before: None, .. })));
    assert!(changes.try_recv().is_err(), "nothing else is told");
}

#[test]
fn where_nothing_can_be_kept_the_childs_output_is_used_all_the_same() {
    let Some((_, package)) = plugin("misbehave.wasm") else { return };
    let cache = CompiledCache::open(Path::new("/proc/no/such/directory"), child(None));
    cache.load(&engine(), &package.digest, &package.bytes).unwrap();
}

#[test]
fn a_child_that_may_have_little_memory_says_so_and_harms_nobody() {
    let Some((_, package)) = plugin("misbehave.wasm") else { return };
    let cache = CompiledCache::none(child(Some(4 * MIB)));
    let error = cache.load(&engine(), &package.digest, &package.bytes).unwrap_err();
    assert!(matches!(error, CompileError::Memory { limit } if limit == 4 * MIB), "{error}");
}

/// What the largest function of a component takes to compile well differs by its shape; the guest `hello` once took 200 MiB.
#[test]
fn a_component_that_is_too_large_to_be_compiled_well_is_compiled_with_less_memory() {
    let Some((_, package)) = plugin("misbehave.wasm") else { return };
    let engine = engine();
    let least = |frugal: bool| {
        (6..64).map(|mib| mib * MIB).find(|memory| {
            let mut command = Command::new(HOST);
            command
                .args(["compile-plugin", &format!("--memory={memory}")])
                .env("MALLOC_MMAP_THRESHOLD_", "131072");
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &package.bytes).unwrap();
            command.args(frugal.then_some("--effort=frugal")).stdin(file.reopen().unwrap());
            command.output().unwrap().status.success()
        })
    };
    let (well, frugal) = (least(false).unwrap(), least(true).unwrap());
    if frugal + MIB >= well {
        pilothouse_testbed::skip("this guest takes as much memory either way");
        return;
    }
    let cache = CompiledCache::none(child(Some(frugal + MIB)));
    cache.load(&engine, &package.digest, &package.bytes).unwrap();
}

#[test]
fn a_full_disk_is_no_fault_of_the_component_and_may_pass() {
    let Some((_, package)) = plugin("misbehave.wasm") else { return };
    let mut full = fs::File::options().write(true).open("/dev/full").unwrap();
    for urgency in [Urgency::Urgent, Urgency::Patient] {
        let error = child(None).compile(&engine(), &package.bytes, &mut full, urgency).unwrap_err();
        assert!(matches!(error, CompileError::Output(_)) && error.may_pass(), "{error}");
        assert!(error.to_string().contains("No space left"), "{error}");
    }
}

#[test]
fn a_component_that_does_not_compile_is_refused_in_the_compilers_words() {
    let component = b"\0asm\x0d\0\x01\0\x01\x04nonsense".to_vec();
    let error = CompiledCache::none(child(None)).load(&engine(), "x", &component).unwrap_err();
    assert_eq!(error.reason(), "CompileFailed", "{error}");
    assert!(!error.may_pass());
}

/// A directory on the program's own mount, as an image has it.
fn shipped(plugin: &Path) -> tempfile::TempDir {
    let beside = std::env::current_exe().unwrap();
    let directory = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let compile = Command::new(HOST)
        .args(["plugin", "compile"])
        .arg(plugin)
        .arg("--cache-dir")
        .arg(directory.path())
        .output()
        .unwrap();
    assert!(compile.status.success(), "{}", String::from_utf8_lossy(&compile.stderr));
    directory
}

#[test]
fn plugins_compiled_with_the_image_are_used_without_compiling_and_not_when_they_were_changed() {
    let Some((path, package)) = plugin("misbehave.wasm") else { return };
    let directory = shipped(&path);
    let engine = engine();
    let load = || {
        CompiledCache::none(no_compiler()).with_prebuilt(directory.path()).load(
            &engine,
            &package.digest,
            &package.bytes,
        )
    };
    load().unwrap();
    // As the place for compiled plugins, which cannot be written.
    let place = CompiledCache::open(directory.path(), no_compiler());
    assert!(
        place.load(&engine, &package.digest, &package.bytes).is_err(),
        "a place of its own was made in it"
    );

    let file = directory.path().join(format!("{}.cwasm", package.digest));
    let good = fs::read(&file).unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&file, bad).unwrap();
    assert!(load().is_err(), "changed");
    fs::write(&file, good).unwrap();
    load().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(load().is_err(), "writable by everybody");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(load().is_err(), "in a directory that everybody may write");
}
