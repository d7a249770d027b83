//! Our own corpus: a small chart for each rule of Helm's, with what helm 4.3.1 wrote for it (`tests/rules`).
//!
//! `cargo xtask conformance --write-golden` lets the real helm write it again. `HELM_RULES_ONLY=TEXT` runs the rules
//! whose name contains it.

use anyhow::{Context, Result, anyhow, bail};
use helm_chart::{
    Chart, File, KubeVersion, LoadError, ParsedChart, TemplateOptions, load_archive, load_directory,
    strvals::{Style, parse_into},
    template,
    values::merge_maps,
    yaml::load_values,
};
use helm_conformance::{
    cases::RELEASE,
    compare::{Outcome, Verdict, compare},
    rules::{ERROR, Rule, rules},
};
use helm_template::Map;
use std::{fs, path::Path};

/// How many rules there are at least.
const FLOOR: usize = 165;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules");

/// What flags say, in the order in which Helm looks at them.
#[derive(Default)]
struct Flags {
    files: Vec<String>,
    json: Vec<String>,
    typed: Vec<String>,
    strings: Vec<String>,
    set_files: Vec<String>,
    literals: Vec<String>,
    options: TemplateOptions,
}

impl Flags {
    fn parse(flags: &[String]) -> Result<Self> {
        let mut parsed = Self::default();
        parsed.options.release_name = RELEASE.to_owned();
        parsed.options.namespace = "demo".to_owned();
        parsed.options.kube_version = Some(KubeVersion::parse("1.31.0")?);
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            let mut value = || flags.next().cloned().with_context(|| format!("{flag} lacks its value"));
            match &**flag {
                "--include-crds" => parsed.options.include_crds = true,
                "--no-hooks" => parsed.options.no_hooks = true,
                "--skip-tests" => parsed.options.skip_tests = true,
                "--is-upgrade" => parsed.options.is_upgrade = true,
                "--skip-schema-validation" => parsed.options.skip_schema_validation = true,
                "--show-only" => parsed.options.show_only.push(value()?),
                "--api-versions" => parsed.options.api_versions.push(value()?),
                "--kube-version" => parsed.options.kube_version = Some(KubeVersion::parse(&value()?)?),
                "--values" => parsed.files.push(value()?),
                "--set-json" => parsed.json.push(value()?),
                "--set" => parsed.typed.push(value()?),
                "--set-string" => parsed.strings.push(value()?),
                "--set-file" => parsed.set_files.push(value()?),
                "--set-literal" => parsed.literals.push(value()?),
                _ => bail!("{flag} is not known here"),
            }
        }
        Ok(parsed)
    }

    fn values(&self, directory: &Path) -> Result<Map> {
        let mut values = Map::new();
        for name in &self.files {
            values = merge_maps(&values, &load_values(&fs::read(directory.join(name))?)?);
        }
        for line in &self.json {
            // An object is merged, everything else is the value of a path.
            if line.trim_start().starts_with('{') {
                match helm_yaml::json::from_json_map(line.trim().as_bytes()) {
                    (map, None) => values = merge_maps(&values, &map),
                    (_, Some(_)) => bail!("failed parsing --set-json data JSON: {line}"),
                }
            } else {
                parse_into(line, Style::Json, &values)
                    .map_err(|_| anyhow!("failed parsing --set-json data {line}"))?;
            }
        }
        let set = |flag: &str, line: &str, style: Style<'_>| {
            parse_into(line, style, &values).map_err(|error| anyhow!("failed parsing {flag} data: {error}"))
        };
        self.typed.iter().try_for_each(|line| set("--set", line, Style::Typed))?;
        self.strings.iter().try_for_each(|line| set("--set-string", line, Style::String))?;
        let mut read = |name: &str| fs::read(directory.join(name)).map_err(|error| error.to_string());
        for line in &self.set_files {
            set("--set-file", line, Style::File(&mut read))?;
        }
        self.literals.iter().try_for_each(|line| set("--set-literal", line, Style::Literal))?;
        Ok(values)
    }
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else {
            files.push(File::new(name, fs::read(&path)?));
        }
    }
    Ok(())
}

fn load(path: &Path) -> Result<Chart> {
    if path.is_file() {
        return load_archive(&fs::read(path)?, &mut Vec::new()).map_err(|error| match error {
            // At the command line there is no more.
            LoadError::Unreadable(_) => anyhow!("unable to load chart archive"),
            other => other.into(),
        });
    }
    let mut files = Vec::new();
    collect(path, "", &mut files)?;
    Ok(load_directory(files, &mut Vec::new())?)
}

fn render(rule: &Rule) -> Result<String> {
    let flags = Flags::parse(&rule.flags)?;
    let values = flags.values(&rule.directory)?;
    let chart = load(&rule.chart())?;
    Ok(template(&ParsedChart::new(chart), &values, &flags.options)?)
}

#[test]
fn every_rule_of_helms_is_ours() -> Result<()> {
    let only = std::env::var("HELM_RULES_ONLY").unwrap_or_default();
    let rules = rules(Path::new(RULES))?;
    let mut different = Vec::new();
    for rule in rules.iter().filter(|rule| rule.name.contains(&only)) {
        let golden = rule.golden().with_context(|| format!("{}: no golden.txt", rule.name))?;
        let ours = match render(rule) {
            Ok(text) => Outcome::Rendered(text),
            Err(error) => Outcome::Failed(format!("{ERROR}{error}\n")),
        };
        let verdict = compare(&golden, golden.starts_with(ERROR), &ours);
        if verdict != Verdict::Identical {
            eprintln!("{}: {verdict:?}", rule.name);
            if !only.is_empty() {
                eprintln!("{ours:?}");
            }
            different.push(rule.name.clone());
        }
    }
    assert!(different.is_empty(), "{} of {} rules: {different:?}", different.len(), rules.len());
    assert!(rules.len() >= FLOOR, "rules have been lost: there are {}", rules.len());
    Ok(())
}
