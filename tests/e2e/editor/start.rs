//! How an editor is started: whose behaviour, which folders, what it offers and what its settings say.

use serde_json::{Value, json};

use super::document::Columns;
use super::{Editor, Kind, Told};
use crate::workspace::{Workspace, uri};

/// What an editor is started with; `start` runs the server and initializes it.
pub struct Start<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) kind: Kind,
    pub(super) told: Told,
    columns: Vec<&'static str>,
    pub(super) folders: Vec<String>,
    options: Value,
    without: Vec<&'static str>,
    operations: Vec<&'static str>,
    pub(super) environment: Vec<(&'static str, String)>,
}

impl<'a> Start<'a> {
    pub fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            kind: Kind::Strict,
            told: Told::BeforeAnswer,
            columns: vec!["utf-16"],
            folders: vec![uri(workspace.root())],
            options: json!({ "trusted": true }),
            without: Vec::new(),
            operations: vec!["create", "rename", "delete"],
            environment: Vec::new(),
        }
    }

    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub fn told(mut self, told: Told) -> Self {
        self.told = told;
        self
    }

    /// Position encodings offered, best first.
    pub fn columns(mut self, names: &[&'static str]) -> Self {
        self.columns = names.to_vec();
        self
    }

    /// Leaves out a marker of `capabilities.experimental.copydesk`.
    pub fn without(mut self, marker: &'static str) -> Self {
        self.without.push(marker);
        self
    }

    /// Files cannot be made, moved or deleted through this editor.
    pub fn without_operations(mut self) -> Self {
        self.operations.clear();
        self
    }

    pub fn folders(mut self, folders: &[String]) -> Self {
        self.folders = folders.to_vec();
        self
    }

    pub fn env(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Merges top-level keys into `initializationOptions`.
    pub fn settings(mut self, settings: &Value) -> Self {
        let options = self.options.as_object_mut().expect("options are an object");
        for (key, value) in settings.as_object().expect("settings are an object") {
            options.insert(key.clone(), value.clone());
        }
        self
    }

    /// Starts the server without a word to it.
    pub fn silent(self) -> Editor {
        Editor::spawn(self)
    }

    #[track_caller]
    pub fn start(self) -> Editor {
        let params = self.initialize_params();
        let mut editor = Editor::spawn(self);
        editor.initialized = editor.request("initialize", params);
        let named =
            editor.initialized["capabilities"]["positionEncoding"].as_str().unwrap_or("utf-16");
        editor.lock().manner.columns = Columns::named(named);
        editor.notify("initialized", json!({}));
        editor
    }

    pub fn initialize_params(&self) -> Value {
        let mut capabilities = json!({
            "general": { "positionEncodings": self.columns },
            "workspace": {
                "applyEdit": self.kind != Kind::Headless,
                "workspaceEdit": { "documentChanges": true, "resourceOperations": self.operations },
                "workspaceFolders": true,
                "configuration": false,
                "executeCommand": {},
                "codeLens": { "refreshSupport": true },
                "didChangeWatchedFiles": { "dynamicRegistration": true },
            },
            "textDocument": {
                "synchronization": { "didSave": true },
                "publishDiagnostics": { "versionSupport": true },
                "codeLens": {},
                "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["", "quickfix", "refactor"] } } },
            },
            "window": {
                "workDoneProgress": true,
                "showMessage": { "messageActionItem": { "additionalPropertiesSupport": true } },
                "showDocument": { "support": true },
            },
        });
        if self.kind != Kind::Bare {
            capabilities["experimental"] = json!({ "copydesk": {
                "protocolVersion": 1, "permission": {}, "elicitation": { "form": {} }, "save": {}, "diagnostics": {},
                "languageRequest": {}, "editorState": {}, "review": {}, "notebook": {},
            } });
            let markers = capabilities["experimental"]["copydesk"].as_object_mut();
            markers.expect("markers").retain(|name, _| !self.without.contains(&name.as_str()));
        }
        let folders: Vec<_> = self
            .folders
            .iter()
            .map(|f| json!({ "uri": f, "name": f.rsplit('/').next() }))
            .collect();
        json!({
            "processId": std::process::id(),
            "rootUri": self.folders[0],
            "capabilities": capabilities,
            "workspaceFolders": folders,
            "clientInfo": { "name": "fake editor", "version": "1" },
            "initializationOptions": self.options,
        })
    }
}
