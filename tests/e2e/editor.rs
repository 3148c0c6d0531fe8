//! A fake editor: the real server behind pipes, an editor's documents, answers to whatever the server asks.
//!
//! One lock orders everything: who holds it changes a document and queues the message that tells of it, so the server
//! hears of changes in the order they happened. What must hold for every message of every test (`seq` without gaps,
//! cards before their permission request, nothing but frames on standard output) is checked as messages arrive and
//! fails the test when the editor is dropped.

mod answers;
pub mod document;
pub mod framing;
mod notebook;
mod rules;
pub mod session;
mod start;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::workspace::{PATIENCE, Workspace, uri};
use document::{Columns, Document};
use framing::Frame;
use rules::Rules;
pub use start::Start;

/// Whose behaviour is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// VS Code: any version difference refuses the whole edit.
    Strict,
    /// Neovim: a stale edit is skipped and called applied, version 0 is never checked, only the first document is.
    Lying,
    /// No `workspace/applyEdit`: a client that only shows.
    Headless,
    /// A language client that knows nothing of this server.
    Bare,
}

/// When the `didChange` of an applied edit is told, relative to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    BeforeAnswer,
    AfterAnswer,
    /// All changes, typed ones too, are held back this long (a debounce), or until the next request.
    Debounced(Duration),
    /// An edit of many places is told in about so many parts, from the bottom up, half of them before the answer.
    InParts {
        count: usize,
        /// Whether the person writes at the end of the document after each.
        typing: bool,
    },
}

