//! Pictures of Services: drawings, reports and trees.

use super::{Case, check, data, roster, roster_with};

const SHOP: &str = "examples/shop.yaml";

#[test]
fn a_drawing_is_of_one_service_and_a_report_of_all() {
    check(&[
        Case {
            name: "one Service",
            args: &["explain", "-f", SHOP, "shop/payment", "-o", "svg"],
            code: 1,
            out: "aria-label=\"shop/payment: 1 of 2 pods served\"",
            err: "",
        },
        Case {
            name: "a Service without problems",
            args: &["explain", "-f", SHOP, "shop/web", "-o", "svg"],
            code: 0,
            out: "hints send clients in eu-central-1a to web-lr6nq65xss-s9wdv",
            err: "",
        },
        Case {
            name: "without a selector",
            args: &["explain", "-f", SHOP, "shop/warehouse", "-o", "svg"],
            code: 0,
            out: "2 of 2 endpoints ready, from Endpoints without a selector",
            err: "",
        },
        Case {
            name: "several Services",
            args: &["explain", "-f", SHOP, "-o", "svg"],
            code: 2,
            out: "",
            err: "the input has 8 Services, and -o svg draws one: name it, or use -o html for all",
        },
        Case {
            name: "one pod",
            args: &["explain", "-f", SHOP, "--pod", "shop/db-0", "-o", "svg"],
            code: 2,
            out: "",
            err: "a picture shows all pods of a Service: leave out --pod",
        },
        Case {
            name: "one node",
            args: &["explain", "-f", SHOP, "shop/web", "--node", "node-a", "-o", "svg"],
            code: 0,
            out: "node node-a uses 1 of 3 pods",
            err: "",
        },
    ]);
    let report = roster(&["explain", "-f", SHOP, "-o", "html"]);
    assert_eq!((report.err.as_str(), report.code), ("", 1));
    let places: Vec<Option<usize>> =
        ["shop/catalog</a>", "shop/cart</a>", "shop/payment</a>", "<th scope=\"row\">shop/warehouse</th>"]
            .map(|part| report.out.find(part))
            .into();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "problems first: {places:?}");
    assert_eq!(report.out.matches("<svg ").count(), 3, "a picture of each problem");
    for part in ["<script", "javascript:", "src=", "http://", "https://"] {
        let allowed = if part == "http://" { report.out.matches("http://www.w3.org/2000/svg").count() } else { 0 };
        assert_eq!(report.out.matches(part).count(), allowed, "{part}");
    }
}

#[test]
fn routes_are_part_of_the_picture_and_a_wrong_port_is_said() {
    let routes = data("routes.yaml");
    let ran = roster(&["explain", "-f", SHOP, "-f", &routes, "shop/catalog", "-o", "tree"]);
    let want = "\
✗ monitoring/scrape  backend-port-missing: the Service catalog has no port 9200; its ports are 80 (http), 9102 (metrics); \
HTTPRoute metrics.example.com/catalog; to port 9200
  shop  Ingress shop.example.com/catalog; to port http
";
    assert!(ran.out.contains(want), "{}", ran.out);
    let ran = roster(&["explain", "-f", SHOP, "-f", &routes, "shop/cart", "-o", "tree"]);
    assert!(ran.out.contains("  shop  Ingress shop.example.com/cart; to port 80\n"), "{}", ran.out);
}

/// All its pods get traffic, and the only problem is that of its route.
#[test]
fn a_wrong_port_of_a_route_is_a_problem_of_the_service() {
    let route = "\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: edge, namespace: shop}\n\
        spec: {defaultBackend: {service: {name: web, port: {number: 99}}}}\n";
    let shop = std::fs::read_to_string(SHOP).unwrap();
    for (input, is_problem) in [(shop.clone(), false), (shop + route, true)] {
        for format in ["html", "tree"] {
            let args = ["explain", "-f", "-", "shop/web", "-o", format];
            let all = roster_with(&args, &[], &input);
            assert_eq!(all.code, i32::from(is_problem), "{}", all.err);
            assert_eq!(all.out.contains("backend-port-missing"), is_problem, "{}", all.out);
            let problems = roster_with(&[&args[..], &["--problems-only"]].concat(), &[], &input);
            assert_eq!(problems.code, all.code);
            assert_eq!(problems.out.contains("shop/web"), is_problem, "{}", problems.out);
        }
    }
}

#[test]
fn a_tree_fits_the_screen_and_hostile_names_are_shown() {
    let ran = roster_with(&["explain", "-f", SHOP, "-o", "tree"], &[("COLUMNS", "72")], "");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 72), "{}", ran.out);
    let input = std::fs::read_to_string("examples/shop.yaml").unwrap();
    let input = input.replace("catalog-qrjbl8xmbj-hqz2x", "\"<script>\\u202e&\\0\"");
    for format in ["svg", "html", "tree"] {
        let out = roster_with(&["explain", "-f", "-", "shop/catalog", "-o", format], &[], &input).out;
        assert!(out.contains("\\u{202e}") && !out.contains('\u{202e}') && !out.contains('\0'), "{out}");
        assert!(format == "tree" || !out.contains("<script"), "{out}");
    }
}
