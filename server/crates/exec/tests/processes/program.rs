//! The program the tests start: a supervisor, or a server that holds one.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use exec::{Command, JobFinished, Jobs, Observer, Shell, Supervisor, command_environment};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[1..] {
        ["supervise"] => exec::supervise_main(),
        #[cfg(target_os = "linux")]
        ["supervise-without-landlock"] => {
            without(libc::SYS_landlock_create_ruleset, libc::ENOSYS);
            exec::supervise_main()
        }
        #[cfg(target_os = "linux")]
        ["supervise-without-namespaces"] => {
            without(libc::SYS_unshare, libc::EPERM);
            exec::supervise_main()
        }
        ["connect", socket] => {
            std::process::exit(i32::from(std::os::unix::net::UnixStream::connect(socket).is_err()))
        }
        ["hold", folder, script] => hold(arguments[0], Path::new(folder), script),
        _ => std::process::exit(2),
    }
}

/// Makes this process and its children believe that the system lacks a call.
#[cfg(target_os = "linux")]
fn without(call: i64, errno: i32) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    let target = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
    let calls = [(call, Vec::new())].into_iter().collect();
    let refused = SeccompAction::Errno(errno.unsigned_abs());
    let filter =
        SeccompFilter::new(calls, SeccompAction::Allow, refused, target).expect("a filter");
    let program = BpfProgram::try_from(filter).expect("a program");
    seccompiler::apply_filter(&program).expect("filters");
}

struct Deaf;

impl Observer for Deaf {
    fn output(&self, _: &str, _: &str, _: &[u8]) {}
    fn finished(&self, _: &JobFinished) {}
}

/// Starts `script` as a job and stays until stdin closes. The person then leaves in a hurry:
/// nothing is shut down.
#[tokio::main]
async fn hold(program: &str, folder: &Path, script: &str) {
    let supervisor = Supervisor::start(Path::new(program), &["supervise"]).expect("supervisor");
    let jobs = Jobs::new(supervisor, folder.to_owned(), Arc::new(Deaf));
    let env = command_environment(std::env::vars_os(), &[]);
    let shell = Shell { program: "/bin/sh".into() };
    let command = Command::new(script, shell, "/", env);
    jobs.start(command).await.expect("job");
    let _ = writeln!(std::io::stdout(), "started");
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    std::process::exit(0);
}
