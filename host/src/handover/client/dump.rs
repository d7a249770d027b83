//! Reads what a database's tools write, and knows its end: the pipe's end alone says nothing, for a tool that was killed ends it too.
//! Whole is what has ended, and whose writer has left a `0` in the status file.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use rustix::fs::OFlags;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep};

use super::ClientError;

/// Bytes of a piece.
const PIECE: usize = 64 * 1024;
/// How often the status file is looked for while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// What is being written.
#[derive(Debug)]
pub struct Dump {
    file: File,
    /// Tells when there is something in a pipe.
    ready: Option<Receiver>,
    status: PathBuf,
    patience: Duration,
    buffer: Vec<u8>,
    /// Somebody has opened it for writing.
    begun: bool,
}

/// What one look at the data says.
enum Look {
    Piece(Bytes),
    /// Somebody writes, and nothing is there yet.
    Nothing,
    /// Nobody writes any more, or not yet.
    End,
}

impl Dump {
    /// A pipe that is read while it is written. Who writes has `patience` to leave its status after the end of the data.
    ///
    /// # Errors
    /// [`ClientError::File`].
    pub fn stream(path: &Path, status: PathBuf, patience: Duration) -> Result<Self, ClientError> {
        let failed = || ClientError::file(path);
        // It does not wait for a writer: there may never be one.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed())?;
        // It refuses what is no pipe.
        let ready = file.try_clone().and_then(Receiver::from_file).map_err(failed())?;
        Ok(Self { file, ready: Some(ready), status, patience, buffer: vec![0; PIECE], begun: false })
    }

    /// A file that is read once whoever writes it has left its status.
    ///
    /// # Errors
    /// [`ClientError::File`], and [`ClientError::Source`].
    pub async fn file(path: PathBuf, status: PathBuf, patience: Duration) -> Result<Self, ClientError> {
        while !is_whole(&status)? {
            sleep(LOOK).await;
        }
        let file = File::open(&path).map_err(ClientError::file(&path))?;
        Ok(Self { file, ready: None, status, patience, buffer: vec![0; PIECE], begun: false })
    }

    /// The next piece; none: all was read, and it is whole.
    ///
    /// # Errors
    /// [`ClientError`]; then it is not.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let mut since = None;
        loop {
            // In this order: what was written before the status is there after it.
            let whole = is_whole(&self.status)?;
            match self.look()? {
                Look::Piece(piece) => return Ok(Some(piece)),
                Look::End if whole => return Ok(None),
                Look::End => {
                    let since = *since.get_or_insert_with(Instant::now);
                    if self.begun && since.elapsed() >= self.patience {
                        let (status, patience) = (self.status.clone(), self.patience);
                        return Err(ClientError::Silent { status, patience });
                    }
                    sleep(LOOK).await;
                }
                Look::Nothing => self.wait().await,
            }
        }
    }

    fn look(&mut self) -> Result<Look, ClientError> {
        // Tokio looks only when it was told of something. It is not told of a pipe that nobody writes yet.
        let known = self.ready.as_ref().and_then(|ready| ready.try_read(&mut self.buffer).ok());
        let read = known.map_or_else(|| self.file.read(&mut self.buffer), Ok);
        self.begun |= !matches!(read, Ok(0));
        match read {
            Ok(0) => Ok(Look::End),
            Ok(read) => Ok(Look::Piece(Bytes::copy_from_slice(self.buffer.get(..read).unwrap_or_default()))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Look::Nothing),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Look::Nothing),
            Err(error) => Err(ClientError::File { path: "the data".into(), source: error }),
        }
    }

    async fn wait(&self) {
        let Some(ready) = &self.ready else { return sleep(LOOK).await };
        tokio::select! {
            _ = ready.readable() => {}
            // The status may tell of a failure while somebody still holds the pipe.
            () = sleep(LOOK) => {}
        }
    }
}

