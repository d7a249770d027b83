//! One of several replicas works: leader election by a Lease, as client-go's `leaderelection` does it.
//!
//! Time is never compared between machines. What counts is how long *this* process has seen the same record: a leader
//! whose record has not moved for its own lease duration is dead, whatever the clocks say. And a leader that could not
//! renew for [`Timing::renew_deadline`] stops working, before anybody else may start; its writes end at a [`Fence`] that
//! each renewal moves on, so that a process that stood still meanwhile has nothing to be told before it stops.
//!
//! The crate `kube-lease-manager` was looked at and left: it compares the record's wall-clock time with its own, takes a
//! lease over without a precondition, and goes on believing in its lease while the API server does not answer.

mod record;
mod store;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::cluster::fence::Fence;

pub use record::{Election, Record, Step};
pub use store::{KubeLease, LeaseError, LeaseStore};

/// How long a lease lives and how it is kept. The defaults are controller-runtime's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait for a leader that says nothing.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it gives up; shorter than the duration.
    pub renew_deadline: Duration,
    /// Between two tries.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// Whether a leader is sure to have stopped before another starts, as client-go asks for it.
    ///
    /// # Errors
    /// Names what is too long for what.
    pub fn check(self) -> Result<(), String> {
        // The lease says whole seconds: others believe those.
        if Duration::from_secs(self.lease_duration.as_secs()) <= self.renew_deadline {
            return Err("leaseDuration has to be longer than renewDeadline, in whole seconds".to_owned());
        }
        if self.retry_period.is_zero() || self.renew_deadline <= self.retry_period.mul_f64(1.2) {
            return Err(
                "renewDeadline has to be longer than 1.2 times retryPeriod, which is not 0".to_owned()
            );
        }
        Ok(())
    }
}

/// A name that no other replica and no later process has: the host's (in a pod: the pod's name) and something random.
pub fn identity(host: &str) -> String {
    format!("{host}_{:016x}", fastrand::u64(..))
}

/// The lease is held, as long as [`lost`](Self::lost) has not resolved. Dropped without a release it runs out by itself.
#[derive(Debug)]
pub struct Leadership {
    held: watch::Receiver<bool>,
    keeper: AbortHandle,
    release: Option<watch::Sender<()>>,
}

impl Leadership {
    /// Resolves when the lease could not be renewed in time or is somebody else's: from now on another replica may
    /// work, this process has to end. Never resolves without an election.
    pub async fn lost(&self) {
        let mut held = self.held.clone();
        let _ = held.wait_for(|held| !held).await;
    }

    /// Whether the lease is held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Gives the lease back, so that the next replica starts at once. Call it when nothing works any more.
    pub async fn release(mut self) {
        drop(self.release.take());
        self.lost().await;
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        // A release that is under way ends by itself.
        if self.release.is_some() {
            self.keeper.abort();
        }
    }
}

/// Leadership without an election (`--leader-elect=false`): always held.
pub fn without_election() -> Leadership {
    let (held, receiver) = watch::channel(true);
    let (release, mut released) = watch::channel(());
    let keeper = tokio::spawn(async move {
        let _ = released.changed().await;
        held.send_replace(false);
    });
    Leadership { held: receiver, keeper: keeper.abort_handle(), release: Some(release) }
}

/// Waits until this process leads, then keeps the lease until it is lost or released. Cancel safe: a lease that was just
/// taken and is not wanted any more runs out. The fence is open for as long as nobody else may lead.
pub async fn acquire<S: LeaseStore>(store: S, identity: &str, timing: Timing, fence: Fence) -> Leadership {
    let election = Election::new(identity, timing.lease_duration);
    let mut keeper = Keeper { store, election, timing, fence };
    let mut told = String::new();
    let taken = loop {
        let tried = Instant::now();
        match timeout(timing.renew_deadline, keeper.step()).await {
            Ok(Ok(true)) => break tried,
            Ok(Ok(false)) => {
                let holder = keeper.election.holder().to_owned();
                if holder != told {
                    tracing::info!(holder, "another replica leads; waiting");
                    told = holder;
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "the leader lease cannot be taken"),
            Err(_) => tracing::warn!("the leader lease cannot be taken: the API server does not answer"),
        }
        // A fifth more at most, so that replicas do not stay in step.
        sleep(timing.retry_period.mul_f64(1.0 + 0.2 * fastrand::f64())).await;
    };
    keeper.fence.open_until(taken + timing.renew_deadline);
    tracing::info!(identity, "leading");
    let (held, receiver) = watch::channel(true);
    let (release, released) = watch::channel(());
    let task = tokio::spawn(async move {
        keeper.keep(released, taken).await;
        keeper.fence.close();
        held.send_replace(false);
    });
    Leadership { held: receiver, keeper: task.abort_handle(), release: Some(release) }
}

struct Keeper<S> {
    store: S,
    election: Election,
    timing: Timing,
    fence: Fence,
}

impl<S: LeaseStore> Keeper<S> {
    /// One try; whether this process leads now.
    async fn step(&mut self) -> Result<bool, LeaseError> {
        let found = self.store.get().await?;
        let wanted = match self.election.look(found, Instant::now(), Timestamp::now()) {
            Step::Wait => return Ok(false),
            Step::Write(record) => record,
        };
        match self.store.put(&wanted).await {
            Ok(written) => {
                self.election.wrote(written, Instant::now());
                Ok(true)
            }
            // Somebody was faster: look again at the next try.
            Err(LeaseError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renews until it cannot, or until the lease is given back.
    async fn keep(&mut self, mut released: watch::Receiver<()>, mut renewed: Instant) {
        loop {
            tokio::select! {
                // The sender is dropped.
                _ = released.changed() => return self.give_back().await,
                () = sleep(self.timing.retry_period) => {}
            }
            let tried = Instant::now();
            // Half of the time for one try: a connection that hangs must not cost the lease.
            let until = (renewed + self.timing.renew_deadline).min(tried + self.timing.renew_deadline / 2);
            match timeout_at(until, self.step()).await {
                Ok(Ok(true)) => {
                    renewed = tried;
                    self.fence.open_until(renewed + self.timing.renew_deadline);
                }
                Ok(Ok(false)) if !self.election.leads() => {
                    tracing::error!(holder = self.election.holder(), "the leader lease is another's");
                    return;
                }
                Ok(Ok(false)) => tracing::debug!("the leader lease moved under a renewal"),
                Ok(Err(error)) => tracing::warn!(%error, "the leader lease could not be renewed"),
                Err(_) => {
                    tracing::warn!("the leader lease could not be renewed: the API server does not answer");
                }
            }
            if Instant::now() >= renewed + self.timing.renew_deadline {
                tracing::error!("the leader lease could not be renewed in time");
                return;
            }
        }
    }

    async fn give_back(&mut self) {
        // The next one starts as soon as the lease is free.
        self.fence.close();
        let Some(record) = self.election.released(Timestamp::now()) else { return };
        match timeout(self.timing.retry_period, self.store.put(&record)).await {
            Ok(Ok(_)) => tracing::info!("the leader lease is given back"),
            Ok(Err(error)) => tracing::warn!(%error, "the leader lease could not be given back; it runs out"),
            Err(_) => tracing::warn!("the leader lease could not be given back; it runs out"),
        }
    }
}

/// The lease of a cluster, under the name and namespace given.
pub fn kube_lease(client: kube::Client, namespace: &str, name: &str) -> Arc<KubeLease> {
    Arc::new(KubeLease::new(client, namespace, name))
}

#[cfg(test)]
mod tests;
