//! Findings that somebody accepts, with the reason: in an annotation of the object, or in a file.

use std::{
    cell::Cell,
    collections::{BTreeSet, HashMap},
};

use roster_engine::model::{
    HashSeed, Labels, ObjectKey,
    defaults::DEFAULT_NAMESPACE,
    json::{
        message::{message, shortened},
        raw::JsonMembers,
    },
    wildcard,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    file_fault::{self, LintFileFault},
    finding_key::{FindingKey, plain},
};

/// The annotation of an object with its waivers: `code=reason; code=reason`.
pub(crate) const IGNORE_ANNOTATION: &str = "roster.dev/ignore";

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

/// A waiver that cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaiverFault {
    /// The waiver has no reason.
    NoReason(String),
    /// No rule and no reason has the code.
    UnknownCode(String),
    /// An annotation has another waiver of the code.
    Repeated(String),
}

impl std::fmt::Display for WaiverFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoReason(code) => write!(f, "the waiver of {code:?} has no reason"),
            Self::UnknownCode(code) => write!(f, "no finding has the code {:?}", shortened(code)),
            Self::Repeated(code) => write!(f, "the waiver of {code:?} is repeated; the first one counts"),
        }
    }
}

/// The waivers of a run.
#[derive(Clone, Debug, Default)]
pub struct Waivers {
    list: Vec<Waiver>,
    used: Vec<bool>,
    /// The places of the waivers, by code.
    by_code: HashMap<String, WaiversOfCode, HashSeed>,
    /// How many may still be compared with findings.
    left: usize,
}

/// Most comparisons of waivers with findings. Those of one code, for any object or for one, are compared one by one.
const MAX_COMPARISONS: usize = 1 << 24;

/// The places of the waivers with one code, in order.
#[derive(Clone, Debug, Default)]
struct WaiversOfCode {
    /// By the only object that they name.
    by_object: HashMap<String, Vec<usize>, HashSeed>,
    /// Those of any number of objects.
    patterns: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WaiverFile {
    api_version: String,
    kind: String,
    waivers: Vec<Box<RawValue>>,
}

impl Waivers {
    /// These waivers.
    pub fn new(list: Vec<Waiver>) -> Self {
        let mut by_code: HashMap<String, WaiversOfCode, HashSeed> = HashMap::default();
        for (place, waiver) in list.iter().enumerate() {
            let of_code = by_code.entry(waiver.code.clone()).or_default();
            let is_pattern = waiver.object.is_empty() || waiver.object.contains('*');
            if is_pattern {
                of_code.patterns.push(place);
            } else {
                of_code.by_object.entry(waiver.object.clone()).or_default().push(place);
            }
        }
        Self { used: vec![false; list.len()], list, by_code, left: MAX_COMPARISONS }
    }

    /// Reads a file, as JSON. `is_code` knows the codes.
    pub fn read(json: &str, is_code: impl Fn(&str) -> bool) -> Result<Self, LintFileFault> {
        let file = file_fault::read(json, KIND, |file: &WaiverFile| (file.api_version.as_str(), file.kind.as_str()))?;
        let mut list = Vec::with_capacity(file.waivers.len());
        for (i, raw) in file.waivers.iter().enumerate() {
            let at = |message: String| LintFileFault::at(format!("/waivers/{i}"), message);
            let waiver: Waiver = serde_json::from_str(raw.get()).map_err(|e| at(message(&e)))?;
            if let Some(fault) = fault(&waiver, &is_code) {
                return Err(at(fault.to_string()));
            }
            list.push(waiver);
        }
        Ok(Self::new(list))
    }

    /// The reason why a finding is accepted: that of the first waiver that covers it.
    pub fn reason(&mut self, finding: &FindingKey<'_>) -> Option<&str> {
        let of_code = self.by_code.get(finding.code)?;
        let names = ObjectNames::of(finding.object);
        let left = Cell::new(self.left);
        let covers = |place: &&usize| {
            let waiver = &self.list[**place];
            left.set(left.get().saturating_sub(1));
            left.get() > 0
                && names.are_in(&waiver.object)
                && (waiver.file.is_empty() || wildcard::matches(plain(&waiver.file), plain(finding.file)))
        };
        let of_object = |name: &String| of_code.by_object.get(name)?.iter().find(covers);
        let first = [of_object(&names.written), of_object(&names.placed), of_code.patterns.iter().find(covers)];
        let at = first.into_iter().flatten().min().copied();
        self.left = left.get();
        let at = at?;
        self.used[at] = true;
        Some(&self.list[at].reason)
    }

    /// Whether some findings were compared with no waiver, because too many had the same code.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0 && !self.list.is_empty()
    }

    /// The waivers for which there was no finding.
    pub fn unused(&self) -> impl Iterator<Item = &Waiver> {
        self.list.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(waiver, _)| waiver)
    }
}

/// What waivers may call an object. Without a namespace, an object is in `default`.
struct ObjectNames {
    written: String,
    placed: String,
}

impl ObjectNames {
    fn of(object: &ObjectKey) -> Self {
        let namespace = if object.namespace.is_empty() { DEFAULT_NAMESPACE.into() } else { object.namespace.clone() };
        Self { written: object.to_string(), placed: ObjectKey { namespace, ..object.clone() }.to_string() }
    }

