//! Findings that somebody accepts, with the reason: in an annotation of the object, or in a file.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::finding_key::{FindingKey, plain};
use crate::model::{
    Labels, ObjectKey,
    defaults::DEFAULT_NAMESPACE,
    installed::POLICY_GROUP,
    json::{message::message, raw::JsonMembers},
    wildcard,
};

/// The annotation of an object with its waivers: `code=reason; code=reason`.
pub const IGNORE_ANNOTATION: &str = "roster.dev/ignore";

/// The `kind` of the file.
const KIND: &str = "LintWaivers";

/// A finding that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiver {
    /// The code of the rule or reason.
    pub code: String,
    /// Why.
    pub reason: String,
    /// The objects, as `KIND NAMESPACE/NAME`, with `*` for any text; empty for all.
    #[serde(default)]
    pub object: String,
    /// The files, with `*` for any text; empty for all.
    #[serde(default)]
    pub file: String,
}

/// Why a file of waivers cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaiverFileFault {
    /// JSON pointer to the waiver; empty for the whole file.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// A waiver that cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaiverFault {
    /// The waiver has no reason.
    NoReason(String),
    /// No rule and no reason has the code.
    UnknownCode(String),
}

impl std::fmt::Display for WaiverFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoReason(code) => write!(f, "the waiver of {code:?} has no reason"),
            Self::UnknownCode(code) => write!(f, "no finding has the code {code:?}"),
        }
    }
}

/// The waivers of a run.
#[derive(Clone, Debug, Default)]
pub struct Waivers {
    list: Vec<Waiver>,
    used: Vec<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WaiverFile {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    kind: String,
    waivers: Vec<Box<RawValue>>,
}

impl Waivers {
    /// These waivers.
    pub fn new(list: Vec<Waiver>) -> Self {
        Self { used: vec![false; list.len()], list }
    }

    /// Reads a file, as JSON. `is_code` knows the codes.
    pub fn read(json: &str, is_code: impl Fn(&str) -> bool) -> Result<Self, WaiverFileFault> {
        let at = |pointer: String| move |message: String| WaiverFileFault { pointer, message };
        let file: WaiverFile = serde_json::from_str(json).map_err(|e| at(String::new())(message(&e)))?;
        if file.kind != KIND {
            let why = format!("the kind is {:?}, not {KIND} ({POLICY_GROUP}/v1alpha1)", file.kind);
            return Err(at("/kind".to_owned())(why));
        }
        let mut list = Vec::with_capacity(file.waivers.len());
        for (i, raw) in file.waivers.iter().enumerate() {
            let at = at(format!("/waivers/{i}"));
            let waiver: Waiver = match serde_json::from_str(raw.get()) {
                Ok(waiver) => waiver,
                Err(e) => return Err(at(message(&e))),
            };
            if let Some(fault) = fault(&waiver, &is_code) {
                return Err(at(fault.to_string()));
            }
            list.push(waiver);
        }
        Ok(Self::new(list))
    }

    /// The reason why a finding is accepted.
    pub fn reason(&mut self, finding: &FindingKey<'_>) -> Option<&str> {
        let at = self.list.iter().position(|w| w.covers(finding))?;
        self.used[at] = true;
        Some(&self.list[at].reason)
    }

    /// The waivers for which there was no finding.
    pub fn unused(&self) -> impl Iterator<Item = &Waiver> {
        self.list.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(waiver, _)| waiver)
    }
}

impl Waiver {
    fn covers(&self, finding: &FindingKey<'_>) -> bool {
        self.code == finding.code
            && (self.object.is_empty() || self.names(finding.object))
            && (self.file.is_empty() || wildcard::matches(plain(&self.file), plain(finding.file)))
    }
}

impl Waiver {
    /// Whether it names the object. Without a namespace, an object is in `default`.
    fn names(&self, object: &ObjectKey) -> bool {
        let placed = || {
            let namespace =
                if object.namespace.is_empty() { DEFAULT_NAMESPACE.into() } else { object.namespace.clone() };
            ObjectKey { namespace, ..object.clone() }
        };
        wildcard::matches(&self.object, &object.to_string()) || wildcard::matches(&self.object, &placed().to_string())
    }
}

fn fault(waiver: &Waiver, is_code: &impl Fn(&str) -> bool) -> Option<WaiverFault> {
    if !is_code(&waiver.code) {
        return Some(WaiverFault::UnknownCode(waiver.code.clone()));
    }
    waiver.reason.trim().is_empty().then(|| WaiverFault::NoReason(waiver.code.clone()))
}

