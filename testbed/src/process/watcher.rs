//! Tidies up after a process that ended without doing so itself: a killed test, a panic that aborts, a static that is
//! never dropped.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Removes directories when this process is gone, however it ended.
#[derive(Debug)]
pub(crate) struct Watcher {
    child: Child,
    /// Ends when we do, which the watcher notices.
    lifeline: Option<ChildStdin>,
}

/// Reads until the lifeline is cut, then removes everything. A program that is just being killed may still write, hence
/// the retries; cgroups and mount points are directories that only `rmdir` removes.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
n=0
while [ $n -lt 100 ]; do
    left=
    for directory in "$@"; do
        case $directory in
            /sys/fs/cgroup/*) find "$directory" -depth -type d -exec rmdir {} + 2>/dev/null ;;
            *) rm -rf --one-file-system "$directory" 2>/dev/null ;;
        esac
        [ -e "$directory" ] && left=yes
    done
    [ -z "$left" ] && exit 0
    n=$((n + 1))
    sleep 0.1
done
"#;

impl Watcher {
    /// Starts watching.
    pub(crate) fn start(directories: &[PathBuf]) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "pilothouse-watcher"]).args(directories).current_dir(Path::new("/"));
        // Ctrl-C is for us, not for the one who tidies up after us.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        Ok(Self { child, lifeline })
    }

    /// Lets go without tidying up.
    pub(crate) fn dismiss(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Has it tidy up now, and waits for it.
    pub(crate) fn finish(mut self) {
        self.lifeline = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_gone_when_the_lifeline_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("cluster");
        std::fs::create_dir_all(inside.join("etcd/member")).unwrap();
        let watcher = Watcher::start(std::slice::from_ref(&inside)).unwrap();
        assert!(inside.exists());
        watcher.finish();
        assert!(!inside.exists());
    }
}
