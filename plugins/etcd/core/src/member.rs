//! One member: what is remembered of it, what Kubernetes and etcd say of it, and how it is.

use etcd_api::{Id, MemberRecord, Record};

use crate::{
    naming::Place,
    observed::{Answer, Claim, ListedMember, MemberList, Observed, Pod, PodPhase, Status},
    planted::{self, Defect},
    version::Version,
};

/// One member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) record: &'a MemberRecord,
    pub(crate) listed: Option<&'a ListedMember>,
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) claim: Option<&'a Claim>,
    answer: Option<&'a Answer>,
    /// The list is known, whether this member is in it or not.
    list_known: bool,
    cluster_id: Option<Id>,
}

/// How the data of a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// It was never there.
    Unborn,
    /// It is there.
    Present,
    /// It is there, and goes with what is being deleted.
    Doomed,
    /// It was there.
    Lost,
}

impl<'a> Member<'a> {
    pub(crate) fn of(
        member: &'a MemberRecord,
        observed: &'a Observed,
        record: &Record,
        list: Option<&'a MemberList>,
        place: Place<'_>,
    ) -> Self {
        let listed = list.into_iter().flat_map(|list| &list.members).find(|listed| {
            listed.name == member.name
                || listed.peer_urls.iter().any(|url| place.member_at(url) == Some(member.name.as_str()))
        });
        Self {
            record: member,
            listed,
            pod: observed.pods.iter().find(|pod| pod.name == member.name && pod.owned),
            claim: observed.claims.iter().find(|claim| claim.name == member.name && claim.owned),
            answer: observed.etcd.answers.get(&member.name),
            list_known: list.is_some(),
            cluster_id: record.cluster_id,
        }
    }

    /// A member of a cluster that is not the one that serves: by itself, whatever cluster it says it belongs to.
    pub(crate) fn apart(member: &'a MemberRecord, observed: &'a Observed) -> Self {
        Self {
            record: member,
            listed: None,
            pod: observed.pods.iter().find(|pod| pod.name == member.name && pod.owned),
            claim: observed.claims.iter().find(|claim| claim.name == member.name && claim.owned),
            answer: observed.etcd.answers.get(&member.name),
            list_known: false,
            cluster_id: None,
        }
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.record.name
    }

    pub(crate) fn id(&self) -> Option<Id> {
        self.listed.map(|listed| listed.id).or(self.record.id)
    }

    /// Does it vote? By the list, or by memory when there is none.
    pub(crate) fn votes(&self) -> bool {
        match (self.listed, self.list_known) {
            (Some(listed), _) => !listed.learner,
            (None, true) => false,
            (None, false) => self.record.voter,
        }
    }

    pub(crate) fn status(&self) -> Option<&'a Status> {
        match self.answer {
            Some(Answer::Status(status)) if self.cluster_id.is_none_or(|id| id == status.cluster_id) => {
                Some(status)
            }
            _ => None,
        }
    }

    pub(crate) fn data(&self) -> Data {
        let (there, doomed) = match (self.record.claim, self.claim, self.pod) {
            (true, Some(claim), _) => ((!claim.lost).then_some(&claim.uid), claim.terminating),
            (false, _, Some(pod)) => ((!pod.is_over()).then_some(&pod.uid), pod.terminating.is_some()),
            _ => (None, false),
        };
        if planted::has(Defect::ClaimsDieWithPods) && self.record.data.is_some() && self.pod.is_none() {
            return Data::Lost;
        }
        match (&self.record.data, there) {
            (None, None) if self.pod.is_some_and(Pod::is_over) && !self.record.claim => Data::Lost,
            (None, None) => Data::Unborn,
            (Some(known), Some(there)) if known != there => Data::Lost,
            (Some(_), None) => Data::Lost,
            _ if doomed => Data::Doomed,
            _ => Data::Present,
        }
    }

    /// It answers, belongs to the cluster, votes, and knows a leader.
    pub(crate) fn is_healthy(&self) -> bool {
        let leaving = self.pod.is_none_or(|pod| pod.terminating.is_some());
        let belongs = |status: &Status| self.id().is_none_or(|id| id == status.member_id) && !status.learner;
        !leaving
            && self.votes()
            && self.status().is_some_and(|status| belongs(status) && status.leader.is_some())
    }

    /// The same, the kubelet says so as well, and it runs what its pod was made for.
    pub(crate) fn is_fit(&self) -> bool {
        if planted::has(Defect::RunningIsReady) {
            return self.pod.is_some_and(|pod| pod.phase == PodPhase::Running && pod.terminating.is_none());
        }
        let settled = self.pod.is_some_and(|pod| {
            pod.ready && pod.version == self.record.version && self.running() == pod.version.parse().ok()
        });
        self.is_healthy() && settled && self.data() == Data::Present
    }

    /// The version it says it runs.
    pub(crate) fn running(&self) -> Option<Version> {
        self.status().and_then(|status| status.version.parse().ok())
    }

    /// The version its pod is made for.
    pub(crate) fn meant(&self) -> Option<Version> {
        self.record.version.parse().ok()
    }
}
