//! What people have in git: objects that were never in a cluster, in directories with other files.

use std::fs;

use super::{Ran, roster, roster_with};

/// A workload of shop with its selector and one named port.
fn workload(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  {spec}\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: c, image: i, ports: [{{name: http, \
         containerPort: 8080}}]}}]}}\n"
    )
}

/// A Service of the workload.
fn service(name: &str, spec: &str) -> String {
    format!("---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n")
}

const WEB: &str = "selector: {app: web}, ports: [{port: 80, targetPort: http}]";

const POD: &str = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: web}}\nspec: {containers: [{name: c, image: i, \
                   ports: [{name: http, containerPort: 8080}]}]}\n";

fn explain(input: &str) -> Ran {
    roster_with(&["explain", "-f", "-"], &[], input)
}

#[test]
fn the_last_line_and_the_exit_code_agree_with_the_findings() {
    let web = || workload("Deployment", "replicas: 2");
    for (name, input, code, wanted, unwanted) in [
        (
            "served",
            web() + &service("web", WEB),
            0,
            &["web: 2 of 2 pods served\n", "1 Service, 2 pod ports: 2 served, 0 not"][..],
            "about",
        ),
        (
            "a finding about another object",
            workload("StatefulSet", "serviceName: gone") + &service("web", WEB),
            1,
            &["governing-service-missing", "0 not served; 1 warning about other objects\n"],
            "",
        ),
        (
            "the same of several Services",
            workload("StatefulSet", "serviceName: gone") + &service("web", WEB) + &service("more", WEB),
            1,
            &["2 Services: none with problems; 2 pod ports: 2 served, 0 not served; 1 warning about other objects\n"],
            "no problems",
        ),
        (
            "no finding",
            web() + &service("web", WEB) + &service("more", WEB),
            0,
            &["2 Services: none with problems; 4 pod ports: 4 served, 0 not served\n"],
            "about",
        ),
        (
            "two objects of one name",
            web() + &service("web", WEB) + &service("web", WEB) + &service("more", WEB),
            1,
            &["default/web   2 of 2  warning  duplicate-object", "2 Services: 1 with warnings;"],
            "about other objects",
        ),
        (
            "a refused value is an error",
            web() + &service("web", "selector: {app: web}, ports: [{port: 99999, targetPort: http}]"),
            1,
            &["error     invalid-port  port 99999 is not from 1 to 65535 (at /spec/ports/0/port)"],
            "warning",
        ),
        (
            "a wrong label",
            web() + &service("web", "selector: {app: wbe}, ports: [{port: 80}]"),
            1,
            &["selector-matches-no-template", "nearest: Deployment web, which has app=web instead of wbe"],
            "selector-matches-nothing",
        ),
        (
            "no replicas",
            workload("Deployment", "replicas: 0") + &service("web", WEB),
            0,
            &["web: no pods\n", "info      no-replicas  Deployment web is the only workload behind the Service"],
            "selector-matches-nothing",
        ),
        (
            "pods of something that is not in the input",
            web()
                + &service("dns", "selector: {k8s-app: dns}, ports: [{port: 53}]")
                    .replace("name: dns", "name: dns, namespace: kube-system"),
            0,
            &["info      not-checked  no Pods of its namespace in the input"],
            "warning",
        ),
        (
            "a pod that nothing has run",
            POD.to_owned() + &service("web", WEB),
            0,
            &["web: 1 of 1 pod served\n", "1 Service, 1 pod port: 1 served"],
            "no-pod-ip",
        ),
        (
            "a pod with a status",
            POD.to_owned() + "status: {phase: Pending}\n" + &service("web", WEB),
            1,
            &["web: 0 of 1 pod served\n", "no-pod-ip"],
            "",
        ),
        (
            "both families",
            POD.to_owned() + &service("web", &format!("ipFamilyPolicy: RequireDualStack, {WEB}")),
            0,
            &["assumed  1 Service needs IPv6 or both families; assumed: a cluster with IPv4,IPv6"],
            "",
        ),
    ] {
        let ran = explain(&input);
        assert_eq!(ran.code, code, "{name}:\n{}{}", ran.out, ran.err);
        for part in wanted {
            assert!(ran.out.contains(part), "{name}: {part:?} is not in\n{}", ran.out);
        }
        assert!(unwanted.is_empty() || !ran.out.contains(unwanted), "{name}: {unwanted:?} is in\n{}", ran.out);
    }
}

