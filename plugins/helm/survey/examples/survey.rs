//! Looks at a chart directory and prints what the command `survey` answers: `cargo run --release -p helm-survey --example
//! survey -- DIR [DOMAIN]`. `rules` as a third argument prints the rules only, one on a line.

use anyhow::{Context, Result, bail};
use helm_chart::{File, load_directory};
use helm_survey::{Survey, Wishes};
use std::{fs, path::Path};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(directory) = arguments.first() else { bail!("usage: survey DIR [DOMAIN] [rules]") };
    let mut files = Vec::new();
    read(Path::new(directory), "", &mut files)?;
    let chart = load_directory(files, &mut Vec::new())?;
    let domain = arguments.get(1).cloned().unwrap_or_else(|| "example.com".to_owned());
    let survey = Survey::of(&chart, &Wishes { domain, ..Wishes::default() })?;
    #[expect(clippy::print_stdout, reason = "this is what the program is for")]
    if arguments.get(2).is_some() {
        for rule in &survey.rules {
            println!("{}", serde_json::to_string(rule)?);
        }
        for note in &survey.notes {
            println!("note: {note}");
        }
    } else {
        println!("{}", serde_json::to_string_pretty(&survey)?);
    }
    Ok(())
}

fn read(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(File::new(name, fs::read(entry.path())?));
        }
    }
    Ok(())
}
