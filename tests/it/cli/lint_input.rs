//! `roster lint` of files that are broken, in another encoding, devices or pipes.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    lint::{DEPLOYMENT, directory, findings, lint, service},
    roster, roster_with,
};

fn summary(out: &str) -> Value {
    let document: Value = serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"));
    document["summary"].clone()
}

/// Where a file comes from does not matter: a directory, or an argument.
#[test]
fn a_broken_document_is_an_error_wherever_it_is() {
    let good = service("web", "port: 80");
    for (name, text, want) in [
        ("before its type", "metadata: {name: a\nspec: [\napiVersion: v1\nkind: Service\n", "a.yaml:2"),
        ("with a broken type", "kind: [\n", "a.yaml:1"),
        ("behind a good one", &format!("{good}---\nkind: b: c\n"), "a.yaml:11"),
        ("before a good one", &format!("kind: b: c\n---\n{good}"), "a.yaml:1"),
        ("beside a template", "a: {{ .Values.a }}\n---\nkind: [\n", "a.yaml:3"),
        ("in JSON", "{\"kind\": 1,\n \"b\" 5}", "a.yaml:2"),
        ("a manifest with comments", "{ // a\n\"apiVersion\": \"v1\", \"kind\": \"Service\"}", "a.yaml:1"),
        ("another encoding", "kind: \u{0}b\n", "a.yaml:1"),
    ] {
        let folder = directory(&[("a.yaml", text), ("web.yaml", DEPLOYMENT)]);
        let want = format!("{want} error invalid-object");
        for path in [folder.path().to_owned(), folder.path().join("a.yaml")] {
            let ran = lint(&path, &[]);
            assert_eq!(
                (findings(&ran, folder.path()), ran.code),
                (vec![want.clone()], 2),
                "{name}: {}",
                path.display()
            );
        }
        let ran = roster(&["explain", folder.path().to_str().unwrap()]);
        assert!(ran.code == 2 && ran.err.contains("a.yaml:"), "{name}: {}{}", ran.out, ran.err);
    }
}

/// A line of dots may stand for what readers know, or be a part of a program in a `ConfigMap`. What is given by name is meant.
#[test]
fn an_excerpt_is_skipped_only_where_it_is_found() {
    let text = "kind: ConfigMap\ndata:\n  a.py: |\n    ...\n  b: \"x\" y\n";
    let folder = directory(&[("a.yaml", text), ("web.yaml", DEPLOYMENT)]);
    let by_name = lint(&folder.path().join("a.yaml"), &[]);
    assert_eq!(
        (findings(&by_name, folder.path()), by_name.code),
        (vec!["a.yaml:5 error invalid-object".to_owned()], 2)
    );
    let found = lint(folder.path(), &[]);
    assert_eq!((findings(&found, folder.path()), found.code), (Vec::new(), 0));
}

#[test]
fn what_is_not_meant_for_kubernetes_is_skipped_and_counted() {
    let good = service("web", "port: 80");
    let helm = format!("{{{{- if .Values.web }}}}\na: 1\n---\n{good}---\na: {{{{ x }}}}\n{{{{- end }}}}\n");
    for (name, file, text, documents, skipped) in [
        ("a template with a good document", "a.yaml", helm.as_str(), 2, json!({ "template": 2 })),
        (
            "a template",
            "a.yaml",
            "{{- range .Values.all }}\n---\na: {{ . }}\n{{- end }}\n",
            1,
            json!({ "template": 1 }),
        ),
        ("a template without documents", "a.yaml", "{{ include \"web\" . }}\n", 1, json!({ "template": 1 })),
        ("a template of Jinja", "a.yaml", "{% if web %}\na: 1\n{% endif %}\n", 1, json!({ "template": 1 })),
        ("a template of JSON", "a.json", "{\"a\": {{ .Values.a }}}", 1, json!({ "template": 1 })),
        (
            "a template behind JSON",
            "a.json",
            &format!("{}\n{{\"a\": {{{{ x }}}}}}", json!({"a": 1})),
            1,
            json!({ "not-manifest": 1, "template": 1 }),
        ),
        ("JSON with comments", "tsconfig.json", "// a\n{ \"a\": [1, /* b */], }", 1, json!({ "not-manifest": 1 })),
    ] {
        let folder = directory(&[(file, text), ("web.yaml", DEPLOYMENT)]);
        let ran = lint(folder.path(), &[]);
        let want = json!({ "documents": documents, "errors": 0, "warnings": 0, "skipped": skipped });
        let mut summary = summary(&ran.out);
        summary.as_object_mut().unwrap().remove("infos");
        assert_eq!((summary, ran.code, ran.err.as_str()), (want, 0, ""), "{name}: {}", ran.out);
    }
}

