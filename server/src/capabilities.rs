//! What the client can do and what the server offers, decided once at `initialize`.
//!
//! Invariant: nothing else looks at the client's capabilities or its name.

use protocol::{ClientMarkers, ServerMarkers, acp};
use serde_json::{Value, json};
use text::{LineBreaks, Unit};
use tower_lsp::lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionProviderCapability,
    CodeLensOptions, ExecuteCommandOptions, InitializeParams, InitializeResult, OneOf,
    PositionEncodingKind, ResourceOperationKind, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::bare;
use crate::lsp::Counting;

/// The connected client.
#[derive(Clone, Debug)]
pub struct Client {
    /// How it counts lines and columns.
    pub counting: Counting,
    /// Which position encoding the answer names, if the client offered any.
    encoding: Option<PositionEncodingKind>,
    /// What it can do beyond LSP; `None` for a client that does not know us.
    pub markers: Option<ClientMarkers>,
    /// Whether it carries out `workspace/applyEdit`.
    pub applies_edits: bool,
    /// Whether it deletes files by `workspace/applyEdit`.
    pub deletes_files: bool,
    /// Whether it renames files so.
    pub renames_files: bool,
    /// Whether there is a person who can answer `window/showMessageRequest`.
    pub shows_messages: bool,
    /// Whether it opens documents on request.
    pub shows_documents: bool,
    /// Whether it watches files for a server that registers for it.
    pub watches_files: bool,
    /// Whether it asks for lenses anew on request.
    pub refreshes_lenses: bool,
    /// Whether it offers lenses, code actions or commands, by which hunks can be decided on.
    pub shows_actions: bool,
    /// Which editor it is, where that matters.
    pub editor: EditorKind,
}

/// Editors whose buffers treat line endings in a way of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorKind {
    /// Turns every line ending of an edit into `\n` and keeps stray `\r` as text.
    Neovim,
    /// Any other.
    Other,
}

impl Client {
    /// Reads what the client says of itself.
    pub fn new(params: &InitializeParams) -> Client {
        let capabilities = &params.capabilities;
        let workspace = capabilities.workspace.as_ref();
        let operations = workspace
            .and_then(|workspace| workspace.workspace_edit.as_ref())
            .and_then(|edit| edit.resource_operations.as_deref())
            .unwrap_or_default();
        let editor = editor_kind(params);
        let (encoding, unit) = position_encoding(capabilities);
        Client {
            counting: Counting { unit, breaks: line_breaks(editor) },
            encoding,
            markers: markers(capabilities),
            applies_edits: workspace.and_then(|w| w.apply_edit).unwrap_or_default(),
            deletes_files: operations.contains(&ResourceOperationKind::Delete),
            renames_files: operations.contains(&ResourceOperationKind::Rename),
            shows_messages: capabilities.window.is_some(),
            shows_documents: capabilities
                .window
                .as_ref()
                .and_then(|window| window.show_document.as_ref())
                .is_some_and(|show| show.support),
            watches_files: workspace
                .and_then(|workspace| workspace.did_change_watched_files.as_ref())
                .and_then(|watching| watching.dynamic_registration)
                .unwrap_or_default(),
            refreshes_lenses: workspace
                .and_then(|workspace| workspace.code_lens.as_ref())
                .and_then(|lens| lens.refresh_support)
                .unwrap_or_default(),
            shows_actions: capabilities.text_document.as_ref().is_some_and(|document| {
                document.code_action.is_some() || document.code_lens.is_some()
            }) || workspace
                .is_some_and(|workspace| workspace.execute_command.is_some()),
            editor,
        }
    }

    /// Whether it answers `session/request_permission`.
    pub fn answers_permissions(&self) -> bool {
        self.markers.as_ref().is_some_and(|markers| markers.permission.is_some())
    }

    /// Whether it draws pending hunks itself.
    pub fn reviews(&self) -> bool {
        self.markers.as_ref().is_some_and(|markers| markers.review.is_some())
    }

