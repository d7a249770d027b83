//! What the members say, and who of them speaks for the cluster.

use std::collections::BTreeMap;

use etcd_api::{Id, Record, names::label};
use etcd_core::observed::{Answer, Etcd, MemberList, Status};
use serde_json::Value;

use crate::{budget::Budget, gateway::Gateway};

/// What etcd says, and who is to be asked for changes.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) etcd: Etcd,
    /// The member that knows most of the cluster the record is about.
    pub(crate) speaker: Option<String>,
}

impl Members {
    /// Nobody could be asked, for this reason.
    pub(crate) fn silent(pods: &[Value], why: &str) -> Self {
        let names = pods.iter().filter_map(|pod| pod.pointer("/metadata/name")?.as_str());
        let answers = names.map(|name| (name.to_owned(), Answer::Nothing(why.to_owned()))).collect();
        Self { etcd: Etcd { answers, ..Etcd::default() }, speaker: None }
    }
}

/// Asks every member that may run; last those that the kubelet does not find ready, for they may hang.
pub(crate) fn ask(gateway: &Gateway<'_>, budget: &Budget<'_>, pods: &[Value], record: &Record) -> Members {
    let mut running: Vec<&Value> = pods.iter().filter(|pod| may_answer(pod)).collect();
    running.sort_by_key(|pod| !is_ready(pod));
    let mut answers = BTreeMap::new();
    let mut own = Vec::new();
    for (asked, pod) in running.iter().enumerate() {
        let Some(name) = pod.pointer("/metadata/name").and_then(Value::as_str) else { continue };
        let left = running.len() - asked;
        let told = gateway.status(name, budget.share(left));
        let told = told.and_then(|status| match may_be_blocked(record, name) {
            true => gateway.reads(name, budget.share(left)).map(|()| status),
            false => Ok(status),
        });
        let answer = match told {
            Ok(status) => Answer::Status(Box::new(status)),
            Err(refusal) => Answer::Nothing(refusal.to_string()),
        };
        answers.insert(name.to_owned(), answer);
        if incarnation(pod) == Some(record.incarnation) {
            own.push(name.to_owned());
        }
    }
    let speaker = speaker(&answers, &own, record.cluster_id);
    let Some((name, status)) = speaker else {
        return Members { etcd: Etcd { answers, ..Etcd::default() }, speaker: None };
    };
    let (name, cluster_id) = (name.to_owned(), status.cluster_id);
    let (agreed, members) = match gateway.members(&name, true) {
        Ok(members) => (true, Ok(members)),
        Err(_) => (false, gateway.members(&name, false)),
    };
    let list = members.ok().map(|members| MemberList { cluster_id, agreed, members });
    let alarms = if agreed { gateway.alarms(&name).ok() } else { None };
    Members { etcd: Etcd { list, answers, alarms }, speaker: Some(name) }
}

/// May its database be being defragmented still, longer than it was waited for? Before 3.6 a member tells of itself meanwhile, as if nothing
/// were the matter.
fn may_be_blocked(record: &Record, name: &str) -> bool {
    let relief = record.relief.as_ref().filter(|relief| relief.compacted && !relief.in_vain);
    let schedule = record.defragmentation.as_ref();
    let pending = relief.map(|relief| &relief.pending).or(schedule.map(|run| &run.pending));
    pending.is_some_and(|pending| !pending.iter().any(|other| other == name))
}

/// Has it an address, and a container that was started?
fn may_answer(pod: &Value) -> bool {
    let running = pod.pointer("/status/phase").and_then(Value::as_str) == Some("Running");
    running && pod.pointer("/status/podIP").and_then(Value::as_str).is_some_and(|address| !address.is_empty())
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let is = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str) == Some(text)
    };
    conditions
        .into_iter()
        .flatten()
        .any(|condition| is(condition, "type", "Ready") && is(condition, "status", "True"))
}

fn incarnation(pod: &Value) -> Option<u32> {
    pod.pointer("/metadata/labels")?.get(label::INCARNATION)?.as_str()?.parse().ok()
}

/// The leader, else whoever votes and knows one, else whoever votes, else whoever answers: of the cluster that is remembered.
fn speaker<'a>(
    answers: &'a BTreeMap<String, Answer>,
    own: &[String],
    cluster: Option<Id>,
) -> Option<(&'a str, &'a Status)> {
    let candidates = answers.iter().filter_map(|(name, answer)| match answer {
        Answer::Status(status) if own.contains(name) && cluster.is_none_or(|id| id == status.cluster_id) => {
            Some((name.as_str(), status.as_ref()))
        }
        _ => None,
    });
    candidates.max_by_key(|(_, status)| {
        (
            status.leader == Some(status.member_id),
            !status.learner && status.leader.is_some(),
            !status.learner,
            status.term,
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(member: u64, leader: Option<u64>, learner: bool) -> Answer {
        let status = Status {
            member_id: Id(member),
            cluster_id: Id(1),
            leader: leader.map(Id),
            learner,
            ..Status::default()
        };
        Answer::Status(Box::new(status))
    }

    fn who(answers: &[(&str, Answer)], own: &[&str], cluster: Option<u64>) -> Option<String> {
        let answers = answers.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect();
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        speaker(&answers, &own, cluster.map(Id)).map(|(name, _)| name.to_owned())
    }

    #[test]
    fn the_leader_speaks_and_without_one_whoever_votes() {
        let all = [
            ("a", status(1, Some(2), false)),
            ("b", status(2, Some(2), false)),
            ("c", status(3, Some(2), true)),
            ("d", Answer::Nothing("refused".to_owned())),
        ];
        assert_eq!(who(&all, &["a", "b", "c", "d"], Some(1)).as_deref(), Some("b"));
        assert_eq!(who(&all, &["a", "c"], None).as_deref(), Some("a"));
        assert_eq!(who(&all, &["c", "d"], None).as_deref(), Some("c"));
        assert_eq!(who(&all, &["d"], None), None);
    }

    #[test]
    fn whoever_is_of_another_cluster_or_incarnation_does_not_speak() {
        let all = [("a", status(1, Some(1), false))];
        assert_eq!(who(&all, &["a"], Some(9)), None);
        assert_eq!(who(&all, &[], Some(1)), None);
    }

    #[test]
    fn only_pods_with_an_address_are_asked() {
        assert!(may_answer(&json!({"status": {"phase": "Running", "podIP": "10.0.0.1"}})));
        assert!(!may_answer(&json!({"status": {"phase": "Running"}})));
        assert!(!may_answer(&json!({"status": {"phase": "Pending", "podIP": "10.0.0.1"}})));
    }
}
