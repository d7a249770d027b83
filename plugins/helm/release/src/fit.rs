//! What of a record is stored, so that a Secret can hold it.
//!
//! Kubernetes takes at most 1 MiB of data in a Secret, and there Helm ends. Most of a large record are the files of the
//! chart, which nobody needs to show a revision, to go back to it or to test it: name, values, manifest and hooks do. So
//! the files go first, then templates and schema. Only what is too large even then is stored in chunks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use crate::{PayloadError, Release, payload};

/// The most bytes of data that Kubernetes takes in a Secret.
pub const LARGEST_SECRET: usize = 1 << 20;
/// Annotation that says what of the chart a record leaves out.
pub(crate) const LEFT_OUT: &str = "helm.pilothouse.dev/left-out";

/// What of the chart a record leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum LeftOut {
    #[default]
    Nothing,
    /// All files but templates.
    Files,
    /// Templates and schema as well.
    Templates,
}

impl LeftOut {
    const ALL: [Self; 3] = [Self::Nothing, Self::Files, Self::Templates];

    /// What a Secret's annotations say.
    pub(crate) fn read(metadata: &Map<String, Value>) -> Self {
        let words = metadata.get("annotations").and_then(|all| all.get(LEFT_OUT)).and_then(Value::as_str);
        Self::ALL.into_iter().find(|level| level.words() == words).unwrap_or_default()
    }

    /// The same for people.
    pub(crate) fn words(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Files => Some("files"),
            Self::Templates => Some("files,templates,schema"),
        }
    }

    /// The chart without it; none where the chart is not of a chart's shape.
    fn from(self, chart: &RawValue) -> Option<Box<RawValue>> {
        let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(chart.get()).ok()?;
        let gone: &[&str] = match self {
            Self::Nothing => &[],
            Self::Files => &["files"],
            Self::Templates => &["files", "templates", "schema"],
        };
        for name in gone {
            if let Some(field) = fields.get_mut(*name) {
                *field = RawValue::from_string("null".to_owned()).ok()?;
            }
        }
        serde_json::value::to_raw_value(&fields).ok()
    }
}

/// A record as it is stored.
pub(crate) enum Fitted {
    /// In one piece, as Helm has it.
    Whole(String, LeftOut),
    /// Too large for that: what never changes of it, packed.
    Chunked(Vec<u8>),
}

/// Packs a record so that it fits into `largest` bytes. `before`: what is known to be too large with less left out.
pub(crate) fn fit(release: &Release, before: LeftOut, largest: usize) -> Result<Fitted, PayloadError> {
    let mut packed = Vec::new();
    for level in LeftOut::ALL.into_iter().filter(|level| *level >= before) {
        packed = match level {
            LeftOut::Nothing => payload::pack(release)?,
            _ => match release.chart.as_ref().and_then(|chart| level.from(chart)) {
                Some(chart) => payload::pack(&Release { chart: Some(chart), ..release.clone() })?,
                None => payload::pack(release)?,
            },
        };
        if payload::encoded_len(&packed) <= largest {
            return Ok(Fitted::Whole(payload::wrap(&packed), level));
        }
    }
    Ok(Fitted::Chunked(packed))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// Text of this length that no packing makes much smaller.
    pub(crate) fn noise(length: usize) -> String {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + ((state >> 33) % 94) as u8)
        };
        (0..length).map(letter).collect()
    }

    fn release(files: usize, templates: usize, manifest: usize) -> Release {
        let chart = json!({
            "metadata": {"name": "site", "version": "1.0.0"},
            "values": {"n": 1.5},
            "templates": [{"name": "templates/a.yaml", "data": noise(templates)}],
            "files": [{"name": "README.md", "data": noise(files)}],
            "schema": noise(10),
            "lock": null,
        });
        Release {
            name: "web".into(),
            chart: Some(serde_json::value::to_raw_value(&chart).unwrap()),
            manifest: noise(manifest),
            ..Release::default()
        }
    }

    fn whole(release: &Release) -> (Release, LeftOut) {
        match fit(release, LeftOut::Nothing, LARGEST_SECRET).unwrap() {
            Fitted::Whole(text, left_out) => {
                assert!(text.len() <= LARGEST_SECRET, "{}", text.len());
                (payload::decode(text.as_bytes()).unwrap(), left_out)
            }
            Fitted::Chunked(_) => panic!("chunked"),
        }
    }

    #[test]
    fn what_fits_is_stored_as_it_is() {
        let small = release(1000, 1000, 1000);
        assert_eq!(whole(&small), (small, LeftOut::Nothing));
    }

    #[test]
    fn the_files_of_the_chart_go_first_and_its_templates_only_then() {
        let (stored, left_out) = whole(&release(2_000_000, 1000, 1000));
        assert_eq!(left_out, LeftOut::Files);
        let chart: Value = serde_json::from_str(stored.chart.as_ref().unwrap().get()).unwrap();
        assert_eq!(chart["files"], Value::Null);
        assert_eq!(chart["templates"][0]["name"], "templates/a.yaml");
        assert_eq!(stored.chart_name().unwrap().name, "site");

        let (stored, left_out) = whole(&release(0, 2_000_000, 1000));
        assert_eq!(left_out, LeftOut::Templates);
        let chart: Value = serde_json::from_str(stored.chart.as_ref().unwrap().get()).unwrap();
        assert_eq!((&chart["templates"], &chart["schema"]), (&Value::Null, &Value::Null));
        assert_eq!(chart["values"], json!({"n": 1.5}), "the values are needed to reuse them");
    }

    #[test]
    fn what_is_too_large_even_so_is_chunked_without_them() {
        let Fitted::Chunked(packed) =
            fit(&release(0, 2_000_000, 1_500_000), LeftOut::Nothing, LARGEST_SECRET).unwrap()
        else {
            panic!("whole")
        };
        let stored = payload::unpack(&packed).unwrap();
        assert_eq!(stored.manifest.len(), 1_500_000);
        assert!(!stored.chart.unwrap().get().contains("templates/a.yaml"));
    }

    #[test]
    fn what_was_left_out_once_stays_left_out() {
        let small = release(10, 10, 10);
        let Fitted::Whole(_, left_out) = fit(&small, LeftOut::Files, LARGEST_SECRET).unwrap() else {
            panic!("chunked")
        };
        assert_eq!(left_out, LeftOut::Files);
        let metadata = |words: Option<&str>| json!({"annotations": {LEFT_OUT: words}});
        for level in LeftOut::ALL {
            assert_eq!(LeftOut::read(metadata(level.words()).as_object().unwrap()), level);
        }
    }

    #[test]
    fn a_chart_of_no_charts_shape_is_left_as_it_is() {
        let mut odd = release(0, 0, 2_000_000);
        odd.chart = Some(RawValue::from_string("[]".into()).unwrap());
        assert!(matches!(fit(&odd, LeftOut::Nothing, LARGEST_SECRET).unwrap(), Fitted::Chunked(_)));
    }
}
