//! Changes of files and directories, as the system tells them, gathered until they settle.

use std::path::Path;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// Quiet time after the last change: an editor or a build tool writes in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// A file that never rests is looked at all the same.
const AT_MOST: Duration = Duration::from_secs(2);

/// The changes of one path.
#[derive(Debug)]
pub struct Changes {
    marks: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Starts watching.
    ///
    /// # Errors
    /// When the path is not there or the system grants no more watches.
    pub fn watch(path: &Path, mode: RecursiveMode) -> notify::Result<Self> {
        // One waiting mark is enough: who reads it looks at everything.
        let (changed, marks) = mpsc::channel::<()>(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| !event.kind.is_access()) {
                let _ = changed.try_send(());
            }
        })?;
        watcher.watch(path, mode)?;
        Ok(Self { marks, _watcher: watcher })
    }

    /// Resolves when something changed and it is quiet again; false when no change can come any more. Cancel safe but for
    /// a change that was just told.
    pub async fn settled(&mut self) -> bool {
        if self.marks.recv().await.is_none() {
            return false;
        }
        let quiet = async {
            while tokio::time::timeout(SETTLE, self.marks.recv()).await.is_ok_and(|mark| mark.is_some()) {}
        };
        let _ = tokio::time::timeout(AT_MOST, quiet).await;
        true
    }
}
