//! Charts that lie elsewhere: where an entry or a `Release` says they are, and how the wish for one stands.

use std::{rc::Rc, time::Duration};

use pilothouse_sdk::{
    ChartArchive, ChartError, ChartSource, ChartTrouble, Condition, Error, ObjectRef, Outcome, Watch,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::Call,
    charts::{LoadError, LoadedChart},
    go_duration,
    releases::Prepared,
    report::{Concern, Pause, explain},
    settings::ChartSetting,
    store::secret_kind,
};

/// The condition that tells of the source.
pub(crate) const CHART_READY: &str = "ChartReady";
/// Why a call cannot go on.
const WAITING_FOR_CHART: &str = "WaitingForChart";
/// How often a range is resolved when nobody says.
const INTERVAL: Duration = Duration::from_mins(10);

/// Where a chart lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Elsewhere {
    /// `oci://host/path`, or the address of a chart repository.
    pub(crate) repository: String,
    /// The chart's name.
    pub(crate) name: String,
    /// A version or a range; empty: the newest.
    #[serde(default)]
    pub(crate) version: String,
    /// Of the archive, or in a registry of the manifest.
    #[serde(default)]
    pub(crate) digest: Option<String>,
    /// How often a range is resolved again, as Go writes durations.
    #[serde(default)]
    pub(crate) interval: Option<String>,
    /// A Secret with credentials.
    #[serde(default)]
    pub(crate) secret_ref: Option<SecretRef>,
    /// A registry without TLS.
    #[serde(default, rename = "plainHTTP")]
    pub(crate) plain_http: bool,
    /// Credentials also go to other servers that the repository's index names.
    #[serde(default)]
    pub(crate) pass_credentials: bool,
}

/// A Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SecretRef {
    /// Its name.
    pub(crate) name: String,
    /// Its namespace; the object's own when nobody says.
    #[serde(default)]
    pub(crate) namespace: Option<String>,
}

/// What a revision was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// sha256 of the chart's archive.
    pub(crate) digest: String,
    /// What the range came to.
    pub(crate) version: String,
    /// Where it was found.
    pub(crate) location: String,
}

impl Origin {
    /// As a revision is marked with it.
    pub(crate) fn mark(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Of a revision's mark.
    pub(crate) fn of_mark(mark: Option<&String>) -> Option<Self> {
        serde_json::from_str(mark?).ok()
    }
}

/// The chart of a call.
#[derive(Debug, Clone)]
pub(crate) struct Here {
    /// Parsed.
    pub(crate) chart: Rc<LoadedChart>,
    /// Where it came from; none: it lies on the host's disk.
    pub(crate) origin: Option<Origin>,
}

/// How the wish for the chart of a call stands.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// It is here.
    Here(Here),
    /// It is not, and the sentence says why. The object is called when it is.
    OnItsWay(String),
}

impl Elsewhere {
    fn source(&self, namespace: &str) -> Result<ChartSource, Error> {
        let interval = match &self.interval {
            None => INTERVAL,
            Some(text) => go_duration::parse(text).ok_or_else(|| {
                let message = format!("chart.interval {text:?} is not a duration such as 10m");
                Error::permanent("InvalidConfiguration", message)
            })?,
        };
        let secret = |secret: &SecretRef| {
            (secret.namespace.clone().unwrap_or_else(|| namespace.to_owned()), secret.name.clone())
        };
        Ok(ChartSource {
            repository: self.repository.clone(),
            name: self.name.clone(),
            version: self.version.clone(),
            digest: self.digest.clone(),
            interval,
            secret: self.secret_ref.as_ref().map(secret),
            plain_http: self.plain_http,
            pass_credentials: self.pass_credentials,
        })
    }
}

/// `web >=1 <2 of oci://registry.example/charts`.
impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, version, repository, .. } = self;
        let space = if version.is_empty() { "" } else { " " };
        write!(f, "{name}{space}{version} of {repository}")
    }
}