/// As kubectl reads them, which Windows programs write.
#[test]
fn utf_16_is_read() {
    let text = service("web", "port: 99999");
    let encoded = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    for bytes in [encoded(u16::to_le_bytes), encoded(u16::to_be_bytes)] {
        let folder = directory(&[]);
        fs::write(folder.path().join("a.yaml"), bytes).unwrap();
        let ran = lint(folder.path(), &[]);
        assert_eq!((findings(&ran, folder.path()), ran.code), (vec!["a.yaml:9 error invalid-port".to_owned()], 1));
    }
    let folder = directory(&[]);
    fs::write(folder.path().join("a.yaml"), &encoded(u16::to_le_bytes)[2..]).unwrap();
    let ran = lint(folder.path(), &[]);
    assert_eq!((findings(&ran, folder.path()), ran.code), (vec!["a.yaml:1 error invalid-object".to_owned()], 2));
    assert!(ran.out.contains("UTF-16 needs a byte order mark"), "{}", ran.out);
}

fn named_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A shell gives a named pipe for `<(kustomize build)`. In a directory, nobody may ever write to it.
#[test]
fn pipes_are_read_by_name_and_skipped_in_directories() {
    let folder = directory(&[("web.yaml", DEPLOYMENT)]);
    let pipe = folder.path().join("pipe.yaml");
    named_pipe(&pipe);
    let ran = lint(folder.path(), &[]);
    assert_eq!((ran.code, summary(&ran.out)["skipped"].clone()), (0, json!({ "special-file": 1 })));
    let ran = roster(&["review", folder.path().to_str().unwrap()]);
    assert!(ran.err.contains("note: not reviewed: 1 broken link or special file"), "{}{}", ran.out, ran.err);
    let ran = roster(&["convert", "-f", folder.path().to_str().unwrap(), "--to", "EndpointSlice"]);
    let want = format!("{}: not read: broken link or special file", pipe.display());
    assert!(ran.err.contains(&want), "{}{}", ran.out, ran.err);
    let text = service("wbe", "port: 99999");
    for args in [&["lint", "-o", "json"][..], &["explain"], &["review"]] {
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| fs::File::create(&pipe).unwrap().write_all(text.as_bytes()).unwrap());
            roster(&[args, &[pipe.to_str().unwrap()]].concat())
        });
        assert!(ran.code <= 1 && ran.out.contains("web"), "{args:?}: {}{}", ran.out, ran.err);
        let ran = roster_with(&[args, &["/dev/stdin"]].concat(), &[], &text);
        assert!(ran.code <= 1 && ran.out.contains("web"), "{args:?}: {}{}", ran.out, ran.err);
    }
    // A repeated object has no lines: a pipe is not read a second time.
    let twice = format!("{text}---\n{text}");
    let ran = roster_with(&["plan", "/dev/stdin"], &[], &twice);
    assert!(ran.code <= 1 && ran.out.contains("duplicate-object"), "{}{}", ran.out, ran.err);
}

/// Nothing is read without end.
#[test]
fn devices_are_refused_at_once() {
    let (device, empty) = (PathBuf::from("/dev/zero"), "/dev/null");
    for args in [&["lint"][..], &["plan", "-f"], &["explain"], &["review"], &["convert", "--to", "EndpointSlice", "-f"]]
    {
        let start = Instant::now();
        let ran = roster(&[args, &[device.to_str().unwrap()]].concat());
        let text = format!("{}{}", ran.out, ran.err).split_whitespace().collect::<String>();
        assert!(ran.code == 2 && text.contains("ithasaNULcharacter"), "{args:?}: {}{}", ran.out, ran.err);
        assert!(start.elapsed() < Duration::from_secs(20), "{args:?}: {:?}", start.elapsed());
    }
    let ran = roster(&["plan", "-f", empty]);
    assert!(ran.code == 2 && ran.err.contains("is empty"), "{}{}", ran.out, ran.err);
    let link = directory(&[("web.yaml", DEPLOYMENT)]);
    std::os::unix::fs::symlink(&device, link.path().join("zero.yaml")).unwrap();
    let ran = lint(link.path(), &[]);
    assert_eq!((ran.code, summary(&ran.out)["skipped"].clone()), (0, json!({ "special-file": 1 })));
}

