//! What was seen, put together by member, and what follows from it alone.

use std::cell::OnceCell;

use etcd_api::{Id, MemberRecord, Record};
use jiff::Timestamp;

use crate::{
    manifest::{self, PodRequest, Start},
    member::Member,
    naming::Place,
    observed::{AlarmKind, Cluster, MemberList, Observed},
    planted::{self, Defect},
    rollout::{self, Outdated},
    spec::Plan,
    version::Version,
};

/// Everything a decision is made from.
#[derive(Debug)]
pub(crate) struct Situation<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) observed: &'a Observed,
    /// What is remembered, with what was just seen added.
    pub(crate) record: &'a Record,
    pub(crate) now: Timestamp,
    /// Members of the incarnation that serves, by age.
    pub(crate) members: Vec<Member<'a>>,
    /// Digests of pods as they should be, without and with a claim: made once, for it takes a pod to be made.
    digests: [OnceCell<(Version, String)>; 2],
    /// Digest of claims as they should be; none without a template.
    claim_digest: OnceCell<Option<String>>,
}

impl<'a> Situation<'a> {
    pub(crate) fn new(
        cluster: &'a Cluster,
        plan: &'a Plan,
        observed: &'a Observed,
        record: &'a Record,
        now: Timestamp,
    ) -> Self {
        let list = list(observed, record);
        let current = record.members.iter().filter(|member| member.incarnation == record.incarnation);
        let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
        let mut members: Vec<Member<'a>> =
            current.map(|member| Member::of(member, observed, record, list, place)).collect();
        members.sort_by_key(|member| member.record.serial);
        Self {
            cluster,
            plan,
            observed,
            record,
            now,
            members,
            digests: Default::default(),
            claim_digest: OnceCell::new(),
        }
    }

