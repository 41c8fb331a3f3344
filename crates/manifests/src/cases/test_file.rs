//! The file of test cases, as it is written.

use roster_admission::Rule;
use roster_engine::{
    model::{
        Text,
        defaults::{DEFAULT_NAMESPACE, DefaultsMode},
        installed::POLICY_GROUP,
        spelling::{did_you_mean, nearest},
    },
    profile::Minor,
    reason::Reason,
    state::Limit,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::test_file_fault::TestFileFault;

/// The `kind` of the file.
const KIND: &str = "Test";

/// A file of test cases.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestFile {
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: TestMetadata,
    /// Files and directories with the objects, relative to this file. What a command renders is added.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Files and directories with `EndpointPolicies`. Those among the inputs are in force, too.
    #[serde(default)]
    pub policies: Vec<String>,
    /// Files and directories with objects as a cluster stores them; see `roster review --old`.
    #[serde(default)]
    pub stored: Vec<String>,
    /// What is known of the cluster.
    #[serde(default)]
    pub options: TestOptions,
    /// The cases.
    pub tests: Vec<TestCase>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestMetadata {
    #[serde(default)]
    name: String,
}

/// What is known of the cluster, as the options of the commands say it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TestOptions {
    /// The release to act like.
    pub compat: Minor,
    /// The namespace of objects that do not name one.
    pub namespace: String,
    /// The zones of the cluster, where the inputs have no Nodes.
    pub zones: Vec<Text>,
    /// The address families of the cluster: `IPv4,IPv6`.
    pub ip_families: Option<String>,
    /// Which objects get defaults.
    pub defaults: Option<DefaultsMode>,
    /// `--max-endpoints-per-slice` of kube-controller-manager.
    pub max_endpoints_per_slice: Option<Limit>,
    /// Whether the inputs are the whole cluster: what is not among them does not exist.
    pub complete: bool,
}

impl TestOptions {
    /// The namespace of objects that do not name one.
    pub fn namespace(&self) -> &str {
        if self.namespace.is_empty() { DEFAULT_NAMESPACE } else { &self.namespace }
    }
}

/// One case: a name, and exactly one check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCase {
    /// What the case says.
    pub name: String,
    serves: Option<ServesExpectation>,
    pod: Option<PodExpectation>,
    plan: Option<PlanExpectation>,
    upgrade: Option<UpgradeExpectation>,
    review: Option<ReviewExpectation>,
    findings: Option<FindingsExpectation>,
}

/// The check of a case.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check<'a> {
    Serves(&'a ServesExpectation),
    Pod(&'a PodExpectation),
    Plan(&'a PlanExpectation),
    Upgrade(&'a UpgradeExpectation),
    Review(&'a ReviewExpectation),
    Findings(&'a FindingsExpectation),
}

/// The endpoints that a Service has in its slices.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ServesExpectation {
    /// `NAME` or `NAMESPACE/NAME`.
    pub(super) service: String,
    /// The name or the number of a port of the Service; all ports if it is missing.
    pub(super) port: Option<PortChoice>,
    /// Only endpoints in this zone.
    pub(super) zone: Option<Text>,
    /// Only endpoints that clients in this zone use: those with a hint for it, or without hints.
    pub(super) clients_in_zone: Option<Text>,
    /// How many ready endpoints there are.
    pub(super) pods: Option<usize>,
    /// The least number of them.
    pub(super) at_least: Option<usize>,
    /// The names of their pods, or their addresses where no pod is behind them, in any order.
    pub(super) names: Option<NameList>,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
pub(super) enum PortChoice {
    Number(i32),
    Name(Text),
}

/// The answer of `explain` about one pod.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PodExpectation {
    pub(super) service: String,
    /// The name of the pod.
    pub(super) name: Text,
    pub(super) port: Option<PortChoice>,
    /// Whether clients reach it.
    pub(super) served: Option<bool>,
    /// The code of a reason that it has.
    pub(super) reason: Option<String>,
}

/// What the controllers would write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanExpectation {
    /// All Services if it is missing.
    pub(super) service: Option<String>,
    /// `none`, or one line for each object: `create EndpointSlice web-*`.
    pub(super) changes: NameList,
}

/// What another release would write differently.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpgradeExpectation {
    pub(super) from: Minor,
    pub(super) to: Minor,
    /// All Services if it is missing.
    pub(super) service: Option<String>,
    /// `none`, or the Services with a difference: `NAMESPACE/NAME`.
    pub(super) changes: NameList,
}

/// The decision of the webhook about an object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewExpectation {
    /// An object of the inputs: `KIND NAME` or `KIND NAMESPACE/NAME`.
    pub(super) object: Option<String>,
    /// The object itself.
    pub(super) manifest: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) user: String,
    /// The groups of the user.
    pub(super) groups: Option<NameList>,
    /// Whether it is allowed.
    pub(super) allowed: Option<bool>,
    /// The codes of the rules that deny it.
    pub(super) denied: Option<NameList>,
    /// The codes of the rules that warn about it.
    pub(super) warned: Option<NameList>,
    /// The codes of the rules that change it.
    pub(super) changed: Option<NameList>,
}

