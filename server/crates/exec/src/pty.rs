//! The server's end of a pseudo-terminal: asynchronous reads and writes, and its size.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::secret_prompt::Echo;

/// The controlling end of a terminal. A read at the end of the program's side reports EOF.
#[derive(Debug)]
pub struct Pty {
    terminal: AsyncFd<OwnedFd>,
}

impl Pty {
    pub(crate) fn new(terminal: OwnedFd) -> io::Result<Pty> {
        let flags = rustix::fs::fcntl_getfl(&terminal)?;
        rustix::fs::fcntl_setfl(&terminal, flags | rustix::fs::OFlags::NONBLOCK)?;
        #[expect(unsafe_code, reason = "tokio has no safe constructor left")]
        // SAFETY: the descriptor is owned by the `AsyncFd` and stays open as long as it lives.
        let terminal = unsafe { AsyncFd::register(terminal) }?;
        Ok(Pty { terminal })
    }

    /// Sets the size in character cells; the program hears of it by SIGWINCH.
    pub fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        Ok(tcsetwinsize(self.terminal.get_ref().as_fd(), window(cols, rows))?)
    }
}

impl Pty {
    pub(crate) fn size(&self) -> io::Result<PtySize> {
        Ok(PtySize { terminal: self.terminal.get_ref().try_clone()? })
    }
}

pub(crate) fn window(cols: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 }
}

impl AsyncRead for Pty {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.terminal.poll_read_ready(context))?;
            let result = ready
                .try_io(|fd| Ok(rustix::io::read(fd.get_ref(), buffer.initialize_unfilled())?));
            match result {
                Ok(Ok(count)) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                // Linux answers so once no process has the terminal open.
                Ok(Err(error)) if error.raw_os_error() == Some(EIO) => return Poll::Ready(Ok(())),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Pty {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.terminal.poll_write_ready(context))?;
            match ready.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

/// Sets a terminal's size while others read and write it.
#[derive(Debug)]
pub(crate) struct PtySize {
    terminal: OwnedFd,
}

impl PtySize {
    pub(crate) fn set(&self, cols: u16, rows: u16) -> io::Result<()> {
        Ok(tcsetwinsize(&self.terminal, window(cols, rows))?)
    }

    /// Columns and rows.
    pub(crate) fn get(&self) -> io::Result<(u16, u16)> {
        let size = tcgetwinsize(&self.terminal)?;
        Ok((size.ws_col, size.ws_row))
    }

    /// What becomes of what is typed; `None` where the system does not tell.
    pub(crate) fn echo(&self) -> Option<Echo> {
        let modes = tcgetattr(&self.terminal).ok()?.local_modes;
        Some(match (modes.contains(LocalModes::ECHO), modes.contains(LocalModes::ICANON)) {
            (true, _) => Echo::Shown,
            (false, true) => Echo::HiddenLines,
            (false, false) => Echo::Program,
        })
    }
}