/// Whether whoever writes says that it is.
fn is_whole(status: &Path) -> Result<bool, ClientError> {
    match std::fs::read_to_string(status) {
        Ok(text) => match text.trim() {
            "0" => Ok(true),
            // Being written.
            "" => Ok(false),
            code => Err(ClientError::Source(code.chars().take(32).collect())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ClientError::file(status)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::pipe;
    use super::*;

    struct Pod {
        _directory: tempfile::TempDir,
        pipe: PathBuf,
        status: PathBuf,
    }

    fn pod() -> Pod {
        let directory = tempfile::tempdir().unwrap();
        let (pipe, status) = (directory.path().join("data"), directory.path().join("status"));
        pipe::make(&pipe).unwrap();
        Pod { _directory: directory, pipe, status }
    }

    impl Pod {
        fn dump(&self) -> Dump {
            Dump::stream(&self.pipe, self.status.clone(), Duration::from_millis(300)).unwrap()
        }

        /// What a container with the database's tools does.
        fn write(&self, content: Vec<u8>, status: Option<&'static str>) {
            let (pipe, path) = (self.pipe.clone(), self.status.clone());
            std::thread::spawn(move || {
                let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
                // The reader may have left.
                let _ = pipe.write_all(&content);
                drop(pipe);
                status.map_or((), |status| std::fs::write(path, status).unwrap());
            });
        }
    }

    async fn all(mut dump: Dump) -> Result<Vec<u8>, ClientError> {
        let mut whole = Vec::new();
        while let Some(piece) = dump.next().await? {
            assert!(piece.len() <= PIECE);
            whole.extend(piece);
        }
        Ok(whole)
    }

    #[tokio::test]
    async fn a_pipe_is_read_to_its_end_and_the_status_decides() {
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let pod = pod();
        let dump = pod.dump();
        pod.write(content.clone(), Some("0"));
        assert_eq!(all(dump).await.unwrap(), content);
    }

    #[tokio::test]
    async fn a_tool_that_fails_has_written_nothing() {
        let pod = pod();
        let dump = pod.dump();
        pod.write(b"half".to_vec(), Some("1"));
        assert!(matches!(all(dump).await, Err(ClientError::Source(code)) if code == "1"));
    }

    #[tokio::test]
    async fn a_tool_that_is_killed_leaves_no_status_and_is_not_waited_for_without_end() {
        let pod = pod();
        let dump = pod.dump();
        pod.write(b"half".to_vec(), None);
        assert!(matches!(all(dump).await, Err(ClientError::Silent { .. })));
    }

    #[tokio::test]
    async fn a_tool_that_fails_before_it_opens_the_pipe_is_heard() {
        let pod = pod();
        let dump = pod.dump();
        std::fs::write(&pod.status, "127").unwrap();
        assert!(matches!(all(dump).await, Err(ClientError::Source(code)) if code == "127"));
    }

    #[tokio::test]
    async fn a_pipe_that_is_opened_twice_is_one_dump() {
        let pod = pod();
        let dump = pod.dump();
        let (pipe, status) = (pod.pipe.clone(), pod.status.clone());
        std::thread::spawn(move || {
            for part in ["one", "two"] {
                OpenOptions::new().write(true).open(&pipe).unwrap().write_all(part.as_bytes()).unwrap();
            }
            std::fs::write(status, "0").unwrap();
        });
        assert_eq!(all(dump).await.unwrap(), b"onetwo");
    }

    #[tokio::test]
    async fn an_empty_dump_is_one_if_its_writer_says_so() {
        let pod = pod();
        let dump = pod.dump();
        pod.write(Vec::new(), Some("0"));
        assert_eq!(all(dump).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn a_file_is_read_after_its_status() {
        let pod = pod();
        let file = pod.status.with_file_name("file");
        std::fs::write(&file, "half").unwrap();
        let (late, status) = (file.clone(), pod.status.clone());
        let writer = std::thread::spawn(move || {
            std::fs::write(late, "the whole").unwrap();
            std::fs::write(status, "0\n").unwrap();
        });
        let dump = Dump::file(file.clone(), pod.status.clone(), Duration::ZERO).await.unwrap();
        assert_eq!(all(dump).await.unwrap(), b"the whole");
        writer.join().unwrap();
        std::fs::write(&pod.status, "2").unwrap();
        let failed = Dump::file(file.clone(), pod.status.clone(), Duration::ZERO).await;
        assert!(matches!(failed, Err(ClientError::Source(_))));
        assert!(Dump::stream(&file, pod.status.clone(), Duration::ZERO).is_err());
        assert!(Dump::stream(Path::new("/nowhere"), pod.status.clone(), Duration::ZERO).is_err());
    }
}
