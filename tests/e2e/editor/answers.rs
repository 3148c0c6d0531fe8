//! What the fake editor does with its documents and with the server's requests.

use std::time::Duration;

use serde_json::{Value, json};

use super::document::Document;
use super::{Answer, Kind, State, Told};

impl State {
    // Outgoing.

    pub(super) fn send_bytes(&mut self, bytes: Vec<u8>) {
        if let Some(out) = &self.line.out {
            let _ = out.send(bytes);
        }
    }

    pub(super) fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.send_bytes(super::framing::frame(&message));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    /// Tells the changes held back.
    pub(super) fn tell(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        if untold.is_empty() {
            return;
        }
        for change in untold {
            self.notify("textDocument/didChange", change);
        }
        self.tell_state();
    }

    pub(super) fn tell_state(&mut self) {
        if self.manner.kind == Kind::Bare {
            return;
        }
        let documents = self.documents.iter().map(|(uri, d)| d.state(uri));
        let notebooks = self.notebooks.iter();
        let notebooks =
            notebooks.map(|(uri, n)| json!({ "uri": uri, "version": n.version, "dirty": true }));
        let documents: Vec<_> = documents.chain(notebooks).collect();
        self.notify("copydesk/editor/didChangeState", json!({ "documents": documents }));
    }

    // Documents.

    pub fn open(&mut self, uri: &str, document: Document) {
        self.tell();
        self.notify(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": uri, "languageId": "plaintext", "version": document.version, "text": document.text } }),
        );
        self.documents.insert(uri.to_owned(), document);
        self.tell_state();
    }

