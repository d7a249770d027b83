//! What broke a watch, and how to go on.

use std::time::Duration;

use kube::core::Status;
use kube::runtime::watcher;

use crate::error_text::chain;

/// Why a watch does not run at the moment. Also a metric label: a small, fixed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The cluster does not serve the kind (yet), or the kind cannot be watched.
    NotServed,
    /// 403: the host's account may not list or watch the kind.
    Forbidden,
    /// 410: the server no longer knows where the watch stood.
    Expired,
    /// 429.
    Throttled,
    /// Nobody answered, 5xx, or a stream that broke.
    Unavailable,
    /// Any other refusal, such as 400 for a selector the server does not understand.
    Refused,
}

impl Trouble {
    /// As the metric label has it.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotServed => "not_served",
            Self::Forbidden => "forbidden",
            Self::Expired => "expired",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
        }
    }
}

/// How to go on, after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// From where it stood.
    Resume,
    /// With a new list.
    Relist,
    /// With a new list, in pages: the server does not stream lists.
    Page,
    /// The kind may be served elsewhere, or not at all: ask discovery.
    Resolve,
}

/// A failure, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) trouble: Trouble,
    pub(super) remedy: Remedy,
    /// The server's words, or the transport's.
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

/// Reads an error of kube's watcher. `streaming`: the list was asked for as a stream and has not ended.
pub(super) fn read(error: &watcher::Error, streaming: bool) -> Failure {
    match error {
        // The watcher goes back to a list by itself after a failed one.
        watcher::Error::InitialListFailed(error) => of_client(error, Remedy::Resume, streaming),
        watcher::Error::WatchStartFailed(error) => of_client(error, Remedy::Resume, streaming),
        // An event that could not be read is lost: only a list brings it back.
        watcher::Error::WatchFailed(error @ kube::Error::SerdeError(_)) => {
            of_client(error, Remedy::Relist, streaming)
        }
        watcher::Error::WatchFailed(error) => of_client(error, Remedy::Resume, streaming),
        watcher::Error::WatchError(status) if status.code == 410 => {
            of_status(status, Remedy::Resume, streaming)
        }
        watcher::Error::WatchError(status) => of_status(status, Remedy::Relist, streaming),
        watcher::Error::NoResourceVersion => Failure {
            trouble: Trouble::Refused,
            remedy: Remedy::Relist,
            message: error.to_string(),
            retry_after: None,
        },
    }
}

fn of_client(error: &kube::Error, remedy: Remedy, streaming: bool) -> Failure {
    match error {
        kube::Error::Api(status) => {
            // kube's watcher would ask for the same version for ever.
            let remedy = if status.code == 410 { Remedy::Relist } else { remedy };
            of_status(status, remedy, streaming)
        }
        // Half a list cannot be resumed.
        other => {
            let remedy = if streaming { Remedy::Relist } else { remedy };
            Failure { trouble: Trouble::Unavailable, remedy, message: chain(other), retry_after: None }
        }
    }
}

fn of_status(status: &Status, remedy: Remedy, streaming: bool) -> Failure {
    let asked = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    let (trouble, remedy) = match status.code {
        404 => (Trouble::NotServed, Remedy::Resolve),
        403 => (Trouble::Forbidden, remedy),
        410 => (Trouble::Expired, remedy),
        429 => (Trouble::Throttled, remedy),
        400 | 422 if streaming => (Trouble::Refused, Remedy::Page),
        400..=499 => (Trouble::Refused, Remedy::Relist),
        _ => (Trouble::Unavailable, remedy),
    };
    let message = if status.message.is_empty() { status.reason.clone() } else { status.message.clone() };
    let retry_after = (asked > 0).then(|| Duration::from_secs(u64::from(asked)));
    Failure { trouble, remedy, message, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::response::StatusDetails;

    fn status(code: u16) -> Box<Status> {
        let details = StatusDetails { retry_after_seconds: 7, ..serde_json::from_str("{}").unwrap() };
        let details = (code == 429).then_some(details);
        Box::new(Status { code, details, ..Status::failure("no", "Reason") })
    }

    fn start_failed(code: u16) -> watcher::Error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status(code)))
    }

    #[test]
    fn a_gone_version_is_listed_anew_whether_it_comes_as_answer_or_as_event() {
        let answer = read(&start_failed(410), false);
        assert_eq!((answer.trouble, answer.remedy), (Trouble::Expired, Remedy::Relist));
        // Here the watcher lists by itself.
        let event = read(&watcher::Error::WatchError(status(410)), false);
        assert_eq!((event.trouble, event.remedy), (Trouble::Expired, Remedy::Resume));
    }

    #[test]
    fn a_kind_that_is_not_found_is_looked_up_again() {
        let list = watcher::Error::InitialListFailed(kube::Error::Api(status(404)));
        assert_eq!(read(&list, false).remedy, Remedy::Resolve);
    }

    #[test]
    fn a_server_that_does_not_stream_lists_is_asked_in_pages() {
        assert_eq!(read(&start_failed(422), true).remedy, Remedy::Page);
        assert_eq!(read(&start_failed(422), false).remedy, Remedy::Relist);
    }

    #[test]
    fn an_event_that_cannot_be_read_costs_a_new_list() {
        let broken = serde_json::from_str::<u8>("x").unwrap_err();
        let error = watcher::Error::WatchFailed(kube::Error::SerdeError(broken));
        assert_eq!(read(&error, false).remedy, Remedy::Relist);
    }

    #[test]
    fn a_refusal_keeps_the_servers_words_and_its_wish_for_time() {
        let refused = read(&start_failed(403), false);
        assert_eq!((refused.trouble, refused.message.as_str()), (Trouble::Forbidden, "no"));
        assert_eq!(read(&start_failed(429), false).retry_after, Some(Duration::from_secs(7)));
    }
}
