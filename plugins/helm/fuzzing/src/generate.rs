//! Questions, made up.

pub mod calls;
mod chart_files;
mod chart_oddities;
pub mod formats;
mod idioms;
mod ignored;
pub mod json;
mod lines;
mod metadata;
pub mod pipelines;
pub mod pools;
mod schemas;
mod soups;
pub mod templates;
mod tokens;
pub mod yaml_comments;
pub mod yaml_soup;
pub mod yaml_values;

use crate::{Question, Random};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Area {
    /// Calls and pipelines of every function.
    Functions,
    /// Control flow, variables, definitions, Go's fmt.
    Template,
    /// Documents that are read and values that are written.
    Yaml,
    /// `--set` and its kin, values files.
    Values,
    /// Whole charts.
    Charts,
}

impl Area {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Functions, Self::Template, Self::Yaml, Self::Values, Self::Charts];

    /// The name in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Template => "template",
            Self::Yaml => "yaml",
            Self::Values => "values",
            Self::Charts => "charts",
        }
    }

    /// A lot of questions, the same for a seed.
    pub fn questions(self, seed: u64) -> Vec<Question> {
        let mut random = Random::new(seed ^ (self as u64) << 56);
        match self {
            Self::Functions => functions(seed, &mut random),
            Self::Template => templates(seed, &mut random),
            Self::Yaml => yaml(&mut random),
            Self::Values => (0..600).map(|_| lines::question(&mut random)).collect(),
            Self::Charts => {
                let ignored: Vec<_> = (0..60).map(|_| ignored::question(&mut random)).collect();
                (0..150).map(|_| chart_files::question(&mut random)).chain(ignored).collect()
            }
        }
    }
}

fn functions(seed: u64, random: &mut Random) -> Vec<Question> {
    let mut questions: Vec<Question> = calls::calls(seed, 2).iter().map(Question::call).collect();
    let mut pipelines = pipelines::Pipelines::over_data();
    questions.extend((0..300).map(|_| Question::call(pipelines.shown(random))));
    questions.extend((0..100).map(|_| Question::call(formats::directive(random))));
    questions.extend((0..300).map(|_| Question::call(soups::call(random))));
    questions
}

fn templates(seed: u64, random: &mut Random) -> Vec<Question> {
    let (data, helm) = (templates::data(), pipelines::Pipelines::over_values());
    let mut questions = templates::templates(seed, 200, &data);
    questions.extend((0..200).map(|_| templates::of_helm(random, &helm)));
    questions.extend((0..200).map(|_| tokens::question(random)));
    questions
}

fn yaml(random: &mut Random) -> Vec<Question> {
    let mut questions = Vec::new();
    for turn in 0..80 {
        let document = match turn % 4 {
            0 => yaml_soup::text(random, 12).into_bytes(),
            1 => yaml_soup::lines(random, 10).into_bytes(),
            2 => yaml_soup::anchored(random).into_bytes(),
            _ => {
                let text = yaml_soup::damaged(random);
                yaml_soup::break_bytes(random, text)
            }
        };
        let again = ["yaml-again", "yaml-again-pretty"].iter();
        let readers = yaml_soup::READERS.iter().chain(again);
        questions.extend(readers.map(|op| Question::yaml(op, &document)));
        let commented = yaml_comments::stream(random).into_bytes();
        let nodes = [&document, &commented]
            .into_iter()
            .flat_map(|document| ["nodes-marked", "nodes-unmarked"].map(|op| Question::yaml(op, document)));
        questions.extend(nodes);
        questions.extend(yaml_values::questions(&yaml_values::value(random, 4)));
        questions.extend(json::questions(&json::text(random)));
    }
    questions
}
