//! A real server that speaks like S3 (Versity's gateway over a directory) on this machine, for the time of a test.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::binaries::S3_SERVER;
use crate::error::{Error, Result};
use crate::pki::Authority;
use crate::ports;
use crate::progress::ToStderr;

/// Who may read and write.
pub const ACCESS_KEY: &str = "testbed";
/// The user's secret key.
pub const SECRET_KEY: &str = "s3cret-of-testbed";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server; ends when it is dropped. What was stored stays in its directory.
#[derive(Debug)]
pub struct ObjectStore {
    directory: PathBuf,
    host: String,
    port: u16,
    authority: Option<Authority>,
    child: Option<Child>,
}

impl ObjectStore {
    /// A server without TLS, with a bucket.
    ///
    /// # Errors
    /// When the program is not to be had or does not answer.
    pub fn open(directory: &Path, bucket: &str) -> Result<Self> {
        Self::new(directory, bucket, None, "127.0.0.1")
    }

    /// A server without TLS at another address of this machine, for whoever is not on it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn at(directory: &Path, bucket: &str, address: &str) -> Result<Self> {
        Self::new(directory, bucket, None, address)
    }

    /// A server with a certificate of its own authority.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_tls(directory: &Path, bucket: &str) -> Result<Self> {
        let authority = Authority::create(&directory.join("pki"))?;
        authority.server("s3", "s3", None, &["127.0.0.1"])?;
        Self::new(directory, bucket, Some(authority), "127.0.0.1")
    }

    fn new(directory: &Path, bucket: &str, authority: Option<Authority>, host: &str) -> Result<Self> {
        let data = directory.join("data").join(bucket);
        fs::create_dir_all(&data).map_err(Error::file(&data))?;
        let mut store = Self {
            directory: directory.to_owned(),
            host: host.to_owned(),
            port: ports::free()?,
            authority,
            child: None,
        };
        store.start()?;
        Ok(store)
    }

    /// `address:port`. The same after a [`stop`](Self::stop).
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The certificate of the authority that vouches for it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn certificate(&self) -> Result<String> {
        let Some(authority) = &self.authority else { return Ok(String::new()) };
        let path = authority.certificate();
        fs::read_to_string(&path).map_err(Error::file(&path))
    }

    /// Starts it (again) and waits until it answers.
    ///
    /// # Errors
    /// When the program is not to be had or does not answer.
    pub fn start(&mut self) -> Result<()> {
        let log = self.directory.join("s3.log");
        let file = fs::File::options().create(true).append(true).open(&log).map_err(Error::file(&log))?;
        let errors = file.try_clone().map_err(Error::file(&log))?;
        let failed = |message: String| Error::Program { program: "versitygw".to_owned(), message };
        let mut command = Command::new(S3_SERVER.find(&ToStderr)?);
        command.args(["--access", ACCESS_KEY, "--secret", SECRET_KEY, "--port", &self.address()]);
        if self.authority.is_some() {
            let pki = self.directory.join("pki");
            command.arg("--cert").arg(pki.join("s3.crt")).arg("--key").arg(pki.join("s3.key"));
        }
        // Files keep what S3 says of objects beside them: not every file system has attributes.
        let sidecar = self.directory.join("sidecar");
        fs::create_dir_all(&sidecar).map_err(Error::file(&sidecar))?;
        command.arg("posix").arg("--sidecar").arg(sidecar).arg(self.directory.join("data"));
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        self.child = Some(command.spawn().map_err(|error| failed(error.to_string()))?);
        let started = Instant::now();
        while TcpStream::connect((self.host.as_str(), self.port)).is_err() {
            if started.elapsed() > PATIENCE {
                return Err(failed(format!("no answer; {} says why", log.display())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Ends it: nobody answers any more.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        self.stop();
    }
}
