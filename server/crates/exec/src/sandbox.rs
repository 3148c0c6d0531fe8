//! Confinement of a command and of everything it starts, by the kernel.
//!
//! Landlock denies writing outside the named places, seccomp denies the network. Both are taken on
//! between fork and exec and can never be given up again. A process that cannot be confined as
//! asked is not started.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// What a confined process may do. It reads and runs whatever is not hidden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Folders, with all that lies in them, and files that may be written. Links are followed; what
    /// does not exist when the process starts is left out. Devices such as `/dev/null` always may.
    pub writable: Vec<OsString>,
    /// Files that cannot be opened, not even for reading. Where this system does not let them be
    /// hidden nothing is started.
    pub hidden: Vec<OsString>,
    /// Permissions, owners and times of files, wherever they lie: the kernel knows no places for
    /// these.
    pub attributes: Grant,
    /// Internet sockets, and connecting to Unix sockets that have a name.
    pub network: Grant,
}

/// Whether something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grant {
    Allowed,
    Denied,
}

/// Whether this system can confine processes; else why not.
pub fn sandbox_support() -> Result<(), String> {
    system::support()
}

pub(crate) use system::Confinement;

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;
    use std::io;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
        RulesetCreatedAttr, RulesetError, path_beneath_rules,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };

    use super::{Grant, Sandbox};
    use crate::hiding::Hiding;

    /// The oldest kernel interface (Linux 6.2) that denies all changes of files' contents: before
    /// it, files anywhere could be emptied.
    const LEAST: ABI = ABI::V3;
    /// The interface whose further denials are taken on where the kernel has them.
    const BEST: ABI = ABI::V5;

    const DEVICES: &[&str] = &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts",
    ];

    /// System calls that change what [`Sandbox::attributes`] names.
    const ATTRIBUTES: &[i64] = &[
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchmodat2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        libc::SYS_utimensat,
    ];
    /// Those that only the oldest architecture still has.
    #[cfg(target_arch = "x86_64")]
    const OLD_ATTRIBUTES: &[i64] = &[
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD_ATTRIBUTES: &[i64] = &[];

    /// What is denied of the network besides sockets of its families. The ring makes sockets without
    /// a system call for each.
    const NETWORK: &[i64] = &[libc::SYS_connect, libc::SYS_io_uring_setup];

    pub(super) fn support() -> Result<(), String> {
        ruleset().map_err(|error| {
            format!("the kernel has no Landlock, or one older than Linux 6.2 ({error})")
        })?;
        TargetArch::try_from(std::env::consts::ARCH)
            .map_err(|_| "system calls of this processor cannot be filtered".to_owned())?;
        Ok(())
    }

    /// A sandbox made ready before the fork, so that little is left to do after it.
    pub(crate) struct Confinement {
        hiding: Option<Hiding>,
        files: Option<RulesetCreated>,
        calls: Option<BpfProgram>,
    }

    impl Confinement {
        pub(crate) fn prepare(sandbox: &Sandbox) -> Result<Confinement, String> {
            support()?;
            let files = files(sandbox).map_err(|error| error.to_string())?;
            let calls = calls(sandbox).map_err(|error| error.to_string())?;
            Ok(Confinement { hiding: Hiding::prepare(&sandbox.hidden), files: Some(files), calls })
        }

        /// Confines the calling process for good; to be called once.
        pub(crate) fn enter(&mut self) -> io::Result<()> {
            let denied = || io::Error::from(rustix::io::Errno::PERM);
            // Afterwards nothing can be mounted any more.
            self.hiding.as_ref().map_or(Ok(()), Hiding::enter)?;
            let files = self.files.take().ok_or_else(denied)?;
            files.restrict_self().map_err(|_| denied())?;
            match &self.calls {
                Some(program) => seccompiler::apply_filter(program).map_err(|_| denied()),
                None => Ok(()),
            }
        }
    }

    fn ruleset() -> Result<Ruleset, RulesetError> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(LEAST))?;
        Ok(ruleset.set_compatibility(CompatLevel::BestEffort))
    }

    fn files(sandbox: &Sandbox) -> Result<RulesetCreated, RulesetError> {
        let writing = AccessFs::from_write(BEST);
        ruleset()?
            .handle_access(writing)?
            .create()?
            .add_rules(path_beneath_rules(DEVICES, writing))?
            .add_rules(path_beneath_rules(&sandbox.writable, writing))
    }

    fn calls(sandbox: &Sandbox) -> Result<Option<BpfProgram>, seccompiler::BackendError> {
        let mut denied: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        match sandbox.network {
            Grant::Allowed => {}
            Grant::Denied => {
                denied.extend(NETWORK.iter().map(|call| (*call, Vec::new())));
                let family = SeccompCondition::new(
                    0,
                    SeccompCmpArgLen::Dword,
                    SeccompCmpOp::Ne,
                    libc::AF_UNIX as u64,
                )?;
                denied.insert(libc::SYS_socket, vec![SeccompRule::new(vec![family])?]);
            }
        }
        match sandbox.attributes {
            Grant::Allowed => {}
            Grant::Denied => {
                let calls = ATTRIBUTES.iter().chain(OLD_ATTRIBUTES);
                denied.extend(calls.map(|call| (*call, Vec::new())));
            }
        }
        if denied.is_empty() {
            return Ok(None);
        }
        for (call, rules) in denied.clone() {
            denied.extend(other_number(call).map(|call| (call, rules)));
        }
        let filter = SeccompFilter::new(
            denied,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EPERM as u32),
            TargetArch::try_from(std::env::consts::ARCH)?,
        )?;
        Ok(Some(BpfProgram::try_from(filter)?))
    }

    /// The number of the same call in the 32-bit interface that shares the 64-bit one's filter.
    #[cfg(target_arch = "x86_64")]
    fn other_number(call: i64) -> Option<i64> {
        Some(call | 0x4000_0000)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn other_number(_call: i64) -> Option<i64> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use super::Sandbox;

    pub(super) fn support() -> Result<(), String> {
        Err("commands are confined on Linux only".to_owned())
    }

    /// Never made.
    pub(crate) struct Confinement {}

    impl Confinement {
        pub(crate) fn prepare(_sandbox: &Sandbox) -> Result<Confinement, String> {
            support().map(|()| Confinement {})
        }

        pub(crate) fn enter(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
