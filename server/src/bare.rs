//! Editors without a frontend of ours: commands instead of a panel, messages instead of prompts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::acp;
use protocol::schema::MaybeUndefined;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use vfs::Location;

pub use self::deciding::Deciding;
use crate::apply::LspEditor;
use crate::outbox::RpcError;
use crate::sessions::Sessions;

mod deciding;

/// What `workspace/executeCommand` takes.
pub const COMMANDS: &[&str] = &[
    "copydesk.prompt",
    "copydesk.stop",
    "copydesk.approve",
    "copydesk.deny",
    "copydesk.mode",
    "copydesk.transcript",
    "copydesk.accept",
    "copydesk.reject",
    "copydesk.undo",
    "copydesk.review",
];

/// Those of them that decide on the agent's changes: what lenses and code actions run.
pub const REVIEW_COMMANDS: &[&str] =
    &["copydesk.accept", "copydesk.reject", "copydesk.undo", "copydesk.review"];

/// A message of more characters is cut, and says so; editors show it in a popup.
const MAX_MESSAGE: usize = 4 * 1024;

/// The commands, and the one session they work on.
pub struct Commands {
    editor: Arc<LspEditor>,
    session: Mutex<Option<acp::SessionId>>,
    asked_trust: Mutex<bool>,
}

/// Questions that wait for the person, oldest first.
#[derive(Default)]
pub struct Questions {
    open: Mutex<Vec<Question>>,
    last_id: AtomicU64,
}

struct Question {
    id: String,
    options: Vec<acp::PermissionOption>,
    answer: oneshot::Sender<String>,
}

impl Commands {
    /// The commands of a client.
    pub fn new(editor: Arc<LspEditor>) -> Commands {
        Commands { editor, session: Mutex::default(), asked_trust: Mutex::default() }
    }

    /// Runs one. `folder` is where a session starts when there is none yet.
    pub fn run(
        &self,
        sessions: &Arc<Sessions>,
        folder: Option<PathBuf>,
        command: &str,
        arguments: &[Value],
    ) -> Result<(), RpcError> {
        let argument = arguments.first().and_then(Value::as_str);
        match command {
            "copydesk.prompt" => self.prompt(sessions, folder, argument),
            "copydesk.stop" => {
                sessions.cancel(acp::CancelSessionNotification::new(self.current()?));
                Ok(())
            }
            "copydesk.approve" => self.decide(argument, &acp::PermissionOptionKind::AllowOnce),
            "copydesk.deny" => self.decide(argument, &acp::PermissionOptionKind::RejectOnce),
            "copydesk.mode" => {
                let mode = argument.ok_or_else(|| {
                    RpcError::invalid_params("copydesk.mode takes ask, plan, edit or auto")
                })?;
                let value = acp::SessionConfigOptionValue::Id { value: mode.to_owned().into() };
                let session = self.current_or_new(sessions, folder)?;
                sessions
                    .set_config_option(acp::SetSessionConfigOptionRequest::new(
                        session, "mode", value,
                    ))
                    .map(drop)
            }
            "copydesk.transcript" => self.transcript(sessions),
            "copydesk.review" => {
                let path = sessions.review_page(&self.editor.pending())?;
                self.editor.show_document(&Location::disk(&path));
                Ok(())
            }
            unknown => Err(RpcError::invalid_params(format!(
                "there is no command {unknown}; there are {}",
                COMMANDS.join(", ")
            ))),
        }
    }

