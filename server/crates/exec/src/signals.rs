//! Names of signals and the way from numbers back to them.

use rustix::process::Signal;

/// `"SIGKILL"` for 9; `"SIG64"` for a number without a name.
pub(crate) fn signal_name(raw: i32) -> String {
    let known = NAMES.iter().find(|(signal, _)| signal.as_raw() == raw);
    known.map_or_else(|| format!("SIG{raw}"), |(_, name)| (*name).to_owned())
}

pub(crate) fn signal_from_raw(raw: i32) -> Option<Signal> {
    NAMES.iter().map(|(signal, _)| *signal).find(|signal| signal.as_raw() == raw)
}

const NAMES: &[(Signal, &str)] = &[
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::SYS, "SIGSYS"),
];