#[test]
fn a_pod_is_assumed_to_run_unless_defaults_are_off() {
    let input =
        POD.to_owned() + &service("web", "selector: {app: web}, ports: [{port: 80, protocol: TCP, targetPort: 80}]");
    let input =
        input.replace("{name: ", "{namespace: shop, name: ").replace("[{namespace: shop, name: http", "[{name: http");
    let says = |args: &[&str]| roster_with(&[&["plan", "-f", "-", "-o", "wide"], args].concat(), &[], &input).out;
    for (args, want) in [
        (&[][..], "1 pod has no status; assumed: ready, at addresses for documentation, on 1 assumed node"),
        (&["--defaults", "never"], "IPv4, no addresses"),
    ] {
        assert!(says(args).contains(want), "{args:?}:\n{}", says(args));
    }
}

#[test]
fn directories_are_read_as_the_linter_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let web = workload("Deployment", "replicas: 2") + &service("web", WEB);
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n";
    for (path, text) in [
        ("k/base/web.yaml", web.as_str()),
        ("k/base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("k/prod/patch.yaml", patch),
        ("k/prod/kustomization.yaml", "resources: [../base]\npatches: [{path: patch.yaml}]\n"),
        ("chart/Chart.yaml", "apiVersion: v2\nname: x\n"),
        ("chart/values.yaml", "a: 1\n"),
        ("chart/templates/web.yaml", "kind: Service\nmetadata:\n  name: {{ .Release.Name }}\n"),
        ("two/dev/web.yaml", &web),
        ("two/prod/web.yaml", &web),
        // A Service of another group is another object.
        ("groups/a/web.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\n"),
        ("groups/b/web.yaml", &web),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, code, out, err) in [
        // The patch is kustomize's affair.
        ("k", 0, &["web: 2 of 2 pods served\n", "not read: 2 kustomizations, 1 patch"][..], String::new()),
        (
            "chart",
            0,
            &["0 Services"],
            "no Service, Endpoints or EndpointSlice found in the input; not read: 1 template, 1 Chart.yaml, 1 without"
                .to_owned(),
        ),
        ("two", 0, &["web: 2 of 2 pods served\n", "2 objects are in several files; assumed: the first"], String::new()),
        ("groups", 0, &["web: 2 of 2 pods served\n"], String::new()),
        ("two/dev", 0, &["web: 2 of 2 pods served\n"], String::new()),
    ] {
        let ran = roster(&["explain", &path(name)]);
        assert_eq!(ran.code, code, "{name}:\n{}{}", ran.out, ran.err);
        for part in out {
            assert!(ran.out.contains(part), "{name}: {part:?} is not in\n{}", ran.out);
        }
        assert!(ran.err.contains(&err) && ran.err.is_empty() == err.is_empty(), "{name}: {}", ran.err);
    }
}

#[test]
fn addresses_of_something_else_are_no_finding() {
    let input = workload("Deployment", "replicas: 2")
        + "---\napiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {ports: [{port: 5432}]}\n"
        + "---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: db}\nsubsets: [{addresses: [{ip: 10.9.8.7}], ports: [{port: 5432}]}]\n"
        + POD;
    for command in ["lint", "explain"] {
        let ran = roster_with(&[command, "-f", "-"], &[], &input);
        assert!(ran.code == 0 && !ran.out.contains("address-provenance"), "{command}:\n{}", ran.out);
    }
}

