//! The scripts are run here by this machine's busybox, as they are in the image.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;

use super::*;
use crate::process::wait_until;

/// A directory as the image's root: scripts and all of busybox on the PATH, and a server with its data.
struct Standin {
    root: tempfile::TempDir,
    port: u16,
    server: Child,
}

impl Drop for Standin {
    fn drop(&mut self) {
        let group = i32::try_from(self.server.id()).unwrap();
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_raw(group).unwrap(),
            rustix::process::Signal::KILL,
        );
        let _ = self.server.wait();
    }
}

fn environment(root: &Path, port: u16) -> [(&'static str, String); 3] {
    let data = root.join("data").display().to_string();
    [
        ("PATH", root.join("bin").display().to_string()),
        ("MONGODB_DATA_DIR", data),
        ("MONGODB_PORT_NUMBER", port.to_string()),
    ]
}

impl Standin {
    /// None, aloud, where there is no static busybox.
    fn start(test: &str) -> Option<Self> {
        let Some(busybox) = busybox::program() else {
            crate::skip(&format!("{test}: no static busybox on this machine"));
            return None;
        };
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let names = crate::process::run(Command::new(&busybox).arg("--list")).unwrap();
        for name in names.lines() {
            std::os::unix::fs::symlink(&busybox, bin.join(name)).unwrap();
        }
        for (path, script) in MONGODB_SCRIPTS {
            let file = bin.join(Path::new(path).file_name().unwrap());
            let shell = format!("#!{}/sh", bin.display());
            fs::write(&file, script.replacen("#!/bin/sh", &shell, 1)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let port = crate::ports::free().unwrap();
        let mut command = Command::new(bin.join("mongod"));
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let server =
            command.envs(environment(root.path(), port)).stdout(std::process::Stdio::null()).spawn().unwrap();
        let standin = Self { root, port, server };
        assert!(wait_until(Duration::from_secs(20), || standin
            .mongo("db.adminCommand('ping')")
            .status
            .success()));
        Some(standin)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.root.path().join("bin").join(program));
        command.args(arguments).envs(environment(self.root.path(), self.port)).current_dir(self.root.path());
        command.output().unwrap()
    }

    fn mongo(&self, script: &str) -> Output {
        let host = format!("127.0.0.1:{}", self.port);
        self.run(
            "mongo",
            &["--quiet", "--disableImplicitSessions", "--host", &host, "--eval", script, "stats"],
        )
    }

    fn said(&self, script: &str) -> String {
        let output = self.mongo(script);
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }
}

#[test]
fn documents_that_were_inserted_are_found_on_the_volume() {
    let Some(standin) = Standin::start("documents_that_were_inserted_are_found_on_the_volume") else {
        return;
    };
    assert!(standin.said(r#"db.infor.insert({"player": "ann", "score": 3})"#).contains("nInserted"));
    assert_eq!(standin.said("db.infor.find()"), "{\"player\": \"ann\", \"score\": 3}\n");
    assert_eq!(standin.said("db.infor.count()").trim(), "1");
    assert!(fs::read_to_string(standin.data().join("stats.infor")).unwrap().contains("ann"));
}

#[test]
fn the_probes_of_the_chart_hold_while_it_serves_and_fail_when_it_does_not() {
    let Some(standin) = Standin::start("the_probes_of_the_chart") else { return };
    assert_eq!(standin.said("db.hello().isWritablePrimary || db.hello().secondary"), "true\n");
    let nobody = format!("127.0.0.1:{}", crate::ports::free().unwrap());
    let output = standin.run("mongo", &["--host", &nobody, "--eval", "db.adminCommand('ping')"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("couldn't connect to server"));
}

#[test]
fn a_dump_that_is_restored_brings_back_what_was_lost_and_keeps_what_came_later() {
    let Some(standin) = Standin::start("a_dump_that_is_restored") else { return };
    let host = format!("127.0.0.1:{}", standin.port);
    for document in [r#"{"player": "ann"}"#, r#"{"player": "bob \\ / & co"}"#] {
        standin.said(&format!("db.infor.insert({document})"));
    }
    let before = standin.said("db.infor.find()");
    let dump = standin.run("mongodump", &["-h", &host]);
    assert!(
        dump.status.success() && String::from_utf8_lossy(&dump.stdout).contains("stats.infor (2 documents)"),
        "{dump:?}"
    );
    standin.said("db.infor.drop()");
    assert_eq!(standin.said("db.infor.find()"), "");
    standin.said(r#"db.infor.insert({"player": "eve"})"#);
    let restore = standin.run("mongorestore", &["-h", &host]);
    assert!(
        restore.status.success() && String::from_utf8_lossy(&restore.stdout).contains("restored 2"),
        "{restore:?}"
    );
    let after = standin.said("db.infor.find()");
    assert!(before.lines().all(|line| after.contains(line)) && after.contains("eve"), "{after}");
    let again = standin.run("mongorestore", &["-h", &host]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("restored 0"), "{again:?}");
}

#[test]
fn a_backup_of_a_server_that_is_gone_fails() {
    let Some(standin) = Standin::start("a_backup_of_a_server_that_is_gone_fails") else { return };
    let nobody = format!("127.0.0.1:{}", crate::ports::free().unwrap());
    assert!(!standin.run("mongodump", &["-h", &nobody]).status.success());
    assert!(!standin.run("mongorestore", &["-h", &nobody, "no-such-dump"]).status.success());
}

#[test]
fn what_the_stand_in_does_not_know_it_refuses() {
    let Some(standin) = Standin::start("what_the_stand_in_does_not_know_it_refuses") else { return };
    assert_eq!(standin.mongo("db.infor.aggregate([])").status.code(), Some(252));
    assert_eq!(standin.mongo("db.in/../for.find()").status.code(), Some(252));
}

#[test]
fn images_bear_the_names_that_the_charts_use() {
    if busybox::program().is_none() {
        crate::skip("images_bear_the_names_that_the_charts_use: no static busybox on this machine");
        return;
    }
    let tags: Vec<String> = images().unwrap().iter().flat_map(|image| image.tags().to_vec()).collect();
    assert_eq!(tags, [PLAYER_STATS, MONGODB, CURL]);
}
