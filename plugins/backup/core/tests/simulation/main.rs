//! Backups and restores in a small world on virtual time, in which everything goes wrong.

mod backups;
mod play;
mod restores;
mod world;
