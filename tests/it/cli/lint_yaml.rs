//! `roster lint` of YAML that cannot be read, or that people read in another way than kubectl.

use serde_json::{Value, json};

use super::{
    lint::{DEPLOYMENT, directory, findings, lint, service},
    roster,
};

#[test]
fn a_file_that_cannot_be_read_is_a_finding_in_every_format() {
    let good = service("web", "port: 99999");
    let folder = directory(&[
        ("a.yaml", "apiVersion: v1\nkind: [\n"),
        ("b.yaml", &format!("{good}---\napiVersion: v1\nfoo: [\n")),
        ("c.json", "{\"apiVersion\": \"v1\",\n 5}"),
        ("web.yaml", DEPLOYMENT),
    ]);
    let path = folder.path().to_str().unwrap();
    let ran = lint(folder.path(), &[]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let want = [
        "a.yaml:2 error invalid-object",
        "b.yaml:12 error invalid-object",
        "c.json:2 error invalid-object",
        "b.yaml:9 error invalid-port",
    ];
    assert_eq!((findings(&ran, folder.path()), ran.code, ran.err.as_str()), (want.map(String::from).into(), 2, ""));
    assert_eq!(document["summary"], json!({ "documents": 2, "errors": 4, "warnings": 0, "infos": 1 }));
    for (format, all) in [
        ("table", &["a.yaml:2:", "b.yaml:12:", "c.json:2:", "2 documents: 4 errors"][..]),
        (
            "github",
            &[
                "::error file={path}/a.yaml,line=2,title=invalid-object::not YAML: ",
                "::error file={path}/b.yaml,line=12,",
                "::error file={path}/b.yaml,line=9,title=invalid-port::Service web: ",
            ],
        ),
        (
            "junit",
            &[
                "<testsuites name=\"roster lint\" tests=\"5\" failures=\"4\">",
                "<testsuite name=\"{path}/b.yaml\" tests=\"2\" failures=\"2\">",
                "name=\"line 12\" file=\"{path}/b.yaml\" line=\"12\">",
            ],
        ),
        ("sarif", &["\"executionSuccessful\": false", "a.yaml\"", "\"startLine\": 12", "\"text\": \"not YAML: "]),
    ] {
        let ran = roster(&["lint", path, "-o", format]);
        for want in all {
            let want = want.replace("{path}", path);
            assert!(ran.code == 2 && ran.out.contains(&want), "{format}: {want}: {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn placeholders_are_not_mistakes() {
    let folder = directory(&[
        ("flow.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: ${N}}\n"),
        ("block.yaml", &DEPLOYMENT.replace("{name: web}", "{name: \"${APP:-web}\"}")),
        ("image.yaml", &DEPLOYMENT.replace("image: web", "image: \"web:${TAG}\"")),
    ]);
    let ran = lint(folder.path(), &[]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let want = json!({ "documents": 1, "errors": 0, "warnings": 0, "skipped": { "template": 2 } });
    assert_eq!((&document["summary"], ran.code), (&want, 0), "{}{}", ran.out, ran.err);
    let broken = directory(&[("a.yaml", "apiVersion: v1\nkind: ${KIND}\nmetadata: [\n")]);
    assert_eq!(findings(&lint(broken.path(), &[]), broken.path()), ["a.yaml:3 error invalid-object"]);
}

/// kubectl sends the last of equal keys. The rule is the same for every kind, and in every part of an object.
#[test]
fn a_repeated_key_is_reported_where_it_is_written_again() {
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\n";
    let data = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  a: b\n";
    let web = service("web", "port: 80");
    for (name, text, want) in [
        ("a Service", web.replace("kind: Service\n", "kind: Service\nkind: Service\n"), "3 warning duplicate-key"),
        ("a Deployment", DEPLOYMENT.replace("spec:\n", "metadata: {name: web}\nspec:\n"), "4 warning duplicate-key"),
        ("an image", DEPLOYMENT.replace("image: web", "image: a, image: web"), "8 warning duplicate-key"),
        (
            "a label",
            DEPLOYMENT.replace("matchLabels: {app: web", "matchLabels: {app: wbe, app: web"),
            "5 warning duplicate-key",
        ),
        ("a kind that is not checked", format!("{policy}metadata:\n  name: other\n"), "4 warning duplicate-key"),
        ("data", format!("{data}  a: c\n"), "7 warning duplicate-key"),
        ("another document", format!("{data}{policy}"), "7 error missing-separator"),
        ("two other documents", format!("{data}{policy}{web}"), "7 error missing-separator"),
        // The line continues the value before it.
        ("an indented separator", format!("{data}   ---\n{policy}"), "7 error missing-separator"),
        ("a separator without a line end", format!("{data}---{policy}"), "7 error missing-separator"),
        ("an indented separator and a comment", format!("{data}   ---\n# web\n{policy}"), "7 error missing-separator"),
    ] {
        let folder = directory(&[("a.yaml", &text)]);
        let ran = lint(folder.path(), &[]);
        let found = findings(&ran, folder.path());
        let of_keys: Vec<&String> =
            found.iter().filter(|f| f.ends_with("duplicate-key") || f.ends_with("missing-separator")).collect();
        let has_others = found.iter().any(|f| f.contains(" error ") && !f.ends_with("missing-separator"));
        assert_eq!((of_keys, has_others), (vec![&format!("a.yaml:{want}")], false), "{name}: {}", ran.out);
    }
}

/// Elsewhere than in a document of block style, `---` cannot be written. On one line, each key has its column.
#[test]
fn repeated_keys_of_lists_and_of_json_are_no_other_document() {
    let item = "{apiVersion: v1, kind: Service, metadata: {name: q},\n  metadata: {name: r},\n  kind: Service, spec: {ports: [{port: 80}]}}";
    let json = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"kind":"Service","metadata":{"name":"b"},"spec":{"ports":[{"port":80}]}}"#;
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {item}\n");
    let huge = service("web", "port: 80").replace("name: web\n", "name: api\n  name: web\n");
    let huge = format!("{huge}# {}\n", "x".repeat(3 << 20))
        .replace("spec:\n", &format!("status: {{x: {}}}\nspec:\n", "y".repeat(3 << 20)));
    for (file, text, want) in [
        ("a.yaml", list.as_str(), &["5", "6"][..]),
        ("a.yaml", item, &["2", "3"]),
        ("a.json", json, &["1:61", "1:78"]),
        ("a.yaml", json, &["1:61", "1:78"]),
        ("a.yaml", huge.as_str(), &["5"]),
    ] {
        let folder = directory(&[(file, text)]);
        let ran = lint(folder.path(), &[]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let found = document["items"].as_array().unwrap().iter();
        let found =
            found.filter(|f| ["duplicate-key", "missing-separator", "invalid-object"].iter().any(|c| f["code"] == *c));
        let place = |f: &Value| match &f["column"] {
            Value::Null => f["line"].to_string(),
            column => format!("{}:{column}", f["line"]),
        };
        let places: Vec<String> = found.map(|f| format!("{} {}", place(f), f["code"].as_str().unwrap())).collect();
        let want: Vec<String> = want.iter().map(|place| format!("{place} duplicate-key")).collect();
        assert_eq!(places, want, "{file}: {}", &ran.out[..ran.out.len().min(2000)]);
    }
}

/// `lint` and `explain` take the same one of two, and report it at the same line.
#[test]
fn all_commands_take_the_last_of_equal_keys() {
    let web = service("web", "port: 80");
    let renamed = |names: &str| web.replace("  name: web\n", names);
    for (text, name, line, message) in [
        (
            format!("{DEPLOYMENT}---\n{}", renamed("  name: api\n  name: web\n")),
            "web",
            14,
            "the key name is repeated; the last one counts",
        ),
        (format!("{web}{}", renamed("  name: other\n")), "other", 10, "two documents without --- between them?"),
    ] {
        let folder = directory(&[("a.yaml", &text)]);
        let file = folder.path().join("a.yaml");
        let file = file.to_str().unwrap();
        for command in ["lint", "explain"] {
            let ran = roster(&[command, file, "-o", "json"]);
            assert!(ran.out.contains(message) && ran.out.contains(name), "{command}: {}", ran.out);
            let place = if command == "lint" { format!("\"line\": {line},") } else { format!("a.yaml:{line}:") };
            assert!(ran.out.contains(&place), "{command} {place}: {}", ran.out);
        }
    }
}

#[test]
fn yaml_means_what_it_means_to_kubectl() {
    let web = service("web", "port: 80");
    for (name, text, want) in [
        ("a boolean as a label", web.replace("app: web", "app: on"), &["a.yaml:7 error wrong-type"][..]),
        ("a number as a label", web.replace("app: web", "app: 0x1F"), &["a.yaml:7 error wrong-type"]),
        ("a quoted label", web.replace("app: web", "app: 'web'"), &[]),
        ("a boolean", web.replace("spec:\n", "spec:\n  publishNotReadyAddresses: on\n"), &[]),
        ("a port in hexadecimal digits", web.replace("port: 80", "port: 0x50"), &[]),
        ("a port in octal digits", web.replace("port: 80", "port: 0120"), &[]),
        (
            "a merge key",
            web.replace("  selector:", "  <<: {selector: {app: web}, x: 1}\n  type: ClusterIP\n  selector:"),
            &["a.yaml:6 error unknown-field"],
        ),
        (
            "a name that is repeated",
            web.replace("name: web\n", "name: api\n  name: web\n"),
            &["a.yaml:5 warning duplicate-key"],
        ),
        (
            "ports that are repeated",
            web.replace("port: 80\n", "port: 81\n    port: 80\n"),
            &["a.yaml:10 warning duplicate-key"],
        ),
    ] {
        let folder = directory(&[("a.yaml", &text), ("web.yaml", DEPLOYMENT)]);
        let ran = lint(folder.path(), &[]);
        assert_eq!(findings(&ran, folder.path()), want, "{name}: {}", ran.out);
    }
}
