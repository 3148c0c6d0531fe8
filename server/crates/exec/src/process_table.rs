//! The system's table of processes, read from `/proc`: who descends from whom, who is in a group.
//!
//! Elsewhere than on Linux nothing is known, and callers fall back to signalling known groups.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "groups are all that is known"))]

use std::collections::{HashMap, HashSet};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};

/// One process that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
}

/// Whether a member other than an ended leader is in `group`.
pub(crate) fn group_has_members(group: i32) -> bool {
    rows().iter().any(|row| row.group == group)
}

/// Whether a member other than an ended leader is in the session.
pub(crate) fn session_has_members(leader: i32) -> bool {
    rows().iter().any(|row| row.session == leader)
}

/// Signals all members of a session; whether there were any.
pub(crate) fn signal_session(leader: i32, signal: Signal) -> bool {
    let members: Vec<i32> =
        rows().iter().filter(|row| row.session == leader).map(|row| row.pid).collect();
    for pid in &members {
        signal_process(*pid, signal);
        // A stopped member would keep the signal waiting for ever.
        if signal != Signal::KILL {
            signal_process(*pid, Signal::CONT);
        }
    }
    !members.is_empty()
}

/// Every living descendant of `ancestor`, whatever its session.
pub(crate) fn descendants(ancestor: i32) -> Vec<i32> {
    let rows = rows();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for row in &rows {
        children.entry(row.parent).or_default().push(row.pid);
    }
    let mut found = Vec::new();
    let mut seen = HashSet::from([ancestor]);
    let mut queue = vec![ancestor];
    while let Some(parent) = queue.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(*child) {
                found.push(*child);
                queue.push(*child);
            }
        }
    }
    found
}

/// What a process and everything it started consist of, as far as they are in its session or descend
/// from it.
pub(crate) fn family(leader: i32) -> Vec<i32> {
    let mut family = descendants(leader);
    family.push(leader);
    let rows = rows();
    family.extend(rows.iter().filter(|row| row.session == leader).map(|row| row.pid));
    family.sort_unstable();
    family.dedup();
    family
}

/// All processes that have not ended.
pub(crate) fn all() -> Vec<i32> {
    rows().iter().map(|row| row.pid).collect()
}

/// A process's command line, its arguments between spaces; `None` when it has none.
pub(crate) fn command_line(pid: i32) -> Option<String> {
    let line = read(&format!("/proc/{pid}/cmdline"))?;
    let line = line.trim_end_matches('\0').replace('\0', " ");
    (!line.is_empty()).then_some(line)
}

/// Children of the calling single-threaded process, ended ones included; `None` where the kernel
/// does not list them.
pub(crate) fn own_children() -> Option<Vec<i32>> {
    let pid = std::process::id();
    let list = read(&format!("/proc/self/task/{pid}/children"))?;
    Some(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// Kills all members of the sessions that these processes lead.
pub(crate) fn kill_sessions(leaders: &[i32]) {
    for row in rows() {
        if leaders.contains(&row.session) {
            signal_process(row.pid, Signal::KILL);
        }
    }
}

pub(crate) fn signal_process(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may be gone by now, which is what the caller is after.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// All processes but those that ended and wait to be reaped. An ended parent's children are
/// already its reaper's, so leaving it out cuts no line of descent.
fn rows() -> Vec<Row> {
    let Ok(proc) = rustix::fs::open("/proc", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    else {
        return Vec::new();
    };
    let Ok(entries) = rustix::fs::Dir::new(proc) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: i32 = entry.file_name().to_str().ok()?.parse().ok()?;
            parse_stat(&read(&format!("/proc/{pid}/stat"))?)
        })
        .collect()
}

fn parse_stat(stat: &str) -> Option<Row> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    // The name in parentheses may itself hold spaces and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    let mut number = || fields.next()?.parse().ok();
    Some(Row { pid, parent: number()?, group: number()?, session: number()? })
}

/// A file of `/proc` as text.
pub(crate) fn read(path: &str) -> Option<String> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        match rustix::io::read(&file, &mut chunk) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&chunk[..count]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Row, parse_stat};

    #[track_caller]
    fn check(stat: &str, expected: Option<Row>) {
        assert_eq!(parse_stat(stat), expected);
    }

    #[test]
    fn names_with_parentheses_and_ended_processes() {
        let row = Row { pid: 42, parent: 7, group: 40, session: 39 };
        check("42 (sh) S 7 40 39 0 -1 4194304", Some(row));
        check("42 (a) b) R 9 9 (x) S 7 40 39 0 -1", Some(row));
        check("42 (sh) Z 7 40 39 0 -1", None);
        check("42", None);
    }
}
