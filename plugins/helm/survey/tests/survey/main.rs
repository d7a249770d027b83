//! Charts that are looked at.

mod corpus;
mod rights;
mod schema;
mod starter;
mod structural;

use helm_chart::{Chart, File, load_directory};
use helm_survey::{Survey, Wishes};

/// A chart of these files.
fn chart(files: &[(&str, &str)]) -> Chart {
    let mut all: Vec<File> = files.iter().map(|(path, text)| File::new(*path, *text)).collect();
    if !files.iter().any(|(path, _)| *path == "Chart.yaml") {
        all.push(File::new("Chart.yaml", "apiVersion: v2\nname: site\nversion: 1.0.0\n"));
    }
    load_directory(all, &mut Vec::new()).unwrap()
}

/// What is found out about it.
fn survey(files: &[(&str, &str)]) -> Survey {
    let survey =
        Survey::of(&chart(files), &Wishes { domain: "example.com".into(), ..Wishes::default() }).unwrap();
    assert_eq!(structural::wrong(&survey.crd), Vec::<String>::new());
    survey
}