    /// Whether a person can decide on hunks in it.
    pub fn can_review(&self) -> bool {
        self.reviews() || self.shows_actions
    }

    /// Whether it answers `copydesk/editor/notebookEdit`.
    pub fn edits_notebooks(&self) -> bool {
        self.markers.as_ref().is_some_and(|markers| markers.notebook.is_some())
    }

    /// Whether it answers `copydesk/editor/save`.
    pub fn saves(&self) -> bool {
        self.markers.as_ref().is_some_and(|markers| markers.save.is_some())
    }

    /// The answer to `initialize`.
    pub fn initialize_result(&self) -> InitializeResult {
        let version = env!("CARGO_PKG_VERSION");
        let ours = ServerMarkers {
            protocol_version: protocol::PROTOCOL_VERSION,
            version: version.to_owned(),
            session: serde_json::to_value(session_capabilities()).unwrap_or_default(),
            jobs: Some(protocol::Meta::new()),
        };
        // A frontend of ours has commands of its own by the other names.
        let commands = match self.markers {
            None => bare::COMMANDS,
            Some(_) if !self.reviews() => bare::REVIEW_COMMANDS,
            Some(_) => &[],
        };
        let commands = (!commands.is_empty()).then(|| ExecuteCommandOptions {
            commands: commands.iter().map(|&name| name.to_owned()).collect(),
            ..ExecuteCommandOptions::default()
        });
        InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: self.encoding.clone(),
                text_document_sync: Some(document_sync()),
                execute_command_provider: commands,
                code_lens_provider: (!self.reviews())
                    .then_some(CodeLensOptions { resolve_provider: Some(false) }),
                code_action_provider: (!self.reviews()).then(code_actions),
                workspace: Some(WorkspaceServerCapabilities {
                    workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                        supported: Some(true),
                        change_notifications: Some(OneOf::Left(true)),
                    }),
                    file_operations: None,
                }),
                experimental: Some(json!({"copydesk": ours})),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "copydesk".to_owned(),
                version: Some(version.to_owned()),
            }),
        }
    }
}

/// Adds what the LSP types at hand do not know to the answer to `initialize`.
pub fn add_notebook_sync(result: &mut Value) {
    if let Some(capabilities) = result.get_mut("capabilities").and_then(Value::as_object_mut) {
        let sync = json!({"notebookSelector": [{"notebook": "*"}], "save": true});
        capabilities.insert("notebookDocumentSync".to_owned(), sync);
    }
}

fn session_capabilities() -> acp::SessionCapabilities {
    acp::SessionCapabilities::new()
        .delete(acp::SessionDeleteCapabilities::new())
        .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
}

fn code_actions() -> CodeActionProviderCapability {
    CodeActionProviderCapability::Options(CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
        ..CodeActionOptions::default()
    })
}

fn document_sync() -> TextDocumentSyncCapability {
    TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
            include_text: Some(false),
        })),
        ..TextDocumentSyncOptions::default()
    })
}

/// The encoding to name in the answer, and the unit to count in. A client that offers nothing
/// means utf-16, and some refuse an encoding they did not offer.
fn position_encoding(capabilities: &ClientCapabilities) -> (Option<PositionEncodingKind>, Unit) {
    let offered = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_deref());
    let Some(offered) = offered.filter(|offered| !offered.is_empty()) else {
        return (None, Unit::Utf16);
    };
    let ours = [
        (PositionEncodingKind::UTF8, Unit::Utf8),
        (PositionEncodingKind::UTF16, Unit::Utf16),
        (PositionEncodingKind::UTF32, Unit::Utf32),
    ];
    let chosen = ours.into_iter().find(|(kind, _)| offered.contains(kind));
    chosen.map_or((None, Unit::Utf16), |(kind, unit)| (Some(kind), unit))
}

