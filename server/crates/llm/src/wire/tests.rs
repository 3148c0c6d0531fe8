use serde_json::json;

use super::*;

#[test]
fn ids_names_and_arguments_are_made_fit() {
    assert_eq!(wire_id("toolu_01-a"), "toolu_01-a");
    assert_eq!(wire_id("a b"), wire_id("a b"));
    assert_ne!(wire_id("a b"), wire_id("a.b"));
    for odd in ["", "a b", "é", &"x".repeat(65)] {
        for fit in [wire_id(odd), wire_name(odd)] {
            assert!(is_plain(&fit, 64), "{odd:?} became {fit:?}");
        }
        assert!(wire_id(odd).len() <= 40);
    }
    assert_eq!(wire_name("mcp__server__tool"), "mcp__server__tool");
    assert_eq!(wire_arguments(" "), json!({}));
    assert_eq!(wire_arguments("{\"a\":1}"), json!({ "a": 1 }));
    for odd in ["[1]", "{", "\"text\"", "3"] {
        assert_eq!(wire_arguments(odd), json!({ "invalid_arguments": odd }));
    }
}

#[track_caller]
fn check(body: Value, code: u16, kind: &str, message: &str) {
    let expected = Fault::Refused { code, kind: kind.into(), message: message.into() };
    assert_eq!(refusal(&body), Some(expected), "{body}");
}

#[test]
fn errors_come_in_many_shapes() {
    check(
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } }),
        529,
        "overloaded_error",
        "busy",
    );
    check(
        json!({ "error": { "message": "no", "type": "invalid_request_error", "code": "bad" } }),
        400,
        "bad",
        "no",
    );
    check(
        json!([{ "error": { "code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED" } }]),
        429,
        "RESOURCE_EXHAUSTED",
        "slow",
    );
    check(json!({ "error": "out of memory" }), 200, "", "out of memory");
    check(json!({ "object": "error", "message": "no", "code": 404 }), 404, "", "no");
    check(json!({ "error": { "code": "503", "message": "busy" } }), 503, "", "busy");
    for fine in [
        json!({ "error": null }),
        json!({ "choices": [] }),
        json!([]),
        json!(null),
        json!("error"),
        json!(1),
    ] {
        assert_eq!(refusal(&fine), None, "{fine}");
    }
}
