use std::path::Path;

use protocol::acp;

use super::*;

#[track_caller]
fn check_refused<P: DeserializeOwned>(params: Value, message: &str) {
    let Err(error) = parse::<P>(params) else { panic!("it was accepted") };
    assert_eq!((error.code.code(), error.message.as_ref()), (-32602, message));
    assert_eq!(error.data, Some(json!({"kind": "invalid"})));
}

#[test]
fn malformed_parameters_are_named() {
    check_refused::<ToolCallParams>(
        json!({"name": 7}),
        "name: invalid type: integer `7`, expected a string",
    );
    check_refused::<ToolCallParams>(json!({}), "missing field `name`");
    check_refused::<acp::NewSessionRequest>(
        json!({"cwd": 5}),
        "cwd: invalid type: integer `5`, expected path string",
    );
}

#[test]
fn folders_come_from_the_list_or_the_root() {
    let folders = |params: Value| {
        opened_folders(&serde_json::from_value::<InitializeParams>(params).unwrap())
    };
    let one = json!({"capabilities": {}, "rootUri": "file:///a%20b"});
    assert_eq!(folders(one), [Path::new("/a b")]);
    let listed = json!([{"uri": "file:///x", "name": "x"}, {"uri": "untitled:y", "name": "y"}]);
    let both = json!({"capabilities": {}, "rootUri": "file:///a", "workspaceFolders": listed});
    assert_eq!(folders(both), [Path::new("/x")]);
    assert!(folders(json!({"capabilities": {}})).is_empty());
}

#[test]
fn settings_are_found_under_our_name_or_bare() {
    assert_eq!(our_settings(json!({"copydesk": {"mode": "auto"}})), Some(json!({"mode": "auto"})));
    assert_eq!(our_settings(json!({"mode": "auto"})), Some(json!({"mode": "auto"})));
    assert_eq!(our_settings(Value::Null), None);
    assert_eq!(our_settings(json!({"copydesk": null})), None);
    for nothing in
        [json!({}), json!(5), json!({"gopls": {"gofumpt": true}}), json!({"copydesk": 5})]
    {
        assert_eq!(our_settings(nothing.clone()), None, "{nothing}");
    }
}
