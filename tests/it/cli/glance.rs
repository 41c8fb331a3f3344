//! Answers that fit a screen: overviews, grids, pages of codes, differences; and arguments as `kubectl` takes them.

use serde_json::{Value, json};

use super::{Case, Ran, check, data, roster, roster_with};

const SHOP: &str = "examples/shop.yaml";

/// Runs the program as on a terminal of this width.
fn on_screen(width: &str, args: &[&str]) -> Ran {
    roster_with(args, &[("COLUMNS", width)], "")
}

/// The first words of the lines before the first empty line, without the heading.
fn first_words(text: &str) -> Vec<&str> {
    text.lines().skip(1).take_while(|line| !line.is_empty()).filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn many_services_have_a_line_each_and_problems_come_first() {
    let ran = roster(&["explain", SHOP]);
    let all = [
        "shop/catalog",
        "shop/cart",
        "shop/payment",
        "shop/warehouse",
        "shop/db",
        "shop/gateway",
        "shop/search",
        "shop/web",
    ];
    assert_eq!((first_words(&ran.out), ran.err.as_str(), ran.code), (all.to_vec(), "", 1), "{}", ran.out);
    let ran = roster(&["explain", SHOP, "--problems-only"]);
    assert_eq!((first_words(&ran.out), ran.code), (all[..3].to_vec(), 1), "{}", ran.out);
    assert!(ran.out.contains("8 Services: 1 with errors, 2 with warnings; 17 pod ports: 15 served"), "{}", ran.out);
    // The details are those of before.
    let wide = roster(&["explain", SHOP, "-o", "wide"]).out;
    assert_eq!(roster(&["explain", SHOP, "--wide"]).out, wide);
    assert!(wide.contains("shop/payment: 1 of 2 pods served\n"), "{wide}");
}

#[test]
fn programs_are_answered_as_before_and_may_leave_out_what_is_fine() {
    let names = |args: &[&str]| -> Vec<String> {
        let ran = roster(&[&["explain", SHOP, "-o", "json"], args].concat());
        let value: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(value["summary"]["services"], 8);
        value["items"].as_array().unwrap().iter().map(|i| i["service"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]).len(), 8);
    assert_eq!(names(&["--problems-only"]), ["cart", "catalog", "payment"]);
    for (args, want) in [
        (&["explain", SHOP, "--problems-only", "-o", "name"][..], "shop/cart\nshop/catalog\nshop/payment\n"),
        (&["plan", SHOP, "-o", "name"], "shop/search\n"),
        (&["plan", SHOP, "-o", "name", "--compat", "1.37", "--against", "1.36"], ""),
    ] {
        assert_eq!(roster(args).out, want, "{args:?}");
    }
}

#[test]
fn one_service_is_a_grid_on_a_screen_only() {
    let ran = on_screen("100", &["explain", SHOP, "catalog"]);
    let want = "\
shop/catalog: 5 of 6 pod ports served
  POD                       http 80 -> http  metrics 9102 -> metrics
  catalog-bjjctq5qrd-h4wjs  ready            ready
  catalog-bjjctq5qrd-x2j74  ready            ready
  catalog-qrjbl8xmbj-hqz2x  ready            named-port-missing
";
    assert!(ran.out.starts_with(want), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    let piped = roster(&["explain", SHOP, "catalog"]).out;
    assert!(!piped.contains("  POD  ") && piped.contains("  PODS  "), "{piped}");
}

#[test]
fn every_answer_fits_the_screen() {
    for args in [
        &["explain", SHOP][..],
        &["explain", SHOP, "-o", "wide"],
        &["explain", SHOP, "cart"],
        &["plan", SHOP],
        &["plan", SHOP, "-o", "wide"],
        &["plan", SHOP, "--compat", "1.37", "--against", "1.22"],
        &["compat"],
        &["compat", "1.30"],
        &["explain", "special-address"],
    ] {
        for width in [60, 80, 100, 160] {
            let ran = on_screen(&width.to_string(), args);
            // Totals and headlines are sentences, which a terminal may break.
            let rows = ran.out.lines().filter(|line| line.contains("  "));
            let long: Vec<&str> = rows.filter(|line| line.chars().count() > width).collect();
            assert!(long.is_empty() && !ran.out.is_empty(), "{args:?} in {width}:\n{}", long.join("\n"));
        }
    }
}

#[test]
fn a_pod_has_only_the_services_that_concern_it() {
    let headlines = |args: &[&str]| -> Vec<String> {
        let ran = roster(&[&["explain", SHOP, "--pod"], args].concat());
        ran.out.lines().filter(|line| line.starts_with("shop/")).map(str::to_owned).collect()
    };
    for (args, want) in [
        (&["db-0"][..], &["shop/db: 1 of 1 pod served"][..]),
        (&["pod/shop/db-0"], &["shop/db: 1 of 1 pod served"]),
        // No Service selects it, and one nearly does.
        (&["cart-ccjkzb7sns-bdx7f"], &["shop/cart: does not select pod cart-ccjkzb7sns-bdx7f"]),
        // Who asks by name gets an answer.
        (&["db-0", "web"], &["shop/web: does not select pod db-0"]),
    ] {
        assert_eq!(headlines(args), want, "{args:?}");
    }
    let ran = roster(&["explain", SHOP, "--pod", "db-2"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, "error: pod db-2 not found; did you mean shop/db-0?\n"));
}

#[test]
fn files_and_services_are_arguments() {
    let shop = data("shop.json");
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("manifests");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&shop, folder.join("shop.json")).unwrap();
    let folder = folder.display().to_string();
    let one = "1 of 1 Service";
    let case = |name, args, out| Case { name, args, code: 1, out, err: "" };
    check(&[
        case("a file", &["plan", &shop], one),
        case("a directory and a Service", &["plan", &folder, "web"], one),
        case("both ways", &["plan", "-f", &shop, "svc/web"], one),
        case("kind, namespace and name", &["plan", &shop, "service/shop/web"], one),
        case("all namespaces", &["plan", &shop, "-A", "-n", "elsewhere"], one),
        Case {
            name: "a pod",
            args: &["plan", &shop, "pod/web-0"],
            code: 2,
            out: "",
            err: "for a pod, use --pod web-0",
        },
        Case { name: "a typo", args: &["plan", &shop, "wbe"], code: 2, out: "", err: "did you mean shop/web?" },
        Case { name: "no file", args: &["plan", "gone.yaml"], code: 2, out: "", err: "error: cannot open gone.yaml: " },
        Case {
            name: "a file with a typo",
            args: &["plan", "examples/shp.yaml"],
            code: 2,
            out: "",
            err: "(os error 2); did you mean examples/shop.yaml?\n",
        },
        Case {
            name: "files and a cluster",
            args: &["plan", &shop, "--context", "x"],
            code: 2,
            out: "",
            err: "-f, -k and --chart cannot be combined with --context or --kubeconfig",
        },
    ]);
    let text = std::fs::read_to_string(&shop).unwrap();
    assert!(roster_with(&["plan", "-"], &[], &text).out.contains(one));
}

#[test]
fn services_are_chosen_by_label() {
    let named = |labels: &str| roster(&["explain", SHOP, "-o", "name", "-l", labels]).out;
    assert_eq!(named("app.kubernetes.io/name=cart"), "shop/cart\n");
    assert_eq!(named("app.kubernetes.io/name in (db, web)"), "shop/db\nshop/web\n");
    assert_eq!(named("app.kubernetes.io/part-of!=shop"), "");
    let ran = roster(&["plan", SHOP, "-l", "app=none"]);
    assert_eq!(ran.err, "warning: no Service found in the input with these labels\n");
    let ran = roster(&["plan", SHOP, "-l", "app in (none"]);
    assert!(ran.code == 2 && ran.err.contains("lacks its closing parenthesis"), "{}", ran.err);
}

#[test]
fn a_code_has_a_page() {
    let ran = roster(&["explain", "not-ready"]);
    let want = "\
not-ready: reason, severity warning
  The pod is published as not ready: clients do not use it.

What to do
  Look at the condition, container or readiness gate named in the detail.
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (want, "", 0));
    let ran = roster(&["explain", "not-redy"]);
    assert!(ran.code == 2 && ran.err.ends_with("did you mean not-ready?\n"), "{}", ran.err);
    let both: Value =
        serde_json::from_str(&roster(&["explain", "selector-matches-nothing", "-o", "json"]).out).unwrap();
    let kinds: Vec<&Value> = both["items"].as_array().unwrap().iter().map(|page| &page["kind"]).collect();
    assert_eq!(kinds, ["reason", "rule"]);
    // With something to read, it is the name of a Service.
    let ran = roster(&["explain", SHOP, "not-ready"]);
    assert!(ran.code == 2 && ran.err.contains("Service not-ready not found"), "{}", ran.err);
}

