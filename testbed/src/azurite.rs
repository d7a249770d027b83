//! A real server that speaks like Azure's Blob Storage (Microsoft's own for developers, from the npm registry) on this machine.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::{paths, ports};

/// The one account.
pub const ACCOUNT: &str = "testbed";
/// Its key.
pub const KEY: &str = "dGhlIGtleSBvZiB0aGUgdGVzdGJlZCdzIGFjY291bnQ=";
const VERSION: &str = "3.35.0";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Makes a container: arguments are address, account, key and name. Nothing else signs requests here.
const CONTAINER: &str = r#"
const [address, account, key, name] = process.argv.slice(1);
const date = new Date().toUTCString(), version = "2021-12-02";
const text = `PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:${version}\n/${account}/${account}/${name}\nrestype:container`;
const signed = require("crypto").createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
const headers = { "x-ms-date": date, "x-ms-version": version, authorization: `SharedKey ${account}:${signed}` };
fetch(`http://${address}/${account}/${name}?restype=container`, { method: "PUT", headers })
  .then(async (answer) => { if (answer.status !== 201) throw new Error(answer.status + " " + await answer.text()); })
  .catch((error) => { console.error(String(error)); process.exit(1); });
"#;

/// A server with one account; ends when it is dropped.
#[derive(Debug)]
pub struct Azurite {
    port: u16,
    child: Child,
}

impl Azurite {
    /// A server with a container.
    ///
    /// # Errors
    /// When there is no npm, or the server is not to be had or does not answer.
    pub fn open(directory: &Path, container: &str) -> Result<Self> {
        let program = find()?;
        let (port, log) = (ports::free()?, directory.join("azurite.log"));
        let file = fs::File::create(&log).map_err(Error::file(&log))?;
        let errors = file.try_clone().map_err(Error::file(&log))?;
        let mut command = Command::new("node");
        command.arg(program).args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string(), "--location"]);
        // The library may be newer than the server, which then refuses by number alone.
        command.arg(directory.join("azure")).args([
            "--silent",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ]);
        command.env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"));
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let server = Self { port, child };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if started.elapsed() > PATIENCE {
                return Err(failed(format!("no answer; {} says why", log.display())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        output(Command::new("node").args(["-e", CONTAINER, &server.address(), ACCOUNT, KEY, container]))?;
        Ok(server)
    }

    /// `address:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, installed where it is missing.
fn find() -> Result<PathBuf> {
    let directory = paths::tools().join(format!("azurite-{VERSION}"));
    let program = directory.join("node_modules/azurite/dist/src/blob/main.js");
    if program.is_file() {
        return Ok(program);
    }
    if paths::on_path("npm").is_none() || paths::on_path("node").is_none() {
        return Err(failed("there is no npm to install it with".to_owned()));
    }
    let part = paths::tools().join(format!("azurite-{VERSION}.{}", std::process::id()));
    fs::create_dir_all(&part).map_err(Error::file(&part))?;
    let options = ["--no-audit", "--no-fund", "--omit=dev", "--ignore-scripts", "--silent"];
    let package = format!("azurite@{VERSION}");
    let installed =
        output(Command::new("npm").arg("install").args(options).arg("--prefix").arg(&part).arg(package));
    // Another process may have been quicker.
    let moved = installed.and_then(|()| match fs::rename(&part, &directory) {
        Err(_) if !program.is_file() => Err(failed(format!("cannot be moved to {}", directory.display()))),
        _ => Ok(()),
    });
    let _ = fs::remove_dir_all(&part);
    moved.map(|()| program)
}

fn output(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn failed(message: String) -> Error {
    Error::Program { program: "azurite".to_owned(), message }
}
