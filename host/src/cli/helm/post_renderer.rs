//! `--post-renderer`: a program that manifests go through on their way to the person.
//!
//! To Helm 4 it is a plugin of its own kind, to Helm 3 any program. Here it is found and run; what it reads, and what becomes
//! of what it writes, is the Helm plugin's affair.

mod expand;
mod manifest;
mod search;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use clap::Args;

use self::manifest::Manifest;
use super::HelmError;

/// Flags about it.
#[derive(Clone, Debug, Default, Args)]
pub struct PostRendererArgs {
    /// The name of a postrenderer type plugin of helm that manifests go through; with --compat 3, any program.
    #[arg(long, value_name = "NAME")]
    pub post_renderer: Vec<String>,
    /// An argument to the post-renderer (can specify multiple).
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub post_renderer_args: Vec<String>,
}

/// A program that is ready to be run.
#[derive(Debug)]
pub struct PostRenderer {
    kind: Kind,
    arguments: Vec<String>,
}

#[derive(Debug)]
enum Kind {
    /// A plugin of Helm 4.
    Plugin(Box<Manifest>),
    /// The program of Helm 3, with its whole path.
    Program(PathBuf),
}

/// What can be started: program, arguments, and what is added to the environment.
struct Start {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl PostRendererArgs {
    /// Finds the program; none: none is wanted.
    ///
    /// # Errors
    /// In Helm's words, when there is no such program.
    pub fn find(&self, compat: &str) -> Result<Option<PostRenderer>, HelmError> {
        let invalid = |name: &str, why: &str| {
            let text = format!("invalid argument {name:?} for \"--post-renderer\" flag: {why}");
            HelmError::Usage(text)
        };
        let mut named = self.post_renderer.iter().filter(|name| !name.is_empty());
        let Some(name) = named.next() else { return Ok(None) };
        let kind = if compat == "3" {
            let found = search::program(name).and_then(std::path::absolute);
            let found = found.map_err(|error| format!("unable to find binary at {name}: {error}"));
            Kind::Program(found.map_err(|why| invalid(name, &why))?)
        } else {
            Kind::Plugin(Box::new(search::plugin(name).map_err(|why| invalid(name, &why))?))
        };
        if let Some(second) = named.next() {
            return Err(invalid(second, "cannot specify --post-renderer flag more than once"));
        }
        Ok(Some(PostRenderer { kind, arguments: self.post_renderer_args.clone() }))
    }
}

impl PostRenderer {
    /// What the program makes of `input`.
    ///
    /// # Errors
    /// Helm's words for why there is nothing.
    pub fn run(&self, input: Vec<u8>, debug: bool) -> Result<Vec<u8>, String> {
        match &self.kind {
            Kind::Program(path) => self.run_program(path, input),
            Kind::Plugin(plugin) => {
                let name = &plugin.name;
                let failed = |why: String| format!("failed to invoke post-renderer plugin {name:?}: {why}");
                let written = self.run_plugin(plugin, input, debug).map_err(failed)?;
                if written.trim_ascii().is_empty() {
                    return Err(format!("post-renderer {name:?} produced empty output"));
                }
                Ok(written)
            }
        }
    }

    /// Helm 3 shows what a program that failed had to say.
    fn run_program(&self, path: &Path, input: Vec<u8>) -> Result<Vec<u8>, String> {
        let arguments = self.arguments.iter().map(Into::into).collect();
        let start = Start { program: path.to_owned(), arguments, environment: Vec::new() };
        let failed = |said: &[u8], why: String| {
            let said = String::from_utf8_lossy(said);
            format!("error while running command {}. error output:\n{said}: {why}", path.display())
        };
        let output = start.run(input).map_err(|error| failed(b"", error))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(failed(&output.stderr, status_text(output.status)))
    }

    fn run_plugin(&self, plugin: &Manifest, input: Vec<u8>, debug: bool) -> Result<Vec<u8>, String> {
        let start = self.prepare(plugin)?;
        if debug {
            let command = start.shown();
            log("executing plugin command", &[("pluginName", &plugin.name), ("command", &command)]);
        }
        let output = start.run(input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        if debug {
            let status = status_text(output.status);
            let code = output.status.code().unwrap_or(-1).to_string();
            let said =
                [("pluginName", &*plugin.name), ("error", &status), ("exitCode", &code), ("stderr", "")];
            log("plugin execution failed", &said);
        }
        Err(format!("plugin {:?} exited with error", plugin.name))
    }

    /// What the plugin says is to be run on a machine like this one.
    fn prepare(&self, plugin: &Manifest) -> Result<Start, String> {
        let environment = vec![
            ("HELM_PLUGIN_NAME", OsString::from(&plugin.name)),
            ("HELM_PLUGIN_DIR", plugin.directory.clone().into_os_string()),
        ];
        let variable = |name: &str| {
            let own = environment.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
            let value = own.or_else(|| std::env::var_os(name)).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        let Some((command, arguments)) = plugin.command() else {
            return Err("failed to prepare plugin command: no plugin command is applicable".to_owned());
        };
        let mut words = command.split(' ').chain(arguments.iter().map(String::as_str));
        let program = expand::expand(words.next().unwrap_or_default(), &variable);
        let mut arguments: Vec<OsString> = words.map(|word| expand::expand(word, &variable).into()).collect();
        arguments.extend(self.arguments.iter().map(OsString::from));
        let program = search::program(&program).map_err(|error| error.to_string())?;
        Ok(Start { program, arguments, environment })
    }
}

impl Start {
    fn run(&self, input: Vec<u8>) -> Result<Output, String> {
        let failed = |error: std::io::Error| {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
            format!("fork/exec {}: {text}", self.program.display())
        };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let writer = std::thread::spawn(move || {
            // Who does not read everything is free to.
            stdin.map(|mut stdin| stdin.write_all(&input))
        });
        let output = child.wait_with_output().map_err(failed);
        let _ = writer.join();
        output
    }

    fn shown(&self) -> String {
        let mut shown = self.program.display().to_string();
        for argument in &self.arguments {
            shown.push(' ');
            shown.push_str(&argument.to_string_lossy());
        }
        shown
    }
}

/// Go's words for the end of a process.
fn status_text(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}

/// A line of Helm's log for who looks for an error.
fn log(message: &str, attributes: &[(&str, &str)]) {
    let mut line = format!("level=DEBUG msg={message:?}");
    for (name, value) in attributes {
        let plain = !value.is_empty() && !value.contains([' ', '=', '"', '\n']);
        let value = if plain { (*value).to_owned() } else { format!("{value:?}") };
        line.push_str(&format!(" {name}={value}"));
    }
    eprintln!("{line}");
}

#[cfg(test)]
mod tests;