#[test]
fn a_misspelt_name_may_be_a_code_or_a_service() {
    let codes = "backend-port-missing, endpoint-port-missing or monitor-port-missing?\n";
    for (args, want) in [
        (&["port-mising"][..], format!("; did you mean {codes}")),
        (&["not-ready", "port-mising"], format!("; did you mean {codes}")),
        (&[SHOP, "port-mising"], format!("Service port-mising not found; did you mean the code {codes}")),
        (&[SHOP, "wbe"], "error: Service wbe not found; did you mean shop/web?\n".to_owned()),
        (&[SHOP, "zzz"], "error: Service zzz not found\n".to_owned()),
    ] {
        let ran = roster(&[&["explain"], args].concat());
        assert!(ran.code == 2 && ran.err.ends_with(&want), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_plan_is_a_difference_of_objects() {
    let ran = roster(&["plan", SHOP, "-o", "diff", "--controller", "endpoints"]);
    let want = "\
diff -u -N LIVE/v1.Endpoints.shop.search MERGED/v1.Endpoints.shop.search
--- LIVE/v1.Endpoints.shop.search
+++ MERGED/v1.Endpoints.shop.search
@@ -0,0 +1,";
    assert!(ran.out.starts_with(want) && ran.code == 1, "{}", ran.out);
    assert!(ran.out.lines().skip(4).all(|line| line.starts_with('+')), "{}", ran.out);
    assert!(ran.out.contains("\n+apiVersion: v1\n") && ran.out.contains("\n+kind: Endpoints\n"), "{}", ran.out);
    // What the API server fills in stays, and it counts the generations of a slice.
    let moved = std::fs::read_to_string(SHOP).unwrap().replace("targetPort: 8080", "targetPort: 8081");
    let ran = roster_with(&["plan", "-", "-o", "diff", "gateway"], &[], &moved);
    let changed: Vec<&str> = ran.out.lines().filter(|l| l.starts_with("- ") || l.starts_with("+ ")).collect();
    let slice = ["-  generation: 1", "+  generation: 2", "-  port: 8080", "+  port: 8081"];
    assert_eq!(changed, [&["-    port: 8080", "+    port: 8081"][..], &slice, &slice].concat(), "{}", ran.out);
    let none = roster(&["plan", SHOP, "-o", "diff", "web"]);
    assert_eq!((none.out.as_str(), none.err.as_str(), none.code), ("", "", 0));
}

#[test]
fn a_plan_that_publishes_nothing_says_why() {
    let mut list: Value = serde_json::from_str(&std::fs::read_to_string(data("shop.json")).unwrap()).unwrap();
    list["items"][0]["spec"]["selector"] = json!({"app": "wbe"});
    let ran = roster_with(&["plan", "-"], &[], &list.to_string());
    let want = "
Why no ready address is published
SERVICE   CODE                      DETAIL
shop/web  selector-matches-nothing  pod web-0 and 1 other pod: label app is \"web\", not \"wbe\"";
    assert!(ran.out.contains(want), "{}", ran.out);
}

#[test]
fn an_upgrade_of_many_services_is_grouped_by_cause() {
    let upgrade = ["plan", SHOP, "--compat", "1.37", "--against", "1.30"];
    let ran = roster(&upgrade);
    assert!(ran.out.starts_with("SERVICES  OBJECT"), "{}", ran.out);
    assert!(ran.out.contains("label endpoints.kubernetes.io/managed-by only  shop/"), "{}", ran.out);
    let wide = roster(&[&upgrade[..], &["-o", "wide"]].concat());
    assert!(wide.out.starts_with("NAMESPACE  SERVICE"), "{}", wide.out);
}

#[test]
#[cfg(unix)]
fn long_work_is_quiet_in_a_pipe() {
    let script =
        format!("{{ sleep 1; cat '{}'; }} | '{}' plan - >/dev/null", data("shop.json"), crate::program().display());
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!((String::from_utf8(output.stderr).unwrap().as_str(), output.status.code()), ("", Some(1)));
}