/// How the person answers a permission request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An option by its kind (`allow_once`, …).
    Option(&'static str),
    /// An option by its kind, with `_meta.copydesk` on the outcome.
    With(&'static str, Value),
    Dismiss,
    /// Left open; `Editor::answer` settles it later.
    Hold,
}

pub const ALLOW: Answer = Answer::Option("allow_once");
pub const REJECT: Answer = Answer::Option("reject_once");

#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

pub struct Editor {
    desk: Arc<Desk>,
    child: Child,
    reader: Option<JoinHandle<()>>,
    stderr: std::path::PathBuf,
    root: std::path::PathBuf,
    /// The result of `initialize`; null for a silent start.
    pub initialized: Value,
}

struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the editor holds and has heard.
pub struct State {
    manner: Manner,
    line: Line,
    person: Person,
    /// Open documents by URI.
    pub documents: BTreeMap<String, Document>,
    /// Open notebooks by URI.
    pub notebooks: BTreeMap<String, notebook::Notebook>,
    /// Every notification and request of the server, in order.
    pub log: Vec<Value>,
    /// Answers nobody waits for: errors to frames without an id.
    pub stray: Vec<Value>,
    /// Parameters of every `workspace/applyEdit`.
    pub applied: Vec<Value>,
    /// URIs saved on the server's request.
    pub saved: Vec<String>,
    /// Permission requests left open: id and params.
    pub held: Vec<(Value, Value)>,
    untold: Vec<Value>,
}

/// How this editor behaves.
struct Manner {
    kind: Kind,
    told: Told,
    columns: Columns,
    folders: Vec<String>,
}

/// The connection: what is on its way, and what was said about it.
struct Line {
    out: Option<Sender<Vec<u8>>>,
    next_id: i64,
    awaited: HashSet<i64>,
    answers: HashMap<i64, Value>,
    rules: Rules,
    ended: bool,
}

type Decide = Box<dyn FnMut(&Value) -> Answer + Send>;
type Act = Box<dyn FnOnce(&mut State) + Send>;

/// What the person does when the server asks.
struct Person {
    permission: Decide,
    before_apply: Option<Act>,
    before_save: Option<Act>,
    refuses: Option<String>,
}

impl Editor {
    /// A trusted strict editor with these settings.
    #[track_caller]
    pub fn open(workspace: &Workspace, settings: &Value) -> Self {
        Start::new(workspace).settings(settings).start()
    }

    fn spawn(start: Start<'_>) -> Self {
        let stderr = start.workspace.stderr_file();
        let mut command = start.workspace.command(&["lsp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&stderr).expect("a log file"));
        for (name, value) in &start.environment {
            command.env(name, value);
        }
        let mut child = command.spawn().expect("the server starts");
        let (out, queue) = channel::<Vec<u8>>();
        let mut stdin = child.stdin.take().expect("a piped input");
        std::thread::spawn(move || {
            for bytes in queue {
                if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let state = State {
            manner: Manner {
                kind: start.kind,
                told: start.told,
                columns: Columns::Utf16,
                folders: start.folders,
            },
            line: Line {
                out: Some(out),
                next_id: 0,
                awaited: HashSet::new(),
                answers: HashMap::new(),
                rules: Rules::new(start.kind),
                ended: false,
            },
            person: Person {
                permission: Box::new(|_| ALLOW),
                before_apply: None,
                before_save: None,
                refuses: None,
            },
            documents: BTreeMap::new(),
            notebooks: BTreeMap::new(),
            log: Vec::new(),
            stray: Vec::new(),
            applied: Vec::new(),
            saved: Vec::new(),
            held: Vec::new(),
            untold: Vec::new(),
        };
        let desk = Arc::new(Desk { state: Mutex::new(state), changed: Condvar::new() });
        let mut stdout = BufReader::new(child.stdout.take().expect("a piped output"));
        let heard = Arc::clone(&desk);
        let reader = std::thread::spawn(move || {
            loop {
                match framing::read(&mut stdout) {
                    Frame::Message(message) => Desk::hear(&heard, message),
                    Frame::Garbage(text) => {
                        let mut state = heard.lock();
                        state
                            .line
                            .rules
                            .break_with(format!("garbage on standard output: {text:?}"));
                        state.line.ended = true;
                        heard.changed.notify_all();
                        return;
                    }
                    Frame::End => {
                        heard.lock().line.ended = true;
                        heard.changed.notify_all();
                        return;
                    }
                }
            }
        });
        let root = start.workspace.root().to_owned();
        Self { desk, child, reader: Some(reader), stderr, root, initialized: Value::Null }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.desk.lock()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn root(&self) -> &std::path::Path {
        &self.root
    }

    // The wire.

    /// Bytes as they are, after everything queued before.
    pub fn raw(&self, bytes: &[u8]) {
        self.lock().send_bytes(bytes.to_vec());
    }

    /// The same bytes, each in a write of its own, with nothing of ours in between.
    pub fn raw_byte_by_byte(&self, bytes: &[u8]) {
        let mut state = self.lock();
        for byte in bytes {
            state.send_bytes(vec![*byte]);
        }
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.lock().notify(method, params);
    }

    /// Sends a request; `finish` waits for its answer.
    pub fn begin(&self, method: &str, params: Value) -> i64 {
        let mut state = self.lock();
        state.tell();
        state.line.next_id += 1;
        let id = state.line.next_id;
        state.line.awaited.insert(id);
        if method == "session/resume" {
            state.line.rules.replayed(params["sessionId"].as_str().unwrap_or_default());
        }
        state.send(json!({ "id": id, "method": method, "params": params }));
        id
    }

    #[track_caller]
    pub fn finish(&self, id: i64) -> Result<Value, RpcError> {
        let mut answer = self
            .wait(&format!("the answer to request {id}"), |state| state.line.answers.remove(&id));
        match answer.get_mut("error") {
            None => Ok(answer["result"].take()),
            Some(error) => Err(RpcError {
                code: error["code"].as_i64().unwrap_or(0),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error["data"].take(),
            }),
        }
    }

    pub fn answered(&self, id: i64) -> bool {
        self.lock().line.answers.contains_key(&id)
    }

    #[track_caller]
    pub fn try_request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.finish(self.begin(method, params))
    }

    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Value {
        self.try_request(method, params).unwrap_or_else(|e| panic!("{method}: {e:?}"))
    }

    /// Waits until `ready` gives something; fails after the patience of these tests, or when the server has ended.
    #[track_caller]
    pub fn wait<T>(&self, what: &str, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        let mut state = self.lock();
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            let ended = state.line.ended;
            if ended || Instant::now() > end {
                let last: Vec<_> =
                    state.log.iter().rev().take(6).map(|m| shortened(&m.to_string())).collect();
                drop(state);
                let why = if ended { "the server ended" } else { "nothing came" };
                panic!(
                    "waiting for {what}: {why}; last heard, newest first: {last:#?}; stderr: {}",
                    self.stderr()
                );
            }
            let (next, _) = self
                .desk
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }

    /// The first notification or request of this method at or after `from` in the log.
    #[track_caller]
    pub fn heard(&self, method: &str, from: usize) -> Value {
        self.wait(method, |state| {
            state.log[from.min(state.log.len())..].iter().find(|m| m["method"] == method).cloned()
        })
    }

    /// Where the log ends now.
    pub fn mark(&self) -> usize {
        self.lock().log.len()
    }

    // What the person does.

    /// Opens a file with what is on disk, version 1 (0 for an editor that counts like Neovim).
    #[track_caller]
    pub fn open_file(&self, path: &str) -> String {
        let bytes = std::fs::read(self.root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let uri = self.uri(path);
        let mut state = self.lock();
        let version = if state.manner.kind == Kind::Lying { 0 } else { 1 };
        state.open(&uri, Document::decode(&bytes, version));
        uri
    }

    /// Opens a file in the encoding the person chose for it.
    #[track_caller]
    pub fn open_as(&self, path: &str, label: &str) -> String {
        let bytes = std::fs::read(self.root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let uri = self.uri(path);
        self.lock().open(&uri, Document::decode_as(&bytes, label, 1));
        uri
    }

    /// Opens a document of any URI with this text.
    pub fn open_text(&self, uri: &str, text: &str) {
        self.lock().open(uri, Document { dirty: true, ..Document::new(text, 1) });
    }

    pub fn close(&self, path: &str) {
        let uri = self.uri(path);
        self.lock().close(&uri);
    }

    /// Types `text` before the first occurrence of `mark` in an open file.
    #[track_caller]
    pub fn type_before(&self, path: &str, mark: &str, text: &str) {
        let uri = self.uri(path);
        self.lock().type_before(&uri, mark, text);
    }

    /// Replaces the first occurrence of `old` in an open file.
    #[track_caller]
    pub fn retype(&self, path: &str, old: &str, new: &str) {
        let uri = self.uri(path);
        self.lock().retype(&uri, old, new);
    }

    /// Reads an open file anew from disk.
    #[track_caller]
    pub fn reload(&self, path: &str) {
        let uri = self.uri(path);
        self.lock().reload(&uri);
    }

    /// Saves an open file as the person would.
    #[track_caller]
    pub fn save(&self, path: &str) {
        let uri = self.uri(path);
        assert!(self.lock().save(&uri), "{path} can be saved");
    }

    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let uri = self.uri(path);
        let state = self.lock();
        state.documents.get(&uri).unwrap_or_else(|| panic!("{path} is not open")).text.clone()
    }

    #[track_caller]
    pub fn is_dirty(&self, path: &str) -> bool {
        let uri = self.uri(path);
        self.lock().documents.get(&uri).unwrap_or_else(|| panic!("{path} is not open")).dirty
    }

    /// The URI of a path of the workspace; what already is a URI stays.
    pub fn uri(&self, path: &str) -> String {
        if path.contains(':') { path.to_owned() } else { uri(&self.root.join(path)) }
    }

    /// How permission requests are answered from now on.
    pub fn permit(&self, answer: Answer) {
        self.permit_by(move |_| answer.clone());
    }

    pub fn permit_by(&self, answer: impl FnMut(&Value) -> Answer + Send + 'static) {
        self.lock().person.permission = Box::new(answer);
    }

    /// Settles the oldest permission request left open.
    #[track_caller]
    pub fn answer(&self, answer: &Answer) {
        let (id, params) = self.wait("a permission request left open", |s| {
            (!s.held.is_empty()).then(|| s.held.remove(0))
        });
        let result = answers::outcome(&params, answer);
        self.lock().send(json!({ "id": id, "result": result }));
    }

    /// Runs once, between the server's next edit request and the check of its versions.
    pub fn before_apply(&self, act: impl FnOnce(&mut State) + Send + 'static) {
        self.lock().person.before_apply = Some(Box::new(act));
    }

    /// Runs once, when the server next asks to save: a formatter, say.
    pub fn before_save(&self, act: impl FnOnce(&mut State) + Send + 'static) {
        self.lock().person.before_save = Some(Box::new(act));
    }

    /// Refuses every edit from now on with this reason, or takes them again.
    pub fn refuse_edits(&self, reason: Option<&str>) {
        self.lock().person.refuses = reason.map(str::to_owned);
    }

    /// Every request of this method so far: its params.
    pub fn asked(&self, method: &str) -> Vec<Value> {
        self.lock()
            .log
            .iter()
            .filter(|m| m["method"] == method && m.get("id").is_some())
            .map(|m| m["params"].clone())
            .collect()
    }

    // The end.

    pub fn stderr(&self) -> String {
        std::fs::read(&self.stderr)
            .map(|b| String::from_utf8_lossy(&b).into_owned())
            .unwrap_or_default()
    }

    /// Closes the server's standard input.
    pub fn hang_up(&self) {
        self.lock().line.out = None;
    }

    pub fn kill(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().expect("a child to end");
        }
        self.child.wait().expect("a child to wait for");
    }

    /// Waits for the process to end by itself; its exit code.
    #[track_caller]
    pub fn exit_code(&mut self, limit: Duration) -> Option<i32> {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child to wait for") {
                return status.code();
            }
            assert!(Instant::now() < end, "the server is still there after {limit:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.hang_up();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let broken = std::mem::take(&mut self.lock().line.rules).broken();
        if !std::thread::panicking() {
            assert!(broken.is_empty(), "the server broke what always holds: {broken:#?}");
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(desk: &Arc<Self>, message: Value) {
        let mut state = desk.lock();
        state.line.rules.check(&message);
        let debounced = state.hear(message);
        if let Some(delay) = debounced {
            let later = Arc::clone(desk);
            std::thread::spawn(move || {
                std::thread::sleep(delay);
                later.lock().tell();
            });
        }
        drop(state);
        desk.changed.notify_all();
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(600).collect()
}
