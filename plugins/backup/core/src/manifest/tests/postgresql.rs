//! Restores of PostgreSQL: with tools that only say something, and with real ones where they are.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::*;

#[test]
fn a_restore_of_all_of_postgresql_forgives_what_is_said_of_the_role_that_restores_and_nothing_else() {
    let restore = restore_of(&json!({"preset": "postgresql", "parameters": {"host": "db"}})).unwrap();
    let saying = |errors: &[&str]| {
        let lines: String = errors.iter().map(|error| format!("echo 'ERROR:  {error}' >&2\n")).collect();
        ran_with(&restore, "psql", &lines, Some("0")).0
    };
    let usual = ["current user cannot be dropped", r#"role "postgres" already exists"#];
    assert_eq!(saying(&[]), 0);
    assert_eq!(saying(&usual), 0);
    // psql goes on after these, and says at its end that all is well.
    for lost in [r#"database "shop" is being accessed by other users"#, r#"role "app" already exists"#] {
        assert_eq!(saying(&[usual[0], lost, usual[1]]), 1, "{lost}");
    }
}

#[test]
fn a_database_of_postgresql_is_emptied_in_the_transaction_that_fills_it() {
    let parameters = json!({"host": "db", "database": "shop"});
    let restore = restore_of(&json!({"preset": "postgresql", "parameters": parameters})).unwrap();
    let script = script(&restore);
    let at = |part: &str| script.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(at("pg_terminate_backend") < at("\nBEGIN;") && at("\nBEGIN;") < at("DROP SCHEMA"));
    // It writes the COMMIT, and only after the last of the archive; that it failed is told by its code.
    assert!(at("--single-transaction --file=-") < at("--set=ON_ERROR_STOP=1"));
    assert!(script.contains("wait \"$!\""));
}

/// The restore of the database `shop`.
fn restore_of_shop() -> String {
    let parameters = json!({"host": "db", "database": "shop"});
    let restore = restore_of(&json!({"preset": "postgresql", "parameters": parameters})).unwrap();
    script(&restore).to_owned()
}

#[test]
fn nobody_is_sent_away_before_the_archive_has_come() {
    let place = std::env::temp_dir().join(format!("backup-quiet-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    for (tool, lines) in
        [("pg_restore", "exec cat"), ("psql", "echo \"$*\" >> \"$CALLED\"; exec cat > /dev/null")]
    {
        fs::write(place.join(tool), format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(place.join(tool), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let called = |archive: &str| {
        for left in ["sql", "called"] {
            let _ = fs::remove_file(place.join(left));
        }
        fs::write(place.join("status"), "0").unwrap();
        fs::write(place.join("archive"), archive).unwrap();
        let here = format!("{}/", place.display());
        let script = restore_of_shop().replace("/exchange/", &here).replace("/scratch/", &here);
        let ended = Command::new("sh")
            .args(["-c", &script])
            .env("PATH", format!("{here}:{}", std::env::var("PATH").unwrap()))
            .env("CALLED", place.join("called"))
            .env("PILOTHOUSE_INPUT", place.join("archive"))
            .envs([("PILOTHOUSE_HOST", "h"), ("PILOTHOUSE_PORT", "1"), ("PILOTHOUSE_DATABASE", "shop")])
            .env("PILOTHOUSE_FORMAT", "postgresql-custom")
            .output()
            .unwrap();
        (ended.status.success(), place.join("called").exists())
    };
    assert_eq!(called("--\nBEGIN;\n"), (true, true));
    assert_eq!(called(""), (false, false));
    fs::remove_dir_all(&place).unwrap();
}

/// A server with the tools of this machine.
struct Server {
    tools: PathBuf,
    place: PathBuf,
    /// PostgreSQL does not work for root.
    user: Option<(u32, u32)>,
}

impl Server {
    /// None: there is no PostgreSQL here, or nobody it would work for.
    fn begin(name: &str) -> Option<Self> {
        let tools = tools()?;
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let user = if is_root { Some(account("postgres")?) } else { None };
        let place = std::env::temp_dir().join(format!("pg-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        fs::set_permissions(&place, PermissionsExt::from_mode(0o777)).unwrap();
        let server = Self { tools, place, user };
        let data = server.place.join("data");
        let data = data.to_str().unwrap();
        server.tool("initdb", &["--no-sync", "--auth=trust", "--username=postgres", "--pgdata", data]);
        let options = format!("-c listen_addresses='' -c fsync=off -k {}", server.place.display());
        let log = format!("{data}/said");
        server.tool("pg_ctl", &["--pgdata", data, "--log", &log, "--wait", "--options", &options, "start"]);
        Some(server)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.tools.display())).env("PGHOST", &self.place);
        command.env("PGUSER", "postgres").current_dir(&self.place);
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn tool(&self, tool: &str, arguments: &[&str]) -> String {
        let ended = self.command(self.tools.join(tool).to_str().unwrap()).args(arguments).output().unwrap();
        assert!(ended.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    }

    fn sql(&self, database: &str, sql: &str) -> String {
        let quiet = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"];
        self.tool("psql", &[&quiet[..], &["--dbname", database, "--command", sql]].concat())
    }

    /// All that the database holds.
    fn holds(&self) -> String {
        let all = self.tool("pg_dump", &["--dbname=shop"]);
        // These lines have a random word.
        all.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
    }

    /// Puts the database of before back, as this role.
    fn restore(&self, role: &str) -> Output {
        let work = self.place.join("work");
        let _ = fs::remove_dir_all(&work);
        assert!(self.command("mkdir").arg(&work).status().unwrap().success());
        fs::write(work.join("status"), "0").unwrap_or_else(|error| panic!("{error}"));
        let here = format!("{}/", work.display());
        let script = restore_of_shop().replace("/exchange/", &here).replace("/scratch/", &here);
        let input = self.place.join("archive");
        self.command("sh")
            .args(["-c", &script])
            .env("PILOTHOUSE_HOST", &self.place)
            .env("PILOTHOUSE_INPUT", input)
            .envs([("PILOTHOUSE_PORT", "5432"), ("PILOTHOUSE_USER", role), ("PILOTHOUSE_DATABASE", "shop")])
            .env("PILOTHOUSE_FORMAT", "postgresql-custom")
            .output()
            .unwrap()
    }

    fn archive(&self) {
        let archive = self.place.join("archive");
        self.tool("pg_dump", &["--format=custom", "--dbname=shop", "--file", archive.to_str().unwrap()]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.place.join("data");
        let _ = self.command("pg_ctl").arg("--pgdata").arg(data).args(["--mode=immediate", "stop"]).output();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Where the newest ones are.
fn tools() -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    places.sort();
    let all = |place: &&Path| {
        ["initdb", "pg_ctl", "psql", "pg_dump", "pg_restore"].iter().all(|tool| place.join(tool).exists())
    };
    std::env::split_paths(&path).chain(places.into_iter().rev()).find(|place| all(&place.as_path()))
}

fn account(name: &str) -> Option<(u32, u32)> {
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let number = |at: usize| line.split(':').nth(at)?.parse().ok();
    Some((number(2)?, number(3)?))
}

#[test]
fn a_database_of_postgresql_comes_back_as_it_was_whatever_it_had_and_whatever_was_added() {
    let Some(server) = Server::begin("all") else { return eprintln!("SKIPPED: no PostgreSQL here") };
    server.sql("postgres", "CREATE DATABASE shop");
    server.sql("shop", include_str!("postgresql/shop.sql"));
    let before = server.holds();
    server.archive();
    for spoil in ["SELECT 1", include_str!("postgresql/spoil.sql")] {
        server.sql("shop", spoil);
        let ended = server.restore("postgres");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(server.holds(), before);
    }
    fs::write(server.place.join("archive"), "cut").unwrap();
    assert!(!server.restore("postgres").status.success());
    assert_eq!(server.holds(), before, "what fails changes nothing");
}

#[test]
fn a_role_that_may_end_others_sessions_puts_its_database_back_beside_a_superusers() {
    let Some(server) = Server::begin("role") else { return eprintln!("SKIPPED: no PostgreSQL here") };
    server.sql("postgres", "CREATE ROLE keeper LOGIN; GRANT pg_signal_backend TO keeper");
    server.sql("postgres", "CREATE ROLE clerk LOGIN");
    server.sql("postgres", "CREATE DATABASE shop OWNER keeper");
    server.sql("shop", "SET ROLE keeper; CREATE TABLE public.sale AS SELECT n FROM generate_series(1, 9) n");
    server.archive();
    let before = server.holds();
    let sleeps = |user: &str| {
        let mut session = server.command("psql");
        session.args(["--no-psqlrc", "--dbname=shop", "--username", user, "--command=SELECT pg_sleep(600)"]);
        session.spawn().unwrap()
    };
    let mut sessions = [sleeps("postgres"), sleeps("clerk")];
    let count = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()";
    while server.sql("postgres", count).trim() != "2" {
        let ended = sessions.iter_mut().any(|session| session.try_wait().unwrap().is_some());
        assert!(!ended, "a session has not begun");
    }
    server.sql("shop", "DROP TABLE sale");
    let ended = server.restore("keeper");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(server.holds(), before);
    assert_eq!(
        server.sql("postgres", count).trim(),
        "1",
        "the clerk's session was ended, the superuser's was not"
    );
    drop(server);
    for session in &mut sessions {
        session.wait().unwrap();
    }
}