/// Warnings hide neither an error nor the exit code, and what is left out is counted.
#[test]
fn many_findings_are_counted_and_errors_come_first() {
    let ports = |number: fn(usize) -> usize, count: usize| {
        let port = |i: usize| format!("  - {{name: p{i}, port: {}, nodePort: {}}}\n", number(i), 1 + i);
        (0..count).map(port).collect::<String>()
    };
    let text = |ports: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  type: NodePort\n  ports:\n{ports}{more}"
        )
    };
    // A node port out of the usual range is a warning.
    let warnings = ports(|i| 1 + i, 150);
    for (text, code, errors, warnings) in [
        (text(&warnings, ""), 0, 0, 101),
        (text(&warnings, "  clusterIP: x\n"), 1, 1, 101),
        (text(&ports(|i| 70_000 + i, 130), ""), 1, 101, 101),
    ] {
        let ran = roster_with(&["lint", "-", "-o", "json"], &[], &text);
        let summary = summary(&ran.out);
        let got = (ran.code, summary["errors"].as_u64(), summary["warnings"].as_u64());
        assert_eq!(got, (code, Some(errors), Some(warnings)), "{text}");
        assert!(ran.out.contains(" more fields of the object"), "{}", ran.out);
    }
    // The decoder has a limit for all objects.
    let pod =
        |i: usize| format!("kind: Pod\napiVersion: v1\nmetadata: {{name: p{i}, namespace: a, namespace: b}}\n---\n");
    let repeated: String = (0..1100).map(pod).collect();
    let ran =
        roster_with(&["plan", "-f", "-"], &[], &format!("{repeated}{{kind: Service, apiVersion: v1, spec: 5}}\n"));
    assert!(ran.code == 2 && ran.out.contains("invalid-object"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = directory(&[("web.yaml", DEPLOYMENT), ("a.yaml", &service("web", "{port: 80, targetPort: http}"))]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (all, file, again) = (path(""), path("a.yaml"), path("./a.yaml"));
    for (args, documents) in
        [([&file, &file], 1), ([&file, &again], 1), ([&file, &all], 2), ([&all, &again], 2), ([&all, &all], 2)]
    {
        let ran = roster(&["lint", args[0], args[1], "-o", "json"]);
        assert_eq!((ran.code, findings(&ran, folder.path())), (0, vec![]), "{args:?}: {}", ran.out);
        assert!(ran.out.contains(&format!("\"documents\": {documents}")), "{args:?}: {}", ran.out);
        let ran = roster(&["explain", args[0], args[1]]);
        assert!(!ran.out.contains("duplicate-object"), "{args:?}: {}", ran.out);
    }
}

#[test]
fn annotations_and_baselines_of_any_size_are_read() {
    let waivers = "no-replicas=x;nope=y;".repeat(10_000);
    let annotated = service("web", "port: 80")
        .replace("  name: web\n", &format!("  name: web\n  annotations:\n    roster.dev/ignore: {waivers}\n"));
    let folder = directory(&[("web.yaml", DEPLOYMENT), ("a.yaml", &annotated)]);
    let start = Instant::now();
    let ran = lint(folder.path(), &[]);
    assert_eq!((findings(&ran, folder.path()).len(), ran.code), (21, 0), "{}", ran.out);
    assert!(ran.out.contains("and 19979 more waivers that cannot hold"), "{}", ran.out);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    let baseline = |version: &str, count: &str| {
        let entry = format!("- {{file: a.yaml, object: Service web, code: x, count: {count}}}\n");
        format!("apiVersion: {version}\nkind: LintBaseline\nfindings:\n{entry}{entry}")
    };
    for (text, want) in [
        (baseline("roster.dev/v1alpha1", "18446744073709551615"), "baseline.yaml:5: the counts add up to more"),
        (
            baseline("roster.dev/v1", "1"),
            "baseline.yaml:1: the apiVersion is \"roster.dev/v1\", not roster.dev/v1alpha1",
        ),
    ] {
        let other = directory(&[("baseline.yaml", &text)]);
        let ran = lint(folder.path(), &["--baseline", other.path().join("baseline.yaml").to_str().unwrap()]);
        assert!(ran.code == 2 && ran.err.contains(want), "{}", ran.err);
    }
}

/// Of many things that another Service has, the first are named, each with its line there.
#[test]
fn what_many_fields_repeat_is_counted() {
    let by = |name: &str, first: usize, step: isize| {
        let port = |i: usize| {
            let number = first.saturating_add_signed(step * isize::try_from(i).unwrap());
            format!("  - {{name: p{i}, port: {}, nodePort: {number}}}\n", 1 + i)
        };
        let ports: String = (0..150).map(port).collect();
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec:\n  type: NodePort\n  ports:\n{ports}")
    };
    let folder = directory(&[("a.yaml", &by("a", 30_000, 1)), ("b.yaml", &by("b", 30_149, -1))]);
    let ran = lint(folder.path(), &[]);
    assert_eq!(summary(&ran.out)["errors"], 101);
    for want in
        ["a.yaml:156 has the node port 30149/TCP already", "and 50 more claims that other Services have already"]
    {
        assert!(ran.out.contains(want), "{want}: {}", ran.out);
    }
}
