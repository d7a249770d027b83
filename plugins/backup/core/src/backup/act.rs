//! What is done to the world. Every act may be done twice: it then finds what it wanted.

use std::time::Duration;

use serde_json::Value;

use crate::{manifest::ObjectName, place::Place};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Begin a command in a pod, or find it: one name is one command, whose end is kept until the host forgets all.
    Exec(Command),
    /// Give out a token. Opened twice, it is the same one.
    Open(Box<Token>),
    /// Take a token back and its Secret away. When it has been done, nothing appears under the key any more.
    Close {
        /// Name of the upload or download.
        name: String,
    },
    /// Create what reads the data, tries it or puts it back. What is there already is left alone.
    Create {
        /// What for.
        role: Role,
        /// Given out first: a pod whose Secret is not there would wait for it.
        token: Option<Box<Token>>,
        /// The objects.
        objects: Vec<Value>,
    },
    /// Delete the same, with its pods.
    Delete {
        /// What for.
        role: Role,
        /// Name of the token, which is taken back first: a host that was begun anew knows nothing of it, but its Secret is still there.
        token: Option<String>,
        /// The objects.
        objects: Vec<ObjectName>,
        /// The object of an attempt that failed: what an upload that was cut has left under its key goes as well, as far as the storage
        /// answers.
        leftovers: Option<Place>,
    },
    /// Begin to read an object, or find that reading.
    StartCheck {
        /// Name of the reading.
        name: String,
        /// The object.
        object: Place,
        /// The hash it must have.
        sha256: String,
    },
    /// Forget a reading.
    ForgetCheck {
        /// Name of the reading.
        name: String,
    },
    /// Delete an object. None is as good.
    DeleteObject(Place),
    /// Write an entry of the catalogue, whole or not at all.
    WriteEntry {
        /// Where.
        object: Place,
        /// JSON.
        text: String,
    },
}

/// What objects are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// They read the data.
    Dump,
    /// They try what was written.
    Trial,
    /// They put the data back.
    Restore,
}

impl Role {
    /// The word in names and labels.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dump => "dump",
            Self::Trial => "trial",
            Self::Restore => "restore",
        }
    }
}

/// A command in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Other for each time it is begun.
    pub name: String,
    /// Name of the pod.
    pub pod: String,
    /// Its uid: a pod that replaced it is another one.
    pub uid: String,
    /// Name of the container.
    pub container: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A token for one object, in a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// Whoever has it may write the object, once, whole or not at all.
    Upload(Upload),
    /// Whoever has it may read the object.
    Download(Download),
}

/// A token to read one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Its name, and that of the Secret.
    pub name: String,
    /// The object.
    pub object: Place,
    /// How long it is good for. Always the same for the same object: another time would be another token.
    pub time: Duration,
}

/// A token to write one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Its name, and that of the Secret.
    pub name: String,
    /// The object.
    pub object: Place,
    /// No more bytes than this.
    pub max_size: u64,
    /// How long it is good for. Always the same for the same object.
    pub time: Duration,
}