fn markers(capabilities: &ClientCapabilities) -> Option<ClientMarkers> {
    let ours = capabilities.experimental.as_ref()?.get("copydesk")?;
    match serde_json::from_value(ours.clone()) {
        Ok(markers) => Some(markers),
        Err(error) => {
            tracing::warn!(%error, "capabilities.experimental.copydesk is malformed and ignored");
            None
        }
    }
}

fn editor_kind(params: &InitializeParams) -> EditorKind {
    match params.client_info.as_ref().map(|info| info.name.to_ascii_lowercase()) {
        Some(name) if name.contains("vim") => EditorKind::Neovim,
        Some(_) | None => EditorKind::Other,
    }
}

fn line_breaks(editor: EditorKind) -> LineBreaks {
    match editor {
        EditorKind::Neovim => LineBreaks::Lf,
        EditorKind::Other => LineBreaks::Lsp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(params: Value) -> Client {
        Client::new(&serde_json::from_value(params).unwrap())
    }

    #[track_caller]
    fn check_encoding(offered: Value, unit: Unit, answered: Value) {
        let client = client(json!({"capabilities": {"general": {"positionEncodings": offered}}}));
        assert_eq!(client.counting.unit, unit);
        let result = serde_json::to_value(client.initialize_result()).unwrap();
        assert_eq!(result["capabilities"]["positionEncoding"], answered);
    }

    #[test]
    fn position_encodings() {
        check_encoding(json!(["utf-16", "utf-8"]), Unit::Utf8, json!("utf-8"));
        check_encoding(json!(["utf-32", "utf-16"]), Unit::Utf16, json!("utf-16"));
        check_encoding(json!(["utf-32"]), Unit::Utf32, json!("utf-32"));
        check_encoding(json!(["utf-7"]), Unit::Utf16, Value::Null);
        check_encoding(json!([]), Unit::Utf16, Value::Null);
        check_encoding(Value::Null, Unit::Utf16, Value::Null);
    }

    #[test]
    fn a_client_that_says_nothing_can_nothing() {
        let client = client(json!({"capabilities": {}}));
        assert!(client.markers.is_none() && !client.applies_edits && !client.shows_messages);
        assert!(!client.can_review() && !client.edits_notebooks());
        assert_eq!(client.counting.breaks, LineBreaks::Lsp);
        let result = serde_json::to_value(client.initialize_result()).unwrap();
        let commands = &result["capabilities"]["executeCommandProvider"]["commands"];
        assert!(commands.as_array().is_some_and(|c| c.contains(&json!("copydesk.prompt"))));
    }

    #[test]
    fn a_frontend_of_ours_brings_its_own_commands() {
        let client = client(json!({
            "capabilities": {"experimental": {"copydesk": {"protocolVersion": 1, "save": {}, "future": 1}}},
            "clientInfo": {"name": "Neovim"},
        }));
        assert!(client.saves() && !client.answers_permissions());
        assert_eq!(client.counting.breaks, LineBreaks::Lf);
        let mut result = serde_json::to_value(client.initialize_result()).unwrap();
        let commands = &result["capabilities"]["executeCommandProvider"]["commands"];
        assert_eq!(*commands, json!(bare::REVIEW_COMMANDS), "it draws no hunks, so lenses do");
        assert_eq!(result["capabilities"]["experimental"]["copydesk"]["protocolVersion"], 1);
        add_notebook_sync(&mut result);
        assert_eq!(result["capabilities"]["notebookDocumentSync"]["save"], true);
    }

    #[test]
    fn a_frontend_that_draws_hunks_needs_no_commands() {
        let client = client(json!({
            "capabilities": {"experimental": {"copydesk": {"protocolVersion": 1, "review": {}}}},
        }));
        let result = serde_json::to_value(client.initialize_result()).unwrap();
        for provider in ["executeCommandProvider", "codeLensProvider", "codeActionProvider"] {
            assert!(result["capabilities"].get(provider).is_none(), "{provider}");
        }
    }

    #[test]
    fn malformed_markers_are_none() {
        let client = client(json!({"capabilities": {"experimental": {"copydesk": 7}}}));
        assert!(client.markers.is_none());
    }
}
