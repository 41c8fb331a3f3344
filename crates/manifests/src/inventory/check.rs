//! Checks for names and numbers that an API server would refuse. The engine uses them as they are; a finding reports them.

use std::{cell::LazyCell, fmt};

use roster_engine::{
    model::{ObjectKey, Pod, Service, ServicePort, ServiceType, TargetPort, json::raw::ObjectIdentity},
    reason::{Finding, Reason},
};
use roster_validation::NameForm;
use serde::{Deserialize, de::IgnoredAny};

use super::{findings::Findings, objects::AnyObject};

/// Checks names and ports of `object`. `at` is the JSON pointer to the object in the input, and `text` is its JSON, which
/// has positions that the model does not.
pub fn check(object: &AnyObject, text: &str, at: &dyn fmt::Display, problems: &mut Findings) {
    let mut found = NameAndPortCheck { object, text, at, problems };
    match object {
        AnyObject::Service(s) => {
            found.name(&s.meta.name, NameForm::Label);
            for (i, port) in s.ports.iter().enumerate() {
                found.port(i64::from(port.port), || format!("/spec/ports/{i}/port"));
                found.target(s, port, || format!("/spec/ports/{i}/targetPort"));
                found.protocol(&port.protocol, || format!("/spec/ports/{i}"));
            }
        }
        AnyObject::Pod(p) => {
            found.name(p.name(), NameForm::Subdomain);
            found.container_ports(p, text);
        }
        AnyObject::Node(n) => found.name(&n.name, NameForm::Subdomain),
        AnyObject::Endpoints(e) => {
            found.name(&e.meta.name, NameForm::Subdomain);
            for (i, subset) in e.subsets.iter().enumerate() {
                for (j, port) in subset.ports.iter().enumerate() {
                    found.port(i64::from(port.port), || format!("/subsets/{i}/ports/{j}/port"));
                    found.protocol(&port.protocol, || format!("/subsets/{i}/ports/{j}"));
                }
            }
        }
        AnyObject::EndpointSlice(s) => {
            found.name(&s.meta.name, NameForm::Subdomain);
            for (i, port) in s.ports.iter().flatten().enumerate() {
                if let Some(n) = port.port {
                    found.slice_port(n, || format!("/ports/{i}/port"));
                }
                found.protocol(port.protocol.as_deref().unwrap_or_default(), || format!("/ports/{i}"));
            }
        }
        AnyObject::Workload(w) => {
            found.name(&w.name, NameForm::Subdomain);
            for port in w.template.ports.iter() {
                found.port(i64::from(port.number), || "/spec/template/spec/containers".to_owned());
            }
        }
        AnyObject::Autoscaler(a) => found.name(&a.name, NameForm::Subdomain),
        AnyObject::NodePool(pool) => found.name(&pool.name, NameForm::Subdomain),
    }
}

struct NameAndPortCheck<'a> {
    object: &'a AnyObject,
    /// Its JSON.
    text: &'a str,
    at: &'a dyn fmt::Display,
    problems: &'a mut Findings,
}

impl NameAndPortCheck<'_> {
    fn name(&mut self, name: &str, rule: NameForm) {
        let is_allowed = rule.holds(name) || (name.is_empty() && self.is_name_generated());
        if !is_allowed {
            self.push(Reason::InvalidName, || (rule.broken(name), "/metadata/name".to_owned()));
        }
    }

    fn is_name_generated(&self) -> bool {
        serde_json::from_str(self.text).is_ok_and(|raw| ObjectIdentity::of(raw).is_name_generated)
    }

    fn port(&mut self, number: i64, place: impl FnOnce() -> String) {
        if !(1..=65_535).contains(&number) {
            self.push(Reason::InvalidPort, || (format!("port {number} is not from 1 to 65535"), place()));
        }
    }

    /// An API server stores any number in a slice.
    fn slice_port(&mut self, number: i32, place: impl FnOnce() -> String) {
        if !(1..=65_535).contains(&number) {
            let message =
                format!("port {number} is not from 1 to 65535: an API server stores it, and no proxy can use it");
            self.push(Reason::InvalidPort, || (message, place()));
        }
    }

    /// 0 and the empty name count as missing: an API server defaults all three, with the number of the port.
    fn target(&mut self, service: &Service, port: &ServicePort, place: impl FnOnce() -> String) {
        match &port.target_port {
            // One finding for one number.
            TargetPort::Number(n) if *n == port.port => {}
            TargetPort::Number(n) if *n != 0 => self.port(i64::from(*n), place),
            TargetPort::Name(name) if !name.is_empty() => {}
            // Without a selector, the target port is not used.
            _ if service.selector.is_none() || service.kind == ServiceType::ExternalName => {}
            _ => self.push(Reason::MissingTargetPort, || ("the port has no targetPort".to_owned(), place())),
        }
    }

    /// `place` is the pointer to the port.
    fn protocol(&mut self, protocol: &str, place: impl FnOnce() -> String) {
        if protocol.is_empty() {
            self.push(Reason::MissingProtocol, || ("the port has no protocol".to_owned(), place() + "/protocol"));
        }
    }

    fn container_ports(&mut self, pod: &Pod, text: &str) {
        // The text is read for the first finding.
        let places = LazyCell::new(|| PortPlaces::of(text).unwrap_or_default());
        for (i, port) in pod.ports.iter().enumerate() {
            let place = || places.place(i).unwrap_or_else(|| "/spec/containers".to_owned());
            self.port(i64::from(port.number), || place() + "/containerPort");
            // A port without a name is never looked up, so that its protocol does not matter.
            if !port.name.is_empty() {
                self.protocol(&port.protocol, place);
            }
        }
    }

    /// `what` makes the message and the pointer.
    fn push(&mut self, reason: Reason, what: impl FnOnce() -> (String, String)) {
        self.problems.add(reason.severity(), || {
            let (message, place) = what();
            let mut key: ObjectKey = self.object.key();
            shorten(&mut key);
            Finding { pointer: Some(format!("{}{place}", self.at)), ..Finding::new(reason, key, message) }
        });
    }
}

