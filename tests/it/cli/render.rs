//! `-k` and `--chart` of the commands that read objects: with the real kubectl and helm, and with programs that fail.

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    Ran,
    lint::{DEPLOYMENT, directory, findings, service},
    run,
};
use crate::programs::has_program;

/// The commands that read objects, without their inputs.
const COMMANDS: [&[&str]; 8] = [
    &["lint"],
    &["review"],
    &["explain"],
    &["plan"],
    &["view", "--node", "a"],
    &["view", "--all-nodes"],
    &["migrate", "topology"],
    &["test", "tests"],
];

const TEST: (&str, &str) = (
    "tests/roster-test.yaml",
    "apiVersion: roster.dev/v1alpha1\nkind: Test\ntests: [{name: three, serves: {service: web, pods: 3}}]\n",
);

/// Puts a program into `bin/` that writes its arguments and variables to `ran`.
#[cfg(unix)]
fn install(folder: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let record = format!("{{ echo \"$0 $@\"; set; }} >{}", folder.join("ran").display());
    fs::write(&path, format!("#!/bin/sh\n{record}\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Each command in a folder, with programs that are missing, fail, or print objects.
#[test]
#[cfg(unix)]
fn each_command_renders_in_the_same_way() {
    let remote = "resources: ['https://example.com/x.yaml']";
    let printed = format!("/bin/cat <<'END'\n{}{}---\n{DEPLOYMENT}END", "", service("web", "port: 80"));
    let (kustomize, chart) = (&["-k", "app"][..], &["--chart", "app"][..]);
    let (local, fails) = ("resources: []", "echo 'no such base' >&2; exit 1");
    for (inputs, kustomization, programs, code, parts, runs) in [
        (kustomize, local, &[][..], Some(2), &["-k needs kustomize or kubectl, and the PATH has neither"][..], ""),
        (chart, local, &[], Some(2), &["--chart needs helm, and the PATH has none"], ""),
        (
            kustomize,
            local,
            &[("kubectl", fails)],
            Some(2),
            &["kubectl kustomize app: exit status: 1\nno such base"],
            "kustomize",
        ),
        (
            kustomize,
            local,
            &[("kustomize", fails)],
            Some(2),
            &["kustomize build app: exit status: 1\nno such base"],
            "build",
        ),
        (chart, local, &[("helm", fails)], Some(2), &["helm template app: exit status: 1\nno such base"], "template"),
        (
            kustomize,
            remote,
            &[("kubectl", fails)],
            Some(2),
            &["app/kustomization.yaml:1: /resources/0 is remote: https://example.com/x.yaml; nothing was run"],
            "",
        ),
        (&["-k", "app", "--allow-remote"], remote, &[("kubectl", &printed)], None, &[], "kustomize"),
        (&["-k", "none"], local, &[("kubectl", &printed)], Some(2), &["-k none: No such file or directory"], ""),
        (&["--allow-remote"], local, &[], Some(2), &["--kustomize <DIR>"], ""),
        (&["--values", "x.yaml"], local, &[], Some(2), &["--chart <DIR>"], ""),
        (kustomize, local, &[("kubectl", &printed)], None, &[], "kustomize"),
        (chart, local, &[("helm", &printed)], None, &[], "template"),
    ]
        as [(&[&str], &str, &[(&str, &str)], Option<i32>, &[&str], &str); _]
    {
        for command in COMMANDS {
            let folder = directory(&[("app/kustomization.yaml", kustomization), TEST]);
            for (name, script) in programs {
                install(folder.path(), name, script);
            }
            let path = folder.path().join("bin").display().to_string();
            let variables =
                [("PATH", path.as_str()), ("SECRET", "s3cret"), ("KUBECONFIG", "/k"), ("HELM_PLUGINS", "/p")];
            let args = [command, inputs].concat();
            let Ran { code: ended, out, err } = run(folder.path(), &args, &variables, "");
            let shown = format!("{args:?} {programs:?}\nexit code {ended}\n{out}\n{err}");
            assert!(code.map_or(ended < 2, |code| ended == code), "{shown}");
            for part in parts {
                assert!(err.contains(part), "not in stderr: {part}\n{shown}");
            }
            let ran = fs::read_to_string(folder.path().join("ran")).unwrap_or_default();
            let first = ran.lines().next().unwrap_or_default();
            assert_eq!(first.split(' ').nth(1).unwrap_or_default(), runs, "{shown}");
            for part in ["s3cret", "KUBECONFIG", "HELM_PLUGINS", "--enable"] {
                assert!(!ran.contains(part), "{part} in {ran}\n{shown}");
            }
        }
    }
}

/// A base with an overlay, which renames its objects and has one of its own.
fn kustomized(selector: &str, port: &str) -> tempfile::TempDir {
    directory(&[
        ("base/kustomization.yaml", "resources: [all.yaml]\n"),
        ("base/all.yaml", &format!("{DEPLOYMENT}---\n{}", service(selector, port))),
        (
            "prod/kustomization.yaml",
            "namePrefix: prod-\nnamespace: shop\nresources: [../base, more.yaml]\nreplicas: [{name: web, count: 3}]\npatches:\n- \
             target: {kind: Service, name: more}\n  patch: '- {op: replace, path: /spec/ports/0/targetPort, value: htp}'\n",
        ),
        ("prod/more.yaml", &service(selector, "{port: 80, targetPort: http}").replace("name: web", "name: more")),
        TEST,
    ])
}

/// Findings are at the field in the source, or at the object if the field is not as it is written there.
#[test]
fn findings_of_a_kustomization_are_where_it_is_written() {
    if !has_program("kubectl") {
        return;
    }
    let folder = kustomized("web", "{port: 80, targetPort: htttp}");
    let lint = |output: &str| run(folder.path(), &["lint", "-k", "prod", "-o", output], &[], "");
    let ran = lint("json");
    let want = ["base/all.yaml:18 error named-port-missing", "prod/more.yaml:1 error named-port-missing"];
    let mut found = findings(&ran, folder.path());
    found.sort();
    assert_eq!(found, want, "{}", ran.out);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let rendered = &document["items"][0]["rendered"];
    assert_eq!(rendered["file"], "prod (rendered)", "{}", ran.out);
    assert!(rendered["line"].as_u64() > Some(1), "{}", ran.out);
    let sarif: Value = serde_json::from_str(&lint("sarif").out).unwrap();
    let locations: Vec<String> = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            format!("{}:{}", place["artifactLocation"]["uri"].as_str().unwrap(), place["region"]["startLine"])
        })
        .collect();
    assert!(
        locations.contains(&"base/all.yaml:18".to_owned()) && locations.contains(&"prod/more.yaml:1".to_owned()),
        "{locations:?}"
    );
    for (output, part) in [
        ("table", "base/all.yaml:18 "),
        ("github", "::error file=base/all.yaml,line=18,title=named-port-missing::Service shop/prod-web"),
        ("junit", "base/all.yaml:18: spec.ports[0].targetPort"),
    ] {
        let ran = lint(output);
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    let waivers = "apiVersion: roster.dev/v1alpha1\nkind: LintWaivers\nwaivers:\n- {code: named-port-missing, reason: later, file: \
                   base/all.yaml}\n";
    fs::write(folder.path().join("waivers.yaml"), waivers).unwrap();
    let ran = run(folder.path(), &["lint", "-k", "prod", "-o", "json", "--waivers", "waivers.yaml"], &[], "");
    assert_eq!(findings(&ran, folder.path()), want[1..], "{}", ran.out);
}

#[test]
fn rendered_objects_are_read_like_files() {
    if !has_program("kubectl") {
        return;
    }
    let folder = kustomized("web", "{port: 80, targetPort: http}");
    let tests = "apiVersion: roster.dev/v1alpha1\nkind: Test\noptions: {namespace: shop}\ntests: [{name: three, serves: {service: \
                 prod-web, pods: 3}}]\n";
    fs::write(folder.path().join("prod/roster-test.yaml"), tests).unwrap();
    for (args, code, parts) in [
        (&["explain", "-k", "prod"][..], 1, &["shop/prod-web", "shop/prod-more"][..]),
        (&["explain", "-k", "prod", "shop/prod-web"], 0, &["shop/prod-web: 3 of 3 pods served"]),
        // A base may be applied as well.
        (&["explain", "-k", "prod", "-f", "base"], 1, &["shop/prod-web", "default/web"]),
        // What is rendered counts, and not what it is made of.
        (&["explain", "-k", "base", "-f", "base", "-o", "wide"], 0, &["default/web: 1 of 1 pod served"]),
        (&["explain", "-f", "base", "web"], 0, &["1 of 1 pod served"]),
        (&["plan", "-k", "prod", "-o", "name"], 1, &["shop/prod-web"]),
        (&["view", "--all-nodes", "-k", "prod"], 1, &["shop/prod-web"]),
        (&["view", "--node", "assumed-node", "-k", "prod", "shop/prod-web"], 0, &["shop/prod-web"]),
        (&["test", "prod", "-k", "prod"], 0, &["1 test: 1 passed, 0 failed"]),
        (&["test", "tests", "-k", "prod"], 1, &["the inputs have no Service default/web"]),
        (&["test", "prod"], 2, &[]),
    ] {
        let ran = run(folder.path(), args, &[], "");
        let shown = format!("{args:?}\nexit code {}\n{}\n{}", ran.code, ran.out, ran.err);
        assert_eq!(ran.code, code, "{shown}");
        for part in parts {
            assert!(ran.out.contains(part), "{part}\n{shown}");
        }
    }
    let ran = run(folder.path(), &["test", "prod"], &[], "");
    assert!(ran.err.contains("has no inputs: list files, or add what a kustomization"), "{}", ran.err);
    let ran = run(folder.path(), &["plan", "-k", "prod", "--context", "x"], &[], "");
    assert!(ran.err.contains("cannot be combined with --context"), "{}", ran.err);
}

/// In a template, an object is found by its name, as far as that is written, and by its order.
#[test]
fn findings_of_a_chart_are_in_its_templates() {
    if !has_program("helm") {
        return;
    }
    let object =
        |name: &str| service("web", "{port: 80, targetPort: htttp}").replace("name: web", &format!("name: {name}"));
    let full = "{{ include \"shop.fullname\" . }}";
    let helpers = "{{- define \"shop.fullname\" -}}{{ .Release.Name }}-web{{- end }}\n{{- define \"shop.service\" -}}\n"
        .to_owned()
        + &object("generated") + "{{- end }}\n";
    let folder = directory(&[
        ("shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n"),
        ("shop/values.yaml", "two: true\nthree: false\n"),
        ("shop/templates/_helpers.tpl", &helpers),
        ("shop/templates/web.yaml", DEPLOYMENT),
        ("shop/templates/both.yaml", &format!("{}---\n# two\n{}", object(full), object(&format!("{full}-two")))),
        (
            "shop/templates/if.yaml",
            &format!(
                "{{{{- if .Values.three }}}}\n{}{{{{- end }}}}\n---\n{}",
                object("{{ .Values.x }}"),
                object("{{ .Release.Name }}-if")
            ),
        ),
        ("shop/templates/plain.yaml", &format!("# plain\n{}", object("plain"))),
        ("shop/templates/other.yaml", "{{ include \"shop.service\" . }}\n"),
    ]);
    fs::write(folder.path().join("three.yaml"), "three: true\nx: first\n").unwrap();
    let both = ["shop/templates/both.yaml:1 shop-web", "shop/templates/both.yaml:12 shop-web-two"];
    let others = ["shop/templates/other.yaml: generated", "shop/templates/plain.yaml:10 plain"];
    for (args, want) in [
        (&["--chart", "shop"][..], &["shop/templates/if.yaml: shop-if"][..]),
        (
            &["--chart", "shop", "--values", "three.yaml"],
            &["shop/templates/if.yaml:13 shop-if", "shop/templates/if.yaml:2 first"],
        ),
    ] {
        let want = [&both, want, &others].concat();
        let ran = run(folder.path(), &[&["lint", "-o", "json"], args].concat(), &[], "");
        let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.err));
        let items = document["items"].as_array().unwrap().iter().filter(|item| item["code"] == "named-port-missing");
        let mut found: Vec<String> = items
            .map(|item| {
                let line = item["line"].as_u64().map(|line| line.to_string()).unwrap_or_default();
                format!("{}:{line} {}", item["file"].as_str().unwrap(), item["object"]["name"].as_str().unwrap())
            })
            .collect();
        found.sort();
        assert_eq!(found, want, "{}", ran.out);
    }
    let ran = run(folder.path(), &["explain", "--chart", "shop", "-n", "prod"], &[], "");
    assert!(ran.out.contains("shop-web-two") && ran.out.contains("prod"), "{}{}", ran.out, ran.err);
}