    fn prompt(
        &self,
        sessions: &Arc<Sessions>,
        folder: Option<PathBuf>,
        text: Option<&str>,
    ) -> Result<(), RpcError> {
        let text = text.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            RpcError::invalid_params("copydesk.prompt takes the text to send to the agent")
        })?;
        if let Some(folder) = &folder {
            self.offer_trust(sessions, folder);
        }
        let session = self.current_or_new(sessions, folder)?;
        let prompt = vec![acp::ContentBlock::from(text.to_owned())];
        sessions.prompt(acp::PromptRequest::new(session, prompt)).map(drop)
    }

    /// Asks once whether the folder is trusted, where nobody has said so yet. The prompt does not wait
    /// for it: until the answer, everything asks.
    fn offer_trust(&self, sessions: &Arc<Sessions>, folder: &Path) {
        let mut asked = self.asked_trust.lock().unwrap_or_else(PoisonError::into_inner);
        if *asked || sessions.is_trust_known() {
            return;
        }
        *asked = true;
        let root = crate::lsp::uri(&Location::disk(folder));
        let question = self.editor.ask_trust(folder);
        let sessions = Arc::clone(sessions);
        tokio::spawn(async move {
            let Some(trusted) = question.await else { return };
            if let Err(error) = sessions.trust(protocol::TrustParams { root, trusted }) {
                tracing::warn!(%error, "the answer about trust was not kept");
            }
        });
    }

    /// Writes the conversation so far and opens it beside the code.
    fn transcript(&self, sessions: &Sessions) -> Result<(), RpcError> {
        let path = sessions.transcript(&self.current()?.to_string())?;
        self.editor.show_document(&Location::disk(&path));
        Ok(())
    }

    fn decide(&self, id: Option<&str>, kind: &acp::PermissionOptionKind) -> Result<(), RpcError> {
        if self.editor.questions().answer(id, kind) {
            Ok(())
        } else {
            Err(RpcError::failed("not-found", "no question is waiting for an answer"))
        }
    }

    fn current_or_new(
        &self,
        sessions: &Arc<Sessions>,
        folder: Option<PathBuf>,
    ) -> Result<acp::SessionId, RpcError> {
        let mut session = self.session();
        if let Some(session) = &*session {
            return Ok(session.clone());
        }
        let folder = folder.ok_or_else(|| {
            RpcError::failed("invalid", "the editor has no folder open to work in")
        })?;
        let new = sessions.new_session(acp::NewSessionRequest::new(folder))?;
        Ok(session.insert(new.session_id).clone())
    }

    fn current(&self) -> Result<acp::SessionId, RpcError> {
        self.session()
            .clone()
            .ok_or_else(|| RpcError::failed("not-found", "nothing was sent to the agent yet"))
    }

    fn session(&self) -> MutexGuard<'_, Option<acp::SessionId>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Questions {
    /// An id no other question of this process has.
    pub fn next_id(&self) -> String {
        format!("q-{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A question commands can answer; gives the option chosen. Dropping the future closes it.
    pub fn open(
        &self,
        id: String,
        options: &[acp::PermissionOption],
    ) -> impl Future<Output = Option<String>> + use<> {
        let (answer, chosen) = oneshot::channel();
        self.all().push(Question { id, options: options.to_vec(), answer });
        async move { chosen.await.ok() }
    }

    /// Answers the question of this id, or the oldest; false when there is none.
    pub fn answer(&self, id: Option<&str>, kind: &acp::PermissionOptionKind) -> bool {
        let mut open = self.all();
        open.retain(|question| !question.answer.is_closed());
        let wanted = |question: &Question| id.is_none_or(|id| question.id == id);
        let Some(at) = open.iter().position(wanted) else { return false };
        let Some(option) = open[at].options.iter().find(|option| option.kind == *kind) else {
            return false;
        };
        let option = option.option_id.to_string();
        open.remove(at).answer.send(option).is_ok()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Question>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permission request as a message with buttons.
pub fn message_request(request: &acp::RequestPermissionRequest) -> Value {
    let mut message = request.title.clone();
    if let Some(description) = &request.description {
        message.push('\n');
        message.push_str(description);
    }
    if let Some(subject) = &request.subject {
        describe_subject(&mut message, subject);
    }
    if let Some((cut, _)) = message.char_indices().nth(MAX_MESSAGE) {
        message.truncate(cut);
        message.push_str("… (cut: it is longer than can be shown here)");
    }
    let actions: Vec<Value> =
        request.options.iter().map(|option| json!({"title": option.name})).collect();
    json!({"type": 3, "message": message, "actions": actions})
}

/// The option whose button was pressed; `None` when the message was dismissed.
pub fn chosen_option(chosen: &Value, options: &[acp::PermissionOption]) -> Option<String> {
    let title = chosen.get("title")?.as_str()?;
    let option = options.iter().find(|option| option.name == title)?;
    Some(option.option_id.to_string())
}

/// What is about to happen in full: the command and where it runs, or the edit as a patch.
fn describe_subject(message: &mut String, subject: &acp::RequestPermissionSubject) {
    match subject {
        acp::RequestPermissionSubject::Command(subject) => {
            let cwd = subject.cwd.0.display();
            message.push_str(&format!("\n$ {}\nin {cwd}", subject.command));
        }
        acp::RequestPermissionSubject::ToolCall(subject) => {
            let MaybeUndefined::Value(content) = &subject.tool_call.content else { return };
            for item in content {
                if let acp::ToolCallContent::Diff(diff) = item
                    && let Some(patch) = &diff.patch
                {
                    message.push('\n');
                    message.push_str(&patch.text);
                }
            }
        }
        // A subject of a later version has nothing we could show.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> acp::RequestPermissionRequest {
        let options = vec![
            acp::PermissionOption::new("once", "Allow once", acp::PermissionOptionKind::AllowOnce),
            acp::PermissionOption::new("no", "Reject", acp::PermissionOptionKind::RejectOnce),
        ];
        acp::RequestPermissionRequest::new("s", "Do it?", options)
    }

    #[test]
    fn the_message_shows_all_that_is_about_to_happen() {
        let command = acp::CommandPermissionSubject::new("rm x", PathBuf::from("/w"));
        let subject = acp::RequestPermissionSubject::Command(command);
        let message = message_request(&request().subject(subject));
        assert_eq!(message["message"], "Do it?\n$ rm x\nin /w");
        assert_eq!(message["actions"], json!([{"title": "Allow once"}, {"title": "Reject"}]));

        let diff = json!({"type": "diff", "changes": [], "patch": {"format": "git_patch", "text": "-a\n+b\n"}});
        let call = json!({"toolCallId": "c", "content": [diff]});
        let call: acp::ToolCallUpdate = serde_json::from_value(call).unwrap();
        let message =
            message_request(&request().subject(acp::RequestPermissionSubject::from(call)));
        assert_eq!(message["message"], "Do it?\n-a\n+b\n");

        let long = acp::CommandPermissionSubject::new("é".repeat(9000), PathBuf::from("/w"));
        let subject = acp::RequestPermissionSubject::Command(long);
        let message = message_request(&request().subject(subject));
        assert!(
            message["message"]
                .as_str()
                .is_some_and(|it| it.ends_with("longer than can be shown here)"))
        );
    }

    #[test]
    fn a_button_chooses_its_option() {
        let options = request().options;
        assert_eq!(chosen_option(&json!({"title": "Reject"}), &options).as_deref(), Some("no"));
        assert_eq!(chosen_option(&json!({"title": "else"}), &options), None);
        assert_eq!(chosen_option(&Value::Null, &options), None);
    }

    #[test]
    fn a_command_answers_the_question_it_names_or_the_oldest() {
        let questions = Questions::default();
        let allow = acp::PermissionOptionKind::AllowOnce;
        assert!(!questions.answer(None, &allow));
        let first = questions.open("a".to_owned(), &request().options);
        let second = questions.open("b".to_owned(), &request().options);
        assert!(!questions.answer(Some("c"), &allow));
        assert!(questions.answer(Some("b"), &allow));
        assert!(questions.answer(None, &acp::PermissionOptionKind::RejectOnce));
        assert!(!questions.answer(None, &allow));
        let answered = |question| futures::FutureExt::now_or_never(question).flatten();
        assert_eq!(answered(second).as_deref(), Some("once"));
        assert_eq!(answered(first).as_deref(), Some("no"));
        drop(questions.open("d".to_owned(), &request().options));
        assert!(!questions.answer(None, &allow), "nobody waits for it any more");
    }
}
