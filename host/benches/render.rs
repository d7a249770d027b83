//! What loading and rendering a chart takes in the Helm plugin, in an instance that is kept warm as the operator host keeps
//! it: nothing of a chart is left from one rendering to the next. And what rendering takes once more with other values,
//! where the loaded chart is kept as well.
//!
//! Run by `cargo xtask bench render`: `render TIMES CHART…` prints a line for each chart, nanoseconds of the least and
//! the median run, the bytes of the output, and nanoseconds of the least run with other values.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pilothouse::command::{CommandArgs, PersonFile, Question, Session};
use serde_json::{Value, json};

/// Renderings of one call that keep the chart: enough for the call itself to weigh little.
const AGAIN: u32 = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [times, charts @ ..] = arguments.as_slice() else { return eprintln!("usage: render TIMES CHART…") };
    let Ok(times) = times.parse::<usize>() else { return eprintln!("usage: render TIMES CHART…") };
    let args = CommandArgs {
        plugin: std::env::var_os("PILOTHOUSE_HELM_PLUGIN").map(PathBuf::from),
        cache_dir: std::env::var_os("PILOTHOUSE_CACHE_DIR").map(PathBuf::from),
    };
    let session = Session::of_host(&args).unwrap();
    for chart in charts {
        let (once, bytes) = took(&session, &question(Path::new(chart), 0), times);
        let (repeated, _) = took(&session, &question(Path::new(chart), AGAIN), times.div_ceil(4));
        let again = repeated[0].saturating_sub(once[0]) / AGAIN;
        let [least, median, again] = [once[0], once[once.len() / 2], again].map(|took| took.as_nanos());
        println!("{least} {median} {bytes} {again}");
    }
}

/// How long the answers take, sorted, and the bytes of one.
fn took(session: &Session, question: &Question, times: usize) -> (Vec<Duration>, usize) {
    let (mut took, mut bytes) = (Vec::new(), 0);
    // The first run warms caches.
    for run in 0..=times {
        let started = Instant::now();
        let answer = session.ask(question).unwrap();
        if run > 0 {
            took.push(started.elapsed());
        }
        assert_eq!(answer.failure, None);
        bytes = answer.output.len();
    }
    took.sort_unstable();
    (took, bytes)
}

/// What `pilothouse template rel CHART` asks, and then so often with a value that no chart looks at.
fn question(chart: &Path, again: u32) -> Question {
    let other = |round: u32| json!({"set": [format!("global.round={round}")]});
    let again: Vec<Value> = (0..again).map(other).collect();
    Question {
        command: "template",
        options: json!({
            "chart": {"name": chart.display().to_string(), "asset": "chart", "directory": chart.is_dir()},
            "releaseName": "rel", "nameTemplate": "", "namespace": "default", "kubeVersion": "", "apiVersions": [],
            "includeCrds": false, "noHooks": false, "skipTests": false, "showOnly": [], "isUpgrade": false,
            "skipSchemaValidation": false, "outputDir": null, "releaseNameDir": false, "server": false, "debug": false,
            "values": {}, "again": again,
        }),
        files: vec![PersonFile::tree("chart", chart)],
        output_dir: None,
        cluster: None,
        debug: false,
    }
}
