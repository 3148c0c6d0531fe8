//! What tests of a session need: a workspace on disk, an editor in memory, a model that speaks from
//! a recording, and the conversation as text.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use exec::Supervisor;
use llm::{Part, ResultPart, Role};
use protocol::acp::{self, SessionUpdate, StateUpdate};
use serde_json::{Value, json};
use tokio::sync::watch;
use vfs::{Dirty, DiskOp, Location, TextChange, Vfs};

use crate::artifacts::Artifacts;
use crate::editor::{
    Answer, Applied, AppliedFile, ApplyError, Editor, Extras, FileOp, Kept, Saved, Status,
    Transaction,
};
use crate::permission::{Decision, Rule};
use crate::place::Place;
use crate::programs::Programs;
use crate::session::{Delivery, Prompt, Session, Start};
use crate::settings::{Mode, Provider, Settings};
use crate::store::Log;
use crate::transcript::{History, Transcript};
use crate::world::{Config, World};

/// No wait of a test is longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Something the person does.
pub type Meanwhile = Box<dyn FnOnce(&Vfs) + Send>;

/// An editor in memory: open buffers are changed there, closed files on disk.
pub struct FakeEditor {
    vfs: Vfs,
    pub updates: Mutex<Vec<SessionUpdate>>,
    pub notes: Mutex<Vec<acp::UpdateSessionNotification>>,
    pub asked: Mutex<Vec<acp::RequestPermissionRequest>>,
    answers: Mutex<VecDeque<Answer>>,
    /// Done once, before the next edit is applied.
    pub before_apply: Mutex<Option<Meanwhile>>,
    changed: watch::Sender<usize>,
}

