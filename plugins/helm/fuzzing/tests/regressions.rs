//! Every difference that fuzzing found is answered as Go does. Needs no Go: its answers are kept beside the cases.

use helm_fuzzing::generate::Area;
use helm_fuzzing::ours::Worker;
use helm_fuzzing::{differ, regression, shown};

#[test]
fn what_once_differed_from_go_does_no_more() {
    let mut different = String::new();
    let mut count = 0;
    for area in Area::ALL {
        let mut worker = Worker::default();
        for (question, theirs) in regression::read(&regression::file(area)).unwrap() {
            count += 1;
            let ours = worker.answer(&question);
            if theirs.iter().all(|theirs| differ(&question, &ours, theirs)) {
                let parts = question.parts.iter().filter(|(name, _)| name != "data");
                let parts: Vec<_> =
                    parts.map(|(name, data)| format!("{name}: {}", String::from_utf8_lossy(data))).collect();
                different.push_str(&format!(
                    "== {}\n  {}\n  Go {}\n  we {}\n",
                    question.op,
                    parts.join("\n  "),
                    theirs.iter().map(shown).collect::<Vec<_>>().join("\n  or "),
                    shown(&ours)
                ));
            }
        }
    }
    assert!(count > 0, "no case was found");
    assert!(different.is_empty(), "{different}");
}
