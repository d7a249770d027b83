//! A connection that tells what the server's last words were.
//!
//! With TLS 1.3 a server refuses a client's certificate after the handshake, while the request is already on its way: it sends an
//! alert and closes. Whoever still writes then hears of a broken connection only, while the reason lies unread.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is read at once in search of an alert: whatever comes before it belongs to nobody any more.
const PIECE: usize = 4096;

/// A TLS connection whose failed writes tell the server's alert, if there is one.
pub(super) struct Alerted<S>(pub(super) S);

impl<S: AsyncRead + Unpin> Alerted<S> {
    /// The error of a write, or the better one that the other direction knows.
    fn explained(&mut self, cx: &mut Context<'_>, error: io::Error) -> io::Error {
        let mut piece = [0; PIECE];
        loop {
            let mut buffer = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.0).poll_read(cx, &mut buffer) {
                Poll::Ready(Err(alert)) if is_tls(&alert) => return alert,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                _ => return error,
            }
        }
    }

    fn tell<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        polled.map_err(|error| self.explained(cx, error))
    }
}

/// Is this about TLS itself, not about what carries it?
pub(super) fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
}

impl<S: AsyncRead + Unpin> AsyncRead for Alerted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Alerted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write(cx, bytes);
        self.tell(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write_vectored(cx, slices);
        self.tell(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.0).poll_flush(cx);
        self.tell(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_rustls::rustls::{AlertDescription, Error};

    use super::*;

    /// Takes no more bytes, and has these answers to tell.
    struct Closed(Vec<io::Result<&'static [u8]>>);

    impl AsyncRead for Closed {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.0.is_empty() {
                return Poll::Pending;
            }
            Poll::Ready(self.0.remove(0).map(|bytes| buffer.put_slice(bytes)))
        }
    }

    impl AsyncWrite for Closed {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn alert() -> io::Error {
        let alert = Error::AlertReceived(AlertDescription::CertificateUnknown);
        io::Error::new(io::ErrorKind::InvalidData, alert)
    }

    #[tokio::test]
    async fn a_write_that_fails_tells_the_alert_that_lies_unread() {
        let error = Alerted(Closed(vec![Err(alert())])).write(b"x").await.unwrap_err();
        assert!(is_tls(&error), "{error}");
        let error = Alerted(Closed(vec![Ok(b"early"), Err(alert())])).flush().await.unwrap_err();
        assert!(is_tls(&error), "behind what came before it: {error}");
    }

    #[tokio::test]
    async fn a_write_that_fails_without_an_alert_tells_its_own_error() {
        for answers in [vec![], vec![Ok(&b""[..])], vec![Err(io::ErrorKind::UnexpectedEof.into())]] {
            let error = Alerted(Closed(answers)).write(b"x").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        }
    }

    #[tokio::test]
    async fn what_is_read_is_what_the_server_sent() {
        let mut read = [0; 2];
        Alerted(Closed(vec![Ok(b"ok")])).read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"ok");
    }
}
