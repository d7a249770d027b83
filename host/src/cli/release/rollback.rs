//! `pilothouse rollback`: asks the operator to go back to a revision, and follows it until that is done.

use std::io::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kind::Kind;
use super::{ReleaseArgs, ReleaseError, object_of, object_option};
use crate::capability::rule::Rule;
use crate::cli::asking::{ask, question};
use crate::cli::run::go_bool;
use crate::command::Session;
use crate::watches_file::go_duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// After so long it is asked aloud whether there is an operator.
const PATIENCE: Duration = Duration::from_secs(15);

/// Flags of `pilothouse rollback`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  pilothouse rollback web/shop                  # to the revision that was deployed before
  pilothouse rollback web/shop 3 -n prod
  pilothouse rollback web shop 3 --wait=false   # only ask

The operator does it, when the annotation helm.pilothouse.dev/rollback-to asks for it: the revision is made anew as the next
one, with the chart's hooks, and stays until the spec of the object, the chart or the values change. It takes the right to patch the
object, and no other.

EXIT CODES:
  0  it is done, and the objects are ready (with --wait=false: it was asked)   1  it failed, or was not done in time")]
pub struct RollbackArgs {
    /// The custom resource (KIND/NAME or KIND NAME), and the revision. Default: the one that was deployed before.
    #[arg(value_name = "KIND/NAME [REVISION]", required = true, num_args = 1..=3)]
    pub object: Vec<String>,
    /// Follow it until it is done and all objects are ready.
    #[arg(long, env = "PILOTHOUSE_WAIT", num_args = 0..=1, default_missing_value = "true", default_value = "true", require_equals = true, value_parser = go_bool, action = clap::ArgAction::Set)]
    pub wait: bool,
    /// How long to follow it.
    #[arg(long, env = "PILOTHOUSE_TIMEOUT", value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub timeout: Duration,
    /// What all have.
    #[command(flatten)]
    pub release: ReleaseArgs,
}

fn duration(text: &str) -> Result<Duration, String> {
    go_duration(text).ok_or_else(|| format!("{text:?} is no duration such as 90s or 1m30s"))
}

#[derive(Debug, Deserialize)]
struct Asked {
    from: u64,
    to: u64,
    words: String,
    waits_for: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Progress {
    state: State,
    revision: Option<u64>,
    message: String,
    ready: bool,
    stalled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Asked,
    UnderWay,
    Done,
    Failed,
    Overtaken,
}

/// Asks and follows; what comes of it is printed as it comes.
///
/// # Errors
/// [`ReleaseError`]; also when it failed or was not done in time.
pub fn execute(args: &RollbackArgs) -> Result<(), ReleaseError> {
    let (kind, name, rest) = object_of(&args.object)?;
    let revision = revision(rest)?;
    let watches = args.release.watches()?;
    let mut session = args.release.open()?;
    let kind = args.release.kind(&session, kind, watches.as_ref())?;
    let namespace = args.release.namespace();
    session.also_may(vec![may_ask(&kind, &namespace, name)])?;
    let object = object_option(&kind, &namespace, name);
    let options = json!({"object": object, "step": {"ask": {"revision": revision}}});
    let asked: Asked = ask(&session, &question("rollback", options), None)?;
    say(&format!("{}/{name}: asked to go back from revision {} to {}", kind.plural, asked.from, asked.to));
    if let Some(other) = &asked.waits_for {
        say(&format!("it waits for an operation that is under way: {other}"));
    }
    if !args.wait {
        return Ok(());
    }
    let follower = Follower { session: &session, object, asked: &asked };
    say(&follower.follow(args.timeout, say)?);
    Ok(())
}

/// Prints a line at once. Nobody has to read it.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn revision(words: &[String]) -> Result<Option<u32>, ReleaseError> {
    match words {
        [] => Ok(None),
        [word] => {
            let wrong = || ReleaseError::Usage(format!("{word:?} is not the number of a revision"));
            word.parse().map(Some).map_err(|_| wrong())
        }
        [_, more, ..] => Err(ReleaseError::Usage(format!("one revision at a time: {more:?} is too much"))),
    }
}

/// The one object may be annotated.
fn may_ask(kind: &Kind, namespace: &str, name: &str) -> Rule {
    Rule {
        api_groups: vec![kind.gvk.group.clone()],
        resources: vec![kind.plural.clone()],
        verbs: vec!["patch".to_owned()],
        resource_names: vec![name.to_owned()],
        namespaces: vec![namespace.to_owned()],
    }
}

