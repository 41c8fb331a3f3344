//! The state of a request, and what is odd about it.

use std::num::NonZeroUsize;

use roster_engine::model::defaults::Defaults;

use super::*;

fn source() -> Source<'static> {
    Source { name: "in", threads: NonZeroUsize::MIN, max_objects: 5, defaults: Defaults::NEVER, ..Source::body() }
}

const SERVICE: &str = r#"{"metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{"app":"web"},
    "ports":[{"port":80,"protocol":"TCP","targetPort":"http"}]}}"#;
const POD: &str = r#"{"metadata":{"name":"a","namespace":"shop","labels":{"app":"web"}},
    "spec":{"containers":[{"ports":[{"name":"http","containerPort":80,"protocol":"TCP"}]}]},
    "status":{"podIPs":[{"ip":"10.0.0.1"}],"podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}}"#;

fn read(text: &str, source: &Source<'_>) -> Result<DecodedRequest, String> {
    match super::read(text, source) {
        Ok(RequestBody::Request(request)) => Ok(request),
        Ok(RequestBody::Objects) => Err("objects".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn request(text: &str) -> DecodedRequest {
    read(text, &source()).unwrap()
}

/// Each finding as `code pointer message`, or the error.
fn findings(text: &str) -> Result<Vec<String>, String> {
    let requested = read(text, &source())?;
    let problem = |p: &roster_engine::reason::Finding| {
        format!("{} {} {}", p.code, p.pointer.as_deref().unwrap_or("-"), p.message)
    };
    Ok(requested.problems.iter().map(problem).collect())
}

#[test]
fn every_field_is_read_and_of_two_the_last_one() {
    let node = r#"{"metadata":{"name":"n"}}"#;
    let endpoints = r#"{"metadata":{"name":"web","namespace":"shop"},"subsets":[{"addresses":[{"ip":"10.0.0.9"}]}]}"#;
    let slice = r#"{"metadata":{"name":"web-1","namespace":"shop"},"addressType":"IPv4"}"#;
    let rest = format!(
        r#""service":{SERVICE},"pods":[{POD}],"nodes":[{node}],"endpoints":{endpoints},"endpointSlices":[{slice}],
        "controllers":["mirroring"],"options":{{"compat":"1.30","maxEndpointsPerSlice":7}}"#
    );
    let once = request(&format!("{{{rest}}}"));
    assert!(once.problems.is_empty());
    let PlanRequest { service, pods, nodes, endpoints, endpoint_slices, controllers, .. } = &once.request;
    assert!(service.is_some() && endpoints.is_some());
    assert_eq!((pods.len(), nodes.iter().count(), endpoint_slices.len()), (1, 1, 1));
    assert_eq!(controllers.as_ref().map(Vec::len), Some(1));
    let twice = request(&format!(r#"{{"service":5,{rest}}}"#));
    assert_eq!(format!("{:?}", twice.request), format!("{:?}", once.request));
    assert_eq!(twice.problems.as_slice().len(), 1);
    for nothing in [
        r#"{"service":null,"pods":null,"nodes":null,"endpoints":null,"options":null}"#,
        // The fields that are not set, as some generated clients send them.
        r#"{"pods":[],"nodes":[],"endpointSlices":[],"controllers":[],"options":{"ipFamilies":[]}}"#,
    ] {
        let read = request(nothing);
        assert!(read.problems.is_empty() && read.request.service.is_none(), "{nothing}");
        assert_eq!(read.request.controllers, None, "{nothing}");
    }
}

#[test]
fn findings_name_their_place() {
    let without = |text: &str| text.replace(r#","protocol":"TCP""#, "");
    for (text, want) in [
        (format!(r#"{{"service":{SERVICE},"pods":[{POD}]}}"#), Ok(vec![])),
        (
            format!(r#"{{"service":{},"pods":[{}]}}"#, without(SERVICE), without(POD)),
            Ok(vec![
                "missing-protocol /service/spec/ports/0/protocol the port has no protocol",
                "missing-protocol /pods/0/spec/containers/0/ports/0/protocol the port has no protocol",
            ]),
        ),
        (
            r#"{"nodes":[{"metadata":{"name":"N"}}],"endpoints":{"metadata":{"name":"e","name":"E"}},"endpointSlices":[{}]}"#
                .to_owned(),
            Ok(vec![
                "invalid-name /nodes/0/metadata/name a name consists of lower case letters, digits, '-' and '.', and begins \
                 and ends with a letter or digit",
                "duplicate-key /endpoints/metadata/name in:1:74: the key name is repeated; the last one counts",
                "invalid-name /endpoints/metadata/name a name consists of lower case letters, digits, '-' and '.', and \
                 begins and ends with a letter or digit",
                "invalid-name /endpointSlices/0/metadata/name the object has no name",
            ]),
        ),
        (
            format!(r#"{{"service":{SERVICE},"pods":[{{"kind":"Service","metadata":{{"name":"a"}}}},{{"kind":"Pod"}}]}}"#),
            Ok(vec![
                "invalid-object /pods/0/kind in:2:82: the kind is Service, not Pod",
                "invalid-name /pods/1/metadata/name the object has no name",
            ]),
        ),
        (
            r#"{"service":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}"#.to_owned(),
            Err("/service/kind: the kind is Pod, not Service"),
        ),
        (r#"{"service":{"kind":"","metadata":{"name":"a"}}}"#.to_owned(), Ok(vec![])),
        (
            "{\"pods\":[null,\n{\"metadata\":{\"name\":\"a\",\n\"labels\":[]}}],\"service\":null,\"pods\":[],\"pods\":[5]}".to_owned(),
            Ok(vec![
                "duplicate-key /pods the key pods is repeated; the last one counts",
                "invalid-object /pods/0 in:3:49: invalid type: integer `5`, expected an object",
            ]),
        ),
        (r#"{"Pods":1}"#.to_owned(), Err("/Pods: is not a field of the request; did you mean pods?")),
        (
            r#"{"service":{},"what":1}"#.to_owned(),
            Err("/what: is not a field of the request; its fields are service, pods, nodes, endpoints, endpointSlices, \
                 controllers, options"),
        ),
        (
            r#"{"service":{},"spec":{},"status":{},"spec":{}}"#.to_owned(),
            Err("/spec: is not a field of the request; its fields are service, pods, nodes, endpoints, endpointSlices, \
                 controllers, options (and 1 more)"),
        ),
        (r#"{"apiVersion":"v1","metadata":{},"spec":{}}"#.to_owned(), Err("/service: is missing")),
        ("{}".to_owned(), Err("/service: is missing")),
        (r#"{"pods":[],"options":null}"#.to_owned(), Err("/service: is missing")),
        (
            r#"{"service":null,"options":{"default":"never","compat":"1.30"}}"#.to_owned(),
            Err("/options/default: is not a field of the options; did you mean defaults?"),
        ),
        (
            r#"{"service":{"spec":{"ports":[{"port":"x"}]}},"pods":{},"controllers":[1],"options":{"compat":"1"}}"#.to_owned(),
            Err("/service/spec/ports/0/port: invalid type: string \"x\", expected a 32-bit integer (and 3 more)"),
        ),
        (r#"{"pods":[{},{},{},{},{},{}]}"#.to_owned(), Err("in:1:25: more than 5 objects")),
        (r#"{"service":{},"pods":[{},{}],"nodes":[{},{},{}]}"#.to_owned(), Err("in:1:45: more than 5 objects")),
        ("[{}]".to_owned(), Err("a list, expected an object with service, pods, nodes, endpoints, endpointSlices, \
                                 controllers, options")),
        ("{\n}x".to_owned(), Err("in:2:2: not JSON: trailing characters")),
        // Valid JSON that Rust cannot represent: a fault of one pod.
        (
            r#"{"pods":[{"metadata":{"name":"\ud800"}},{"spec":{"containers":[{"ports":[{"containerPort":1e999}]}]}}],"service":null}"#
                .to_owned(),
            Ok(vec![
                "invalid-object /pods/0/metadata/name in:1:37: unexpected end of hex escape",
                "invalid-object /pods/1/spec/containers/0/ports/0/containerPort in:1:95: number out of range",
            ]),
        ),
        (r#"{"pods":[5],"kind":"List"}{}"#.to_owned(), Err("objects")),
        // Fields of a request beside the items of a list are not used, but must be valid.
        (
            r#"{"kind":"List","items":[],"pods":5}"#.to_owned(),
            Err("/pods: invalid type: integer `5`, expected a list"),
        ),
    ] {
        let got = findings(&text);
        if want == Err("?") {
            assert!(got.is_err(), "{text}");
            continue;
        }
        let got = got.as_ref().map(|p| p.iter().map(String::as_str).collect()).map_err(String::as_str);
        assert_eq!(got, want, "{text}");
    }
}

#[test]
fn memory_is_bounded_for_any_object() {
    let many = vec!["{}"; 100_000].join(",");
    let pairs = (0..100_000).map(|i| format!("\"{i}\":\"\"")).collect::<Vec<_>>().join(",");
    let source = Source { max_memory: 1 << 20, max_objects: usize::MAX, ..source() };
    for text in [
        format!(r#"{{"endpointSlices":[{{"endpoints":[{many}]}}]}}"#),
        format!(r#"{{"endpoints":{{"subsets":[{{"addresses":[{many}]}}]}}}}"#),
        format!(r#"{{"service":{{"metadata":{{"labels":{{{pairs}}}}}}}}}"#),
        format!(r#"{{"pods":[{many}]}}"#),
        // The parser must buffer such a field.
        format!(r#"{{"service":{{"spec":{{"ports":[{{"targetPort":[{many}]}}]}}}}}}"#),
    ] {
        let error = read(&text, &source).map(|_| ()).unwrap_err();
        assert!(error.ends_with("the objects take more than 1048576 bytes of memory"), "{error}");
    }
    // Skipped values are free, also in a second pass.
    let odd = format!(r#"{{"service":{{"metadata":{{"name":"a","name":"b"}},"x":[{many}],"y":{{{pairs}}}}}}}"#);
    assert_eq!(read(&odd, &source).unwrap().problems.as_slice().len(), 1);
}

/// Objects are identified by namespace and name, as in a list.
#[test]
fn the_last_object_of_a_name_counts_and_endpoints_must_match_the_service() {
    let pod =
        |name: &str, ip: &str| POD.replace(r#""name":"a""#, &format!(r#""name":"{name}""#)).replace("10.0.0.1", ip);
    let pods =
        [pod("a", "10.0.0.1"), pod("b", "10.0.0.2"), pod("a", "10.0.0.3"), pod("", "10.0.0.4"), pod("", "10.0.0.5")];
    let requested = read(&format!(r#"{{"service":null,"pods":[{}]}}"#, pods.join(",")), &source()).unwrap();
    let ips: Vec<_> = requested.request.pods.iter().map(|p| p.ips[0].raw.as_str()).collect();
    assert_eq!(ips, ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"]);
    let twice = requested.problems.iter().filter(|p| p.code == roster_engine::reason::Reason::DuplicateObject);
    assert_eq!(twice.map(|p| p.object.to_string()).collect::<Vec<_>>(), ["Pod shop/a"]);

    let slice = r#"{"metadata":{"name":"web-1","namespace":"shop"},"addressType":"IPv4"}"#;
    let want = ["duplicate-object - EndpointSlice shop/web-1 is present more than once; the last one counts"];
    assert_eq!(findings(&format!(r#"{{"endpointSlices":[{slice},{slice}]}}"#)).unwrap(), want);

    for (name, namespace, want) in [
        ("web", "shop", &[][..]),
        ("zzz", "shop", &["foreign-endpoints - these are not the Endpoints of Service shop/web"]),
        ("web", "other", &["foreign-endpoints - these are not the Endpoints of Service shop/web"]),
    ] {
        let endpoints = format!(r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}"}}}}"#);
        let text = format!(r#"{{"service":{SERVICE},"endpoints":{endpoints}}}"#);
        assert_eq!(findings(&text).unwrap(), want);
        assert_eq!(read(&text, &source()).unwrap().request.endpoints.is_some(), want.is_empty());
    }
}

/// The options may follow the objects.
#[test]
fn objects_are_filled_in_as_the_options_say() {
    let sparse = r#"{"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}"#;
    let fault = r#"{"metadata":{"name":"a","name":"a"}}"#;
    for (options, base, want) in [
        ("{}", Defaults::default(), "default IPv4 Number(80)"),
        (r#"{"defaults":"never"}"#, Defaults::default(), "  Number(0)"),
        (r#"{"defaults":"auto","ipFamilies":["IPv6"]}"#, Defaults::default(), "default IPv6 Number(80)"),
        (r#"{"ipFamilies":[]}"#, Defaults::default(), "default IPv4 Number(80)"),
        // What the readers of options accept: a whole number with a fraction, and a repeated field.
        (r#"{"defaults":"never","maxEndpointsPerSlice":7.0}"#, Defaults::default(), "  Number(0)"),
        (r#"{"defaults":"auto","defaults":"never"}"#, Defaults::default(), "  Number(0)"),
        (
            r#"{"ipFamilies":["IPv6"]}"#,
            Defaults { namespace: "shop", families: "IPv4".parse().ok(), ..Defaults::default() },
            "shop IPv4 Number(80)",
        ),
        (r#"{"defaults":"always"}"#, Defaults::NEVER, "  Number(0)"),
    ] {
        for pods in ["[]", &format!("[{fault}]")] {
            for text in [
                format!(r#"{{"service":{sparse},"pods":{pods},"options":{options}}}"#),
                format!(r#"{{"options":{options},"pods":{pods},"service":{sparse}}}"#),
            ] {
                let read = read(&text, &Source { defaults: base, ..source() }).unwrap();
                let service = read.request.service.unwrap();
                let families: Vec<_> = service.families.iter().map(|f| f.as_str()).collect();
                let got =
                    format!("{} {} {:?}", service.meta.namespace, families.join(","), service.ports[0].target_port);
                assert_eq!(got, want, "{text}");
                let assumed = read.problems.iter().any(|p| p.code == Reason::Assumed);
                assert_eq!(assumed, want.contains("80"), "{text}");
            }
        }
    }
}

/// A text may spell the version with escapes.
#[test]
fn the_version_of_slices_is_read_however_it_is_spelled() {
    for (version, want) in [
        (r#""apiVersion":"discovery.k8s.io/v1beta1""#, Some("a")),
        (r#""apiVersion":"discovery.k8s.io\/v1beta1""#, Some("a")),
        (r#""apiVersion":"\u0064iscovery.k8s.io/v1beta1""#, Some("a")),
        (r#""api\u0056ersion":"discovery.k8s.io\u002Fv1beta1""#, Some("a")),
        (r#""apiVersion":"discovery.k8s.io\/v1""#, None),
        (r#""apiVersion":"\u003cdiscovery.k8s.io/v1""#, None),
    ] {
        let slice = format!(
            r#"{{{version},"metadata":{{"name":"web-1","namespace":"shop"}},"addressType":"IPv4",
            "endpoints":[{{"addresses":["10.0.0.1"],"topology":{{"topology.kubernetes.io/zone":"a"}}}}]}}"#
        );
        for text in [
            format!(r#"{{"endpointSlices":[{slice}]}}"#),
            format!(r#"{{"endpointSlices":[],"endpointSlices":[{slice}]}}"#),
        ] {
            let request = read(&text, &source()).unwrap().request;
            assert_eq!(request.endpoint_slices[0].endpoints[0].zone.as_deref(), want, "{text}");
        }
    }
}
