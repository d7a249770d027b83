//! Announcements by the import of the world `plugin`.

use super::bindings::pilothouse::operator::{lifecycle, types};
use crate::{AnnounceError, Announcement, Artefact, Ending, Gvk, Standing};

pub(crate) fn announce(announcement: &Announcement) -> Result<Standing, AnnounceError> {
    let announcement = lifecycle::Announcement {
        phase: announcement.phase.clone(),
        change: announcement.change.clone(),
        undoes: announcement.undoes.clone(),
        ending: announcement.ending.map(Into::into),
        details: announcement.details.to_string(),
    };
    match lifecycle::announce(&announcement) {
        Ok(lifecycle::Standing::Done(artefacts)) => {
            Ok(Standing::Done(artefacts.into_iter().map(Into::into).collect()))
        }
        Ok(lifecycle::Standing::Pending(sentence)) => Ok(Standing::Pending(sentence)),
        Ok(lifecycle::Standing::Failed((reason, message))) => Ok(Standing::Failed { reason, message }),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn withdraw() -> Result<(), AnnounceError> {
    Ok(lifecycle::withdraw()?)
}

pub(crate) fn takes_part(phase: &str, kind: &Gvk) -> bool {
    lifecycle::takes_part(phase, &kind.into())
}

impl From<lifecycle::Error> for AnnounceError {
    fn from(error: lifecycle::Error) -> Self {
        match error {
            lifecycle::Error::Denied(why) => Self::Denied(why),
            lifecycle::Error::Invalid(why) => Self::Invalid(why),
            lifecycle::Error::Unavailable(why) => Self::Unavailable(why),
            lifecycle::Error::Exhausted(why) => Self::Exhausted(why),
        }
    }
}

impl From<Ending> for types::Ending {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Succeeded => Self::Succeeded,
            Ending::Failed => Self::Failed,
            Ending::Abandoned => Self::Abandoned,
        }
    }
}

impl From<types::Ending> for Ending {
    fn from(ending: types::Ending) -> Self {
        match ending {
            types::Ending::Succeeded => Self::Succeeded,
            types::Ending::Failed => Self::Failed,
            types::Ending::Abandoned => Self::Abandoned,
        }
    }
}

impl From<types::Artefact> for Artefact {
    fn from(artefact: types::Artefact) -> Self {
        let types::Artefact { name, kind, uri, sha256, size, object, details } = artefact;
        // The host has checked it.
        let details = details.and_then(|text| serde_json::from_str(&text).ok());
        Self { name, kind, uri, sha256, size, object: object.map(Into::into), details }
    }
}

impl From<Artefact> for types::Artefact {
    fn from(artefact: Artefact) -> Self {
        let Artefact { name, kind, uri, sha256, size, object, details } = artefact;
        let details = details.as_ref().map(serde_json::Value::to_string);
        Self { name, kind, uri, sha256, size, object: object.as_ref().map(Into::into), details }
    }
}
