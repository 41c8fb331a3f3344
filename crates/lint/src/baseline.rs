//! Findings that were there before, and are to be corrected one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    file_fault::{self, LintFileFault},
    finding_key::{FindingKey, plain},
};

/// The `kind` of the file.
const KIND: &str = "LintBaseline";

/// The findings of an earlier run, by what identifies them, with their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<BaselineKey, usize>);

/// File, object, code and field.
type BaselineKey = (String, String, String, String);

/// A finding in the file of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineEntry {
    file: String,
    object: String,
    code: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    field: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    count: usize,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &usize) -> bool {
    *count == 1
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BaselineFile {
    api_version: String,
    kind: String,
    findings: Vec<BaselineEntry>,
}

impl Baseline {
    /// Reads a file, as JSON.
    pub fn read(json: &str) -> Result<Self, LintFileFault> {
        let file = file_fault::read(json, KIND, |file: &BaselineFile| (file.api_version.as_str(), file.kind.as_str()))?;
        let (mut findings, mut total) = (BTreeMap::new(), 0_usize);
        for (place, entry) in file.findings.into_iter().enumerate() {
            let BaselineEntry { file, object, code, field, count } = entry;
            total = total.checked_add(count).ok_or_else(|| {
                LintFileFault::at(format!("/findings/{place}/count"), "the counts add up to more than can be counted")
            })?;
            // Several entries may be about one finding. Their sum is at most the total.
            *findings.entry((plain(&file).to_owned(), object, code, field)).or_default() += count;
        }
        Ok(Self(findings))
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: &FindingKey<'_>) {
        *self.0.entry(key(finding)).or_default() += 1;
    }

    /// Takes a finding out. Returns whether it was there.
    pub fn take(&mut self, finding: &FindingKey<'_>) -> bool {
        let Some(count) = self.0.get_mut(&key(finding)).filter(|count| **count > 0) else { return false };
        *count -= 1;
        true
    }

    /// How many findings there are: after [`take`](Self::take), those that no longer occur.
    pub fn len(&self) -> usize {
        self.0.values().sum()
    }

    /// How many findings there are in these files.
    pub fn len_of(&self, files: &BTreeSet<&str>) -> usize {
        let files: BTreeSet<&str> = files.iter().map(|file| plain(file)).collect();
        self.0.iter().filter(|((file, ..), _)| files.contains(file.as_str())).map(|(_, count)| count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content of the file, to be serialized.
    pub fn document(&self) -> impl Serialize + use<> {
        let entry = |((file, object, code, field), count): (&BaselineKey, &usize)| BaselineEntry {
            file: file.clone(),
            object: object.clone(),
            code: code.clone(),
            field: field.clone(),
            count: *count,
        };
        let findings = self.0.iter().filter(|(_, count)| **count > 0).map(entry).collect();
        BaselineFile { api_version: file_fault::api_version(), kind: KIND.to_owned(), findings }
    }
}

fn key(finding: &FindingKey<'_>) -> BaselineKey {
    let FindingKey { file, object, code, field } = *finding;
    (plain(file).to_owned(), object.to_string(), code.to_owned(), field.to_owned())
}

#[cfg(test)]
mod tests {
    use roster_engine::model::ObjectKey;

    use super::*;

    #[test]
    fn what_was_there_is_taken_out_once_for_each_time() {
        let object = ObjectKey::new("Service", &"shop".into(), &"web".into());
        let finding = |file, code| FindingKey { file, object: &object, code, field: "spec.selector" };
        let mut baseline = Baseline::default();
        for file in ["./a.yaml", "a.yaml", "b.yaml"] {
            baseline.add(&finding(file, "no-replicas"));
        }
        let text = serde_json::to_string(&baseline.document()).unwrap();
        assert_eq!(
            text,
            r#"{"apiVersion":"roster.dev/v1alpha1","kind":"LintBaseline","findings":[{"file":"a.yaml","object":"Service shop/web","code":"no-replicas","field":"spec.selector","count":2},{"file":"b.yaml","object":"Service shop/web","code":"no-replicas","field":"spec.selector"}]}"#
        );
        let mut again = Baseline::read(&text).unwrap();
        assert_eq!(again, baseline);
        let taken: Vec<bool> =
            ["a.yaml", "a.yaml", "a.yaml", "c.yaml"].map(|f| again.take(&finding(f, "no-replicas"))).into();
        assert_eq!((taken, again.len()), (vec![true, true, false, false], 1));
        assert_eq!(["./b.yaml", "a.yaml"].map(|file| again.len_of(&BTreeSet::from([file]))), [1, 0]);
    }

    #[test]
    fn what_cannot_be_counted_is_an_error() {
        let file = |api_version: &str, kind: &str, counts: &[&str]| {
            let entry =
                |count: &&str| format!(r#"{{"file":"a.yaml","object":"Service web","code":"x","count":{count}}}"#);
            let findings: Vec<String> = counts.iter().map(entry).collect();
            format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","findings":[{}]}}"#, findings.join(","))
        };
        let baseline = |counts: &[&str]| file("roster.dev/v1alpha1", "LintBaseline", counts);
        for (text, want) in [
            (baseline(&["2", "3"]), Ok(5)),
            (baseline(&["18446744073709551615", "0"]), Ok(usize::MAX)),
            (baseline(&["18446744073709551615", "1"]), Err(("/findings/1/count", "the counts add up to more than"))),
            (baseline(&["18446744073709551616"]), Err(("", "invalid"))),
            (baseline(&["-1"]), Err(("", "invalid value"))),
            ("{}".to_owned(), Err(("", "apiVersion"))),
            (file("x", "Test", &[]), Err(("/kind", "the kind is \"Test\", not LintBaseline"))),
            (
                file("roster.dev/v1", "LintBaseline", &[]),
                Err(("/apiVersion", "the apiVersion is \"roster.dev/v1\", not roster.dev/v1alpha1")),
            ),
        ] {
            match (Baseline::read(&text), want) {
                (Ok(baseline), want) => assert_eq!(Ok(baseline.len()), want, "{text}"),
                (Err(fault), Err((pointer, message))) => {
                    assert!(fault.pointer == pointer && fault.message.contains(message), "{fault:?}");
                }
                (Err(fault), Ok(_)) => panic!("{fault:?}"),
            }
        }
    }
}
