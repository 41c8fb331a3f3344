//! `roster mcp`: the protocol, as a client speaks it.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::roster_with;
use crate::program;

/// The answers to some lines.
pub(super) fn answers(input: &str) -> Vec<Value> {
    let ran = roster_with(&["mcp"], &[], input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    let mut request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
    if !params.is_null() {
        request["params"] = params;
    }
    format!("{request}\n")
}

fn initialize(version: &str) -> String {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    request(0, "initialize", params) + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
}

/// The text of the answer of a tool, and whether it is an error.
pub(super) fn call(tool: &str, arguments: &Value) -> (String, bool) {
    let input = initialize("2025-11-25") + &request(1, "tools/call", json!({ "name": tool, "arguments": arguments }));
    let answers = answers(&input);
    let result = &answers[1]["result"];
    let [content] = result["content"].as_array().unwrap_or_else(|| panic!("{answers:?}")).as_slice() else {
        panic!("{result}");
    };
    assert_eq!(content["type"], "text");
    (content["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
}

#[test]
fn a_version_is_agreed() {
    for (asked, want) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // It has no handshake.
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let answers =
            answers(&(initialize(asked) + &request(1, "ping", Value::Null) + &request(2, "tools/list", json!({}))));
        assert_eq!(answers.len(), 3, "a notification has no answer");
        let initialized = &answers[0]["result"];
        assert_eq!(
            (&initialized["protocolVersion"], &initialized["capabilities"]),
            (&json!(want), &json!({ "tools": {} }))
        );
        assert_eq!(initialized["serverInfo"]["name"], "roster");
        assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        let names: Vec<&Value> =
            answers[2]["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["explain", "plan_after", "review", "lint", "explain_code"]);
        assert!(answers[2]["result"].get("resultType").is_none());
    }
}

#[test]
fn a_request_may_name_its_version_instead() {
    let meta = |version: &str| {
        json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {} } })
    };
    let call = |version: &str| {
        let mut params = meta(version);
        params["name"] = json!("explain_code");
        params["arguments"] = json!({ "code": "not-ready" });
        params
    };
    let answers = answers(
        &[
            request(1, "server/discover", meta("2026-07-28")),
            request(2, "tools/list", meta("2026-07-28")),
            request(3, "tools/call", call("2026-07-28")),
            request(4, "tools/call", call("1900-01-01")),
            request(5, "ping", meta("2026-07-28")),
            request(6, "tools/list", json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } })),
            request(7, "tools/list", json!({})),
            request(8, "ping", Value::Null),
            request(9, "server/discover", json!({})),
            request(10, "ping", json!({ "_meta": null })),
        ]
        .concat(),
    );
    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(answers[0]["result"]["supportedVersions"], versions);
    for answer in &answers[..3] {
        let result = &answer["result"];
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "roster");
        assert_eq!(result["cacheScope"].is_null(), answer["id"] == 3, "{answer}");
    }
    assert!(answers[2]["result"]["content"][0]["text"].as_str().unwrap().starts_with("not-ready: reason"));
    assert_eq!(answers[3]["error"]["code"], -32022);
    assert_eq!(answers[3]["error"]["data"], json!({ "supported": versions, "requested": "1900-01-01" }));
    let codes: Vec<i64> = answers[4..].iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32601, -32602, -32602, -32601], "{answers:#?}");
    for (place, id) in [(7, 8), (9, 10)] {
        assert_eq!(answers[place], json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
}

#[test]
fn a_batch_is_answered_in_the_version_that_has_batches() {
    let batch = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"x\"},7]\n";
    let answered = answers(&(initialize("2025-03-26") + batch + "[]\n[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n"));
    assert_eq!(answered.len(), 3);
    assert_eq!(answered[1][0], json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert_eq!((answered[1][1]["error"]["code"].as_i64(), answered[1].as_array().unwrap().len()), (Some(-32600), 2));
    assert_eq!(answered[2]["error"]["message"], "a batch without messages");
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let refused = answers(&(initialize(version) + batch));
        assert_eq!(refused[1]["error"]["code"], -32600);
        assert!(refused[1]["error"]["message"].as_str().unwrap().contains("has no batches"), "{}", refused[1]);
    }
}

#[test]
fn what_is_no_request_gets_an_error_and_the_next_one_its_answer() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let ping = r#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#;
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"explain","arguments":{arguments}}}}}"#
        )
    };
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(17 << 20));
    for (name, line, code) in [
        ("not JSON", b"{\"jsonrpc\"".to_vec(), json!(-32700)),
        ("two messages on a line", format!("{ping}{ping}").into_bytes(), json!(-32700)),
        ("not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(), json!(-32700)),
        ("too long", long.into_bytes(), json!(-32600)),
        ("an unknown method", request(1, "resources/list", json!({})).into_bytes(), json!(-32601)),
        (
            "an unknown method of the other side",
            request(1, "sampling/createMessage", json!({})).into_bytes(),
            json!(-32601),
        ),
        ("an unknown tool", request(1, "tools/call", json!({ "name": "apply" })).into_bytes(), json!(-32602)),
        ("no name", request(1, "tools/call", json!({})).into_bytes(), json!(-32602)),
        ("params that are a list", request(1, "tools/call", json!([])).into_bytes(), json!(-32602)),
        ("an id that is null", request(Value::Null, "ping", json!({})).into_bytes(), json!(-32600)),
        ("an id that is a list", request(json!([1]), "ping", json!({})).into_bytes(), json!(-32600)),
        ("a deep list", deep(1_000_000).into_bytes(), json!(-32600)),
        ("a deep parameter", call(&deep(1_000_000)).into_bytes(), Value::Null),
        ("deep objects", call(&format!(r#"{{"objects":{}}}"#, deep(1_000_000))).into_bytes(), Value::Null),
        ("a deep text", call(&format!(r#"{{"objects":{}}}"#, json!(deep(100_000)))).into_bytes(), Value::Null),
    ] {
        let mut input = initialize("2025-11-25").into_bytes();
        input.extend(line);
        input.push(b'\n');
        input.extend(ping.as_bytes());
        let (out, code_of_exit) = run(&input);
        let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((answers.len(), code_of_exit), (3, Some(0)), "{name}: {out:.300}");
        assert_eq!(answers[1]["error"]["code"], code, "{name}: {}", answers[1]);
        if code.is_null() {
            let text = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
            assert!(
                ["arguments: ", "objects: ", "cause: invalid-object "].iter().any(|start| text.starts_with(start)),
                "{text}"
            );
        }
        assert_eq!(answers[2], json!({ "jsonrpc": "2.0", "id": "after", "result": {} }), "{name}");
    }
}

/// What the program writes for these bytes, and its exit code.
fn run(input: &[u8]) -> (String, Option<i32>) {
    let output = assert_cmd::Command::new(program())
        .arg("mcp")
        .write_stdin(input)
        .timeout(std::time::Duration::from_mins(1))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let objects = std::fs::read_to_string(fault("wrong-selector.yaml")).unwrap();
    let calls: String = (1..=100)
        .map(|id| match id % 4 {
            0 => request(id, "tools/call", json!({ "name": "explain", "arguments": { "objects": objects } })),
            1 => request(id, "ping", Value::Null),
            2 => request(id, "nothing", Value::Null),
            _ => r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#.to_owned() + "\n",
        })
        .collect();
    let ids: Vec<u64> =
        answers(&(initialize("2025-06-18") + &calls)).iter().map(|a| a["id"].as_u64().unwrap()).collect();
    let want: Vec<u64> = (0..=100).filter(|id| id % 4 != 3).collect();
    assert_eq!(ids, want);
}

#[test]
#[cfg(unix)]
fn a_client_that_does_not_read_ends_the_session() {
    let mut child = Command::new(program())
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    // The program may be gone before all of it is written.
    let _ = input.write_all(request(1, "ping", Value::Null).repeat(10).as_bytes());
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

/// A file of `tests/data/mcp`.
pub(super) fn fault(name: &str) -> String {
    format!("{}/tests/data/mcp/{name}", env!("CARGO_MANIFEST_DIR"))
}
