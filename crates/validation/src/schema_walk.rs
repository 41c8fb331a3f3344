//! Compares an object with its schema, without building it: one pass over the text.

use std::fmt;

use roster_engine::{
    model::{
        json::{message::shortened, pointer::Pointer},
        nano_value,
    },
    phrase::any_of,
    reason::Reason,
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    faults::{Faults, quoted},
    schema::{ObjectType, Schemas, TypeId, ValueType},
};

/// Adds a finding for each field that the schema does not have, that has another type there, or that is missing.
pub(super) fn walk(object: &RawValue, schemas: &Schemas, root: TypeId, faults: &mut Faults<'_>) {
    let expected = Expected { schemas, value: &ValueType::Object(root), at: Pointer::At(""), faults };
    // Text that is not JSON is reported where it is decoded.
    let _ = expected.deserialize(&mut serde_json::Deserializer::from_str(object.get()));
}

/// Most places that are named as those where a field belongs.
const MAX_PLACES: usize = 3;

/// Fields of versions that are gone, each with a field that has taken their place in the same object, and where to write it.
const RENAMED: [(&str, &str, &str); 6] = [
    ("backend", "defaultBackend", "defaultBackend"),
    ("serviceName", "service", "service.name"),
    ("servicePort", "service", "service.port.number or service.port.name"),
    ("targetAverageUtilization", "target", "target.averageUtilization"),
    ("targetAverageValue", "target", "target.averageValue"),
    ("targetCPUUtilizationPercentage", "metrics", "metrics"),
];

/// A value and its type in the schema.
struct Expected<'s, 'p, 'f, 'k> {
    schemas: &'s Schemas,
    value: &'s ValueType,
    at: Pointer<'p>,
    faults: &'f mut Faults<'k>,
}

impl Expected<'_, '_, '_, '_> {
    /// Reports that the value has another type.
    fn differs(self, found: &str) {
        // Selectors of workloads have this field, and those of Services and nodes do not.
        let hint = match self.at {
            Pointer::Key(_, name @ ("matchLabels" | "matchExpressions")) => {
                format!("; this selector consists of labels alone: write them without {name}")
            }
            _ => String::new(),
        };
        self.faults.add(Reason::WrongType, self.at, format!("is {found}, not {}{hint}", self.value));
    }

    fn integer(self, number: i128, found: &str) {
        let fits = match self.value {
            ValueType::Int32 | ValueType::NumberOrText => i32::try_from(number).is_ok(),
            ValueType::Int64 => i64::try_from(number).is_ok(),
            ValueType::Number | ValueType::Quantity | ValueType::Anything => true,
            _ => return self.differs(found),
        };
        if !fits {
            self.faults.add(Reason::WrongType, self.at, format!("is {number}, which is not {}", self.value));
        }
    }

    fn unknown_field(&mut self, of: TypeId, name: &str) {
        let schemas = self.schemas;
        let message = || {
            let object = schemas.object(of);
            let renamed = RENAMED.iter().find(|(old, now, _)| *old == name && object.field(now).is_some());
            let meant = renamed.map(|(.., path)| *path).or_else(|| object.nearest(name));
            let hint = match (meant, &schemas.paths_to(of, name)[..]) {
                (Some(meant), _) => format!("; did you mean {meant}?"),
                (None, []) => String::new(),
                (None, paths @ [first, ..]) => {
                    let places = if paths.len() <= MAX_PLACES { any_of(paths) } else { first.clone() };
                    format!("; it belongs to {places}")
                }
            };
            format!("the schema has no field {}{hint}", quoted(name))
        };
        self.faults.add_with(Reason::UnknownField, Pointer::Key(&self.at, name), message);
    }
}

