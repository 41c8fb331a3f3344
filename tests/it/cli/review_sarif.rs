//! `roster review` and `roster validate` with `-o sarif`.

use serde_json::{Value, json};

use super::{
    review::{SHOP, STRICT, file, json},
    roster, roster_with,
};

/// What SARIF 2.1.0 (sections 3.13 to 3.28) and GitHub's code scanning demand of the properties that are used.
fn sarif() -> jsonschema::Validator {
    let text = json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string", "minLength": 1 } } });
    let level = json!({ "enum": ["none", "note", "warning", "error"] });
    let rule = json!({
        "type": "object",
        "required": ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
        "properties": {
            "id": { "type": "string", "minLength": 1, "maxLength": 255 },
            "shortDescription": text, "fullDescription": text, "help": text,
            "defaultConfiguration": { "type": "object", "required": ["level"], "properties": { "level": level } },
        },
        "additionalProperties": false,
    });
    let place = json!({
        "type": "object",
        "required": ["artifactLocation", "region"],
        "properties": {
            "artifactLocation": { "type": "object", "required": ["uri"], "properties": { "uri": {
                "type": "string", "pattern": "^(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$" } } },
            "region": { "type": "object", "required": ["startLine"], "properties": { "startLine": { "type": "integer", "minimum": 1 } } },
        },
    });
    let result = json!({
        "type": "object",
        "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
        "properties": {
            "ruleId": { "type": "string" }, "ruleIndex": { "type": "integer", "minimum": 0 }, "level": level, "message": text,
            "locations": { "type": "array", "minItems": 1, "items": { "type": "object", "required": ["physicalLocation"],
                "properties": { "physicalLocation": place } } },
            "partialFingerprints": { "type": "object", "minProperties": 1, "additionalProperties": { "type": "string" } },
        },
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "required": ["$schema", "version", "runs"],
        "properties": {
            "version": { "const": "2.1.0" },
            "runs": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["tool", "invocations", "results"],
                "properties": {
                    "tool": { "type": "object", "required": ["driver"], "properties": { "driver": {
                        "type": "object", "required": ["name", "rules"],
                        "properties": { "name": { "type": "string" }, "rules": { "type": "array", "uniqueItems": true, "items": rule } },
                    } } },
                    "invocations": { "type": "array", "items": { "type": "object", "required": ["executionSuccessful"],
                        "properties": { "executionSuccessful": { "type": "boolean" } }, "additionalProperties": false } },
                    "results": { "type": "array", "items": result },
                },
            } },
        },
        "additionalProperties": { "type": "string" },
    });
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn code_scanning_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let shop = file(folder.path(), "shop ä.yaml", SHOP);
    let policies = file(folder.path(), "policies.yaml", &STRICT.replace("enforce", "5"));
    for (args, want) in [
        (
            &["review", "-f", &shop][..],
            json!([
                ["tolerate-unready-annotation", "warning", 8],
                ["external-ip", "warning", 17],
                ["external-ip", "warning", 18],
                ["reserved-label", "error", 25],
            ]),
        ),
        (
            &["validate", "-f", &shop, "-f", &policies],
            json!([
                ["tolerate-unready-annotation", "warning", 8],
                ["external-ip", "warning", 17],
                ["external-ip", "warning", 18],
                ["reserved-label", "error", 25],
                // A container without an image.
                ["missing-field", "error", 31],
                ["invalid-object", "error", 5],
            ]),
        ),
    ] {
        let ran = roster(&[args, &["-o", "sarif"]].concat());
        let log = json(&ran);
        sarif().validate(&log).unwrap_or_else(|e| panic!("{e}: {} {}", e.instance_path(), ran.out));
        let run = &log["runs"][0];
        let results = run["results"].as_array().unwrap();
        let told =
            |r: &Value| json!([r["ruleId"], r["level"], r["locations"][0]["physicalLocation"]["region"]["startLine"]]);
        assert_eq!(results.iter().map(told).collect::<Value>(), want);
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        }
        let uri = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("file:///") && uri.ends_with("/shop%20%C3%A4.yaml"), "{uri}");
        let prints: std::collections::BTreeSet<String> =
            results.iter().map(|r| r["partialFingerprints"].to_string()).collect();
        assert_eq!(prints.len(), results.len());
    }
}

/// What uploads a log has one to upload.
#[test]
fn a_file_that_cannot_be_read_leaves_a_document() {
    for command in ["review", "validate"] {
        let ran = roster_with(&[command, "-f", "-", "-o", "sarif"], &[], "kind: [");
        assert_eq!(ran.code, 2, "{command}");
        let log = json(&ran);
        sarif().validate(&log).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["invocations"][0]["executionSuccessful"], json!(false));
        // It is a finding of `roster lint`; `roster review` has answers for objects only.
        let findings = usize::from(command == "validate");
        let message = if findings == 0 { &ran.err } else { &ran.out };
        assert!(message.contains("unclosed bracket"), "{command}: {message}");
        assert_eq!(run["results"].as_array().map(Vec::len), Some(findings), "{command}");
        let ran = roster_with(&[command, "-f", "-", "-o", "json"], &[], "kind: [");
        assert_eq!((ran.code, json(&ran)["items"].as_array().map(Vec::len)), (2, Some(findings)), "{command}");
    }
}