/// The containers of a pod with their ports: the model has the ports of all containers in one list.
#[derive(Default)]
struct PortPlaces {
    /// The number of ports up to the end of a container, with the list that has it, and its place there.
    ends: Vec<(usize, &'static str, usize)>,
}

impl PortPlaces {
    fn of(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct PodPorts<'a> {
            #[serde(borrow)]
            spec: Containers<'a>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Containers<'a> {
            #[serde(borrow)]
            containers: Option<Vec<Container<'a>>>,
            #[serde(borrow)]
            init_containers: Option<Vec<Container<'a>>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Container<'a> {
            #[serde(borrow)]
            restart_policy: Option<std::borrow::Cow<'a, str>>,
            // The elements take no memory, however many there are.
            ports: Option<Vec<IgnoredAny>>,
        }
        let PodPorts { spec } = serde_json::from_str(text).ok()?;
        let (mut ends, mut end) = (Vec::new(), 0);
        for (list, of, sidecars) in
            [("containers", spec.containers, false), ("initContainers", spec.init_containers, true)]
        {
            for (i, container) in of.into_iter().flatten().enumerate() {
                let looked_up = !sidecars || container.restart_policy.as_deref() == Some("Always");
                end += container.ports.filter(|_| looked_up).map_or(0, |ports| ports.len());
                ends.push((end, list, i));
            }
        }
        Some(Self { ends })
    }

    /// The pointer to the `n`th port.
    fn place(&self, n: usize) -> Option<String> {
        let at = self.ends.partition_point(|(end, ..)| *end <= n);
        let (_, list, container) = self.ends.get(at)?;
        let before = at.checked_sub(1).map_or(0, |before| self.ends[before].0);
        Some(format!("/spec/{list}/{container}/ports/{}", n - before))
    }
}

/// A name of megabytes must not be repeated in every finding.
fn shorten(key: &mut ObjectKey) {
    for text in [&mut key.namespace, &mut key.name] {
        if text.len() > 300 {
            *text = text.chars().take(300).chain(['…']).collect::<String>().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about a Service with this `spec`: code and pointer.
    fn findings(spec: &str) -> Vec<String> {
        let text = format!(r#"{{"metadata":{{"name":"web"}},"spec":{spec}}}"#);
        let mut problems = Findings::default();
        check(&AnyObject::Service(serde_json::from_str(&text).unwrap()), &text, &"", &mut problems);
        let place = |p: &Finding| format!("{} {}", p.code, p.pointer.as_deref().unwrap_or_default());
        problems.as_slice().iter().map(place).collect()
    }

    #[test]
    fn an_api_server_makes_a_name_of_a_prefix() {
        for (metadata, want) in [
            (r#"{"name":"web"}"#, None),
            (r#"{"generateName":"web-"}"#, None),
            (r#"{"name":"","generateName":"web-"}"#, None),
            ("{}", Some(Reason::InvalidName)),
            (r#"{"generateName":""}"#, Some(Reason::InvalidName)),
        ] {
            let text = format!(r#"{{"metadata":{metadata}}}"#);
            let mut problems = Findings::default();
            check(&AnyObject::Pod(serde_json::from_str(&text).unwrap()), &text, &"", &mut problems);
            assert_eq!(problems.iter().map(|p| p.code).next(), want, "{metadata}");
        }
    }

    #[test]
    fn a_port_of_a_slice_may_have_any_number() {
        let text = r#"{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[],"ports":[{"name":"","protocol":"TCP","port":0}]}"#;
        let mut problems = Findings::default();
        check(&AnyObject::EndpointSlice(serde_json::from_str(text).unwrap()), text, &"", &mut problems);
        let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(messages, ["port 0 is not from 1 to 65535: an API server stores it, and no proxy can use it"]);
    }

    #[test]
    fn a_missing_target_port_is_reported_where_pods_are_selected() {
        let missing = "missing-target-port /spec/ports/0/targetPort";
        let none = &[][..];
        for (spec, port, want) in [
            (r#""selector":{"a":"b"}"#, "", &[missing][..]),
            // An API server defaults these in the same way.
            (r#""selector":{"a":"b"}"#, r#","targetPort":0"#, &[missing]),
            (r#""selector":{"a":"b"}"#, r#","targetPort":"""#, &[missing]),
            (r#""selector":{"a":"b"}"#, r#","targetPort":null"#, &[missing]),
            (r#""selector":{"a":"b"},"clusterIP":"None""#, "", &[missing]),
            (r#""selector":{}"#, "", &[missing]),
            (r#""selector":{"a":"b"}"#, r#","targetPort":80"#, none),
            (r#""selector":{"a":"b"}"#, r#","targetPort":"http""#, none),
            (r#""selector":{"a":"b"}"#, r#","targetPort":-1"#, &["invalid-port /spec/ports/0/targetPort"]),
            (r#""clusterIP":"None""#, "", none),
            (r#""selector":{"a":"b"},"type":"ExternalName""#, "", none),
        ] {
            let spec = format!(r#"{{{spec},"ports":[{{"port":80,"protocol":"TCP"{port}}}]}}"#);
            assert_eq!(findings(&spec), want, "{spec}");
        }
    }
}
