//! Charts of whoever: rendered and linted by us and by a helm 4.3.1, which have to say the same.
//!
//! `HELM=PATH HELM_CHARTS=DIR cargo test -p helm-chart --test beside_helm -- --nocapture` takes every chart
//! below the directory, with its own values, with each of `ci/*.yaml`, and with each of `*-values.yaml` beside
//! `Chart.yaml`. What depends on chance is compared by shape.

use anyhow::{Context, Result, bail};
use helm_chart::{
    File, KubeVersion, ParsedChart, TemplateOptions,
    lint::{Directory, LintSettings, lint},
    load_directory, template,
    values::merge_maps,
    yaml::load_values,
};
use helm_conformance::{
    cases::{FLAGS, RELEASE},
    compare::{Difference, Outcome, Verdict, compare, first_difference},
    random::{SAMPLES, compare_random},
    rules::ERROR,
    unordered::in_order,
};
use helm_template::Map;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// How often helm is asked: what differs then depends on chance.
const ASKED: usize = 3;

struct Beside {
    helm: PathBuf,
    chart: PathBuf,
    values: Vec<PathBuf>,
}

fn charts(below: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if below.join("Chart.yaml").is_file() {
        found.push(below.canonicalize()?);
        return Ok(());
    }
    for entry in fs::read_dir(below)? {
        let path = entry?.path();
        if path.is_dir() {
            charts(&path, found)?;
        }
    }
    Ok(())
}

fn files(directory: &Path, prefix: &str, found: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            files(&path, &format!("{name}/"), found)?;
        } else if path.is_file() {
            found.push(File::new(name, fs::read(&path)?));
        }
    }
    Ok(())
}

/// Values files that a chart brings for trying it.
fn variants(chart: &Path) -> Result<Vec<Vec<PathBuf>>> {
    let mut variants = vec![Vec::new()];
    let is_yaml = |path: &Path| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    for (directory, end) in [(chart.join("ci"), ""), (chart.to_owned(), "-values.yaml")] {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry?.path();
            if is_yaml(&path) && path.to_string_lossy().ends_with(end) {
                variants.push(vec![path]);
            }
        }
    }
    variants.sort();
    Ok(variants)
}

impl Beside {
    fn helm(&self, command: &[&str]) -> Result<Outcome> {
        let mut helm = Command::new(&self.helm);
        helm.args(command).env("TZ", "UTC");
        for file in &self.values {
            helm.arg("--values").arg(file);
        }
        let output = helm.output().with_context(|| self.helm.display().to_string())?;
        if output.status.success() || command.first() == Some(&"lint") {
            return Ok(Outcome::Rendered(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let start = text.find(ERROR).unwrap_or_default();
        Ok(Outcome::Failed(text.get(start..).unwrap_or_default().to_owned()))
    }

    fn given(&self) -> Result<Map> {
        let mut values = Map::new();
        for file in &self.values {
            values = merge_maps(&values, &load_values(&fs::read(file)?)?);
        }
        Ok(values)
    }

    fn rendered(&self) -> Result<String> {
        let mut found = Vec::new();
        files(&self.chart, "", &mut found)?;
        let chart = load_directory(found, &mut Vec::new())?;
        let options = TemplateOptions {
            release_name: RELEASE.to_owned(),
            namespace: "demo".to_owned(),
            kube_version: Some(KubeVersion::parse("1.31.0")?),
            ..TemplateOptions::default()
        };
        Ok(template(&ParsedChart::new(chart), &self.given()?, &options)?)
    }

    fn render(&self) -> Outcome {
        match self.rendered() {
            Ok(text) => Outcome::Rendered(text),
            Err(error) => Outcome::Failed(format!("{ERROR}{error}\n")),
        }
    }

    /// Nothing when helm itself says something else each time, and fails.
    fn templated(&self) -> Result<Option<Verdict>> {
        let chart = self.chart.to_string_lossy();
        let command: Vec<&str> = ["template", RELEASE, &chart].into_iter().chain(FLAGS).collect();
        let theirs = self.helm(&command)?;
        let ours = self.render();
        let fails = matches!(theirs, Outcome::Failed(_));
        let verdict = compare(theirs.text(), fails, &ours);
        if verdict == Verdict::Identical {
            return Ok(Some(verdict));
        }
        for _ in 1..ASKED {
            if self.helm(&command)? != theirs {
                if fails {
                    return Ok(None);
                }
                let mut all = vec![ours];
                all.extend((1..SAMPLES).map(|_| self.render()));
                return Ok(Some(compare_random(theirs.text(), &all, &[]).0));
            }
        }
        Ok(Some(verdict))
    }

    fn linted(&self) -> Result<Option<Verdict>> {
        let chart = self.chart.to_string_lossy().into_owned();
        let theirs = self.helm(&["lint", &chart, "--namespace", "demo"])?;
        let mut directory = Directory { path: chart.clone(), ..Directory::default() };
        files(&self.chart, "", &mut directory.files)?;
        let Ok(values) = self.given() else { return Ok(None) };
        let settings = LintSettings { namespace: "demo".to_owned(), ..LintSettings::default() };
        let report = lint(&directory, &values, &settings);
        let messages: String = report.messages.iter().map(|message| format!("{message}\n")).collect();
        let ours = format!("==> Linting {chart}\n{messages}\n");
        // With errors the last line is on the other stream.
        let theirs = theirs.text().split("1 chart(s) linted").next().unwrap_or_default();
        if theirs == ours || in_order(theirs) == in_order(&ours) {
            return Ok(Some(Verdict::Identical));
        }
        Ok(Some(Verdict::Different(first_difference(theirs, &ours))))
    }
}

/// Counts a verdict, and tells of it unless all is well.
fn tell(what: &str, case: &Beside, verdict: Option<Verdict>, counts: &mut [usize; 3]) {
    let place = match &verdict {
        Some(Verdict::Identical) => 0,
        Some(_) => 1,
        None => 2,
    };
    counts[place] += 1;
    if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Identical) {
        let shown = match verdict {
            Verdict::Different(Difference { line, why }) => format!("line {line:?}: {why}"),
            other => format!("{other:?}").chars().take(500).collect(),
        };
        eprintln!("{what} {} {:?}\n    {shown}", case.chart.display(), case.values);
    }
}

#[test]
fn charts_are_rendered_and_linted_as_helm_does_it() -> Result<()> {
    let (Some(helm), Some(below)) = (std::env::var_os("HELM"), std::env::var_os("HELM_CHARTS")) else {
        eprintln!("SKIPPED: HELM names no helm 4.3.1, or HELM_CHARTS no directory of charts");
        return Ok(());
    };
    let (helm, below) = (PathBuf::from(helm), PathBuf::from(below));
    let mut found = Vec::new();
    charts(&below, &mut found)?;
    found.sort();
    let (mut templated, mut linted) = ([0; 3], [0; 3]);
    for chart in &found {
        for values in variants(chart)? {
            let case = Beside { helm: helm.clone(), chart: chart.clone(), values };
            tell("template", &case, case.templated()?, &mut templated);
            tell("lint", &case, case.linted()?, &mut linted);
        }
    }
    eprintln!("{} charts", found.len());
    for (what, [equal, different, unsteady]) in [("rendered", templated), ("linted", linted)] {
        eprintln!(
            "{what}: {equal} as helm does it, {different} not, {unsteady} that helm itself does not repeat"
        );
    }
    if templated[1] + linted[1] > 0 {
        bail!("not Helm's words");
    }
    Ok(())
}