/// The waivers in the annotation of an object, and what is wrong with the others. `is_code` knows the codes.
pub fn annotation_waivers(object: &RawValue, is_code: impl Fn(&str) -> bool) -> (Waivers, Vec<WaiverFault>) {
    let (mut list, mut faults) = (Vec::new(), Vec::new());
    // Most objects have none: looking for the text is cheaper than opening the object.
    if object.get().contains(IGNORE_ANNOTATION) {
        for part in annotation(object).split([';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let (code, reason) = part.split_once('=').unwrap_or((part, ""));
            let (code, reason) = (code.trim().to_owned(), reason.trim().to_owned());
            let waiver = Waiver { code, reason, object: String::new(), file: String::new() };
            match fault(&waiver, &is_code) {
                Some(fault) => faults.push(fault),
                None => list.push(waiver),
            }
        }
    }
    (Waivers::new(list), faults)
}

fn annotation(object: &RawValue) -> String {
    let annotations = || {
        let mut metadata = JsonMembers::read(object).ok()?.take("metadata")?.into_object();
        let annotations = metadata.take("annotations")?;
        let labels: Labels = serde_json::from_value(serde_json::to_value(annotations).ok()?).ok()?;
        labels.get(IGNORE_ANNOTATION).map(ToString::to_string)
    };
    annotations().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_code(code: &str) -> bool {
        ["no-replicas", "external-ip"].contains(&code)
    }

    #[test]
    fn an_annotation_names_codes_and_reasons() {
        for (text, waivers, faults) in [
            ("no-replicas=scaled up by KEDA, later", vec![("no-replicas", "scaled up by KEDA, later")], vec![]),
            (" no-replicas = a=b ;external-ip=x;", vec![("no-replicas", "a=b"), ("external-ip", "x")], vec![]),
            ("no-replicas", vec![], vec![WaiverFault::NoReason("no-replicas".to_owned())]),
            ("nope=x\nexternal-ip=y", vec![("external-ip", "y")], vec![WaiverFault::UnknownCode("nope".to_owned())]),
            ("", vec![], vec![]),
        ] {
            let object = serde_json::json!({ "metadata": { "annotations": { IGNORE_ANNOTATION: text, "a": "b" } } });
            let raw = serde_json::value::to_raw_value(&object).unwrap();
            let (found, wrong) = annotation_waivers(&raw, is_code);
            let found: Vec<(&str, &str)> = found.list.iter().map(|w| (w.code.as_str(), w.reason.as_str())).collect();
            assert_eq!((found, wrong), (waivers, faults), "{text}");
        }
    }

    #[test]
    fn an_object_without_a_namespace_is_in_default() {
        for (pattern, namespace, want) in [
            ("Service default/web", "", true),
            ("Service web", "", true),
            ("Service default/*", "", true),
            ("Service default/web", "default", true),
            ("Service web", "default", false),
            ("Service default/web", "shop", false),
        ] {
            let waiver = Waiver {
                code: "x".to_owned(),
                reason: "y".to_owned(),
                object: pattern.to_owned(),
                file: String::new(),
            };
            let object = ObjectKey::new("Service", &namespace.into(), &"web".into());
            assert_eq!(waiver.names(&object), want, "{pattern} {namespace}");
        }
    }

    #[test]
    fn a_file_names_objects_and_files_by_patterns() {
        let file = r#"{"apiVersion":"roster.dev/v1alpha1","kind":"LintWaivers","waivers":[
            {"code":"no-replicas","object":"Service shop/*","reason":"KEDA"},
            {"code":"external-ip","file":"./legacy/*","reason":"is replaced in June"}]}"#;
        let mut waivers = Waivers::read(file, is_code).unwrap();
        let object = ObjectKey::new("Service", &"shop".into(), &"web".into());
        let mut reason =
            |file, code| waivers.reason(&FindingKey { file, object: &object, code, field: "" }).map(str::to_owned);
        assert_eq!(reason("a.yaml", "no-replicas").as_deref(), Some("KEDA"));
        assert_eq!(reason("a.yaml", "external-ip"), None);
        assert_eq!(waivers.unused().map(|w| w.code.as_str()).collect::<Vec<_>>(), ["external-ip"]);
        for (waiver, want) in [
            (r#"{"code":"x","reason":"y"}"#, "no finding has the code \"x\""),
            (r#"{"code":"external-ip","reason":" "}"#, "has no reason"),
            (r#"{"code":"external-ip"}"#, "missing field `reason`"),
        ] {
            let file = format!(r#"{{"apiVersion":"roster.dev/v1alpha1","kind":"LintWaivers","waivers":[{waiver}]}}"#);
            assert!(Waivers::read(&file, is_code).is_err_and(|e| e.message.contains(want)), "{waiver}");
        }
    }
}
