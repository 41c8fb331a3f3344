//! Input as people write it: flow style and repeated keys.

use super::{
    Source,
    tests::{A, B, check, one_thread, outcome},
};

#[test]
fn flow_style_is_yaml() {
    let pod = "kind: Pod, metadata: {name: a, namespace: ns}";
    for (text, objects) in [
        (format!("{{{pod}}}"), vec!["Pod ns/a"]),
        (format!("[{{{pod}}},{B},]"), vec!["Pod ns/a", "Pod n/b"]),
        (format!("{A}\n---\n{B}\n"), vec!["Pod n/a", "Pod n/b"]),
        (format!("{A}\n# the end\n"), vec!["Pod n/a"]),
        (format!("{A}\n{B}\n"), vec!["Pod n/a", "Pod n/b"]),
        (format!("[{A},]"), vec!["Pod n/a"]),
        ("{\n# one\n\"kind\": Pod, # two\n\"metadata\": {\"name\": a, \"namespace\": ns}}".into(), vec!["Pod ns/a"]),
        // The rest of a text decides, however far it is.
        (format!("[{{ {pod} }},\n{}{B},]", " ".repeat(200_000)), vec!["Pod ns/a", "Pod n/b"]),
    ] {
        check(&text, &objects, &[], None);
    }
    // The first fault is far from the start: the name says that the whole text may be YAML.
    let long = format!("[{A},{}{B},]", " ".repeat(200_000));
    let read = |name: &str| outcome(long.as_bytes(), &Source { name, ..one_thread() });
    let got = ["in.yaml", "in.json"].map(|name| (read(name).0.len(), read(name).2));
    assert_eq!(got, [(2, None), (2, Some("in.json:1:200148: not JSON: expected a value".to_owned()))]);
    for (name, error) in [
        ("in", "in:1:2: not JSON: expected a key in quotes"),
        ("in.json", "in.json:1:2: not JSON: expected a key in quotes"),
        ("in.yaml", "in.yaml:1:1: not YAML: mismatched bracket '{' closed by ']'"),
    ] {
        let got = outcome(&b"{kind: Pod]"[..], &Source { name, ..one_thread() });
        assert_eq!(got.2.as_deref(), Some(error), "{name}");
    }
}

#[test]
fn of_repeated_keys_the_last_counts_for_every_kind() {
    check(
        "kind: Deployment\nkind: Pod\nmetadata: {name: a, labels: {x: y, x: z}}\n",
        &["Pod a"],
        &[
            "duplicate-key /kind in:2:1: the key kind is repeated; the last one counts",
            "duplicate-key /metadata/labels/x in:3:43: the key x is repeated; the last one counts",
        ],
        None,
    );
    check(
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n  a: c\n",
        &[],
        &[
            "duplicate-key /data/a in:5:3: the key a is repeated; the last one counts",
            "ignored-object - 1 object of kind ConfigMap is not read",
        ],
        None,
    );
    check(
        "kind: Deployment\nmetadata: {name: a}\nspec: {replicas: many}\nkind: Pod\nmetadata:\n  name: b\n",
        &["Pod b"],
        &[
            "missing-separator - in:4:1: two documents without --- between them? kind and metadata are repeated from here on; the \
           last ones count",
        ],
        None,
    );
}
