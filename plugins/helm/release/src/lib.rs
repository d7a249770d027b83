//! Release records, history and the plan of install, upgrade, rollback and uninstall. Pure: nothing here talks to a
//! cluster or looks at a clock.
//!
//! A release is a chain of revisions, each a [`Release`] in a Secret that the helm command line reads and writes as
//! well ([`Stored`]). [`decide`](decision::decide) looks at the chain and at what is wanted and says what has to
//! begin or to go on; an [`Operation`] then says one act after the other. Where it stands is written into the Secret
//! before every act that must not happen twice, so that whoever comes after a crash finds it and goes on.

mod account;
mod chunks;
pub mod decision;
mod fit;
mod history;
mod hook;
pub mod marks;
mod operation;
mod payload;
mod progress;
mod record;
mod remedy;
mod secret;
mod status;
mod time;
mod way_back;

pub use self::{
    account::{Line, Maker},
    chunks::{CHUNK_TYPE, Chunks},
    fit::LARGEST_SECRET,
    history::{History, Limit},
    hook::{DeletePolicy, Hook, HookPhase, HookRun},
    marks::Marks,
    operation::{Act, Action, HookState, Operation, Removal, Tests, Wait},
    payload::{PayloadError, decode, encode},
    progress::{Progress, Stage},
    record::{ApplyMethod, Info, Release},
    remedy::{FIRST_BACKOFF, LONGEST_BACKOFF, Remedy, Undo, backoff},
    secret::{
        Controller, Entry, Listed, SECRET_TYPE, SecretError, Secrets, Stored, can_have_records, chunks_of,
        secret_name, selector,
    },
    status::Status,
    way_back::{NoWayBack, Return, WayBack},
};
