//! A folder of files to work in, with a home of its own beside it, and the command line run there.
//!
//! No key, proxy, home or configuration of the machine reaches the product: the environment starts empty.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long any wait of these tests may take. Reaching it is a failure, never a synchronisation.
pub const PATIENCE: Duration = Duration::from_secs(45);

pub struct Workspace {
    top: TempDir,
    root: PathBuf,
}

/// One finished run of the command line.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("standard output is not JSON ({e}): {self:?}"))
    }
}

impl Workspace {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let top = tempfile::Builder::new().prefix("desk-").tempdir().expect("a temporary folder");
        let root = top.path().canonicalize().expect("the temporary folder").join("ws");
        for folder in ["ws", "home", "config", "state", "cache", "data", "run"] {
            std::fs::create_dir(top.path().join(folder)).expect("a fresh folder");
        }
        let workspace = Self { top, root };
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder beside the workspace, outside its root: `home`, `config`, `state`, …
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn uri(&self, path: &str) -> String {
        uri(&self.path(path))
    }

    #[track_caller]
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a written file");
    }

    #[track_caller]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Writes the user's configuration file.
    pub fn configure(&self, toml: &str) {
        let folder = self.beside("config").join("copydesk");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.toml"), toml).expect("a written file");
    }

    /// The product with these arguments, in this workspace's private environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(&self.root).env_clear();
        for name in ["PATH", "TMPDIR", "RUSTUP_HOME", "CARGO_HOME", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
        ] {
            command.env(name, self.beside(folder));
        }
        command.env("LANG", "C.UTF-8");
        command
    }

    /// Runs the product to its end, standard input closed.
    #[track_caller]
    pub fn cli(&self, args: &[&str]) -> Ran {
        finish(self.command(args), PATIENCE)
    }

    /// Everything the product wrote below its own folders (logs, sessions), as lossy text.
    pub fn own_files(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        for folder in ["config", "state", "cache", "data", "run", "home"] {
            collect(&self.beside(folder), &mut found);
        }
        found
    }

    /// Where the standard error of a server of this workspace goes.
    pub fn stderr_file(&self) -> PathBuf {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.top.path().join(format!("stderr-{number}.log"))
    }
}

/// The root of the project these tests belong to.
pub fn project() -> PathBuf {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().expect("the workspace above the package").to_owned()
}

/// The binary under test: the one just built, or `$COPYDESK_BIN`.
fn binary() -> std::ffi::OsString {
    std::env::var_os("COPYDESK_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_copydesk").into())
}

/// Runs a command to its end within `limit`; its output goes through files so that it can be of any size.
#[track_caller]
pub fn finish(mut command: Command, limit: Duration) -> Ran {
    command.stdin(Stdio::null());
    finish_with_input(command, limit)
}

/// The same with the standard input the command already has.
#[track_caller]
pub fn finish_with_input(mut command: Command, limit: Duration) -> Ran {
    let mut out = tempfile::tempfile().expect("a temporary file");
    let mut err = tempfile::tempfile().expect("a temporary file");
    command.stdout(out.try_clone().expect("a handle")).stderr(err.try_clone().expect("a handle"));
    let mut child = command.spawn().expect("the product starts");
    let end = Instant::now() + limit;
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            break status.code();
        }
        if Instant::now() > end {
            child.kill().expect("a child to end");
            child.wait().expect("a child to wait for");
            panic!("{command:?} did not end in {limit:?}: {} {}", slurp(&mut out), slurp(&mut err));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ran { code, out: slurp(&mut out), err: slurp(&mut err) }
}

/// Runs a tool of the machine (git, cargo) and gives what it printed.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

pub fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).expect("an absolute path").to_string()
}

/// Process ids whose command line is exactly these words; zombies are left out.
pub fn processes(words: &[&str]) -> Vec<i32> {
    let wanted: Vec<u8> = words.iter().flat_map(|w| w.bytes().chain([0])).collect();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("a process table").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
        if std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted) {
            found.push(pid);
        }
    }
    found
}

/// Polls until the condition holds; fails after `limit`.
#[track_caller]
pub fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn slurp(file: &mut std::fs::File) -> String {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind().expect("a seekable file");
    file.read_to_end(&mut bytes).expect("a readable file");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}
