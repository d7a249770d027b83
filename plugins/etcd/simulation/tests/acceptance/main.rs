//! What the operator is measured by, one by one: `docs/etcd.md` names these tests.

#[cfg(test)]
mod alarms;
#[cfg(test)]
mod announcements;
#[cfg(test)]
mod members;
#[cfg(test)]
mod stage;