impl FakeEditor {
    pub fn new(vfs: Vfs) -> Arc<FakeEditor> {
        Arc::new(FakeEditor {
            vfs,
            updates: Mutex::default(),
            notes: Mutex::default(),
            asked: Mutex::default(),
            answers: Mutex::default(),
            before_apply: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    /// Waits until something holds of what was shown and asked.
    pub async fn until(&self, holds: impl Fn(&FakeEditor) -> bool) {
        let mut changed = self.changed.subscribe();
        let waited = tokio::time::timeout(LIMIT, async {
            while !holds(self) {
                changed.changed().await.unwrap();
            }
        });
        if waited.await.is_err() {
            panic!("waited in vain; shown: {:#?}", self.updates.lock().unwrap());
        }
    }

    fn apply_one(&self, op: &FileOp) -> Result<AppliedFile, ApplyError> {
        let (location, before, changes) = match op {
            FileOp::Modify { base, changes } => {
                let now = self.vfs.snapshot(&base.location).unwrap();
                let between = text::ChangeSet::between(&base.rope, &now.rope);
                let changes = changes.rebase(&between).map_err(|overlap| {
                    let line = now.rope.byte_to_line(overlap.range.start);
                    ApplyError::Stale {
                        location: base.location.clone(),
                        first_line: line + 1,
                        current: now.rope.line(line).to_string(),
                    }
                })?;
                (base.location.clone(), now.rope, changes)
            }
            FileOp::Create { location, text } => {
                let none = text::Rope::new();
                let changes = text::ChangeSet::whole(&none, text);
                (location.clone(), none, changes)
            }
            FileOp::Delete { .. } | FileOp::Move { .. } => unreachable!("applied before"),
        };
        let after = changes.apply(&before);
        let refused = |reason: String| ApplyError::Refused { location: location.clone(), reason };
        let kept = if self.vfs.is_open(&location) {
            let version = self.vfs.document(&location).map_or(1, |it| it.version + 1);
            self.vfs.expect_ours(&location, after.clone());
            let whole = TextChange { range: None, text: after.to_string() };
            self.vfs
                .change(&location, version, vec![whole])
                .map_err(|err| refused(err.to_string()))?;
            Kept::Buffer { reason: "the buffer was not saved before".into() }
        } else {
            let path = location.path().ok_or_else(|| refused("it has no file".into()))?.to_owned();
            let op = match op {
                FileOp::Create { text, .. } => DiskOp::Create { path, text: text.clone() },
                FileOp::Modify { .. } | FileOp::Delete { .. } | FileOp::Move { .. } => {
                    let base_hash = self.vfs.disk_snapshot(&path).unwrap().hash();
                    DiskOp::Edit { path, base_hash, changes: changes.clone() }
                }
            };
            self.vfs.commit(vec![op]).map_err(|err| refused(err.to_string()))?;
            Kept::Disk
        };
        Ok(AppliedFile { location, before, after, changes, kept })
    }

    /// What becomes of a closed file that is deleted or moved, and how.
    fn elsewhere(&self, op: &FileOp, ops: &mut Vec<DiskOp>) -> Option<AppliedFile> {
        let (location, before, changes) = match op {
            FileOp::Move { from, to, base, changes } => {
                let (from, new) = (from.path().unwrap(), to.path().unwrap().to_owned());
                let base_hash = self.vfs.content_hash(from).unwrap();
                let rename = DiskOp::Rename { from: from.to_owned(), to: new.clone(), base_hash };
                let edit = base.as_ref().map(|base| DiskOp::Edit {
                    path: new,
                    base_hash: base.hash(),
                    changes: changes.clone(),
                });
                let before = base.as_ref().map(|it| it.rope.clone()).unwrap_or_default();
                ops.extend([Some(rename), edit].into_iter().flatten());
                (to, before, changes.clone())
            }
            FileOp::Delete { location } => {
                let path = location.path().unwrap().to_owned();
                let before = self.vfs.disk_snapshot(&path).map(|it| it.rope).unwrap_or_default();
                let changes = text::ChangeSet::between(&before, &text::Rope::new());
                let base_hash = self.vfs.content_hash(&path).unwrap();
                ops.push(DiskOp::Delete { path, base_hash });
                (location, before, changes)
            }
            FileOp::Modify { .. } | FileOp::Create { .. } => return None,
        };
        let after = changes.apply(&before);
        Some(AppliedFile { location: location.clone(), before, after, changes, kept: Kept::Disk })
    }
}

#[async_trait]
impl Editor for FakeEditor {
    fn update(&self, update: acp::UpdateSessionNotification) {
        self.updates.lock().unwrap().push(update.update.clone());
        self.notes.lock().unwrap().push(update);
        self.changed.send_modify(|it| *it += 1);
    }

    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer {
        self.asked.lock().unwrap().push(request);
        self.changed.send_modify(|it| *it += 1);
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(answer) = self.answers.lock().unwrap().pop_front() {
                return answer;
            }
            changed.changed().await.unwrap();
        }
    }

    async fn apply(&self, transaction: Transaction) -> Result<Applied, ApplyError> {
        let before = self.before_apply.lock().unwrap().take();
        if let Some(before) = before {
            before(&self.vfs);
        }
        let mut elsewhere = Vec::new();
        let gone: Vec<Option<AppliedFile>> =
            transaction.ops.iter().map(|it| self.elsewhere(it, &mut elsewhere)).collect();
        // Names are left before they are taken.
        elsewhere.sort_by_key(|it| match it {
            DiskOp::Delete { .. } => 0,
            DiskOp::Rename { .. } => 1,
            DiskOp::Edit { .. } | DiskOp::Create { .. } => 2,
        });
        if let (false, Some(op)) = (elsewhere.is_empty(), transaction.ops.first()) {
            let location = match op {
                FileOp::Modify { base, .. } => base.location.clone(),
                FileOp::Create { location, .. } | FileOp::Delete { location } => location.clone(),
                FileOp::Move { to, .. } => to.clone(),
            };
            let refused = |reason| ApplyError::Refused { location, reason };
            self.vfs.commit(elsewhere).map_err(|it| refused(it.to_string()))?;
        }
        let files = transaction.ops.iter().zip(gone);
        let files: Result<Vec<_>, _> =
            files.map(|(op, gone)| gone.map_or_else(|| self.apply_one(op), Ok)).collect();
        Ok(Applied { files: files? })
    }

    async fn save(&self, locations: &[Location]) -> Vec<Saved> {
        locations.iter().map(|_| Saved::No("tests do not save".into())).collect()
    }

    fn status(&self, _status: Status) {
        self.changed.send_modify(|it| *it += 1);
    }
}

/// A session in a workspace of its own.
pub struct Desk {
    pub root: PathBuf,
    pub session: Session,
    pub editor: Arc<FakeEditor>,
    pub vfs: Vfs,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// A trusted workspace in this mode, whose model says these steps.
    pub fn new(mode: Mode, steps: Value) -> Desk {
        Desk::with_rules(mode, "", steps)
    }

    /// The same with rules of the person's, as `allow X; deny Y`.
    pub fn with_rules(mode: Mode, rules: &str, steps: Value) -> Desk {
        Desk::configured(mode, rules, steps, |_| {})
    }

    /// The same with settings of the person's.
    pub fn configured(
        mode: Mode,
        rules: &str,
        steps: Value,
        configure: impl FnOnce(&mut Settings),
    ) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let base = vfs::Roots::new([folder.path().to_path_buf()]).locate(folder.path()).real;
        let root = base.join("w");
        let recording = base.join("recording.json");
        write(&recording, &steps.to_string());
        write(&root.join("a.txt"), "one\ntwo\nthree\n");
        let mut settings = Settings { model: Some("script/x".into()), ..Settings::default() };
        settings.providers.insert(
            "script".into(),
            Provider {
                protocol: Some("replay".into()),
                file: Some(recording.display().to_string()),
                ..Provider::default()
            },
        );
        configure(&mut settings);
        let mut config = Config { trusted: true, unasked: true, ..Config::of(settings) };
        for rule in rules.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            let (decision, text) = rule.split_once(' ').unwrap();
            let decision = match decision {
                "allow" => Decision::Allow,
                "ask" => Decision::Ask,
                _ => Decision::Deny,
            };
            config.rules.all.push(Rule::parse(text, decision, "user").unwrap());
        }
        let vfs = Vfs::new(vfs::Options {
            unit: text::Unit::Utf8,
            breaks: text::LineBreaks::Lf,
            state_dir: None,
        });
        let editor = FakeEditor::new(vfs.clone());
        let world = World::new(vfs.clone(), editor.clone(), supervisor(), None, config);
        let transcript = Transcript::new(
            "s".to_string().into(),
            editor.clone(),
            Log::none(),
            History::default(),
        );
        let session = Session::start(
            Arc::new(world),
            Start {
                id: "s".into(),
                place: Place {
                    vfs: vfs.clone(),
                    roots: Arc::new(vfs::Roots::new([root.clone()])),
                    cwd: root.clone(),
                    artifacts: Some(base.join("artifacts")),
                    grammar: exec::Grammar::Posix,
                    programs: Programs::default(),
                },
                mode,
                model: None,
                thinking: None,
                history: Vec::new(),
                transcript,
                timeline: crate::timeline::Timeline::default(),
                jobs_dir: base.join("jobs"),
                artifacts: Artifacts::new(Some(base.join("artifacts"))),
            },
        );
        Desk { root, session, editor, vfs, _folder: folder }
    }

