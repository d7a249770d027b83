//! What can be done. Every act may be done twice: its preconditions make the second time a refusal that means nothing.

use etcd_api::{ChangeEnding, Id};
use serde_json::Value;

use crate::{observed::AlarmKind, tls::CertificateOrder, version::Version};

/// The one thing that is done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Look again with objects read from the API server, and decide on that.
    Look,
    /// Create a pod. One of the same name that exists means that the view was old.
    CreatePod(Box<Value>),
    /// Delete this very pod.
    DeletePod {
        /// Its name.
        name: String,
        /// Its uid, a precondition.
        uid: String,
    },
    /// Change image and version annotation of this very pod; the kubelet restarts the container on its data.
    PatchImage {
        /// Its name.
        name: String,
        /// Its uid, a precondition.
        uid: String,
        /// The new image.
        image: String,
        /// The new value of the annotation `etcd.version`.
        version: Version,
    },
    /// Create a claim.
    CreateClaim(Box<Value>),
    /// Delete this very claim.
    DeleteClaim {
        /// Its name.
        name: String,
        /// Its uid, a precondition.
        uid: String,
    },
    /// Ask for a larger volume behind this very claim.
    ExpandClaim {
        /// Its name.
        name: String,
        /// Its uid, a precondition.
        uid: String,
        /// The new size.
        storage: String,
    },
    /// Add a member.
    MemberAdd {
        /// Where its peers will find it.
        peer_url: String,
        /// Without a vote. Always so: a member that votes before it runs can cost the quorum.
        learner: bool,
    },
    /// Give a learner its vote.
    MemberPromote {
        /// The learner.
        id: Id,
    },
    /// Remove a member.
    MemberRemove {
        /// The member.
        id: Id,
    },
    /// Have another member lead. To be sent to the leader.
    MoveLeader {
        /// Name of the member that leads.
        from: String,
        /// The member that is to lead.
        to: Id,
    },
    /// Forget history up to a revision.
    Compact {
        /// The newest revision that is kept readable.
        revision: i64,
    },
    /// Give the free pages of a member's database back. The member answers nothing meanwhile.
    Defragment {
        /// Name of the member.
        member: String,
    },
    /// Take an alarm back.
    Disarm {
        /// The member it is about.
        member: Id,
        /// The alarm.
        alarm: AlarmKind,
    },
    /// Let etcd validate a downgrade, and enable it.
    DowngradeEnable {
        /// Where it goes.
        version: Version,
    },
    /// Take that back.
    DowngradeCancel,
    /// Make certificates, and put them into a Secret.
    Issue(Box<CertificateOrder>),
    /// Tell other plugins of a phase, and ask how far they are with it.
    Announce {
        /// The phase.
        phase: HookPhase,
        /// The same for every call about one change.
        change: String,
    },
    /// Everything is cleaned up: the object may go.
    Finish,
}

/// Phases that other plugins can prepare for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookPhase {
    /// Members are about to run another version.
    PreUpgrade,
    /// They do, or were called back.
    PostUpgrade(ChangeEnding),
    /// Members are about to be taken away.
    PreScaleDown,
    /// They were, or more are asked for again.
    PostScaleDown(ChangeEnding),
    /// The cluster is about to be deleted.
    PreDelete,
    /// Its members are gone.
    PostDelete,
}

impl HookPhase {
    /// As it is announced.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade(_) => "post-upgrade",
            Self::PreScaleDown => "pre-scale-down",
            Self::PostScaleDown(_) => "post-scale-down",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
        }
    }
}
