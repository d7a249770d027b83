//! A real OCI registry (CNCF Distribution) on this machine, for the time of a test.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::binaries::{HELM_CLI, REGISTRY_SERVER};
use crate::error::{Error, Result};
use crate::pki::Authority;
use crate::ports;
use crate::progress::ToStderr;

/// Who may read and write, where not everybody may.
pub const USER: &str = "me";
/// The user's password.
pub const PASSWORD: &str = "s3cret-of-me";
/// The same for the registry (bcrypt).
const USERS: &str = "me:$2a$04$h6wlo5frR8Bf30eUJm/myuDfOLZEMGT7I1.6cyJLuUixdWAqd7tp6\n";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A registry; ends when it is dropped. What was pushed stays in its directory.
#[derive(Debug)]
pub struct Registry {
    directory: PathBuf,
    port: u16,
    path: String,
    authority: Option<Authority>,
    child: Option<Child>,
}

impl Registry {
    /// A registry that speaks HTTP and lets everybody in.
    ///
    /// # Errors
    /// When the program is not to be had or does not answer.
    pub fn open(directory: &Path) -> Result<Self> {
        let mut registry = Self::new(directory, None)?;
        registry.start()?;
        Ok(registry)
    }

    /// A registry with a certificate of its own authority, for [`USER`] with [`PASSWORD`] only.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn guarded(directory: &Path) -> Result<Self> {
        let authority = Authority::create(&directory.join("pki"))?;
        authority.server("registry", "registry", None, &["127.0.0.1"])?;
        let mut registry = Self::new(directory, Some(authority))?;
        registry.start()?;
        Ok(registry)
    }

    fn new(directory: &Path, authority: Option<Authority>) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        // Ports are given again, and what was fetched from them may still be known.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let path = format!("charts-{}", now.as_nanos());
        Ok(Self { directory: directory.to_owned(), port: ports::free()?, path, authority, child: None })
    }

    /// `127.0.0.1:port`. The same after a [`stop`](Self::stop).
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where charts are pushed: `oci://127.0.0.1:port/path`, for each registry another path.
    pub fn repository(&self) -> String {
        format!("oci://{}/{}", self.address(), self.path)
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
        let config = self.directory.join("config.yml");
        fs::write(&config, self.config()).map_err(Error::file(&config))?;
        let users = self.directory.join("users");
        fs::write(&users, USERS).map_err(Error::file(&users))?;
        let log = self.directory.join("registry.log");
        let file = fs::File::options().create(true).append(true).open(&log).map_err(Error::file(&log))?;
        let errors = file.try_clone().map_err(Error::file(&log))?;
        let failed = |message: String| Error::Program { program: "registry".to_owned(), message };
        let mut command = Command::new(REGISTRY_SERVER.find(&ToStderr)?);
        command.arg("serve").arg(&config).env("OTEL_TRACES_EXPORTER", "none");
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        self.child = Some(command.spawn().map_err(|error| failed(error.to_string()))?);
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if started.elapsed() > PATIENCE {
                return Err(failed(format!("no answer; {} says why", log.display())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn config(&self) -> String {
        let directory = self.directory.display();
        let mut http = format!("http:\n  addr: 127.0.0.1:{}\n  secret: testbed\n", self.port);
        if self.authority.is_some() {
            http.push_str(&format!(
                "  tls:\n    certificate: {directory}/pki/registry.crt\n    key: {directory}/pki/registry.key\nauth:\n  htpasswd:\n    \
                 realm: testbed\n    path: {directory}/users\n"
            ));
        }
        format!(
            "version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {directory}/storage}}}}\n{http}"
        )
    }

    /// Ends it: nobody answers any more.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Pushes a chart's archive, with the real helm.
    ///
    /// # Errors
    /// helm's words.
    pub fn push(&self, archive: &Path) -> Result<()> {
        let mut command = Command::new(HELM_CLI.find(&ToStderr)?);
        command.arg("push").arg(archive).arg(self.repository());
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.directory.join("helm"));
        }
        match &self.authority {
            None => command.arg("--plain-http"),
            Some(authority) => command.arg("--ca-file").arg(authority.certificate()).args([
                "--username",
                USER,
                "--password",
                PASSWORD,
            ]),
        };
        let failed = |message: String| Error::Program { program: "helm push".to_owned(), message };
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
