//! etcd's JSON gateway: requests and what stands in their answers.
//!
//! 64-bit integers are strings, bytes are base64, zero values are left out
//! (<https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/>).

use std::time::Duration;

use etcd_api::Id;
use etcd_core::{
    naming::Place,
    observed::{Alarm, AlarmKind, ListedMember, Status},
    refusal::Refusal,
};
use pilothouse_sdk::{Http, HttpRequest};
use serde_json::{Value, json};

use crate::{budget::PATIENCE, refused};

/// Longer answers are none of those that are asked for here.
const LONGEST_ANSWER: usize = 1 << 20;

/// The members of one cluster, as a client.
#[derive(Debug)]
pub(crate) struct Gateway<'a> {
    pub(crate) http: Http,
    pub(crate) place: Place<'a>,
    /// Do they speak TLS to clients?
    pub(crate) secure: bool,
}

impl Gateway<'_> {
    /// What a member says of itself.
    ///
    /// # Errors
    /// Why it says nothing, as for all of these.
    pub(crate) fn status(&self, member: &str, patience: Duration) -> Result<Status, Refusal> {
        status_at(&self.http, &self.place.client_url(member, self.secure), patience)
    }

    /// The list of members as this one knows it; `agreed`: as a majority does.
    pub(crate) fn members(&self, member: &str, agreed: bool) -> Result<Vec<ListedMember>, Refusal> {
        let answer = self.post(member, "cluster/member/list", &json!({"linearizable": agreed}), PATIENCE)?;
        let members = answer.get("members").and_then(Value::as_array);
        Ok(members.into_iter().flatten().filter_map(listed).collect())
    }

    /// Alarms that are raised.
    pub(crate) fn alarms(&self, member: &str) -> Result<Vec<Alarm>, Refusal> {
        let answer = self.post(member, "maintenance/alarm", &json!({"action": "GET"}), PATIENCE)?;
        let alarms = answer.get("alarms").and_then(Value::as_array);
        Ok(alarms.into_iter().flatten().filter_map(alarm).collect())
    }

    /// Does it read its own database? What it reads does not matter, nor whether it lets us.
    pub(crate) fn reads(&self, member: &str, patience: Duration) -> Result<(), Refusal> {
        let body = json!({"key": "AA==", "serializable": true, "count_only": true});
        match self.post(member, "kv/range", &body, patience) {
            Ok(_) | Err(Refusal::Etcd(_)) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// One request to one member.
    pub(crate) fn post(
        &self,
        member: &str,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<Value, Refusal> {
        post(&self.http, &self.place.client_url(member, self.secure), path, body, patience)
    }
}

/// What the member at an address says of itself.
///
/// # Errors
/// Why it says nothing.
pub(crate) fn status_at(http: &Http, address: &str, patience: Duration) -> Result<Status, Refusal> {
    let answer = post(http, address, "maintenance/status", &json!({}), patience)?;
    status(&answer).ok_or_else(|| Refusal::Etcd(format!("{address} answers without its identifier")))
}

fn post(http: &Http, address: &str, path: &str, body: &Value, patience: Duration) -> Result<Value, Refusal> {
    let request = HttpRequest::post(format!("{address}/v3/{path}"))
        .json(body)
        .map_err(|error| Refusal::Etcd(format!("{path}: {error}")))?
        .timeout(patience);
    let response = http.send(&request).map_err(|error| refused::on_the_way(&error))?;
    let (status, good) = (response.status, response.is_success());
    let bytes = response.bytes(LONGEST_ANSWER).map_err(|error| refused::on_the_way(&error))?;
    let answer: Option<Value> = serde_json::from_slice(&bytes).ok();
    match answer {
        Some(answer) if good => Ok(answer),
        Some(answer) => Err(Refusal::Etcd(refusal(&answer, status))),
        None => Err(Refusal::Etcd(format!("HTTP status {status} without JSON"))),
    }
}

/// etcd's words; before 3.6 they stand under `error` as well.
fn refusal(answer: &Value, status: u16) -> String {
    let words = ["message", "error"].iter().find_map(|field| answer.get(*field)?.as_str());
    words.map_or_else(|| format!("HTTP status {status}"), str::to_owned)
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A number that is written as one or as text; zero is left out by who writes it.
fn number<N: std::str::FromStr + TryFrom<u64> + Default>(value: &Value, field: &str) -> N {
    let found = value.get(field).and_then(|found| match found {
        Value::String(text) => text.parse().ok(),
        other => N::try_from(other.as_u64()?).ok(),
    });
    found.unwrap_or_default()
}

fn id(value: &Value, field: &str) -> Option<Id> {
    Some(Id(number(value, field))).filter(|id| id.0 != 0)
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

fn status(answer: &Value) -> Option<Status> {
    let header = answer.get("header")?;
    let downgrade = answer.get("downgradeInfo").filter(|info| flag(info, "enabled"));
    let quota: i64 = number(answer, "dbSizeQuota");
    Some(Status {
        member_id: id(header, "member_id")?,
        cluster_id: id(header, "cluster_id")?,
        version: text(answer, "version").unwrap_or_default().to_owned(),
        storage_version: text(answer, "storageVersion").map(str::to_owned),
        leader: id(answer, "leader"),
        term: number(answer, "raftTerm"),
        index: number(answer, "raftIndex"),
        revision: number(header, "revision"),
        learner: flag(answer, "isLearner"),
        db_size: number(answer, "dbSize"),
        db_in_use: number(answer, "dbSizeInUse"),
        db_quota: Some(quota).filter(|quota| *quota > 0),
        downgrade: downgrade.and_then(|info| text(info, "targetVersion")).map(str::to_owned),
    })
}

fn listed(member: &Value) -> Option<ListedMember> {
    let urls = member.get("peerURLs").and_then(Value::as_array);
    Some(ListedMember {
        id: id(member, "ID")?,
        name: text(member, "name").unwrap_or_default().to_owned(),
        peer_urls: urls.into_iter().flatten().filter_map(|url| Some(url.as_str()?.to_owned())).collect(),
        learner: flag(member, "isLearner"),
    })
}

fn alarm(alarm: &Value) -> Option<Alarm> {
    let kinds = [AlarmKind::NoSpace, AlarmKind::Corrupt];
    let kind = kinds.into_iter().find(|kind| text(alarm, "alarm") == Some(kind.as_str()))?;
    Some(Alarm { member: id(alarm, "memberID")?, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_etcd_3_6_writes_it() {
        let answer = json!({
            "header": {"cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": "7",
                       "raft_term": "2"},
            "version": "3.6.16", "dbSize": "20480", "leader": "10276657743932975437", "raftIndex": "12",
            "raftTerm": "2", "raftAppliedIndex": "12", "dbSizeInUse": "16384", "storageVersion": "3.6.0",
            "dbSizeQuota": "2147483648", "downgradeInfo": {"enabled": true, "targetVersion": "3.5.0"},
        });
        let status = status(&answer).unwrap();
        assert_eq!(status.member_id.to_string(), "8e9e05c52164694d");
        assert_eq!(status.leader, Some(status.member_id));
        assert_eq!((status.revision, status.index, status.term), (7, 12, 2));
        assert_eq!((status.db_size, status.db_in_use, status.db_quota), (20480, 16384, Some(2_147_483_648)));
        assert_eq!(status.storage_version.as_deref(), Some("3.6.0"));
        assert_eq!(status.downgrade.as_deref(), Some("3.5.0"));
        assert!(!status.learner);
    }

    #[test]
    fn what_is_zero_is_not_there() {
        let answer =
            json!({"header": {"cluster_id": "1", "member_id": "2"}, "version": "3.5.35", "isLearner": true});
        let status = status(&answer).unwrap();
        assert_eq!((status.leader, status.revision, status.db_quota), (None, 0, None));
        assert!(status.learner && status.downgrade.is_none());
        assert_eq!(super::status(&json!({"version": "3.5.35"})), None);
    }

    #[test]
    fn a_member_that_was_not_started_has_no_name() {
        let member =
            json!({"ID": "18249187646912138824", "peerURLs": ["http://a.b.c.svc:2380"], "isLearner": true});
        let member = listed(&member).unwrap();
        assert_eq!((member.name.as_str(), member.learner), ("", true));
        assert_eq!(member.peer_urls, ["http://a.b.c.svc:2380"]);
    }

    #[test]
    fn alarms_are_those_two() {
        let read = |kind: &str| alarm(&json!({"memberID": "7", "alarm": kind})).map(|alarm| alarm.kind);
        assert_eq!(read("NOSPACE"), Some(AlarmKind::NoSpace));
        assert_eq!(read("CORRUPT"), Some(AlarmKind::Corrupt));
        assert_eq!(read("NONE"), None);
    }

    #[test]
    fn a_refusal_is_told_in_etcds_words() {
        let answer = json!({"code": 9, "message": "etcdserver: unhealthy cluster", "details": []});
        assert_eq!(refusal(&answer, 400), "etcdserver: unhealthy cluster");
        assert_eq!(refusal(&json!({"error": "old"}), 400), "old");
        assert_eq!(refusal(&json!([]), 502), "HTTP status 502");
    }
}
