//! The in-memory Kubernetes and the host around it, held against what the real ones do.

#[cfg(test)]
mod apply;
#[cfg(test)]
mod blob;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod exec;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod garbage;
mod handover;
#[cfg(test)]
mod http;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod runner;
#[cfg(test)]
mod script;
#[cfg(test)]
mod wake;