    /// Whether a pattern names the object; an empty one names all.
    fn are_in(&self, pattern: &str) -> bool {
        pattern.is_empty() || [&self.written, &self.placed].into_iter().any(|name| wildcard::matches(pattern, name))
    }
}

fn fault(waiver: &Waiver, is_code: &impl Fn(&str) -> bool) -> Option<WaiverFault> {
    if !is_code(&waiver.code) {
        return Some(WaiverFault::UnknownCode(waiver.code.clone()));
    }
    waiver.reason.trim().is_empty().then(|| WaiverFault::NoReason(waiver.code.clone()))
}

/// The waivers in the annotation of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnnotationWaivers {
    /// Those that hold: one for each code.
    pub waivers: Waivers,
    /// What is wrong with the first of the others.
    pub faults: Vec<WaiverFault>,
    /// How many more are wrong.
    pub more: usize,
}

/// Most waivers of an object that are wrong and reported one by one.
const MAX_FAULTS: usize = 20;

/// Reads the annotation of an object. `is_code` knows the codes.
pub(crate) fn annotation_waivers(object: &RawValue, is_code: impl Fn(&str) -> bool) -> AnnotationWaivers {
    // Most objects have none: looking for the text is cheaper than opening the object.
    if !object.get().contains(IGNORE_ANNOTATION) {
        return AnnotationWaivers::default();
    }
    let (mut list, mut codes, mut faults, mut more) = (Vec::new(), BTreeSet::new(), Vec::new(), 0);
    for part in annotation(object).split([';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
        let (code, reason) = part.split_once('=').unwrap_or((part, ""));
        let (code, reason) = (code.trim().to_owned(), reason.trim().to_owned());
        let waiver = Waiver { code, reason, object: String::new(), file: String::new() };
        let repeated = || codes.contains(&waiver.code).then(|| WaiverFault::Repeated(waiver.code.clone()));
        match fault(&waiver, &is_code).or_else(repeated) {
            Some(fault) if faults.len() < MAX_FAULTS => faults.push(fault),
            Some(_) => more += 1,
            None => {
                codes.insert(waiver.code.clone());
                list.push(waiver);
            }
        }
    }
    AnnotationWaivers { waivers: Waivers::new(list), faults, more }
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
            (
                "no-replicas=x;no-replicas=y",
                vec![("no-replicas", "x")],
                vec![WaiverFault::Repeated("no-replicas".to_owned())],
            ),
            ("", vec![], vec![]),
        ] {
            let object = serde_json::json!({ "metadata": { "annotations": { IGNORE_ANNOTATION: text, "a": "b" } } });
            let raw = serde_json::value::to_raw_value(&object).unwrap();
            let AnnotationWaivers { waivers: found, faults: wrong, more } = annotation_waivers(&raw, is_code);
            let found: Vec<(&str, &str)> = found.list.iter().map(|w| (w.code.as_str(), w.reason.as_str())).collect();
            assert_eq!((found, wrong, more), (waivers, faults, 0), "{text}");
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
            let finding = FindingKey { file: "a.yaml", object: &object, code: "x", field: "" };
            assert_eq!(Waivers::new(vec![waiver]).reason(&finding).is_some(), want, "{pattern} {namespace}");
        }
    }

    #[test]
    fn the_first_waiver_that_covers_a_finding_counts() {
        let waiver = |reason: &str, object: &str, file: &str| Waiver {
            code: "x".to_owned(),
            reason: reason.to_owned(),
            object: object.to_owned(),
            file: file.to_owned(),
        };
        let mut waivers = Waivers::new(vec![
            waiver("a", "Service default/web", "b.yaml"),
            waiver("b", "Service *", ""),
            waiver("c", "Service web", ""),
            waiver("d", "", ""),
        ]);
        let key = |kind: &str| ObjectKey::new(kind, &"".into(), &"web".into());
        let (service, pod) = (key("Service"), key("Pod"));
        let mut reason = |object, file| {
            let finding = FindingKey { file, object, code: "x", field: "" };
            waivers.reason(&finding).map(str::to_owned).unwrap_or_default()
        };
        assert_eq!([reason(&service, "a.yaml"), reason(&service, "./b.yaml"), reason(&pod, "a.yaml")], ["b", "a", "d"]);
        assert_eq!(waivers.unused().map(|w| w.reason.as_str()).collect::<Vec<_>>(), ["c"]);
    }

    /// Both the waivers and what is reported of them grow with the text, not with its square.
    #[test]
    fn any_number_of_waivers_is_read() {
        let text = "no-replicas=x;nope=y;".repeat(50_000);
        let object = serde_json::json!({ "metadata": { "annotations": { IGNORE_ANNOTATION: text } } });
        let raw = serde_json::value::to_raw_value(&object).unwrap();
        let AnnotationWaivers { waivers, faults, more } = annotation_waivers(&raw, is_code);
        assert_eq!((waivers.list.len(), faults.len(), more), (1, MAX_FAULTS, 99_999 - MAX_FAULTS));
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