    /// Sends a prompt and waits for the turn's end.
    pub async fn turn(&self, text: &str) {
        let turns = self.ended();
        self.prompt(text, Delivery::Queue);
        self.idle(turns + 1).await;
    }

    pub fn prompt(&self, text: &str, delivery: Delivery) {
        let content = vec![acp::ContentBlock::from(text.to_string())];
        self.session.prompt(Prompt {
            id: format!("p-{text}"),
            content,
            delivery,
            passages: Vec::new(),
        });
    }

    /// How many turns have ended.
    pub fn ended(&self) -> usize {
        let idle =
            |it: &&SessionUpdate| matches!(it, SessionUpdate::StateUpdate(StateUpdate::Idle(_)));
        self.editor.updates.lock().unwrap().iter().filter(idle).count()
    }

    /// Waits until this many turns have ended.
    pub async fn idle(&self, turns: usize) {
        self.editor.until(|_| turns <= self.ended()).await;
    }

    /// Waits until this many questions were asked.
    pub async fn asked(&self, count: usize) {
        self.editor.until(|it| count <= it.asked.lock().unwrap().len()).await;
    }

    /// Answers the next question, now or when it comes.
    pub fn answer(&self, option: &str, extras: Value) {
        let extras: Extras = serde_json::from_value(extras).unwrap();
        let answer = Answer::Selected { option: option.into(), extras };
        self.editor.answers.lock().unwrap().push_back(answer);
        self.editor.changed.send_modify(|it| *it += 1);
    }

    pub fn nobody_answers(&self) {
        self.editor.answers.lock().unwrap().push_back(Answer::Nobody);
    }

    pub fn write(&self, path: &str, text: &str) {
        write(&self.root.join(path), text);
    }

    pub fn read(&self, path: &str) -> String {
        vfs::state::read_text_file(&self.root.join(path)).unwrap().unwrap_or("(none)".into())
    }

    /// Opens a buffer, whose text may differ from the file's.
    pub fn open(&self, name: &str, text: &str) -> Location {
        let location = if name.starts_with("untitled:") {
            Location::Virtual(name.into())
        } else {
            Location::disk(self.root.join(name))
        };
        self.vfs.open(location.clone(), "text", 1, text);
        location
    }

    pub fn buffer(&self, location: &Location) -> (String, Dirty) {
        let document = self.vfs.document(location).unwrap();
        (self.vfs.snapshot(location).unwrap().rope.to_string(), document.dirty)
    }