struct Follower<'f> {
    session: &'f Session,
    object: Value,
    asked: &'f Asked,
}

impl Follower<'_> {
    /// Follows it to its end; the sentence that says so.
    fn follow(&self, timeout: Duration, mut tell: impl FnMut(&str)) -> Result<String, ReleaseError> {
        let started = Instant::now();
        let (mut told, mut is_hinted) = (String::new(), false);
        loop {
            let last = match self.look() {
                Ok(progress) => match said(&progress, self.asked) {
                    Said::Over(done) => return Ok(done),
                    Said::Failed(why) => return Err(ReleaseError::Failed(why)),
                    Said::Waits(line) => {
                        if progress.state == State::Asked && started.elapsed() > PATIENCE && !is_hinted {
                            is_hinted = true;
                            tell("nobody has begun: is an operator running that watches this kind here?");
                        }
                        line
                    }
                },
                // An API server that is away for a moment comes back.
                Err(error) => error.to_string(),
            };
            if last != told {
                tell(&last);
                told = last;
            }
            if started.elapsed() >= timeout {
                return Err(ReleaseError::Failed(format!("not done within {timeout:.0?}: {told}")));
            }
            self.session.wait(async { tokio::time::sleep(PAUSE).await });
        }
    }

    fn look(&self) -> Result<Progress, ReleaseError> {
        let options = json!({"object": self.object, "step": {"look": {"words": self.asked.words}}});
        Ok(ask(self.session, &question("rollback", options), None)?)
    }
}

/// What there is to say of how it stands.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Waits(String),
    Over(String),
    Failed(String),
}

fn said(progress: &Progress, asked: &Asked) -> Said {
    let revision = progress.revision.unwrap_or_default();
    let because = if progress.message.is_empty() { String::new() } else { format!(": {}", progress.message) };
    let back = format!("went back to revision {}, as revision {revision}", asked.to);
    match progress.state {
        State::Asked => Said::Waits(format!("waits for the operator{because}")),
        State::UnderWay => Said::Waits(format!("revision {revision} is under way{because}")),
        State::Failed => Said::Failed(format!("revision {revision}, the way back, failed{because}")),
        State::Overtaken => Said::Failed(format!(
            "something else was brought about in its place, as revision {revision}{because}"
        )),
        State::Done if progress.ready => Said::Over(format!("{back}; all objects are ready")),
        State::Done if progress.stalled => Said::Failed(format!("{back}; but it is not ready{because}")),
        State::Done => Said::Waits(format!("{back}; its objects are on their way{because}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked { from: 3, to: 1, words: "1@now".to_owned(), waits_for: None }
    }

    fn at(state: State, message: &str) -> Progress {
        Progress { state, revision: Some(4), message: message.to_owned(), ready: false, stalled: false }
    }

    #[test]
    fn how_it_stands_is_told_in_sentences() {
        let told = |progress: &Progress| said(progress, &asked());
        let text = |text: &str| text.to_owned();
        assert_eq!(told(&at(State::Asked, "")), Said::Waits(text("waits for the operator")));
        assert_eq!(
            told(&at(State::UnderWay, "a hook")),
            Said::Waits(text("revision 4 is under way: a hook"))
        );
        assert_eq!(
            told(&at(State::Failed, "no")),
            Said::Failed(text("revision 4, the way back, failed: no"))
        );
        let done = at(State::Done, "0 of 2 pods");
        let waits = "went back to revision 1, as revision 4; its objects are on their way: 0 of 2 pods";
        assert_eq!(told(&done), Said::Waits(text(waits)));
        let stalled = Progress { stalled: true, ..done.clone() };
        assert_eq!(
            told(&stalled),
            Said::Failed(text("went back to revision 1, as revision 4; but it is not ready: 0 of 2 pods"))
        );
        let ready = Progress { ready: true, ..done };
        assert_eq!(
            told(&ready),
            Said::Over(text("went back to revision 1, as revision 4; all objects are ready"))
        );
    }

    #[test]
    fn a_revision_is_a_number() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(revision(&words(&[])).unwrap(), None);
        assert_eq!(revision(&words(&["3"])).unwrap(), Some(3));
        assert!(revision(&words(&["three"])).unwrap_err().to_string().contains("\"three\""));
        assert!(revision(&words(&["3", "4"])).is_err());
    }
}
