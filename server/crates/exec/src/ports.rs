//! Who listens on a TCP port of this machine, as `/proc` tells it.
//!
//! A port that answers proves nothing: an older server may still hold it. Only a socket that a
//! process of ours has open counts as ours.

use std::collections::HashSet;

use rustix::fs::{Mode, OFlags};

use crate::process_table;

/// Who listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    Nobody,
    /// The process that was asked about, or one that it started.
    Family,
    /// Someone else; `None` when that is a process of another user.
    Other(Option<PortOwner>),
    /// The system does not tell.
    Unknown,
}

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOwner {
    pub pid: i32,
    /// Its command line, at most 80 characters.
    pub command: String,
}

/// Who listens on `port`, seen from the family of `leader`.
pub fn listener(port: u16, leader: Option<i32>) -> Listener {
    let Some(sockets) = sockets(port) else { return Listener::Unknown };
    if sockets.is_empty() {
        return Listener::Nobody;
    }
    let family = leader.map(process_table::family).unwrap_or_default();
    if family.iter().any(|pid| holds(*pid, &sockets)) {
        return Listener::Family;
    }
    let owner = process_table::all().into_iter().find(|pid| holds(*pid, &sockets));
    Listener::Other(owner.map(|pid| {
        let command = process_table::command_line(pid).unwrap_or_default();
        PortOwner { pid, command: command.chars().take(80).collect() }
    }))
}

/// The inodes of the sockets that listen on `port`; `None` where the kernel lists none.
fn sockets(port: u16) -> Option<HashSet<u64>> {
    let four = process_table::read("/proc/net/tcp");
    let six = process_table::read("/proc/net/tcp6");
    if four.is_none() && six.is_none() {
        return None;
    }
    let tables = [four, six].into_iter().flatten();
    Some(tables.flat_map(|table| listening(&table, port)).collect())
}

fn listening(table: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields.as_slice() else { return None };
        let (_, number) = local.rsplit_once(':')?;
        let here = *state == LISTEN && u16::from_str_radix(number, 16) == Ok(port);
        if here { inode.parse().ok() } else { None }
    };
    table.lines().filter_map(inode).collect()
}

/// Whether a process has one of the sockets open. Processes of others do not say.
fn holds(pid: i32, sockets: &HashSet<u64>) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(format!("/proc/{pid}/fd"), flags, Mode::empty()) else {
        return false;
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { return false };
    entries.flatten().any(|entry| {
        let target = rustix::fs::readlinkat(&folder, entry.file_name(), Vec::new());
        let inode = target.ok().and_then(|it| {
            it.to_str().ok()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        });
        inode.is_some_and(|inode: u64| sockets.contains(&inode))
    })
}

#[cfg(test)]
mod tests {
    use super::{Listener, listener, listening};

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:0BB8 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1
   2: 00000000000000000000000000000000:0BB9 0:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4713 1 0
   3: torn";

    #[test]
    fn only_sockets_that_listen_on_the_port_count() {
        assert_eq!(listening(TABLE, 3000), [4711]);
        assert_eq!(listening(TABLE, 3001), [4713]);
        assert_eq!(listening(TABLE, 80), [0; 0]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_port_of_this_very_process_is_its_own_and_nobody_elses() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let own = std::process::id().cast_signed();
        assert_eq!(listener(port, Some(own)), Listener::Family);
        let Listener::Other(Some(owner)) = listener(port, None) else { panic!("it has an owner") };
        assert_eq!(owner.pid, own);
        assert!(!owner.command.is_empty());
        drop(socket);
        assert_eq!(listener(port, Some(own)), Listener::Nobody);
    }
}
