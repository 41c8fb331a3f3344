//! Names and numbers that an API server would refuse. The engine takes them as they are; a user should know.

use std::fmt;

use super::{Object, Problems};
use crate::{
    model::{ObjectKey, TargetPort, dns},
    reason::{Problem, Reason},
};

/// Checks names and ports of `object`. `at` is the JSON pointer to the object in the input.
pub fn check(object: &Object, at: &dyn fmt::Display, problems: &mut Problems) {
    let mut found = Found { object, at, problems };
    match object {
        Object::Service(s) => {
            found.name(&s.meta.name, Rule::Label);
            for (i, port) in s.ports.iter().enumerate() {
                found.port(i64::from(port.port), || format!("/spec/ports/{i}/port"));
                // 0 stands for a missing targetPort, which an API server fills in.
                if let TargetPort::Number(n) = port.target_port
                    && n != 0
                {
                    found.port(i64::from(n), || format!("/spec/ports/{i}/targetPort"));
                }
            }
        }
        Object::Pod(p) => {
            found.name(p.name(), Rule::Subdomain);
            for port in p.ports.iter() {
                // The place is not known any more: ports of all containers are one list.
                found.port(i64::from(port.number), || "/spec/containers".to_owned());
            }
        }
        Object::Node(n) => found.name(&n.name, Rule::Subdomain),
        Object::Endpoints(e) => {
            found.name(&e.meta.name, Rule::Subdomain);
            for (i, subset) in e.subsets.iter().enumerate() {
                for (j, port) in subset.ports.iter().enumerate() {
                    found.port(i64::from(port.port), || format!("/subsets/{i}/ports/{j}/port"));
                }
            }
        }
        Object::EndpointSlice(s) => {
            found.name(&s.meta.name, Rule::Subdomain);
            for (i, port) in s.ports.iter().flatten().enumerate() {
                if let Some(n) = port.port {
                    found.port(i64::from(n), || format!("/ports/{i}/port"));
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Rule {
    /// RFC 1123 label.
    Label,
    /// RFC 1123 subdomain: labels with dots between them.
    Subdomain,
}

impl Rule {
    fn limit(self) -> usize {
        match self {
            Self::Label => dns::MAX_LABEL,
            Self::Subdomain => dns::MAX_SUBDOMAIN,
        }
    }

    fn broken(self, name: &str) -> String {
        if name.is_empty() {
            "the object has no name".to_owned()
        } else if name.len() > self.limit() {
            format!("the name has {} characters; {} are allowed", name.len(), self.limit())
        } else {
            "a name consists of lower case letters, digits and '-', and begins and ends with a letter or digit"
                .to_owned()
        }
    }

    fn holds(self, name: &str) -> bool {
        match self {
            Self::Label => dns::is_label(name.as_bytes()),
            Self::Subdomain => dns::is_subdomain(name.as_bytes()),
        }
    }
}

struct Found<'a> {
    object: &'a Object,
    at: &'a dyn fmt::Display,
    problems: &'a mut Problems,
}

impl Found<'_> {
    fn name(&mut self, name: &str, rule: Rule) {
        if !rule.holds(name) {
            self.push(Reason::InvalidName, || (rule.broken(name), "/metadata/name".to_owned()));
        }
    }

    fn port(&mut self, number: i64, place: impl FnOnce() -> String) {
        if !(1..=65_535).contains(&number) {
            self.push(Reason::InvalidPort, || (format!("port {number} is not from 1 to 65535"), place()));
        }
    }

    /// `what` tells the message and the place.
    fn push(&mut self, reason: Reason, what: impl FnOnce() -> (String, String)) {
        self.problems.add(|| {
            let (message, place) = what();
            let mut key: ObjectKey = self.object.key();
            shorten(&mut key);
            Problem { pointer: Some(format!("{}{place}", self.at)), ..Problem::new(reason, key, message) }
        });
    }
}

/// A name of megabytes must not be repeated in every problem.
fn shorten(key: &mut ObjectKey) {
    for text in [&mut key.namespace, &mut key.name] {
        if text.len() > 300 {
            *text = text.chars().take(300).chain(['…']).collect::<String>().into();
        }
    }
}
