//! The structural schema (`OpenAPI` v3) of `EndpointPolicy`, for API servers and files.
//!
//! The schema of v1alpha1 is derived from that of v1 with the table of fields that differ, so that both stay in step.

use serde_json::{Map, Value, json};

use super::version::{FIELD_MOVES, PolicyVersion};
use crate::Rule;

/// Most entries of a list. API servers limit the cost of expressions, which grows with this number.
const MAX_ENTRIES: usize = 256;

/// The schema of a whole object.
pub(super) fn object(version: PolicyVersion) -> Value {
    json!({
        "type": "object",
        "description": "Which of Roster's rules apply to which Services, Endpoints and EndpointSlices, and in which mode. \
            If several policies apply to an object, the strictest mode counts, address ranges add up, and a denied \
            range takes precedence over an allowed one.",
        "required": ["spec"],
        "properties": {
            "apiVersion": text("The version of this representation of the object."),
            "kind": text("EndpointPolicy."),
            "metadata": {"type": "object"},
            "spec": spec(version),
            "status": status(),
        },
    })
}

fn spec(version: PolicyVersion) -> Value {
    let v1 = spec_v1();
    if version == PolicyVersion::V1 {
        return v1;
    }
    let mut properties = Map::new();
    let field = |path: &[&str]| path.iter().try_fold(&v1, |at, name| at.get("properties")?.get(name));
    for name in ["defaultMode", "rules"] {
        properties.extend(field(&[name]).map(|schema| (name.to_owned(), schema.clone())));
    }
    for moved in &FIELD_MOVES {
        properties.extend(field(moved.path).map(|schema| (moved.flat.to_owned(), schema.clone())));
    }
    let description = v1["description"].clone();
    let validations = json!([disjoint("allowedCIDRs", "deniedCIDRs")]);
    json!({
        "type": "object", "description": description, "properties": properties,
        "x-kubernetes-validations": validations,
    })
}

fn spec_v1() -> Value {
    json!({
        "type": "object",
        "description": "The settings, and the objects that they apply to.",
        "properties": {
            "defaultMode": mode("The mode of the rules that are not listed. Without it, other policies or the defaults of the rules apply."),
            "rules": rules(),
            "match": group("The objects that the policy applies to. All given conditions must hold; without any, \
                it applies to all objects.", json!({
                "namespaces": group("By the namespace of the object.", json!({
                    "names": names("One of these names.", NAME),
                    "selector": selector("Labels of the namespace. kubernetes.io/metadata.name is its name."),
                })),
                "services": group("By Service: the object itself, or the Service that Endpoints (by name) or a slice (by \
                    the label kubernetes.io/service-name) belong to.", json!({
                    "names": names("One of these names.", NAME),
                    "selector": selector("Labels of the object: Endpoints and slices carry those of their Service."),
                })),
            })),
            "exempt": group("Exemptions from this policy; one of them is enough. Other policies still apply.", json!({
                "users": names("Users, such as system:serviceaccount:shop:operator.", ANY),
                "groups": names("Groups of users, such as system:masters.", ANY),
                "namespaces": names("Namespaces.", NAME),
                "objects": objects(),
            })),
            "addresses": addresses(),
            "capacity": group("Endpoints with more than 1000 addresses, where the rule over-capacity is enforced.", json!({
                "action": {
                    "type": "string", "enum": ["Truncate", "Deny"],
                    "description": "Truncate: 1000 addresses are kept, as the controllers do. Deny: the object is \
                        refused. Without it, other policies or the default (Truncate) apply.",
                },
            })),
        },
    })
}

/// The pattern of a name, with `*` for any text.
pub(super) const NAME: &str = "^[-a-z0-9.*]+$";
/// The pattern of a user: any text.
const ANY: &str = "";

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn group(description: &str, properties: impl Into<Value>) -> Value {
    let properties: Value = properties.into();
    json!({"type": "object", "description": description, "properties": properties})
}

fn mode(description: &str) -> Value {
    let description = format!(
        "{description} enforce: the object is changed, or refused if the rule cannot change it. warn: the client gets a \
         warning. audit: an audit annotation is written. off: the rule is not checked; quote it in YAML, where off alone \
         is a boolean."
    );
    json!({"type": "string", "enum": ["enforce", "warn", "audit", "off"], "description": description})
}

fn rules() -> Value {
    let codes: Vec<&str> = Rule::ALL.iter().map(|r| r.code()).collect();
    json!({
        "type": "array",
        "description": "Modes of single rules, each rule once.",
        "maxItems": codes.len(),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name", "mode"],
            "properties": {
                "name": {"type": "string", "enum": codes, "description": "Code of the rule, as in docs/reference/rules.md."},
                "mode": mode("The mode of the rule."),
            },
        },
    })
}

