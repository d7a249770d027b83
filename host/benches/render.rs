//! What loading and rendering a chart takes in the Helm plugin, warm: everything that is kept between two renderings is
//! compiled code.
//!
//! Run by `cargo xtask bench render`: `render TIMES CHART…` prints a line for each chart, nanoseconds of the least and
//! the median run and the bytes of the output.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pilothouse::command::{CommandArgs, PersonFile, Question, Session};
use serde_json::json;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [times, charts @ ..] = arguments.as_slice() else { return eprintln!("usage: render TIMES CHART…") };
    let Ok(times) = times.parse::<usize>() else { return eprintln!("usage: render TIMES CHART…") };
    let args = CommandArgs {
        plugin: std::env::var_os("PILOTHOUSE_HELM_PLUGIN").map(PathBuf::from),
        cache_dir: std::env::var_os("PILOTHOUSE_CACHE_DIR").map(PathBuf::from),
    };
    let session = Session::open(&args, None).unwrap();
    for chart in charts {
        let question = question(Path::new(chart));
        let mut took = Vec::new();
        let mut bytes = 0;
        // The first run warms caches.
        for run in 0..=times {
            let started = Instant::now();
            let answer = session.ask(&question).unwrap();
            if run > 0 {
                took.push(started.elapsed());
            }
            assert_eq!(answer.failure, None);
            bytes = answer.output.len();
        }
        took.sort_unstable();
        println!("{} {} {bytes}", took[0].as_nanos(), took[took.len() / 2].as_nanos());
    }
}

/// What `pilothouse template rel CHART` asks.
fn question(chart: &Path) -> Question {
    Question {
        command: "template",
        options: json!({
            "chart": {"name": chart.display().to_string(), "asset": "chart", "directory": chart.is_dir()},
            "releaseName": "rel", "nameTemplate": "", "namespace": "default", "kubeVersion": "", "apiVersions": [],
            "includeCrds": false, "noHooks": false, "skipTests": false, "showOnly": [], "isUpgrade": false,
            "skipSchemaValidation": false, "outputDir": null, "releaseNameDir": false, "server": false, "debug": false,
            "values": {},
        }),
        files: vec![PersonFile::tree("chart", chart)],
        output_dir: None,
        cluster: None,
        debug: false,
    }
}
