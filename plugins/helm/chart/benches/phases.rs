//! Where the time of a rendering goes, natively: for each chart the least milliseconds of loading, of the first
//! rendering (which parses), and of the next one with other values. `phases TIMES CHART…`; made for a profiler.

use helm_chart::{File, ParsedChart, TemplateOptions, load_directory, template};
use helm_template::Map;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [times, charts @ ..] = arguments.as_slice() else { return eprintln!("usage: phases TIMES CHART…") };
    let Ok(times) = times.parse::<usize>() else { return eprintln!("usage: phases TIMES CHART…") };
    for chart in charts {
        let files = read(Path::new(chart));
        let mut least = [Duration::MAX; 3];
        for run in 0..times {
            for (least, took) in least.iter_mut().zip(phases(files.clone(), run)) {
                *least = (*least).min(took);
            }
        }
        let [load, first, next] = least.map(|took| took.as_secs_f64() * 1000.0);
        let name = Path::new(chart).file_name().unwrap_or_default().to_string_lossy();
        println!("{name}: load {load:.2} first {first:.2} next {next:.2}");
    }
}

fn phases(files: Vec<File>, run: usize) -> [Duration; 3] {
    let mut times = [Duration::ZERO; 3];
    let started = Instant::now();
    let chart = ParsedChart::new(load_directory(files, &mut Vec::new()).expect("the chart loads"));
    times[0] = started.elapsed();
    for (index, time) in times.iter_mut().enumerate().skip(1) {
        // What schemas allow everywhere.
        let (values, global) = (Map::new(), Map::new());
        global.insert("benchmark", format!("{run}-{index}"));
        values.insert("global", global);
        let started = Instant::now();
        template(&chart, &values, &TemplateOptions::default()).expect("the chart renders");
        *time = started.elapsed();
    }
    times
}

fn read(root: &Path) -> Vec<File> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a chart directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below the chart").to_string_lossy().into_owned();
                files.push(File::new(&name, fs::read(&path).expect("a file")));
            }
        }
    }
    files
}