    /// What the model was told of its calls, in order.
    pub fn results(&self) -> Vec<String> {
        let parts = self.session.shared.history().into_iter().flat_map(|it| it.parts);
        let texts = parts.filter_map(|it| match it {
            Part::ToolResult { content, is_error, .. } => {
                Some(self.plain(&told(&content, sign(is_error))))
            }
            Part::Text { .. }
            | Part::Thought { .. }
            | Part::Image { .. }
            | Part::ToolCall { .. } => None,
        });
        texts.collect()
    }

    /// The one result of the one call of a turn.
    pub async fn result(&self) -> String {
        self.turn("go").await;
        let mut results = self.results();
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    /// The conversation: what was shown, and what the model holds.
    pub fn conversation(&self) -> String {
        let mut out = String::from("SHOWN\n");
        let mut cards: Vec<String> = Vec::new();
        for update in self.session.shared.transcript.history() {
            let value = serde_json::to_value(&update).unwrap();
            let line = match value["sessionUpdate"].as_str().unwrap_or_default() {
                "user_message" => {
                    format!("person: {}", value["content"][0]["text"].as_str().unwrap())
                }
                "agent_message_chunk" => {
                    format!("agent: {}", value["content"]["text"].as_str().unwrap())
                }
                "agent_thought_chunk" => {
                    format!("thought: {}", value["content"]["text"].as_str().unwrap())
                }
                "tool_call_update" => {
                    cards.push(value["toolCallId"].to_string());
                    let n = cards.len();
                    format!("card {n}: {} — {}", text(&value["title"]), text(&value["status"]))
                }
                other => format!("({other})"),
            };
            out.push_str(&line);
            out.push('\n');
        }
        out.push_str("HELD\n");
        for message in self.session.shared.history() {
            let who = match message.role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            for part in message.parts {
                let line = match part {
                    Part::Text { text } if text.starts_with("<environment>") => {
                        "(environment)".into()
                    }
                    Part::Text { text } => text,
                    Part::Thought { .. } => "(thought)".into(),
                    Part::Image { .. } => "(image)".into(),
                    Part::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
                    Part::ToolResult { content, is_error, .. } => told(&content, sign(is_error)),
                };
                out.push_str(&format!("{who}: {line}\n"));
            }
        }
        self.plain(&out)
    }

    /// The statuses of all cards, in order.
    pub fn statuses(&self) -> Vec<String> {
        let history = self.session.shared.transcript.history();
        let cards = history.iter().filter_map(|it| match it {
            SessionUpdate::ToolCallUpdate(card) => Some(serde_json::to_value(card).unwrap()),
            _ => None,
        });
        cards.map(|it| text(&it["status"])).collect()
    }

    /// How the last turn ended.
    pub fn stop(&self) -> String {
        let updates = self.editor.updates.lock().unwrap();
        let last = updates.iter().rev().find_map(|it| match it {
            SessionUpdate::StateUpdate(StateUpdate::Idle(idle)) => Some(serde_json::to_value(idle)),
            _ => None,
        });
        text(&last.unwrap().unwrap()["stopReason"])
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "/w")
    }
}

/// One step of a recording that makes calls.
pub fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(name, input)| json!({ "name": name, "input": input })).collect();
    json!({ "calls": calls })
}

/// A recording of one call, and a last word.
pub fn one(name: &str, input: Value) -> Value {
    json!([calls(&[(name, input)]), { "text": "done" }])
}

fn sign(failed: impl Into<u8>) -> char {
    if failed.into() == 0 { '✓' } else { '✗' }
}

fn told(content: &[ResultPart], sign: char) -> String {
    let texts: Vec<&str> = content
        .iter()
        .map(|it| match it {
            ResultPart::Text { text } => text.as_str(),
            ResultPart::Image { .. } => "(image)",
            ResultPart::Video { .. } => "(video)",
        })
        .collect();
    format!("{sign} {}", texts.join("\n"))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[allow(clippy::disallowed_methods, reason = "a test's own folder")]
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The supervisor of a test's commands: this very test program, run for the one test below. Its
/// connection belongs to the runtime of the test.
pub fn supervisor() -> Supervisor {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "testing::supervisor_process", "--nocapture", ROLE];
    Supervisor::start(&program, &arguments).unwrap()
}

const ROLE: &str = "this-is-the-supervisor-of-a-test";

#[test]
fn supervisor_process() {
    if std::env::args().any(|it| it == ROLE) {
        exec::supervise_main();
    }
}
