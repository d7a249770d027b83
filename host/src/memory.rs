//! How much memory this process may still take: the limit of its control group, less what is used and cannot be given
//! back. Nothing of this is there outside of Linux.

use std::fs;
use std::path::Path;

pub mod rest;

/// A limit above this is none: version 1 writes a very large number instead of a word.
const NO_LIMIT: u64 = 1 << 60;

/// Bytes that may still be used before the kernel has to end somebody; `None` without a limit.
pub fn available() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    available_in(Path::new("/sys/fs/cgroup"), &groups)
}

/// The tightest of the groups this process is in. `groups` is `/proc/self/cgroup` (cgroups(7)): a line for each
/// hierarchy, version 2 without a controller's name.
fn available_in(root: &Path, groups: &str) -> Option<u64> {
    let all = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        if controllers.is_empty() {
            tightest(root, path, &V2)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            tightest(&root.join("memory"), path, &V1)
        } else {
            None
        }
    });
    all.min()
}

/// Names of one version's files and fields.
struct Version {
    limit: &'static str,
    usage: &'static str,
    /// Page cache in `memory.stat`: the kernel takes it back when it needs room.
    reclaimable: [&'static str; 2],
}

const V2: Version =
    Version { limit: "memory.max", usage: "memory.current", reclaimable: ["inactive_file", "active_file"] };
const V1: Version = Version {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file", "total_active_file"],
};

/// In a container the group's path may be the machine's while the container's own group is mounted as the root, so every
/// level that is there is asked.
fn tightest(root: &Path, path: &str, version: &Version) -> Option<u64> {
    let relative = Path::new(path.trim_start_matches('/'));
    relative.ancestors().filter_map(|level| left(&root.join(level), version)).min()
}

fn left(group: &Path, version: &Version) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(version.limit).filter(|limit| *limit < NO_LIMIT)?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| {
        let value = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let reclaimable: u64 = version.reclaimable.iter().map(|name| field(name)).sum();
    let used = number(version.usage).unwrap_or(0).saturating_sub(reclaimable);
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let directory = root.join(path);
        fs::create_dir_all(&directory).unwrap();
        for (name, content) in files {
            fs::write(directory.join(name), content).unwrap();
        }
    }

    #[test]
    fn what_is_left_is_the_limit_without_what_cannot_be_given_back() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            ("memory.stat", "anon 400\ninactive_file 200\nactive_file 50\ninactive_file_x 9\n"),
        ];
        group(root.path(), "", &files);
        assert_eq!(available_in(root.path(), "0::/\n"), Some(1000 - (700 - 250)));
        // A path of the machine that the container does not see.
        assert_eq!(available_in(root.path(), "0::/kubepods/pod1/c1\n"), Some(550));
    }

    #[test]
    fn the_tightest_level_counts_and_no_limit_is_none() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "a", &[("memory.max", "500"), ("memory.current", "100")]);
        group(root.path(), "a/b", &[("memory.max", "max"), ("memory.current", "50")]);
        assert_eq!(available_in(root.path(), "0::/a/b\n"), Some(400));
        group(root.path(), "a", &[("memory.max", "max")]);
        assert_eq!(available_in(root.path(), "0::/a/b\n"), None);
    }

    #[test]
    fn version_one_is_read_from_its_own_hierarchy() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("memory.limit_in_bytes", "800\n"),
            ("memory.usage_in_bytes", "300\n"),
            ("memory.stat", "total_inactive_file 100\n"),
        ];
        group(root.path(), "memory/pod", &files);
        group(root.path(), "memory", &[("memory.limit_in_bytes", "9223372036854771712\n")]);
        assert_eq!(available_in(root.path(), "4:cpu,cpuacct:/pod\n3:memory:/pod\n"), Some(600));
    }
}
