//! What PEM blocks contain, and how keys and certificates belong together.

use super::{
    Generated, Result,
    certificate::{facts, is_fresh, read, relations},
    keys::{self, Key},
    whole,
};
use x509_parser::certificate::X509Certificate;

/// All PEM blocks of a case.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Label, and the content in each rendering, helm's first.
    blocks: Vec<(String, Vec<Vec<u8>>)>,
}

/// The blocks of one rendering.
struct Rendering<'a> {
    certificates: Vec<X509Certificate<'a>>,
    keys: Vec<Key>,
}

impl Proof {
    pub(super) fn add(&mut self, label: &str, contents: Vec<Vec<u8>>) {
        self.blocks.push((label.to_owned(), contents));
    }

    /// Reads all of them and compares what they say with what helm's say.
    pub(super) fn check(&self, generated: &mut Generated) -> Result<()> {
        let renderings = self.blocks.iter().map(|(_, contents)| contents.len()).max().unwrap_or_default();
        let mut expected = None;
        for number in 0..renderings {
            let rendering =
                self.rendering(number).map_err(|why| whole(format!("rendering {number}: {why}")))?;
            let mut says: Vec<String> = rendering.certificates.iter().flat_map(facts).collect();
            says.extend(rendering.keys.iter().map(|key| key.kind.clone()));
            says.extend(relations(&rendering.certificates, &rendering.keys));
            if number > 0 && !rendering.certificates.iter().all(is_fresh) {
                return Err(whole("a certificate that is not valid from now on"));
            }
            generated.certificates = rendering.certificates.len();
            generated.keys = rendering.keys.len();
            match &expected {
                None => expected = Some(says),
                Some(expected) => same(expected, &says)?,
            }
        }
        Ok(())
    }

    fn rendering(&self, number: usize) -> std::result::Result<Rendering<'_>, String> {
        let mut rendering = Rendering { certificates: Vec::new(), keys: Vec::new() };
        for (label, contents) in &self.blocks {
            let content = contents.get(number).map(Vec::as_slice).unwrap_or_default();
            match &**label {
                "CERTIFICATE" => rendering.certificates.push(read(content)?),
                label => rendering.keys.push(keys::read(label, content)?),
            }
        }
        Ok(rendering)
    }
}

fn same(theirs: &[String], ours: &[String]) -> Result<()> {
    let lacks = theirs.iter().find(|fact| !ours.contains(fact));
    let has = ours.iter().find(|fact| !theirs.contains(fact));
    match (lacks, has) {
        _ if theirs == ours => Ok(()),
        (None, None) => Err(whole("certificates or keys in another order")),
        (lacks, has) => Err(whole(format!(
            "generated {:?} instead of {:?}",
            has.map_or("", String::as_str),
            lacks.map_or("", String::as_str)
        ))),
    }
}
