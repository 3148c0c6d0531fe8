//! What the server and its supervisor say to each other over one Unix stream socket.
//!
//! A frame is a little-endian `u32` length and that many bytes of JSON. Descriptors ride beside
//! the frame that names their count, in the same order, so a queue of received ones suffices.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::sandbox::Sandbox;
use crate::supervisor::{Exit, Signalled, Stdio};

/// Most descriptors one frame can carry: stdin, stdout, stderr.
const MAX_DESCRIPTORS: usize = 3;
/// A longer frame is a broken peer: the kernel's own limit on arguments is far below.
const MAX_FRAME: usize = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Spawn(SpawnRequest),
    Signal { id: u64, ticket: u64, signal: i32 },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SpawnRequest {
    pub id: u64,
    pub argv: Vec<OsString>,
    pub cwd: OsString,
    pub env: Vec<(OsString, OsString)>,
    pub stdio: Stdio,
    pub sandbox: Option<Sandbox>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Spawned { id: u64, pid: i32, descriptors: usize },
    Failed { id: u64, failure: Failure },
    Exited { id: u64, exit: Exit, group: Group },
    GroupGone { id: u64 },
    Signalled { ticket: u64, outcome: Signalled },
}

/// Whether anything of the process group outlived its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Group {
    Alive,
    Gone,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Failure {
    ProgramNotFound,
    DirectoryMissing,
    NoSandbox(String),
    Os(String),
}

/// The receiving half's memory: bytes and descriptors not yet claimed by a frame.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Inbox {
    /// The next frame; `None` when the peer closed the socket between frames.
    pub(crate) async fn next<T: DeserializeOwned>(
        &mut self,
        stream: &UnixStream,
    ) -> io::Result<Option<T>> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(Some(frame));
            }
            stream.readable().await?;
            let received = stream.try_io(Interest::READABLE, || self.receive(stream.as_fd()));
            match received {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The oldest `count` descriptors received; fewer when the peer sent fewer than it said.
    pub(crate) fn take_descriptors(&mut self, count: usize) -> Vec<OwnedFd> {
        self.descriptors.drain(..count.min(self.descriptors.len())).collect()
    }

    fn take_frame<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_FRAME {
            return Err(io::Error::other("oversized frame"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = serde_json::from_slice(body)?;
        self.bytes.drain(..4 + length);
        Ok(Some(frame))
    }

    fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut chunk = [0_u8; 16 * 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let message =
            recvmsg(socket, &mut [IoSliceMut::new(&mut chunk)], &mut control, receive_flags())?;
        for ancillary in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = ancillary {
                for descriptor in descriptors {
                    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
                    self.descriptors.push_back(descriptor);
                }
            }
        }
        self.bytes.extend_from_slice(&chunk[..message.bytes]);
        Ok(message.bytes)
    }
}

#[cfg(target_os = "linux")]
fn receive_flags() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn receive_flags() -> RecvFlags {
    RecvFlags::empty()
}

/// A message as the bytes of one frame.
pub(crate) fn frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4)
        .ok()
        .filter(|length| *length as usize <= MAX_FRAME)
        .ok_or_else(|| io::Error::new(io::ErrorKind::ArgumentListTooLong, "command too long"))?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Writes one frame with its descriptors; they travel with its first byte.
pub(crate) async fn send(
    stream: &UnixStream,
    frame: &[u8],
    descriptors: &[OwnedFd],
) -> io::Result<()> {
    let mut sent = 0;
    while sent < frame.len() {
        stream.writable().await?;
        let riding = if sent == 0 { descriptors } else { &[] };
        let written =
            stream.try_io(Interest::WRITABLE, || send_once(stream.as_fd(), &frame[sent..], riding));
        match written {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn send_once(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[OwnedFd]) -> io::Result<usize> {
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !borrowed.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&borrowed));
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, send_flags())?)
}

#[cfg(target_os = "linux")]
fn send_flags() -> SendFlags {
    SendFlags::NOSIGNAL
}

#[cfg(not(target_os = "linux"))]
fn send_flags() -> SendFlags {
    SendFlags::empty()
}
