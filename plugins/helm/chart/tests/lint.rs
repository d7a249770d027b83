//! Small charts that break one rule of the linter each, with what Helm 4.3.1 says about them.
//!
//! `lint/cases.txt`: `#### NAME | FLAGS` opens a case, `== PATH` a file of it, `== -PATH` leaves out one of the files
//! that every case has, `== lint` is what `helm lint` printed for `/charts/c` between its first and its last line, and
//! `== log` what it logged.

use anyhow::{Context, Result, bail, ensure};
use helm_chart::{
    File, KubeVersion,
    lint::{Directory, LintReport, LintSettings, lint},
    strvals::{self, Style},
};
use helm_template::Map;

const CASES: &str = include_str!("lint/cases.txt");

/// Files of a case that brings none of its own in their place.
const USUAL: [(&str, &str); 3] = [
    ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\nicon: https://example.com/i.png\n"),
    ("values.yaml", "a: 1\n"),
    ("templates/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"),
];

struct Case<'a> {
    name: &'a str,
    flags: Vec<&'a str>,
    files: Vec<(&'a str, &'a str)>,
    /// Directories without anything in them: files whose name ends with a slash.
    empty: Vec<&'a str>,
    lint: &'a str,
    log: &'a str,
}

impl<'a> Case<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let (title, body) = text.split_once('\n').context("a case has a title")?;
        let (name, flags) = title.split_once(" | ").unwrap_or((title, ""));
        let mut case = Case {
            name,
            flags: flags.split_whitespace().collect(),
            files: Vec::new(),
            empty: Vec::new(),
            lint: "",
            log: "",
        };
        let mut left_out = Vec::new();
        for section in sections(body) {
            let (path, content) = section.split_once('\n').context("a section has a path")?;
            match path {
                "lint" => case.lint = content,
                "log" => case.log = content,
                _ => match (path.strip_prefix('-'), path.strip_suffix('/')) {
                    (Some(path), _) => left_out.push(path),
                    (_, Some(path)) => case.empty.push(path),
                    _ => case.files.push((path, content)),
                },
            }
        }
        for (path, content) in USUAL {
            if !left_out.contains(&path) && !case.files.iter().any(|(own, _)| *own == path) {
                case.files.push((path, content));
            }
        }
        Ok(case)
    }

    fn report(&self) -> Result<LintReport> {
        let mut settings = LintSettings { namespace: "default".to_owned(), ..LintSettings::default() };
        let values = Map::new();
        let mut flags = self.flags.iter();
        while let Some(flag) = flags.next() {
            let mut argument = || flags.next().context("a flag has an argument");
            match *flag {
                "--set" => strvals::parse_into(argument()?, Style::Typed, &values)?,
                "--namespace" => settings.namespace = (*argument()?).to_owned(),
                "--kube-version" => settings.kube_version = Some(KubeVersion::parse(argument()?)?),
                "--skip-schema-validation" => settings.skip_schema_validation = true,
                other => bail!("no such flag: {other}"),
            }
        }
        let files = self.files.iter().map(|(path, content)| File::new(*path, content)).collect();
        let empty = self.empty.iter().map(|path| (*path).to_owned()).collect();
        Ok(lint(&Directory { path: "/charts/c".to_owned(), files, empty }, &values, &settings))
    }
}

/// What follows each line that starts with `== `.
fn sections(body: &str) -> impl Iterator<Item = &str> {
    const MARK: &str = "== ";
    let mut rest = body.strip_prefix(MARK);
    std::iter::from_fn(move || {
        let current = rest.take()?;
        let Some((section, after)) = current.split_once("\n== ") else { return Some(current) };
        rest = Some(after);
        current.get(..=section.len())
    })
}

#[test]
fn every_small_chart_is_told_what_helm_tells_it() -> Result<()> {
    let mut wrong = String::new();
    let mut count = 0;
    for text in CASES.split("#### ").skip(1) {
        let case = Case::parse(text)?;
        let report = case.report().with_context(|| case.name.to_owned())?;
        let told: String = report.messages.iter().map(|message| format!("{message}\n")).collect();
        let log: String = report.log.iter().map(|line| format!("{line}\n")).collect();
        for (want, found) in [(case.lint, told), (case.log, log)] {
            if want != found {
                wrong.push_str(&format!("#### {}\n{want}---\n{found}", case.name));
            }
        }
        count += 1;
    }
    ensure!(wrong.is_empty(), "not Helm's words:\n{wrong}");
    ensure!(count > 100, "only {count} cases");
    Ok(())
}