impl<'de> DeserializeSeed<'de> for Expected<'_, '_, '_, '_> {
    /// Whether there is a value: `null` counts as none, as for an API server.
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<bool, D::Error> {
        if matches!(self.value, ValueType::Anything) {
            return d.deserialize_ignored_any(IgnoredAny).map(|_| true);
        }
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Expected<'_, '_, '_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        if !matches!(self.value, ValueType::Boolean) {
            self.differs("a boolean");
        }
        Ok(true)
    }

    fn visit_i64<E>(self, number: i64) -> Result<bool, E> {
        self.integer(number.into(), "a number");
        Ok(true)
    }

    fn visit_u64<E>(self, number: u64) -> Result<bool, E> {
        self.integer(number.into(), "a number");
        Ok(true)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        match self.value {
            ValueType::Number | ValueType::Quantity => {}
            _ => self.differs("a number with a fraction"),
        }
        Ok(true)
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        match self.value {
            ValueType::Text | ValueType::NumberOrText => {}
            ValueType::Quantity if nano_value(text.trim()).is_some() => {}
            _ => self.differs(&format!("the string {}", quoted(text))),
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let ValueType::List(item) = self.value else {
            self.differs("a list");
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(true);
        };
        let Self { schemas, at, faults, .. } = self;
        let mut index = 0;
        while list
            .next_element_seed(Expected { schemas, value: item, at: Pointer::Index(&at, index), faults: &mut *faults })?
            .is_some()
        {
            index += 1;
        }
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        let object: Option<(TypeId, &ObjectType)> = match self.value {
            ValueType::Object(id) => Some((*id, self.schemas.object(*id))),
            ValueType::Map(_) => None,
            _ => {
                self.differs("an object");
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(true);
            }
        };
        let schemas = self.schemas;
        let mut present = vec![false; object.map_or(0, |(_, o)| o.fields.len())];
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let field = object.map(|(id, o)| (id, o.field(&name)));
            let value = match (field, self.value) {
                (Some((_, Some((at, field)))), _) => (Some(at), &field.value),
                (None, ValueType::Map(value)) => (None, &**value),
                (Some((id, None)), _) => {
                    self.unknown_field(id, &name);
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                (None, _) => (None, &ValueType::Anything),
            };
            let at = Pointer::Key(&self.at, &name);
            let seed = Expected { schemas, value: value.1, at, faults: &mut *self.faults };
            let found = map.next_value_seed(seed)?;
            if let Some(field) = value.0 {
                present[field] |= found;
            }
        }
        for (field, _) in
            object.iter().flat_map(|(_, o)| &o.fields).zip(&present).filter(|(f, there)| f.required && !**there)
        {
            let at = Pointer::Key(&self.at, &field.name);
            self.faults.add(Reason::MissingField, at, format!("the field {} is missing", shortened(&field.name)));
        }
        Ok(true)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Boolean => "a boolean",
            Self::Int32 => "a 32-bit integer",
            Self::Int64 => "an integer",
            Self::Number => "a number",
            Self::Quantity => "a quantity such as 500m or 2Gi",
            Self::NumberOrText => "a 32-bit integer or a string",
            Self::Anything => "any value",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
        })
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::{model::ObjectKey, reason::Finding};
    use serde_json::{json, value::to_raw_value};

    use super::{Faults, Schemas, walk};

    fn messages(object: &serde_json::Value, kind: &str) -> Vec<String> {
        let (schemas, key) = (Schemas::published(), ObjectKey::default());
        let mut faults = Faults::new(&key, 10);
        let version = object["apiVersion"].as_str().unwrap();
        walk(&to_raw_value(object).unwrap(), schemas, schemas.of_kind(version, kind).unwrap(), &mut faults);
        faults.into_findings().0.into_iter().map(|f: Finding| f.message).collect()
    }

    #[test]
    fn a_selector_of_labels_differs_from_one_with_match_labels() {
        for (selector, want) in [
            (json!({ "app": "web" }), &[][..]),
            (json!({ "matchLabels": "web" }), &[]),
            (
                json!({ "matchLabels": { "app": "web" } }),
                &["is an object, not a string; this selector consists of labels alone: write them without matchLabels"],
            ),
            (
                json!({ "matchExpressions": [{ "key": "app", "operator": "Exists" }] }),
                &[
                    "is a list, not a string; this selector consists of labels alone: write them without matchExpressions",
                ],
            ),
            (json!({ "app": {} }), &["is an object, not a string"]),
        ] {
            let service = json!({ "apiVersion": "v1", "kind": "Service", "spec": { "selector": selector } });
            assert_eq!(messages(&service, "Service"), want, "{selector}");
        }
    }

    #[test]
    fn a_field_in_another_place_is_named_with_its_places() {
        for (container, want) in [
            (
                json!({ "readinessProbe": { "port": 8080 } }),
                &["the schema has no field \"port\"; it belongs to grpc.port, httpGet.port or tcpSocket.port"][..],
            ),
            (
                json!({ "livenessProbe": { "path": "/", "initialDelaySecond": 1 } }),
                &[
                    "the schema has no field \"initialDelaySecond\"; did you mean initialDelaySeconds?",
                    "the schema has no field \"path\"; it belongs to httpGet.path",
                ],
            ),
            (json!({ "limits": {} }), &["the schema has no field \"limits\"; it belongs to resources.limits"]),
            (json!({ "unheardOf": 1 }), &["the schema has no field \"unheardOf\""]),
        ] {
            let mut container = container;
            container["name"] = "web".into();
            let pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "containers": [container] } });
            assert_eq!(messages(&pod, "Pod"), want, "{container}");
        }
    }
    #[test]
    fn a_field_of_a_version_that_is_gone_is_named_with_its_successor() {
        let backend = json!({ "serviceName": "web", "servicePort": 80 });
        let rules = json!([{ "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] } }]);
        let ingress = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "spec": { "backend": {}, "rules": rules } });
        assert_eq!(
            messages(&ingress, "Ingress"),
            [
                "the schema has no field \"backend\"; did you mean defaultBackend?",
                "the schema has no field \"serviceName\"; did you mean service.name?",
                "the schema has no field \"servicePort\"; did you mean service.port.number or service.port.name?",
            ]
        );
        let spec = json!({ "maxReplicas": 2, "scaleTargetRef": { "kind": "Deployment", "name": "web" },
            "targetCPUUtilizationPercentage": 50,
            "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "targetAverageUtilization": 50 } }] });
        let autoscaler = json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": spec });
        let got = messages(&autoscaler, "HorizontalPodAutoscaler").join("\n");
        for want in ["did you mean target.averageUtilization?", "did you mean metrics?"] {
            assert!(got.contains(want), "{want}: {got}");
        }
    }
}