impl Call<'_> {
    /// The chart that the settings name.
    ///
    /// # Errors
    /// No chart, in Helm's words; a source that may not be used, or is none.
    pub(crate) fn chart(&self) -> Result<Wanted, Error> {
        let refused = |error| explain(error, Concern::Reconcile);
        match &self.settings().chart {
            ChartSetting::Asset(name) => {
                let chart = self.operator().charts.borrow_mut().get(self.ctx(), name).map_err(refused)?;
                Ok(Wanted::Here(Here { chart, origin: None }))
            }
            ChartSetting::Elsewhere(elsewhere) => self.wish_for(elsewhere).map_err(refused),
        }
    }

    fn wish_for(&self, elsewhere: &Elsewhere) -> Result<Wanted, Error> {
        let source = elsewhere.source(&self.owner().namespace)?;
        if let Some((namespace, name)) = &source.secret {
            let secret = ObjectRef::new(secret_kind(), namespace.as_str(), name.as_str());
            self.also_watch(Watch::object(secret));
        }
        let standing = match self.ctx().wish_for_chart(&source) {
            Ok(standing) => standing,
            Err(ChartError::Credentials(message)) => {
                self.tell_chart(false, "InvalidCredentials", message.clone());
                return Ok(Wanted::OnItsWay(message));
            }
            Err(error) => {
                let error = Error::from(error);
                self.tell_chart(false, error.reason(), error.message().to_owned());
                return Err(error);
            }
        };
        match (standing.found, standing.trouble) {
            (Some(found), trouble) => self.take(elsewhere, found, trouble),
            (None, Some(ChartTrouble { reason, message })) => {
                self.tell_chart(false, &reason, message.clone());
                Ok(Wanted::OnItsWay(message))
            }
            (None, None) => {
                let message = format!("fetching {elsewhere}");
                self.tell_chart(false, WAITING_FOR_CHART, message.clone());
                Ok(Wanted::OnItsWay(message))
            }
        }
    }

    /// Reads what was found, unless it is known.
    fn take(
        &self,
        elsewhere: &Elsewhere,
        found: ChartArchive,
        trouble: Option<ChartTrouble>,
    ) -> Result<Wanted, Error> {
        let chart = self.operator().charts.borrow_mut().fetched(self.ctx(), &found);
        let chart = match chart {
            Ok(chart) => chart,
            Err(LoadError::Lost(message)) => {
                self.tell_chart(false, WAITING_FOR_CHART, message.clone());
                return Ok(Wanted::OnItsWay(message));
            }
            Err(LoadError::NoChart(message)) => {
                let message = format!("failed to load chart {}: {message}", found.location);
                self.tell_chart(false, "InvalidChart", message.clone());
                return Err(Error::permanent("InvalidChart", message));
            }
        };
        let version = chart.parsed.chart().metadata.version.clone();
        match trouble {
            None => {
                let message =
                    format!("{} {version} of {} ({})", elsewhere.name, found.location, found.digest);
                self.tell_chart(true, "Fetched", message);
            }
            Some(ChartTrouble { reason, message }) => {
                self.tell_chart(
                    false,
                    &reason,
                    format!("{message}; version {version}, fetched before, stays"),
                );
            }
        }
        let origin = Origin { digest: found.digest, version, location: found.location };
        Ok(Wanted::Here(Here { chart, origin: Some(origin) }))
    }

    fn tell_chart(&self, ready: bool, reason: &str, message: String) {
        self.also_tell(Condition::new(CHART_READY, ready).reason(reason).message(message));
    }

    /// What can be done while the chart is not here: what is deployed stays repaired. An object that stood well, and whose
    /// specification is the same, stands well: nobody asked for anything that the chart is needed for, as far as can be told.
    ///
    /// # Errors
    /// What keeps the release from being kept up.
    pub(crate) fn wait_for_chart(&self, why: &str) -> Result<Outcome, Error> {
        let kept =
            self.keep_up_or_fail().map_err(|error| self.watched_failure(error, None).worth_retrying())?;
        if let Some(prepared) = kept.deployed.as_deref().filter(|prepared| self.stood_well(prepared)) {
            return Ok(self.settled(self.state_of(prepared), prepared, ""));
        }
        let pause =
            Pause { reason: WAITING_FOR_CHART, message: why.to_owned(), watches: kept.watches, until: None };
        Ok(self.paused(pause, kept.deployed.as_deref()))
    }

    /// Whether the last call left this revision as the one that is wanted, and nobody has changed the specification since.
    fn stood_well(&self, prepared: &Prepared) -> bool {
        let object = self.object().value();
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let condition =
            |kind: &str| conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
        let is_true = |kind| condition(kind).is_some_and(|condition| condition["status"] == "True");
        let revision = object.pointer("/status/release/revision").and_then(Value::as_u64);
        let same = condition("Ready")
            .is_some_and(|ready| ready.get("observedGeneration") == object.pointer("/metadata/generation"));
        let waited = condition("Ready").is_some_and(|ready| ready["reason"] == WAITING_FOR_CHART);
        same && !waited
            && revision == Some(u64::from(prepared.revision))
            && !is_true("ReleaseFailed")
            && !is_true("Irreconcilable")
            && !is_true("Paused")
    }

    /// Adds what is told of the chart's source to whatever a call ends with.
    pub(crate) fn with_chart_told(&self, result: Result<Outcome, Error>) -> Result<Outcome, Error> {
        match (self.told(), result) {
            (Some(condition), Ok(outcome)) => Ok(outcome.condition(condition)),
            (Some(condition), Err(error)) => Err(error.condition(condition)),
            (None, Ok(outcome)) => Ok(outcome.drop_condition(CHART_READY)),
            (None, Err(error)) => Err(error.drop_condition(CHART_READY)),
        }
    }

    /// The name of the chart, as far as it can be told without a network.
    pub(crate) fn chart_name(&self) -> Option<String> {
        match &self.settings().chart {
            ChartSetting::Asset(name) => {
                let chart = self.operator().charts.borrow_mut().get(self.ctx(), name).ok()?;
                Some(chart.name().to_owned())
            }
            ChartSetting::Elsewhere(elsewhere) => Some(elsewhere.name.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_go_duration_and_ten_minutes_when_nobody_says() {
        let of = |interval: Option<&str>| {
            Elsewhere { interval: interval.map(str::to_owned), ..Elsewhere::default() }.source("shop")
        };
        assert_eq!(of(None).unwrap().interval, Duration::from_mins(10));
        assert_eq!(of(Some("1h30m")).unwrap().interval, Duration::from_mins(90));
        assert!(of(Some("often")).unwrap_err().message().contains("\"often\""));
    }

    #[test]
    fn a_secret_without_a_namespace_is_beside_the_object() {
        let of = |namespace: Option<&str>| {
            let secret_ref = SecretRef { name: "login".to_owned(), namespace: namespace.map(str::to_owned) };
            let chart = Elsewhere { secret_ref: Some(secret_ref), ..Elsewhere::default() };
            chart.source("shop").unwrap().secret.unwrap().0
        };
        assert_eq!((of(None).as_str(), of(Some("operators")).as_str()), ("shop", "operators"));
    }

    #[test]
    fn a_mark_says_what_a_revision_was_made_from() {
        let origin = Origin {
            digest: "sha256:1".into(),
            version: "1.0.0".into(),
            location: "oci://r/web:1.0.0".into(),
        };
        assert_eq!(Origin::of_mark(origin.mark().as_ref()), Some(origin));
        assert_eq!(Origin::of_mark(Some(&"soon".to_owned())), None);
    }
}