impl ReviewExpectation {
    /// The lists of codes, with their fields.
    fn lists(&self) -> [(&'static str, Option<&NameList>); 3] {
        [("denied", self.denied.as_ref()), ("warned", self.warned.as_ref()), ("changed", self.changed.as_ref())]
    }
}

/// Fails if a code is not among those that exist.
fn known(code: &str, codes: &[&str]) -> Result<(), String> {
    if codes.contains(&code) {
        return Ok(());
    }
    let meant = nearest(code, codes, |code| *code);
    Err(format!("there is no code {code:?}{}", did_you_mean(meant.as_slice())))
}

/// The findings about the inputs, without those of severity info.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingsExpectation {
    /// An object: `KIND NAME` or `KIND NAMESPACE/NAME`; all if it is missing.
    pub(super) object: Option<String>,
    /// Their codes, each once, in any order.
    pub(super) codes: NameList,
}

/// `none`, one text, or a list of texts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum NameList {
    One(String),
    Several(Vec<String>),
}

impl NameList {
    /// The texts, sorted.
    pub(super) fn sorted(&self) -> Vec<String> {
        let mut all = match self {
            Self::One(text) if text == "none" => Vec::new(),
            Self::One(text) => vec![text.clone()],
            Self::Several(all) => all.clone(),
        };
        all.sort();
        all
    }
}

impl TestFile {
    /// Reads a file, as JSON whose lines are those of the file.
    pub fn read(json: &str) -> Result<Self, TestFileFault> {
        let file: Self = serde_json::from_str(json).map_err(|e| TestFileFault::of_json(json, &e))?;
        let group = file.api_version.split_once('/').map_or("", |(group, _)| group);
        if file.kind != KIND || group != POLICY_GROUP {
            let why =
                format!("is a {:?} of {:?}, not a {KIND} of {POLICY_GROUP}/v1alpha1", file.kind, file.api_version);
            return Err(TestFileFault { line: 0, why });
        }
        for (i, case) in file.tests.iter().enumerate() {
            case.validate().map_err(|(field, why)| TestFileFault::of_case(json, i, field, &why))?;
        }
        Ok(file)
    }

    /// The name of the file; empty if it has none.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

impl TestCase {
    /// Checks that the case expects something, and knows the codes that it expects. An error has the field.
    fn validate(&self) -> Result<(), (&'static str, String)> {
        let reasons: Vec<&str> = Reason::ALL.iter().map(|r| r.code()).collect();
        let rules: Vec<&str> = Rule::ALL.iter().map(|r| r.code()).collect();
        let nothing = |fields: &str| Err(format!("expects nothing: add {fields}"));
        let (field, fault) = match self.check().map_err(|why| ("name", why))? {
            Check::Serves(c) if c.pods.is_none() && c.at_least.is_none_or(|n| n == 0) && c.names.is_none() => {
                ("serves", nothing("pods, atLeast or names"))
            }
            Check::Pod(c) if c.served.is_none() && c.reason.is_none() => ("pod", nothing("served or reason")),
            Check::Review(c) if c.allowed.is_none() && c.lists().iter().all(|(_, list)| list.is_none()) => {
                ("review", nothing("allowed, denied, warned or changed"))
            }
            Check::Pod(c) => ("reason", c.reason.iter().try_for_each(|code| known(code, &reasons))),
            Check::Findings(c) => ("codes", c.codes.sorted().iter().try_for_each(|code| known(code, &reasons))),
            Check::Review(c) => {
                let unknown = |list: &NameList| list.sorted().iter().try_for_each(|code| known(code, &rules));
                let mut lists = c.lists().into_iter().filter_map(|(field, list)| Some((field, list?)));
                let fault = lists.find_map(|(field, list)| Some((field, unknown(list).err()?)));
                fault.map_or(("", Ok(())), |(field, why)| (field, Err(why)))
            }
            Check::Serves(_) | Check::Plan(_) | Check::Upgrade(_) => return Ok(()),
        };
        fault.map_err(|why| (field, format!("{field}: {why}")))
    }

    /// The check of the case.
    pub(super) fn check(&self) -> Result<Check<'_>, String> {
        let all = [
            self.serves.as_ref().map(Check::Serves),
            self.pod.as_ref().map(Check::Pod),
            self.plan.as_ref().map(Check::Plan),
            self.upgrade.as_ref().map(Check::Upgrade),
            self.review.as_ref().map(Check::Review),
            self.findings.as_ref().map(Check::Findings),
        ];
        let mut given = all.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(check), None) => Ok(check),
            _ => Err("has not exactly one of serves, pod, plan, upgrade, review, findings".to_owned()),
        }
    }
}