#[test]
fn a_path_is_enough() {
    for (args, usage) in [
        (&["lint"][..], "roster lint <FILE|DIR|->..."),
        (&["convert"], "roster convert --to <KIND|VERSION> <FILE|DIR|->..."),
    ] {
        let ran = roster(args);
        assert!(ran.code == 2 && ran.err.contains(usage), "{}", ran.err);
    }
    let shop = super::data("shop.json");
    let by_path = roster(&["convert", "--to", "EndpointSlice", &shop]);
    assert_eq!(by_path.out, roster(&["convert", "--to", "EndpointSlice", "-f", &shop]).out);
}

#[test]
fn what_an_api_server_refuses_is_not_all_well() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    let path = file.display().to_string();
    let manifests = POD.to_owned() + &service("web", WEB);
    for (manifests, code, want) in [
        (manifests.clone(), 0, None),
        (
            manifests.replace("kind: Service", "kind: Service\nspecs: {}"),
            1,
            Some("the schema has no field \"specs\"; did you mean spec? (at /specs)"),
        ),
        // A cluster has accepted it.
        (
            manifests
                .replace("kind: Service", "kind: Service\nspecs: {}")
                .replace("{name: web}", "{name: web, uid: u}"),
            // It has no protocol.
            1,
            None,
        ),
    ] {
        fs::write(&file, &manifests).unwrap();
        let ran = roster(&["explain", &path]);
        let finding = ran.out.lines().find(|line| line.contains("unknown-field"));
        assert_eq!((ran.code, finding.is_some()), (code, want.is_some()), "{manifests}\n{}", ran.out);
        assert!(want.is_none_or(|want| finding.is_some_and(|line| line.contains(want))), "{}", ran.out);
        let planned = roster(&["plan", &path]);
        assert_eq!(planned.out.contains("unknown-field"), want.is_some(), "{}", planned.out);
    }
}

#[test]
fn a_pod_that_waits_names_its_gate() {
    let gated = POD.replace("spec: {", "spec: {schedulingGates: [{name: example.com/quota}], ");
    let ran = explain(&(gated + &service("web", WEB)));
    let want = "no-pod-ip  the pod waits until the scheduling gate example.com/quota is removed";
    let row = ran.out.lines().find(|line| line.contains(want)).unwrap_or_default();
    assert!(row.contains("Endpoints, EndpointSlice IPv4"), "{}", ran.out);
}

/// The test of a chart has the labels of its Service, and runs only if somebody asks for it.
#[test]
fn hooks_of_helm_are_not_behind_services() {
    let hook = "metadata: {name: test, labels: {app: web}, annotations: {helm.sh/hook: test}}";
    let pod = format!("---\napiVersion: v1\nkind: Pod\n{hook}\nspec: {{containers: [{{name: c, image: i}}]}}\n");
    let job = format!(
        "---\napiVersion: batch/v1\nkind: Job\n{hook}\nspec: {{template: {{metadata: {{labels: {{app: web}}}}, spec: {{restartPolicy: Never, containers: \
         [{{name: c, image: i}}]}}}}}}\n"
    );
    let rest = workload("Deployment", "replicas: 1") + &service("web", WEB);
    for (name, input, assumed) in [
        ("a Pod", format!("{rest}{pod}"), "1 Helm hook has no pods"),
        ("a Job", format!("{rest}{job}"), "1 Helm hook has no pods"),
        ("both", format!("{rest}{pod}{job}"), "2 Helm hooks have no pods"),
    ] {
        let ran = explain(&input);
        assert!(ran.code == 0 && ran.out.contains("web: 1 of 1 pod served\n"), "{name}: {}", ran.out);
        let wide = roster_with(&["explain", "-f", "-", "-o", "wide"], &[], &input);
        assert!(wide.out.contains(assumed), "{name}: {}", wide.out);
    }
}
