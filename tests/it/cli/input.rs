//! Where objects come from, and how unreadable input is reported.

use std::{fs, io::Write};

use super::{data, roster, roster_with};

/// What `roster plan` says of `shop`, in whatever form it comes.
const SUMMARY: &str = "1 of 1 Service: 2 to create, 0 to update, 0 to delete\n";

#[test]
fn files_directories_and_standard_input_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (json, yaml) = (fs::read(data("shop.json")).unwrap(), fs::read_to_string(data("shop.yaml")).unwrap());

    // One object a file, in a tree; other files are ignored.
    fs::create_dir_all(at("tree/pods")).unwrap();
    for (i, document) in yaml.split("---\n").enumerate() {
        let name = if i < 2 { format!("tree/{i}.yaml") } else { format!("tree/pods/{i}.yml") };
        fs::write(at(&name), document).unwrap();
    }
    fs::write(at("tree/README.md"), "no manifest: {").unwrap();
    fs::write(at("tree/.hidden.yaml"), "no manifest: {").unwrap();

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&json).unwrap();
    fs::write(at("shop.json.gz"), gzip.finish().unwrap()).unwrap();

    for files in [vec![data("shop.json")], vec![data("shop.yaml")], vec![at("tree")], vec![at("shop.json.gz")]] {
        let mut args = vec!["plan"];
        args.extend(files.iter().flat_map(|f| ["-f", f]));
        let ran = roster(&args);
        assert!(ran.out.ends_with(SUMMARY) && ran.code == 1, "{files:?}\n{}{}", ran.out, ran.err);
    }
    for input in [std::str::from_utf8(&json).unwrap(), &yaml] {
        let ran = roster_with(&["plan", "-f", "-"], &[], input);
        assert!(ran.out.ends_with(SUMMARY) && ran.code == 1, "{}{}", ran.out, ran.err);
    }
}

#[test]
fn unreadable_input_is_reported_with_its_place() {
    let shop = data("shop.json");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let file = |name: &str, text: &str| {
        fs::write(at(name), text).unwrap();
        at(name)
    };
    let gone = at("gone.json");
    let broken = file("broken.json", "{\"kind\": \"Service\",\n  \"metadata\": {]}}");
    let empty = at("empty");
    fs::create_dir(&empty).unwrap();
    let field = file(
        "field.yaml",
        "kind: Service\nmetadata: {name: a, namespace: b}\n---\nkind: Service\nmetadata: {name: c, namespace: d}\nspec:\n  ports: 80\n",
    );

    let ran = roster(&["plan", "-f", &gone]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with(&format!("error: cannot open {gone}: ")), "{}", ran.err);

    let ran = roster(&["plan", "-f", &empty]);
    assert_eq!((ran.code, ran.err), (2, format!("error: {empty}: contains no *.yaml, *.yml or *.json files\n")));

    let ran = roster(&["plan", "-f", &broken]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.starts_with(&format!("error: {broken}:2:")), "{}", ran.err);

    // The rest is answered; the exit code shows that it is not complete.
    let ran = roster(&["plan", "-f", &broken, "-f", &shop]);
    assert!(ran.out.ends_with(SUMMARY) && ran.err.contains(&broken) && ran.code == 2, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("not JSON"), "printed twice: {}", ran.out);

    let ran = roster(&["plan", "-f", &field]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    for part in ["invalid-object", "Service d/c", "ports", "1 Service"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }

    // Whatever is asked, and in whatever form.
    let forms = ["table", "wide", "json", "yaml", "ndjson"];
    for command in [&["plan"][..], &["explain"], &["plan", "--compat", "1.30", "--against", "1.37"]] {
        for form in forms {
            let ran = roster(&[command, &["-f", &field, "-f", &shop, "-o", form]].concat());
            assert!(ran.code == 2 && ran.out.contains(&format!("{field}:7:")), "{}", ran.out);
            let ran = roster(&[command, &["-f", &broken, "-f", &shop, "-o", form]].concat());
            assert!(ran.code == 2 && ran.err.contains(&broken) && ran.out.contains(&broken), "{}", ran.out);
        }
    }
    let ran = roster(&["plan", "-f", &field, "c"]);
    assert!(ran.code == 2 && ran.err.contains("an object of Service c cannot be read: "), "{}", ran.err);
    // The error of the chosen Service is reported, not that of another unreadable object.
    let two = file(
        "two.yaml",
        "kind: Service\nmetadata: {name: a, namespace: d}\nspec: 5\n---\nkind: Service\nmetadata: {name: c, namespace: d}\nspec:\n  ports: 80\n",
    );
    let ran = roster(&["plan", "-f", &two, "c"]);
    assert!(ran.code == 2 && ran.err.contains(&format!("Service c cannot be read: {two}:8:")), "{}", ran.err);

    // One flaw does not hide the place of another.
    let twice = file(
        "twice.yaml",
        "kind: Service\nmetadata: {name: a, namespace: b}\n---\nkind: Service\nmetadata:\n  name: c\n  name: d\n\
         spec:\n  ports:\n  - port: http\n",
    );
    let ran = roster(&["plan", "-f", &twice]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    for part in ["twice.yaml:7:", "twice.yaml:10:"] {
        assert!(ran.out.contains(part) && !ran.out.contains(":1:1"), "{part}\n{}", ran.out);
    }

    let ran = roster(&["plan", "-f", "-", "-f", "-"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, "error: standard input (-) can be read only once\n"));
}

#[test]
fn duplicate_objects_have_places() {
    let folder = tempfile::tempdir().unwrap();
    let service = |port: u16| {
        format!(
            "kind: Service\napiVersion: v1\nmetadata: {{name: web, namespace: 'n'}}\nspec: {{ports: [{{port: {port}}}]}}\n"
        )
    };
    let files =
        [("a.yaml", service(80)), ("b.yaml", format!("{}---\n{}", service(81).replace("web", "other"), service(82)))];
    let paths = files.map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    });
    let [a, b] = &paths;
    let ran = roster(&["plan", "-f", a, "-f", b, "-o", "json"]);
    let plan: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let problems = plan["summary"]["inputProblems"].as_array().unwrap();
    let duplicate = problems.iter().find(|p| p["code"] == "duplicate-object").unwrap();
    assert_eq!(duplicate["message"], format!("Service n/web is in {a}:1, and in {b}:6, which counts"));
}
