//! Images of databases from Debian's packages, for a node without a registry. They begin as the projects' own images do, take
//! the same environment, and run without privileges on a root file system that cannot be written to.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::debian;
use crate::error::{Error, Result};
use crate::image::{self, Archive};
use crate::paths;
use crate::progress::Progress;

/// MariaDB under two names, for those who go from one to the other.
pub const MARIADB: [&str; 2] = ["pilothouse.dev/testbed/mariadb:1", "pilothouse.dev/testbed/mariadb:2"];
/// The same of PostgreSQL.
pub const POSTGRESQL: [&str; 2] =
    ["pilothouse.dev/testbed/postgresql:1", "pilothouse.dev/testbed/postgresql:2"];
/// The same of Redis.
pub const REDIS: [&str; 2] = ["pilothouse.dev/testbed/redis:1", "pilothouse.dev/testbed/redis:2"];

/// What scripts in a container expect.
const TOOLS: [&str; 7] = ["base-files", "coreutils", "dash", "findutils", "grep", "gzip", "sed"];

/// How an image is made. All of it is part of the name that it is kept under.
struct Recipe {
    name: &'static str,
    tags: [&'static str; 2],
    packages: &'static [&'static str],
    without: &'static [&'static str],
    /// Who the server runs as, with the number 999 that Debian's packages and the projects' images give it.
    user: &'static str,
    /// Directories that the server writes to.
    writes: &'static [&'static str],
    path: &'static str,
    entrypoint: &'static str,
    server: &'static str,
}

const USER: u32 = 999;

const MARIADB_RECIPE: Recipe = Recipe {
    name: "mariadb",
    tags: MARIADB,
    packages: &["mariadb-server-core", "mariadb-client"],
    without: &[],
    user: "mysql",
    writes: &["/var/lib/mysql", "/run/mysqld"],
    path: "/usr/sbin:/usr/bin:/sbin:/bin",
    entrypoint: include_str!("databases/mariadb.sh"),
    server: "mariadbd",
};

const POSTGRESQL_RECIPE: Recipe = Recipe {
    name: "postgresql",
    tags: POSTGRESQL,
    packages: &["postgresql-15"],
    // It compiles expressions where it finds LLVM, which is larger than everything else together.
    without: &[
        "usr/lib/*/libLLVM",
        "usr/lib/*/libz3.",
        "usr/lib/postgresql/15/lib/bitcode/",
        "usr/lib/postgresql/15/lib/llvmjit",
    ],
    user: "postgres",
    writes: &["/var/lib/postgresql/data", "/run/postgresql"],
    path: "/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    entrypoint: include_str!("databases/postgresql.sh"),
    server: "postgres",
};

const REDIS_RECIPE: Recipe = Recipe {
    name: "redis",
    tags: REDIS,
    packages: &["redis-server", "redis-tools"],
    without: &[],
    user: "redis",
    writes: &["/data"],
    path: "/usr/sbin:/usr/bin:/sbin:/bin",
    entrypoint: include_str!("databases/redis.sh"),
    server: "redis-server",
};

/// A docker-archive of [`MARIADB`], made once and kept.
///
/// # Errors
/// When its packages are not to be had.
pub fn mariadb(progress: &dyn Progress) -> Result<PathBuf> {
    MARIADB_RECIPE.file(progress)
}

/// A docker-archive of [`POSTGRESQL`], made once and kept.
///
/// # Errors
/// When its packages are not to be had.
pub fn postgresql(progress: &dyn Progress) -> Result<PathBuf> {
    POSTGRESQL_RECIPE.file(progress)
}

/// A docker-archive of [`REDIS`], made once and kept.
///
/// # Errors
/// When its packages are not to be had.
pub fn redis(progress: &dyn Progress) -> Result<PathBuf> {
    REDIS_RECIPE.file(progress)
}

impl Recipe {
    fn file(&self, progress: &dyn Progress) -> Result<PathBuf> {
        let file = paths::tools().join(format!("{}-{}.tar", self.name, self.digest()));
        if file.is_file() {
            return Ok(file);
        }
        progress.line(&format!("{}: an image of Debian's packages is made (once)", self.name));
        let images = self.images(progress)?;
        // Only a whole one gets the name, also where two are made at once.
        fs::create_dir_all(paths::tools()).map_err(Error::file(&paths::tools()))?;
        let mut made = tempfile::NamedTempFile::new_in(paths::tools()).map_err(Error::file(&file))?;
        image::write_all(&images, made.as_file_mut())?;
        made.persist(&file).map_err(|error| error.error).map_err(Error::file(&file))?;
        Ok(file)
    }

    fn images(&self, progress: &dyn Progress) -> Result<Vec<Archive>> {
        let [first, second] = self.tags;
        let mut image = Archive::new(first);
        let packages: Vec<&str> = TOOLS.iter().chain(self.packages).copied().collect();
        debian::add_packages(&mut image, &packages, self.without, progress)?;
        self.finish(&mut image);
        // The same programs, and another image all the same: what is told of it differs.
        let mut next = image.renamed(second);
        image.labels(&[("org.opencontainers.image.revision", "1")]);
        next.labels(&[("org.opencontainers.image.revision", "2")]);
        Ok(vec![image, next])
    }

    fn finish(&self, image: &mut Archive) {
        let Self { user, .. } = self;
        let users = format!("root:x:0:0:root:/:/bin/sh\n{user}:x:{USER}:{USER}:{user}:/tmp:/bin/sh\n");
        let groups = format!("root:x:0:\n{user}:x:{USER}:\n");
        image.file("/etc/passwd", users, 0o644).file("/etc/group", groups, 0o644);
        image.file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0o644);
        image.file("/usr/local/bin/entrypoint", self.entrypoint, 0o755).directory("/tmp", 0o1777, 0);
        for directory in self.writes {
            image.directory(directory, 0o1777, USER);
        }
        image.environment(&[&format!("PATH={}", self.path), "LANG=C.UTF-8"]).user(&format!("{USER}:{USER}"));
        image.entrypoint(&["/usr/local/bin/entrypoint"]).arguments(&[self.server]);
    }

    /// Of everything that an image is made of but the packages, whose newest versions are taken.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let parts =
            [&[self.name, self.user, self.path, self.entrypoint, self.server], &self.tags[..], &TOOLS];
        for part in parts.into_iter().chain([self.packages, self.without, self.writes]).flatten() {
            hash.update(part);
            hash.update([0]);
        }
        hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_entrypoint_is_another_file() {
        let changed = Recipe { entrypoint: "#!/bin/sh\n", ..MARIADB_RECIPE };
        assert_ne!(MARIADB_RECIPE.digest(), changed.digest());
        assert_ne!(MARIADB_RECIPE.digest(), POSTGRESQL_RECIPE.digest());
    }
}