    pub(crate) fn place(&self) -> Place<'a> {
        Place { cluster: &self.cluster.name, namespace: &self.cluster.namespace }
    }

    /// The list of members of the incarnation that serves.
    pub(crate) fn list(&self) -> Option<&'a MemberList> {
        list(self.observed, self.record)
    }

    /// The same, if a majority stands behind it. Only such a list may be acted on.
    pub(crate) fn agreed(&self) -> Option<&'a MemberList> {
        self.list().filter(|list| list.agreed)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Member<'a>> {
        self.members.iter().find(|member| member.name() == name)
    }

    pub(crate) fn voters(&self) -> impl Iterator<Item = &Member<'a>> {
        self.members.iter().filter(|member| member.votes())
    }

    /// How many vote, those that nobody here knows included.
    pub(crate) fn voter_count(&self) -> usize {
        match self.list() {
            Some(list) => list.members.iter().filter(|member| !member.learner).count(),
            None => self.voters().count(),
        }
    }

    /// How many must agree.
    pub(crate) fn quorum(&self) -> usize {
        quorum(self.voter_count())
    }

    /// How many voters are well, one of them left out.
    pub(crate) fn healthy_without(&self, name: &str) -> usize {
        self.voters().filter(|member| member.name() != name && member.is_healthy()).count()
    }

    /// How many voters answer, whether they know a leader or not.
    pub(crate) fn healthy_or_voting(&self) -> usize {
        self.voters().filter(|member| member.status().is_some() && member.pod.is_some()).count()
    }

    /// Can this voter be removed? All that are well have to agree to it, itself included if it is; and the others have to
    /// be enough to agree afterwards.
    pub(crate) fn can_spare(&self, name: &str) -> bool {
        let others = self.healthy_without(name);
        let itself = usize::from(self.member(name).is_some_and(Member::is_healthy));
        let left = self.voter_count().saturating_sub(1);
        self.agreed().is_some() && left > 0 && others + itself >= self.quorum() && others >= quorum(left)
    }

    /// The first voter beside `name` that is not entirely well; a stranger counts as such.
    pub(crate) fn first_unfit(&self, name: &str) -> Option<String> {
        let known = |id: Id| self.members.iter().any(|member| member.id() == Some(id));
        let strangers = self.list().into_iter().flat_map(|list| &list.members);
        let stranger = strangers.filter(|listed| !listed.learner).find(|listed| !known(listed.id));
        let unfit = self.voters().find(|member| member.name() != name && !member.is_fit());
        unfit
            .map(|member| member.name().to_owned())
            .or_else(|| stranger.map(|listed| format!("{}", listed.id)))
    }

    /// Is everybody else well, so that this member may be taken out of service for a while?
    pub(crate) fn may_disturb(&self, name: &str) -> bool {
        if planted::has(Defect::RunningIsReady) {
            return self.first_unfit(name).is_none();
        }
        self.agreed().is_some()
            && self.first_unfit(name).is_none()
            && self.healthy_without(name) >= self.needed_without()
    }

    /// A single voter has nobody to go on without it: it is its own quorum, and is missed while it restarts.
    fn needed_without(&self) -> usize {
        if self.voter_count() <= 1 { 0 } else { self.quorum().min(self.voter_count() - 1) }
    }

    /// The one that leads, as the members with the highest term say.
    pub(crate) fn leader(&self) -> Option<&Member<'a>> {
        let told = self
            .members
            .iter()
            .filter_map(Member::status)
            .filter_map(|status| Some((status.term, status.leader?)));
        let (_, id) = told.max_by_key(|(term, _)| *term)?;
        self.members.iter().find(|member| member.id() == Some(id))
    }

    pub(crate) fn leads(&self, name: &str) -> bool {
        self.leader().is_some_and(|leader| leader.name() == name)
    }

    /// Who should lead instead of this one: a voter that is entirely well, best one that runs `preferred` already, then the one
    /// that knows most.
    pub(crate) fn successor(&self, name: &str, preferred: Option<Version>) -> Option<&Member<'a>> {
        let fit = self.voters().filter(|member| member.name() != name && member.is_fit());
        fit.max_by_key(|member| {
            let runs = preferred.is_some() && member.running() == preferred;
            let index = member.status().map(|status| status.index);
            (runs, index, std::cmp::Reverse(member.record.serial))
        })
    }

    /// Learners, whoever made them.
    pub(crate) fn learner_count(&self) -> usize {
        self.list().map_or(0, |list| list.members.iter().filter(|member| member.learner).count())
    }

    pub(crate) fn has_alarm(&self, kind: AlarmKind) -> bool {
        self.observed.etcd.alarms.iter().flatten().any(|alarm| alarm.kind == kind)
    }

    pub(crate) fn is_corrupt(&self, member: &Member<'_>) -> bool {
        let alarms = self.observed.etcd.alarms.iter().flatten();
        let mut corrupt = alarms.filter(|alarm| alarm.kind == AlarmKind::Corrupt);
        corrupt.any(|alarm| Some(alarm.member) == member.id())
    }

    /// Voters whose pod or data is not what it should be for this version, by age.
    pub(crate) fn outdated(&self, version: Version) -> Vec<(&Member<'a>, Outdated)> {
        let voters = self.voters();
        voters.filter_map(|member| Some((member, rollout::outdated(self, member, version)?))).collect()
    }

    /// The digest of the pod of a member of this version, with or without a claim.
    pub(crate) fn digest(&self, claim: bool, version: Version) -> String {
        let make = || {
            let member = MemberRecord { claim, ..MemberRecord::default() };
            let trust = self.plan.tls.trust(&self.observed.secrets);
            manifest::pod_digest(&PodRequest {
                cluster: self.cluster,
                plan: self.plan,
                member: &member,
                version,
                start: Start::Existing { members: &[] },
                trust: &trust,
            })
        };
        let [without, with] = &self.digests;
        let (of, known) = if claim { with } else { without }.get_or_init(|| (version, make()));
        if *of == version { known.clone() } else { make() }
    }

    /// The digest of the claim of a member; none if members are to have none.
    pub(crate) fn claim_digest(&self) -> Option<&str> {
        let make = || self.plan.pod.persistent_volume_claim_spec.as_ref().map(manifest::claim_digest);
        self.claim_digest.get_or_init(make).as_deref()
    }

    /// Members of incarnations before and after the one that serves.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'a MemberRecord> {
        let incarnation = self.record.incarnation;
        self.record.members.iter().filter(move |member| member.incarnation != incarnation)
    }
}

/// How many of so many must agree.
pub(crate) fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// The list of the cluster that the record is about.
pub(crate) fn list<'a>(observed: &'a Observed, record: &Record) -> Option<&'a MemberList> {
    let list = observed.etcd.list.as_ref()?;
    (record.cluster_id.is_none() || record.cluster_id == Some(list.cluster_id)).then_some(list)
}
