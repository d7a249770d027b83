//! From a change in the cluster to one call at a time for each object: watches, their caches and the work queue.