    pub fn close(&mut self, uri: &str) {
        self.tell();
        self.documents.remove(uri);
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    #[track_caller]
    pub fn type_before(&mut self, uri: &str, mark: &str, text: &str) {
        let at = self.find(uri, mark);
        self.type_at(uri, at..at, text);
    }

    #[track_caller]
    pub fn retype(&mut self, uri: &str, old: &str, new: &str) {
        let at = self.find(uri, old);
        self.type_at(uri, at..at + old.len(), new);
    }

    /// The person replaces a byte range.
    #[track_caller]
    pub fn type_at(&mut self, uri: &str, bytes: std::ops::Range<usize>, text: &str) {
        let document = &self.documents[uri];
        let start = document.position(bytes.start, self.manner.columns);
        let end = document.position(bytes.end, self.manner.columns);
        let changes = self
            .change(uri, &[json!({ "range": { "start": start, "end": end }, "newText": text })]);
        self.untold.push(changes);
        if !matches!(self.manner.told, Told::Debounced(_)) {
            self.tell();
        }
    }

    /// Reads an open file anew, as editors do when it changed on disk and holds nothing unsaved. One like Neovim
    /// closes and opens it.
    #[track_caller]
    pub fn reload(&mut self, uri: &str) {
        let path = url::Url::parse(uri).expect("a URI").to_file_path().expect("a file");
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{uri}: {e}"));
        let before = &self.documents[uri];
        assert!(!before.dirty, "{uri} holds unsaved text");
        let now = Document::decode(&bytes, before.version + 1);
        if self.manner.kind == Kind::Lying {
            self.close(uri);
            self.open(uri, Document { version: 0, ..now });
            return;
        }
        let (text, len) = (now.text, before.text.len());
        let end = before.position(len, self.manner.columns);
        let start = json!({ "line": 0, "character": 0 });
        let change = json!({ "range": { "start": start, "end": end }, "newText": text });
        let told = self.change(uri, &[change]);
        self.untold.push(told);
        if let Some(document) = self.documents.get_mut(uri) {
            document.dirty = false;
        }
        self.tell();
        self.tell_state();
    }

    /// Writes an open file; false where it is not open, no file, or not encodable.
    pub fn save(&mut self, uri: &str) -> bool {
        self.tell();
        let Some(path) = url::Url::parse(uri).ok().and_then(|u| u.to_file_path().ok()) else {
            return false;
        };
        let Some(document) = self.documents.get_mut(uri) else { return false };
        let Some(bytes) = document.bytes() else { return false };
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a saved file");
        document.dirty = false;
        self.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        self.tell_state();
        true
    }

    #[track_caller]
    fn find(&self, uri: &str, mark: &str) -> usize {
        let document = self.documents.get(uri).unwrap_or_else(|| panic!("{uri} is not open"));
        document.text.find(mark).unwrap_or_else(|| panic!("{mark:?} is not in {:?}", document.text))
    }

    /// Changes a document, last edit first; the `didChange` that tells of it.
    pub(super) fn change(&mut self, uri: &str, edits: &[Value]) -> Value {
        let columns = self.manner.columns;
        let jumps = self.manner.kind == Kind::Lying;
        let document = self.documents.get_mut(uri).expect("an open document");
        let mut order: Vec<_> = edits
            .iter()
            .enumerate()
            .map(|(index, edit)| {
                let start = document.offset(&edit["range"]["start"], columns);
                (start, index, document.offset(&edit["range"]["end"], columns), edit)
            })
            .collect();
        order.sort_by_key(|(start, index, ..)| (*start, *index));
        let mut told = Vec::new();
        for (start, _, end, edit) in order.into_iter().rev() {
            let new = edit["newText"].as_str().expect("a new text");
            document.text.replace_range(start..end.max(start), new);
            told.push(json!({ "range": edit["range"], "text": new }));
        }
        document.version += if jumps && document.version == 0 { 5 } else { 1 };
        document.dirty = true;
        json!({ "textDocument": { "uri": uri, "version": document.version }, "contentChanges": told })
    }

    // Incoming.

    /// Takes one message; gives how long held-back changes wait where there are some.
    pub(super) fn hear(&mut self, message: Value) -> Option<Duration> {
        let id = message.get("id").cloned();
        match (message["method"].as_str().map(str::to_owned), id) {
            (Some(method), Some(id)) => {
                self.log.push(message.clone());
                self.serve(&method, id, message["params"].clone());
            }
            (Some(_), None) => self.log.push(message),
            (None, id) => {
                match id.and_then(|id| id.as_i64()).filter(|id| self.line.awaited.remove(id)) {
                    Some(id) => drop(self.line.answers.insert(id, message)),
                    None => self.stray.push(message),
                }
            }
        }
        match self.manner.told {
            Told::Debounced(delay) if !self.untold.is_empty() => Some(delay),
            Told::Debounced(_) | Told::BeforeAnswer | Told::AfterAnswer | Told::InParts { .. } => {
                None
            }
        }
    }

    fn serve(&mut self, method: &str, id: Value, params: Value) {
        let result = match method {
            "workspace/applyEdit" => {
                if let Some(act) = self.person.before_apply.take() {
                    act(self);
                }
                self.applied.push(params.clone());
                self.apply(&params)
            }
            "session/request_permission" => match (self.person.permission)(&params) {
                Answer::Hold => return self.held.push((id, params)),
                answer => outcome(&params, &answer),
            },
            "elicitation/create" => json!({ "action": "decline" }),
            "copydesk/editor/save" => self.save_all(&params),
            "copydesk/editor/notebookEdit" => self.edit_notebook(&params),
            "copydesk/editor/diagnostics" => {
                let items: Vec<_> = params["uris"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|uri| json!({ "uri": uri, "settled": true, "diagnostics": [] }))
                    .collect();
                json!({ "items": items })
            }
            "copydesk/editor/request" => Value::Null,
            "window/showMessageRequest" => match (self.person.permission)(&params) {
                Answer::Hold => return self.held.push((id, params)),
                Answer::Option(kind) | Answer::With(kind, _) => action(&params, kind),
                Answer::Dismiss => Value::Null,
            },
            "window/showDocument" => json!({ "success": true }),
            "workspace/workspaceFolders" => self
                .manner
                .folders
                .iter()
                .map(|f| json!({ "uri": f, "name": f.rsplit('/').next() }))
                .collect(),
            "workspace/configuration" => {
                params["items"].as_array().into_iter().flatten().map(|_| Value::Null).collect()
            }
            "window/workDoneProgress/create"
            | "client/registerCapability"
            | "client/unregisterCapability" => Value::Null,
            other if other.ends_with("/refresh") => Value::Null,
            other => {
                let error =
                    json!({ "code": -32601, "message": format!("no such method: {other}") });
                return self.send(json!({ "id": id, "error": error }));
            }
        };
        match self.manner.told {
            Told::BeforeAnswer => self.tell(),
            Told::InParts { .. } => {
                let later = self.untold.split_off(self.untold.len() / 2);
                self.tell();
                self.untold = later;
            }
            Told::AfterAnswer | Told::Debounced(_) => {}
        }
        self.send(json!({ "id": id, "result": result }));
        match self.manner.told {
            Told::AfterAnswer | Told::InParts { .. } => self.tell(),
            Told::BeforeAnswer | Told::Debounced(_) => {}
        }
    }

    fn save_all(&mut self, params: &Value) -> Value {
        if let Some(act) = self.person.before_save.take() {
            act(self);
        }
        let mut results = Vec::new();
        for uri in params["uris"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if self.save(uri) {
                self.saved.push(uri.to_owned());
                results.push(json!({ "uri": uri, "saved": true }));
            } else {
                results.push(
                    json!({ "uri": uri, "saved": false, "reason": "not open or not encodable" }),
                );
            }
        }
        json!({ "results": results })
    }

    fn apply(&mut self, params: &Value) -> Value {
        if let Some(reason) = &self.person.refuses {
            return json!({ "applied": false, "failureReason": reason });
        }
        let operations = params["edit"]["documentChanges"].as_array().cloned().unwrap_or_default();
        let stale: Vec<bool> =
            operations.iter().enumerate().map(|(index, op)| self.is_stale(index, op)).collect();
        if self.manner.kind == Kind::Strict && stale.contains(&true) {
            return json!({ "applied": false, "failureReason": "the document has changed", "failedChange": 0 });
        }
        for (operation, stale) in operations.iter().zip(stale) {
            match operation["kind"].as_str() {
                Some("create") => {
                    let uri = operation["uri"].as_str().expect("a URI").to_owned();
                    let path =
                        url::Url::parse(&uri).expect("a URI").to_file_path().expect("a file");
                    if !path.exists() {
                        std::fs::create_dir_all(path.parent().expect("a parent"))
                            .expect("a folder");
                        std::fs::write(&path, "").expect("a new file");
                    }
                    self.open_from_disk(&uri);
                }
                Some("delete") => {
                    let uri = operation["uri"].as_str().expect("a URI").to_owned();
                    let path =
                        url::Url::parse(&uri).expect("a URI").to_file_path().expect("a file");
                    std::fs::remove_file(path).expect("a deleted file");
                    self.close(&uri);
                }
                Some("rename") => {
                    let uri = |key: &str| operation[key].as_str().expect("a URI").to_owned();
                    let (old, new) = (uri("oldUri"), uri("newUri"));
                    if let Err(reason) = self.rename(&old, &new) {
                        return json!({ "applied": false, "failureReason": reason });
                    }
                }
                Some(other) => {
                    return json!({ "applied": false, "failureReason": format!("no {other} here") });
                }
                None if stale => {}
                None => {
                    let uri = operation["textDocument"]["uri"].as_str().expect("a URI").to_owned();
                    if let Some(notebook) = self.notebook_of(&uri) {
                        let edits = operation["edits"].as_array().cloned().unwrap_or_default();
                        self.edit_cell_text(&notebook, &uri, &edits);
                        continue;
                    }
                    self.open_from_disk(&uri);
                    self.change_keeping_line_endings(&uri, &operation["edits"]);
                }
            }
        }
        json!({ "applied": true })
    }

    /// Moves a file, and its document where it has one open without unsaved text.
    fn rename(&mut self, old: &str, new: &str) -> Result<(), String> {
        let path = |uri: &str| url::Url::parse(uri).expect("a URI").to_file_path().expect("a file");
        let (from, to) = (path(old), path(new));
        let open = self.documents.get(old);
        if open.is_some_and(|it| it.dirty) || to.exists() {
            return Err("unsaved, or the name is taken".to_owned());
        }
        let is_open = open.is_some();
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
        std::fs::rename(from, to).expect("a moved file");
        if is_open {
            self.close(old);
            self.open_from_disk(new);
        }
        Ok(())
    }

    fn is_stale(&self, index: usize, operation: &Value) -> bool {
        let Some(document) =
            operation["textDocument"]["uri"].as_str().and_then(|uri| self.documents.get(uri))
        else {
            return false;
        };
        let Some(version) = operation["textDocument"]["version"].as_i64() else { return false };
        match self.manner.kind {
            Kind::Strict | Kind::Bare | Kind::Headless => version != document.version,
            Kind::Lying => index == 0 && version > 0 && document.version > version,
        }
    }

    fn open_from_disk(&mut self, uri: &str) {
        if self.documents.contains_key(uri) {
            return;
        }
        let path = url::Url::parse(uri).expect("a URI").to_file_path().expect("a file");
        let document = Document::decode(&std::fs::read(path).unwrap_or_default(), 1);
        self.open(uri, document);
    }

    /// Both real editors keep a CRLF document CRLF whatever the edit says.
    fn change_keeping_line_endings(&mut self, uri: &str, edits: &Value) {
        let crlf = self.documents[uri].line_ending() == "crlf";
        let mut edits = edits.as_array().cloned().unwrap_or_default();
        for edit in edits.iter_mut().filter(|_| crlf) {
            let text = edit["newText"]
                .as_str()
                .expect("a new text")
                .replace("\r\n", "\n")
                .replace('\n', "\r\n");
            edit["newText"] = json!(text);
        }
        let Told::InParts { count, typing } = self.manner.told else {
            let change = self.change(uri, &edits);
            return self.untold.push(change);
        };
        for part in edits.chunks(edits.len().div_ceil(count).max(1)).rev() {
            let told = self.change(uri, part);
            self.untold.push(told);
            if typing {
                let document = &self.documents[uri];
                let end = document.position(document.text.len(), self.manner.columns);
                let typed = json!({ "range": { "start": end, "end": end }, "newText": "." });
                let told = self.change(uri, &[typed]);
                self.untold.push(told);
            }
        }
    }
}

/// The outcome of a permission request.
pub(super) fn outcome(params: &Value, answer: &Answer) -> Value {
    let (kind, extras) = match answer {
        Answer::Option(kind) => (*kind, None),
        Answer::With(kind, extras) => (*kind, Some(extras)),
        Answer::Dismiss | Answer::Hold => return json!({ "outcome": { "outcome": "cancelled" } }),
    };
    let options = params["options"].as_array().cloned().unwrap_or_default();
    let Some(option) = options.iter().find(|o| o["kind"] == kind) else {
        return json!({ "outcome": { "outcome": "cancelled" } });
    };
    let mut outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
    if let Some(extras) = extras {
        outcome["_meta"] = json!({ "copydesk": extras });
    }
    json!({ "outcome": outcome })
}

/// The action of a message request that means this kind of option.
fn action(params: &Value, kind: &str) -> Value {
    let word = match kind {
        "allow_once" => "allow once",
        "allow_always" => "always allow",
        _ => "reject",
    };
    let actions = params["actions"].as_array().cloned().unwrap_or_default();
    let title = |a: &Value| a["title"].as_str().unwrap_or_default().to_lowercase();
    actions.iter().find(|a| title(a).contains(word)).cloned().unwrap_or(Value::Null)
}