fn names(description: &str, pattern: &str) -> Value {
    let mut item = json!({"type": "string", "minLength": 1, "maxLength": 253});
    if !pattern.is_empty() {
        item["pattern"] = pattern.into();
    }
    json!({
        "type": "array", "maxItems": MAX_ENTRIES, "x-kubernetes-list-type": "set", "items": item,
        "description": format!("{description} * stands for any text."),
    })
}

fn objects() -> Value {
    json!({
        "type": "array",
        "description": "Single objects. * stands for any text.",
        "maxItems": MAX_ENTRIES,
        "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "kind": {
                    "type": "string", "enum": ["Service", "Endpoints", "EndpointSlice"],
                    "description": "Kind; without it, all kinds.",
                },
                "namespace": {
                    "type": "string", "minLength": 1, "maxLength": 253, "pattern": NAME,
                    "description": "Namespace; without it, all namespaces.",
                },
                "name": {"type": "string", "minLength": 1, "maxLength": 253, "pattern": NAME, "description": "Name."},
            },
        },
    })
}

fn addresses() -> Value {
    let mut schema = group(
        "Ranges of addresses, such as 10.0.0.0/8, fd00::/8 or 192.0.2.7.",
        json!({
            "allow": cidrs("Addresses that need not belong to a pod: of Endpoints, slices, external IPs and load \
                balancers."),
            "deny": cidrs("Addresses that are refused even if they are allowed or belong to a pod."),
            "hostNetwork": {
                "type": "string", "enum": ["Allow", "Deny"],
                "description": "Allow: the addresses of nodes that pods of the host network in the namespace have count as \
                    addresses of pods. Deny: they do not. Without it, other policies or the default (Deny) apply.",
            },
        }),
    );
    schema["x-kubernetes-validations"] = json!([disjoint("allow", "deny")]);
    schema
}

/// The longest range has 43 characters: an IPv6 address of 39, a slash and a length.
const MAX_CIDR: usize = 43;

fn cidrs(description: &str) -> Value {
    json!({
        "type": "array", "maxItems": MAX_ENTRIES, "x-kubernetes-list-type": "set", "description": description,
        "items": {
            "type": "string", "minLength": 2, "maxLength": MAX_CIDR,
            "x-kubernetes-validations": [{
                "rule": "isCIDR(self) ? cidr(self) == cidr(self).masked() : isIP(self)",
                "message": "must be a range such as 10.0.0.0/8 without bits set beyond its prefix, or an address",
            }],
        },
    })
}

/// A range that is both allowed and denied is a mistake.
fn disjoint(allow: &str, deny: &str) -> Value {
    json!({
        "rule": format!("!has(self.{allow}) || !has(self.{deny}) || self.{allow}.all(c, !(c in self.{deny}))"),
        "message": format!("a range is in both {allow} and {deny}"),
    })
}

fn selector(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "type": "object", "additionalProperties": {"type": "string"}, "description": "Labels with these values.",
            },
            "matchExpressions": {
                "type": "array",
                "description": "Conditions on labels; all must hold.",
                "maxItems": MAX_ENTRIES,
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"type": "string", "minLength": 1, "maxLength": 317, "description": "The label."},
                        "operator": {
                            "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "The condition.",
                        },
                        "values": {
                            "type": "array", "items": {"type": "string", "maxLength": 63}, "maxItems": MAX_ENTRIES,
                            "x-kubernetes-list-type": "atomic",
                            "description": "Values for In and NotIn.",
                        },
                    },
                    "x-kubernetes-validations": [{
                        "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                        "message": "In and NotIn need values, Exists and DoesNotExist have none",
                    }],
                },
            },
        },
    })
}

fn status() -> Value {
    json!({
        "type": "object",
        "description": "Whether Roster accepted the policy.",
        "properties": {
            "observedGeneration": {
                "type": "integer", "format": "int64", "minimum": 0, "description": "The generation that was observed.",
            },
            "conditions": {
                "type": "array",
                "description": "Accepted: the policy could be read. Ready: it is in force.",
                "maxItems": 16,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                    "properties": {
                        "type": {"type": "string", "maxLength": 316, "description": "Accepted or Ready."},
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
                        "observedGeneration": {
                            "type": "integer", "format": "int64", "minimum": 0,
                            "description": "The generation that was observed.",
                        },
                        "lastTransitionTime": {
                            "type": "string", "format": "date-time", "description": "When the status changed last.",
                        },
                        "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Why, in one word."},
                        "message": {"type": "string", "maxLength": 32768, "description": "Why, in a sentence."},
                    },
                },
            },
        },
    })
}
