//! A session with its supervisor, and what it was told.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use exec::{
    Command, Exit, JobFinished, JobId, JobRead, JobRow, Jobs, Listed, News, Observer, Ran, Shell,
    Status, Supervisor, Wait, command_environment,
};
use tokio_util::sync::CancellationToken;

/// No wait of a test is longer: five times the longest limit that is promised.
pub const LIMIT: Duration = Duration::from_secs(25);

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_exec-test-supervisor");

pub struct Session {
    pub jobs: Jobs,
    pub supervisor: Supervisor,
    pub told: Arc<Told>,
    pub folder: tempfile::TempDir,
}

#[derive(Default)]
pub struct Told {
    pub output: Mutex<Vec<u8>>,
    pub ended: Mutex<Vec<(String, Status)>>,
    pub finished: Mutex<Vec<JobFinished>>,
}

impl Observer for Told {
    fn output(&self, _: &str, _: &str, bytes: &[u8]) {
        self.output.lock().unwrap().extend_from_slice(bytes);
    }

    fn ended(&self, _: &str, terminal: &str, status: Status, _: Option<&Exit>) {
        self.ended.lock().unwrap().push((terminal.to_owned(), status));
    }

    fn finished(&self, job: &JobFinished) {
        self.finished.lock().unwrap().push(job.clone());
    }
}

impl Session {
    pub fn new() -> Session {
        Session::under("supervise")
    }

    /// With the supervisor that the test program is when it is called so.
    pub fn under(role: &str) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = Supervisor::start(Path::new(PROGRAM), &[role]).unwrap();
        let told = Arc::<Told>::default();
        let observer = Arc::clone(&told) as Arc<dyn Observer>;
        let jobs = Jobs::new(supervisor.clone(), folder.path().join("jobs"), observer);
        Session { jobs, supervisor, told, folder }
    }

    pub fn command(&self, script: &str) -> Command {
        let mut command = Command::new(script, shell(), self.folder.path(), environment());
        command.call = "call-1".to_owned();
        command.owner = "main".to_owned();
        command
    }

    pub async fn run(&self, script: &str) -> Ran {
        self.run_command(self.command(script)).await
    }

    pub async fn run_command(&self, command: Command) -> Ran {
        let cancel = CancellationToken::new();
        within(self.jobs.run(command, &cancel)).await.unwrap()
    }

    pub async fn start(&self, script: &str) -> JobId {
        within(self.jobs.start(self.command(script))).await.unwrap()
    }

    pub async fn read(&self, job: &JobId, wait: Wait) -> News {
        match within(self.jobs.read(job, "main", wait, LIMIT)).await {
            JobRead::News(news) => news,
            other => panic!("{other}"),
        }
    }

    /// Waits until all commands together have printed so many lines.
    pub async fn printed_lines(&self, count: usize) {
        let lines = || self.told.output.lock().unwrap().split(|byte| *byte == b'\n').count() - 1;
        eventually("output", || lines() == count).await;
    }

    pub fn row(&self, job: &JobId) -> JobRow {
        self.jobs.list(Listed::All).into_iter().find(|row| row.job == *job).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

pub fn shell() -> Shell {
    Shell::find(&std::env::var_os("PATH").unwrap_or_default())
}

pub fn environment() -> Vec<(OsString, OsString)> {
    command_environment(std::env::vars_os(), &[])
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("nothing happened in time")
}

/// Waits, looking again and again, until `wish` holds.
pub async fn eventually(what: &str, wish: impl Fn() -> bool) {
    let wait = async {
        while !wish() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

/// The process ids printed one a line.
pub fn pids(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Whether a process runs; one that ended and waits to be reaped does not.
pub fn is_alive(pid: i32) -> bool {
    let stat = read(Path::new(&format!("/proc/{pid}/stat")));
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// A file's text; empty when there is none.
#[expect(clippy::disallowed_methods, reason = "tests look at files from outside")]
pub fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

#[expect(clippy::disallowed_methods, reason = "tests look at files from outside")]
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[expect(clippy::disallowed_methods, reason = "tests set the scene")]
pub fn create_folder(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "tests look at files from outside")]
pub fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}

/// What a folder holds; nothing when there is none.
#[expect(clippy::disallowed_methods, reason = "tests look at files from outside")]
pub fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}
