//! The plugin as the host calls it, in a Kubernetes in memory in which the test plays Jobs, databases and the etcd plugin.

#[cfg(test)]
mod actors;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod etcd;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod mishaps;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod quiesce;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod spoilt;
